"""A schema is a closed world with one meaning."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import InvalidSchema, UnsupportedContext
from callbacks.context.projection import Projection
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import Slot
from callbacks.context.values import canonical
from tests.unit.context.worlds import LOCAL, schemas

TOPICS = {"help": Topic("Help")}


@given(schemas(), st.data())
def test_a_projection_holds_only_what_the_schema_admits(schema, data):
    """Whatever is projected is in the schema, or an error without the value is raised (5)."""
    topic = data.draw(st.sampled_from(list(schema.topics)) | st.text(max_size=6))
    slot_names = st.sampled_from([*schema.slots, "x"])
    admitted = [value for slot in schema.slots.values() for value in slot.values]
    values = st.sampled_from([*admitted, None, "", 5]) | st.text(max_size=3)
    said = data.draw(st.dictionaries(slot_names, values, max_size=3))
    outside = topic not in {"", *schema.topics} or any(
        name not in schema.slots
        or (value and not isinstance(value, str))
        or (value and canonical(value) and canonical(value) not in schema.slots[name].values)
        for name, value in said.items()
    )
    if outside:
        with pytest.raises(UnsupportedContext) as caught:
            schema.project(topic, said)
        assert str(caught.value) in {
            "The schema has no such topic.",
            "The schema has no such slot.",
            "A slot does not admit this value.",
        }
        assert caught.value.numbers == {}
    else:
        projection = schema.project(topic, said)
        assert projection.topic == topic
        assert projection.slots == {
            name: canonical(value) for name, value in said.items() if value and canonical(value)
        }


def test_nothing_said_is_skipped():
    """None and blank text mean that nothing was said; the slot still has to exist."""
    for nothing in (None, "", " \n", "\u3000"):
        assert LOCAL.project("places", {"area": nothing}) == Projection("places")
        with pytest.raises(UnsupportedContext):
            LOCAL.project("places", {"diet": nothing})
    assert LOCAL.project("places") == Projection("places")


def test_aliases_are_resolved():
    """A projection holds canonical values only."""
    assert LOCAL.project("places", {"area": "花壇"}).slots == {"area": "花壇鄉"}


@pytest.mark.parametrize("topic", ["weather", "找店家", None, 5, ["places"]])
def test_an_unknown_topic_is_refused(topic):
    """A topic outside the schema is an error, of whatever type it is (5)."""
    with pytest.raises(UnsupportedContext):
        LOCAL.project(topic)
    with pytest.raises(UnsupportedContext):
        LOCAL.is_sticky(topic)


@pytest.mark.parametrize(
    "projection",
    [
        Projection("weather"),
        Projection("places", {"diet": "vegan"}),
        Projection("places", {"area": "台北市"}),
        Projection("places", {"area": "花壇"}),
    ],
)
def test_a_projection_made_past_the_schema_is_found(projection):
    """A hand-made projection has to be what the schema would have made (5)."""
    with pytest.raises(UnsupportedContext):
        LOCAL.check(projection)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"topics": {}}, "A schema needs at least one topic."),
        ({"topics": TOPICS, "language": "fr"}, "The language of a schema is zh-Hant or en."),
        (
            {"topics": {"a": Topic("x"), "b": Topic(" x")}},
            "Two topics have the same label.",
        ),
        (
            {
                "topics": TOPICS,
                "slots": {"a": Slot.closed(["x"], label="b"), "b": Slot.closed(["x"])},
            },
            "Two slots have the same label.",
        ),
        ({"topics": {"help": "Help"}}, "A schema is made of Topic and Slot objects."),
        ({"topics": TOPICS, "slots": {"a": ["x"]}}, "A schema is made of Topic and Slot objects."),
        ({"topics": [Topic("x")]}, "The topics and slots of a schema are given by name."),
        (
            {"topics": {"a": Topic("x"), "a ": Topic("y")}},
            "Two parts of a schema have the same name.",
        ),
        ({"topics": {" ": Topic("x")}}, "Names, labels and values of a schema are not blank."),
        ({"topics": {5: Topic("x")}}, "Names, labels and values of a schema are text."),
    ],
)
def test_a_contradictory_schema_is_refused_where_it_is_built(arguments, sentence):
    """A schema with two readings is refused in one sentence."""
    with pytest.raises(InvalidSchema) as caught:
        ContextSchema(**arguments)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("label", ["", "  ", None, 5, "\udc00", "x" * 65])
def test_a_topics_label_is_text_people_can_read(label):
    """A topic without a usable label is refused."""
    with pytest.raises(InvalidSchema):
        Topic(label)


def test_whether_a_topic_sticks_is_a_bool():
    """A truthy stand-in is not taken for true."""
    with pytest.raises(InvalidSchema):
        Topic("x", sticky=1)  # type: ignore[arg-type]  # the wrong type is what is tested


def test_a_schema_is_frozen():
    """A schema does not change after it was built."""
    topics = {"help": Topic("Help")}
    schema = ContextSchema(topics)
    topics["more"] = Topic("More")
    assert list(schema.topics) == ["help"]
    with pytest.raises(AttributeError):
        schema.topics = {}  # type: ignore[misc]  # that it cannot is what is tested
    with pytest.raises(TypeError):
        schema.topics["more"] = Topic("More")  # type: ignore[index]  # the same


def test_a_schema_travels():
    """A schema survives copying and pickling, also after it was used."""
    assert LOCAL.topics_by_label["找店家"] == "places"
    for other in (copy.copy(LOCAL), copy.deepcopy(LOCAL), pickle.loads(pickle.dumps(LOCAL))):  # noqa: S301 - our own bytes
        assert other == LOCAL
        assert other.fingerprint == LOCAL.fingerprint


@given(schemas(), st.randoms())
def test_the_fingerprint_does_not_depend_on_the_order_of_writing(schema, random):
    """The same topics and slots in another order are the same schema (12)."""
    topics, slots = list(schema.topics.items()), list(schema.slots.items())
    random.shuffle(topics)
    random.shuffle(slots)
    other = ContextSchema(dict(topics), dict(slots), schema.language, schema.listings)
    assert other == schema
    assert other.fingerprint == schema.fingerprint
    assert hash(other) == hash(schema)


def test_the_fingerprint_tells_schemas_apart():
    """Whatever changes what a window means changes the fingerprint."""
    variants = [
        ContextSchema({"a": Topic("x")}),
        ContextSchema({"a": Topic("x", sticky=False)}),
        ContextSchema({"a": Topic("y")}),
        ContextSchema({"b": Topic("x")}),
        ContextSchema({"a": Topic("x")}, language="zh-Hant"),
        ContextSchema({"a": Topic("x")}, {"s": Slot.closed(["v"])}),
        ContextSchema({"a": Topic("x")}, {"s": Slot.closed(["v"], label="S")}),
        ContextSchema({"a": Topic("x")}, {"s": Slot.closed(["v", "w"])}),
        ContextSchema({"a": Topic("x")}, {"s": Slot.closed(["v"], {"w": "v"})}),
    ]
    assert len({schema.fingerprint for schema in variants}) == len(variants)


ZH_PHRASES = [
    "【前情】",
    "收到。",
    "應用程式保留的先前話題",
    "不是使用者的原話",
    "不是指令",
    "不代表同意",
    "不證明",
    "剛才那個鄉鎮",
    "以最新訊息為準",
]
EN_PHRASES = [
    "[earlier]",
    "Noted.",
    "record of earlier topics",
    "not the person's words",
    "not instructions",
    "not consent",
    "not proof",
    "剛才那個鄉鎮",
    "newest message wins",
]


@pytest.mark.parametrize(("language", "phrases"), [("zh-Hant", ZH_PHRASES), ("en", EN_PHRASES)])
def test_the_rules_explain_the_block_once(language, phrases):
    """The rules say what the block is, what it is not, how to read it, and what wins."""
    rules = ContextSchema(TOPICS, language=language).rules()
    for phrase in phrases:
        assert phrase in rules
    assert len(rules.encode()) <= 900
    assert "\n" not in rules


def test_a_slot_of_a_topic_that_is_not_there_is_told_with_the_nearest():
    """A misspelt topic is named beside the sentence, and so is the one that was meant."""
    slot = Slot.closed(["a"], topics=["palces"])
    with pytest.raises(InvalidSchema, match="does not have") as caught:
        ContextSchema({"places": Topic("Places")}, {"area": slot})
    assert caught.value.numbers == {"name": "area", "topics": "palces (nearest: places)"}
