"""Strategies for schemas and windows whose names, labels and values are as hostile as allowed."""

import string
from typing import NamedTuple

from hypothesis import strategies as st

from callbacks.context.listing import MAX_ENTRIES, Entry, Listing
from callbacks.context.projection import SOURCES, Projection
from callbacks.context.schema import ContextSchema, Topic
from callbacks.context.slot import ClosedSlot, Slot
from callbacks.context.values import canonical
from callbacks.context.window import ContextWindow

# Structure of the block and of chat templates, line breaks of every kind, bidi and zero-width
# characters, invisible letters, full-width twins, combining marks, and some honest text.
HOSTILE = (
    "|=\\-*[]{}【】〔〕<>［］｜＝＼＜＞"
    "\n\r\t\x00\x0b\x0c\x1c\x7f\x85\u2028\u2029"
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202a\u202e\u2066\u2069"
    "\u034f\u115f\u3164\ufe0f\U000e0041\U000e01ef\u3000\u00a0"
    "\u0338\u0301"
    "花壇鄉前情earlier u200b\"'/{}0aé😀"
)
# One alphabet a text: choosing one for each character makes the strategies several times slower.
hostile_text = (
    st.one_of(st.text(HOSTILE, min_size=1, max_size=8), st.text(min_size=1, max_size=8))
    .map(canonical)
    .filter(bool)
)
names = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)


@st.composite
def schemas(draw: st.DrawFn) -> ContextSchema:
    topic_names = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    topic_labels = draw(
        st.lists(hostile_text, min_size=len(topic_names), max_size=len(topic_names), unique=True)
    )
    slot_names = draw(st.lists(names, max_size=4, unique=True))
    # Labels that could equal another slot's name would be refused; a prefix keeps them apart.
    slot_labels = draw(
        st.lists(
            hostile_text.map(lambda text: "!" + text[:40]),
            min_size=len(slot_names),
            max_size=len(slot_names),
            unique=True,
        )
    )
    scopes = st.lists(st.sampled_from(topic_names), max_size=2, unique=True)
    return ContextSchema(
        topics={
            name: Topic(label, sticky=draw(st.booleans()))
            for name, label in zip(topic_names, topic_labels, strict=True)
        },
        slots={
            name: Slot.closed(
                draw(st.lists(hostile_text, min_size=1, max_size=3, unique=True)),
                label=label if draw(st.booleans()) else "",
                topics=draw(scopes),
            )
            for name, label in zip(slot_names, slot_labels, strict=True)
        },
        language=draw(st.sampled_from(["zh-Hant", "en"])),
        listings={"search": Listing("name", id="id")} if draw(st.booleans()) else {},
    )


def projections(schema: ContextSchema) -> st.SearchStrategy[Projection]:
    """Projections that may go on with the goal, and may speak of other topics in passing."""
    return st.builds(
        schema.project,
        st.sampled_from(["", *schema.topics]),
        st.fixed_dictionaries(
            {},
            optional={
                name: st.sampled_from(slot.values)
                for name, slot in schema.slots.items()
                if isinstance(slot, ClosedSlot)
            },
        ),
        st.sampled_from(SOURCES),
    ).filter(lambda projection: not projection.is_empty)


def lists(schema: ContextSchema) -> st.SearchStrategy[list[Entry]]:
    if not schema.listings:
        return st.just([])
    titles = hostile_text.filter(str.isprintable)
    return st.lists(st.builds(Entry, st.just("") | titles, titles), max_size=MAX_ENTRIES)


class World(NamedTuple):
    """A schema and a window that a conversation under it has left."""

    schema: ContextSchema
    window: ContextWindow


@st.composite
def worlds(draw: st.DrawFn, max_projections: int = 4) -> World:
    schema = draw(schemas())
    window = ContextWindow()
    for projection in draw(st.lists(projections(schema), max_size=max_projections + 3)):
        window = window.append(projection, schema, max_projections, draw(lists(schema)))
    return World(schema, window)


LOCAL = ContextSchema(
    topics={
        "places": Topic("找店家"),
        "events": Topic("找活動"),
        "help": Topic("詢問可用功能", sticky=False),
        "memory": Topic("管理偏好", sticky=False),
    },
    slots={
        "area": Slot.closed(
            ["花壇鄉", "彰化市", "鹿港鎮"], aliases={"花壇": "花壇鄉"}, label="區域"
        )
    },
    language="zh-Hant",
)
