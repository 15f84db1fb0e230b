"""A closed slot admits its vocabulary and nothing else."""

import enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.context.errors import ContextError, InvalidSchema, UnsupportedContext
from callbacks.context.slot import ClosedSlot, Slot
from callbacks.context.values import canonical
from tests.unit.context.worlds import hostile_text

AREA = Slot.closed(["花壇鄉", "彰化市", "Café"], aliases={"花壇": "花壇鄉", "彰化": "彰化市"})


@given(st.lists(hostile_text, min_size=1, max_size=5, unique=True), st.text(max_size=12))
def test_what_is_admitted_is_in_the_vocabulary(values, text):
    """A slot returns one of its values, or raises; there is no third way (5)."""
    slot = Slot.closed(values)
    for value in values:
        assert slot.admit(value) == value
    if canonical(text) in values:
        assert slot.admit(text) == canonical(text)
    else:
        with pytest.raises(
            UnsupportedContext, match=r"^A slot does not admit this value\.\nerror_code"
        ):
            slot.admit(text)


@pytest.mark.parametrize(
    ("said", "meant"),
    [("花壇鄉", "花壇鄉"), ("花壇", "花壇鄉"), (" 彰化\n", "彰化市"), ("Cafe\u0301", "Café")],
)
def test_spellings_are_resolved(said: str, meant: str):
    """Aliases, space at the ends and decomposed characters lead to the canonical value."""
    assert AREA.admit(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        "台北市",
        "花 壇",
        "花壇鄉鄉",
        "café",
        "Ｃafé",
        "",
        "花\u200b壇",
        "\ud800",
        None,
        5,
        ["花壇鄉"],
        b"x",
    ],
)
def test_nothing_else_is_folded(said: object):
    """Case, width and inner characters count: a near miss is no hit (5)."""
    with pytest.raises(UnsupportedContext):
        AREA.admit(said)


def test_enum_members_are_plain_text():
    """Members of a string enum are admitted and stored as plain text."""

    class Town(enum.StrEnum):
        HUATAN = "花壇鄉"

    slot = Slot.closed(Town)
    assert type(slot.values[0]) is str
    assert type(slot.admit(Town.HUATAN)) is str


def test_harmless_repeats_among_aliases_are_dropped():
    """An alias that is its own value, or one alias in two forms of Unicode, is no collision."""
    slot = Slot.closed(["Café", "b"], aliases={"Café": "Café", "e\u0301": "b", "é": "b"})
    assert slot.aliases == (("é", "b"),)


@pytest.mark.parametrize(
    ("values", "aliases", "sentence"),
    [
        ([], None, "A closed slot needs at least one value."),
        ("abc", None, "A closed slot takes a list of values, not one text."),
        (["a", "a"], None, "A closed slot has the same value twice."),
        (["é", "e\u0301 "], None, "A closed slot has the same value twice."),
        (["a", " "], None, "Names, labels and values of a schema are not blank."),
        (["a", 5], None, "Names, labels and values of a schema are text."),
        (["\ud800"], None, "A name, label or value of a schema has no UTF-8 form."),
        (["x" * 129], None, "A name, label or value of a schema is too long."),
        (["a"], {"b": "c"}, "An alias stands for a value the slot does not have."),
        (["a", "b"], {"x": "a", "y": "x"}, "An alias stands for a value the slot does not have."),
        (["a", "b"], {"a": "b"}, "An alias stands for two values."),
        (["a", "b"], {"x": "a", "x ": "b"}, "An alias stands for two values."),
        (["a"], {"": "a"}, "Names, labels and values of a schema are not blank."),
    ],
)
def test_a_contradictory_vocabulary_is_refused_where_it_is_built(values, aliases, sentence):
    """A slot that could not be read one way only is refused in one sentence."""
    with pytest.raises(InvalidSchema) as caught:
        Slot.closed(values, aliases=aliases)
    assert str(caught.value) == sentence
    assert caught.value.error_code == "CONTEXT_SCHEMA_INVALID"
    assert isinstance(caught.value, ContextError)


def test_a_slots_label_is_checked():
    """A label is canonical text; an empty one stands for the slot's name."""
    assert Slot.closed(["a"], label=" 區域 ").label == "區域"
    assert Slot.closed(["a"]).label == ""
    with pytest.raises(InvalidSchema):
        Slot.closed(["a"], label=" ")


@given(st.sets(st.text("abcdefgh", min_size=1, max_size=3), min_size=1, max_size=8))
def test_a_set_of_values_has_one_order(values):
    """A set, whose order the hash seed decides, gives a sorted vocabulary (12)."""
    assert list(Slot.closed(values).values) == sorted(values)


def test_a_slot_is_frozen():
    """A vocabulary does not change after it was built."""
    with pytest.raises(AttributeError):
        AREA.values = ()  # type: ignore[misc]  # that it cannot is what is tested
    assert Slot.closed(["a"]) == ClosedSlot(label="", values=("a",))
