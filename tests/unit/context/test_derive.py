"""A schema read off an agent's tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest
from pydantic import BaseModel, Field

from callbacks.context.derive import derive
from callbacks.context.errors import InvalidSchema
from callbacks.context.schema import ContextSchema


class Kind(Enum):
    """Kinds of places."""

    FOOD = "food"
    CAFE = "cafe"


class Level(Enum):
    """No text."""

    LOW = 1


class Place(BaseModel):
    """A row."""

    place_id: str
    name: str


class Places(BaseModel):
    """A result with rows."""

    found: list[Place]
    total: int


@dataclass
class Agent:
    """As much of an agent as is read."""

    tools: list[Any]
    sub_agents: list[Any] = field(default_factory=list)
    name: str = "root"


def search(  # noqa: PLR0917 - as tools have it
    town: Literal["Huatan", "Lukang"],
    kind: Kind,
    day: date,
    people: Annotated[int, Field(ge=1, le=20)],
    opens: Optional[time] = None,  # noqa: UP045 - the older spelling must be read as well
    budget: int = 0,
    open_now: bool = False,
    note: str = "",
    tags: list[str] | None = None,
    level: Level = Level.LOW,
    when: datetime | None = None,
    phone_number: str = "",
    diet: Literal["vegan", "any"] | None = None,
    tool_context: object = None,
) -> Places:
    """Search."""
    raise NotImplementedError


def book(place_id: str, start_date: str, start_time: str, people: int = 1) -> dict[str, Any]:
    """Book."""
    raise NotImplementedError


def help_me() -> dict[str, Any]:
    """Help."""
    raise NotImplementedError


def test_each_kind_of_parameter_becomes_its_slot_or_is_left_out_with_a_reason() -> None:
    """Enumerations are closed, dates, times and bounded numbers typed, the rest told apart."""
    derived = derive(Agent([search, book, help_me]), private=["diet"])
    assert {name: (slot.kind, slot.topics) for name, slot in derived.slots.items()} == {
        "town": ("closed", ()),
        "kind": ("closed", ()),
        "day": ("date", ("search",)),
        "people": ("number", ("search",)),
        "opens": ("time", ("search",)),
        "place_id": ("grounded", ()),
        "start_date": ("date", ("book",)),
        "start_time": ("time", ("book",)),
    }
    assert {(each.tool, each.parameter): each.why for each in derived.left_out} == {
        ("search", "budget"): "a number without bounds",
        ("search", "open_now"): "yes or no",
        ("search", "note"): "free text, and no tool's declared result has a field of this name",
        ("search", "tags"): "several values, or no simple type",
        ("search", "level"): "its vocabulary is not text",
        ("search", "when"): "a date and a time in one",
        ("search", "phone_number"): "sounds private; name it in `public` if it is not",
        ("search", "diet"): "private",
        ("book", "people"): "a number without bounds",
    }
    assert derived.topics == {
        "search": ("search", True),
        "book": ("book", True),
        "help_me": ("help me", False),
    }
    assert derived.slots["town"].admit("Lukang") == "Lukang"
    assert derived.slots["people"].hint == "1-20"


def test_a_value_each_where_two_tools_mean_different_things_by_a_name() -> None:
    """Equal vocabularies are one slot; different ones are two, each its tool's own."""

    def hotels(city: Literal["A", "B"], size: Literal["s"], day: date) -> None: ...
    def trains(city: Literal["A", "B"], size: Literal["l"], day: date) -> None: ...

    derived = derive(Agent([hotels, trains]))
    assert {name: slot.topics for name, slot in derived.slots.items()} == {
        "city": (),
        "hotels_size": (),
        "trains_size": (),
        "day": ("hotels", "trains"),
    }
    assert derived.fields["trains"] == {"city": "city", "trains_size": "size", "day": "day"}


def test_what_a_preference_fills_never_becomes_a_slot() -> None:
    """Invariant 6: an argument that may hold a consented value is in no schema."""
    wish = SimpleNamespace(fills={"search": "diet"})
    told: list[str] = []
    schema = ContextSchema.from_tools(Agent([search]), preferences=[wish], tell=told.append)
    assert "diet" not in schema.slots
    assert "search(diet): filled by a remembered preference" in told[0]


def test_a_private_name_that_no_tool_has_is_refused() -> None:
    """A misspelt name would let a private value in, so it is an error."""
    with pytest.raises(InvalidSchema) as caught:
        derive(Agent([search]), private=["dieet", "diet", "zzz"])
    told = "private names a parameter that no tool has: dieet (nearest: diet), zzz."
    assert str(caught.value) == told
    assert caught.value.numbers == {"name": "dieet, zzz"}
    with pytest.raises(InvalidSchema, match=r"^public names .*: dieet \(nearest: diet\)\."):
        derive(Agent([search]), public=["dieet"])
    with pytest.raises(InvalidSchema, match=r"private and public both name these: diet\."):
        derive(Agent([search]), private=["diet"], public=["diet"])
    assert "phone_number" not in derive(Agent([search]), public=["phone_number"]).slots


def declared(schema: dict[str, Any], name: str = "remote") -> Any:
    """A tool that only declares its parameters."""
    declaration = SimpleNamespace(parameters_json_schema=schema, parameters=None)
    return SimpleNamespace(name=name, _get_declaration=lambda: declaration)


def test_declared_parameters_are_read_like_annotated_ones() -> None:
    """A remote tool's JSON schema gives the same kinds of slots."""
    tool = declared(
        {
            "type": "object",
            "properties": {
                "town": {"type": "string", "enum": ["A", "B"]},
                "day": {"type": "string", "format": "date"},
                "at": {"anyOf": [{"type": "string", "format": "time"}, {"type": "null"}]},
                "stamp": {"type": "string", "format": "date-time"},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "many": {"type": "array", "items": {"type": "string"}},
                "yes": {"type": "boolean"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "odd": True,
            },
        }
    )
    derived = derive(Agent([tool]))
    assert {name: slot.kind for name, slot in derived.slots.items()} == {
        "town": "closed",
        "day": "date",
        "at": "time",
        "count": "number",
    }
    assert {each.parameter for each in derived.left_out} == {"stamp", "many", "yes", "either"}


def test_an_older_declaration_is_read_too() -> None:
    """`parameters` with upper-case types, as genai's Schema has them."""
    given = {"type": "OBJECT", "properties": {"town": {"type": "STRING", "enum": ["A"]}}}
    parameters = SimpleNamespace(model_dump=lambda **_: given)
    declaration = SimpleNamespace(parameters_json_schema=None, parameters=parameters)
    tool = SimpleNamespace(name="old", _get_declaration=lambda: declaration)
    assert derive(Agent([tool])).slots["town"].kind == "closed"


def test_all_agents_below_are_read_once_and_the_rest_is_named() -> None:
    """Sub-agents, agents inside tools and wrapped functions are read; toolsets cannot be."""

    def inner(town: Literal["A"]) -> None: ...

    child = Agent([SimpleNamespace(name="wrapped", func=inner)], name="child")
    root = Agent(
        [
            SimpleNamespace(name="asks", agent=child),
            SimpleNamespace(get_tools=None),
            SimpleNamespace(name="silent"),
            declared({}, name="empty"),
            declared({}, name="empty"),
        ],
        sub_agents=[child],
    )
    child.sub_agents = [root]
    derived = derive(root)
    assert list(derived.topics) == ["empty", "wrapped"]
    assert {(each.tool, each.why) for each in derived.left_out} == {
        ("asks", "an agent's own request is no argument"),
        ("SimpleNamespace", "its tools are known only at run time"),
        ("silent", "it declares no parameters"),
    }


def _unreadable(x: Missing) -> Missing: ...  # type: ignore[name-defined]  # noqa: F821 - on purpose


def test_what_cannot_be_read_is_no_error() -> None:
    """A name that does not resolve leaves a parameter without a type: free text."""
    derived = derive(Agent([_unreadable]))
    assert [each.parameter for each in derived.left_out] == ["x"]


def _rows_of(kind: Any) -> Callable[..., Any]:
    def tool(place_id: str) -> None: ...

    tool.__annotations__["return"] = kind
    return tool


class Broken(TypedDict):
    """A field whose type does not resolve."""

    place_id: Gone  # type: ignore[name-defined]  # noqa: F821 - on purpose


@pytest.mark.parametrize(
    ("returns", "kind"),
    [
        (list[Place], "grounded"),
        (Place | None, "grounded"),
        (Places, "grounded"),
        (dict[str, Any], None),
        (list, None),
        (Broken, None),
        (str | int, None),
    ],
)
def test_text_is_grounded_only_in_a_declared_field_of_its_name(returns: Any, kind: Any) -> None:
    """A free text enters a schema only where a tool's declared result can prove it."""
    slots = derive(Agent([_rows_of(returns)])).slots
    assert (slots["place_id"].kind if slots else None) == kind


def test_the_derivation_is_told_unless_told_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    """What was derived and what was left out and why, as lines; silent with `tell=None`."""
    schema = ContextSchema.from_tools(Agent([search, help_me]), private=["diet"], language="en")
    told = capsys.readouterr().out
    assert "  help_me: help me (never the goal)\n" in told
    assert "  town: closed, Huatan / Lukang\n" in told
    assert "  day: date, YYYY-MM-DD, a value each for search\n" in told
    assert "  search(budget): a number without bounds\n" in told
    assert set(schema.topics) == {"search", "help_me"}
    ContextSchema.from_tools(Agent([search]), tell=None)
    assert capsys.readouterr().out == ""


def test_an_agent_without_tools_has_no_schema() -> None:
    """A schema without a topic is none."""
    with pytest.raises(InvalidSchema):
        ContextSchema.from_tools(Agent([]), tell=None)
