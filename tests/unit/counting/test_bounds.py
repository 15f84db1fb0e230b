"""No bound is ever below the true count, in any rendering."""

import sys
import unicodedata
from functools import cache
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.countserver.corpus import sweep
from benchmarks.countserver.structures import STRUCTURES
from benchmarks.countserver.tokens import ByteTokens, GemmaTokens, Tokens, available
from benchmarks.countserver.turns import TURNS
from callbacks.counting import probes
from callbacks.counting.bounds import contents_bound, is_steady
from callbacks.counting.costs import Costs, learn
from callbacks.counting.probes import exchange, said
from callbacks.counting.request import CountRequest
from tests.support.rendered import RenderedCounter

# Each structure in one of the turn styles; the benchmark takes them all.
STYLES = [
    f"{structure}-{list(TURNS)[index % len(TURNS)]}" for index, structure in enumerate(STRUCTURES)
]
NO_CONFIG = types.GenerateContentConfig()


def request(contents) -> CountRequest:
    return CountRequest("m", NO_CONFIG, tuple(contents))


@cache
def gemma() -> Tokens:
    return GemmaTokens()


@cache
def learned(style: str, tokenizer: str) -> tuple[RenderedCounter, Costs, int]:
    """A rendering, what its probes teach, and the count of an envelope of nothing."""
    counter = RenderedCounter(style, ByteTokens() if tokenizer == "bytes" else gemma())
    counts = {name: counter.truth(request(c)) for name, c in probes.plan().items()}
    costs = learn(counts)
    assert costs is not None, style
    return counter, costs, counts["turn/1"]


def violation(style: str, tokenizer: str, contents) -> int | None:
    """By how much the truth exceeds the bound; None where there is no bound."""
    counter, costs, base = learned(style, tokenizer)
    bound = contents_bound(contents, costs)
    if bound is None:
        return None
    return counter.truth(request(contents)) - (base + bound.units)


texts = st.text(min_size=1, max_size=60) | st.text("0123456789 -.,", min_size=1, max_size=60)
keys = st.from_regex(r"[A-Za-z_][\w.-]{0,11}", fullmatch=True)
numbers = st.integers() | st.floats() | st.booleans() | st.none()
trees: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    keys,
    st.recursive(
        texts | st.just("") | numbers,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=20,
    ),
    max_size=6,
)
exchanges = st.builds(
    lambda args, result, name, call_id: list(exchange(args, result, name=name, call_id=call_id)),
    trees,
    trees,
    st.sampled_from(["f", "search_local_places"]),
    st.sampled_from([None, "7", "call-0a1b"]),
)
requests = st.builds(
    lambda opening, loops: [*opening, *(content for loop in loops for content in loop)],
    st.lists(
        st.builds(said, st.sampled_from(["user", "model"]), texts)
        | st.builds(lambda a, b: said("user", a, b), texts, texts),
        min_size=1,
        max_size=4,
    ),
    st.lists(exchanges, max_size=2),
)


@given(style=st.sampled_from(STYLES), contents=requests)
def test_no_bound_is_below_the_worst_tokenizer(style: str, contents: list[types.Content]):
    """Invariants 1 and 13: where every byte is a token, a bound still is one, or there is none."""
    exceeded = violation(style, "bytes", contents)
    assert exceeded is None or exceeded <= 0


@pytest.mark.skipif(not available(), reason="tokenizer: run scripts/tokenizer.sh")
@settings(max_examples=60)
@given(style=st.sampled_from(STYLES), contents=requests)
def test_no_bound_is_below_a_real_tokenizer(style: str, contents: list[types.Content]):
    """Invariants 1 and 13: a bound holds for Gemma's merges, whatever the rendering."""
    exceeded = violation(style, "gemma", contents)
    assert exceeded is None or exceeded <= 0


@pytest.mark.parametrize("style", STYLES)
def test_every_kind_of_character_alone_and_between_digits(style: str):
    """One kind of character at a time finds what random text does not: escapes of rare ones."""
    # An eighth for each rendering, each another one; the benchmark sweeps all through each.
    part = list(sweep())[STYLES.index(style) % 8 :: 8]
    found = [violation(style, "bytes", contents) for contents in part]
    bounded = [exceeded for exceeded in found if exceeded is not None]
    assert max(bounded) <= 0
    assert len(bounded) > len(found) / 4


def asked(contents: list[types.Content]) -> bool:
    return contents_bound(contents, learned("compact-gemma", "bytes")[1]) is None


def model(**part: Any) -> types.Content:
    return types.Content(role="model", parts=[types.Part(**part)])


CALL = types.FunctionCall(name="f", args={})
PICTURE = types.Blob(mime_type="image/png", data=b"1")


@pytest.mark.parametrize(
    "content",
    [
        types.Content(role="user", parts=[]),
        types.Content(role="tool", parts=[types.Part(text="x")]),
        types.Content(role="user", parts=[types.Part(inline_data=PICTURE)]),
        types.Content(role="user", parts=[types.Part(text="x"), types.Part(inline_data=PICTURE)]),
        types.Content(role="user", parts=[types.Part(function_call=CALL)]),
        said("model", "a", "b"),
        said("user", ""),
        said("user", "\ud800"),
        model(text="x", thought=True),
        model(function_call=CALL, thought_signature=b"s"),
        model(function_call=types.FunctionCall(name="f", args={}, will_continue=True)),
        model(function_call=types.FunctionCall(args={})),
        model(function_call=types.FunctionCall(name="f", id="a b", args={})),
        model(code_execution_result=types.CodeExecutionResult(output="1")),
        model(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON)),
        types.Content(role="model", parts=[types.Part(function_call=CALL)] * 2),
        *(
            exchange({}, tree)[1]
            for tree in (
                {"a": "\x7f"},
                {"a": "\x85"},
                {"a": "\u2028"},
                {"a": "\u200d"},
                {"a": "\ud800"},
                {"a b": 1},
                {"": 1},
                {"a": 10**15},
                {"a": 1e300},
                {"a": 1e-300},
                {"a": float("nan")},
                {"a": (1, 2)},
                {"a": [[[[[[["deep"]]]]]]]},
                {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}},
            )
        ),
        exchange({"a": {"b": {"c": {"d": 1}}}}, {})[0],
    ],
)
def test_what_was_not_probed_has_no_bound(content: types.Content):
    """Media, thoughts, code, parallel calls, odd fields, keys and numbers are asked."""
    assert asked([said("user", "7"), content])


def test_a_bound_names_the_shapes_it_rests_on():
    """A broken promise can be traced to the shapes that were proven."""
    bound = contents_bound(
        [said("user", "7"), *exchange({}, {})], learned("compact-gemma", "bytes")[1]
    )
    assert bound is not None
    assert bound.shapes == {"user:text", "model:call", "user:response"}


def test_steady_characters_do_not_grow_under_normalization():
    """What is taken as steady gets no longer by NFKC, and no escape of ASCII comes out of it."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if 0xD800 <= code < 0xE000 or not is_steady(character):
            continue
        normal = unicodedata.normalize("NFKC", character)
        assert len(normal.encode()) <= len(character.encode())
        assert code < 128 or not set(normal) & set(probes.SPECIAL)


@given(left=st.text(max_size=20), right=st.text(max_size=20))
def test_normalization_of_steady_text_never_grows(left: str, right: str):
    """Joining steady texts keeps them steady: composition only shortens."""
    text = "".join(c for c in left + right if is_steady(c))
    assert len(unicodedata.normalize("NFKC", text).encode()) <= len(text.encode())


def test_a_growing_character_is_charged_as_it_would_grow():
    """U+FDFA has 3 bytes and may become 33: the bound says 33."""
    costs = learned("compact-gemma", "bytes")[1]
    one = contents_bound([said("user", "\ufdfa")], costs)
    plain = contents_bound([said("user", "a")], costs)
    assert one is not None
    assert plain is not None
    assert one.units - plain.units == 32
