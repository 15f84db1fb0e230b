"""What probes teach, and when they teach that nothing may be proven."""

import pytest
from google.genai import types

from benchmarks.countserver.tokens import ByteTokens
from callbacks.context.errors import CounterFailed
from callbacks.counting import probes
from callbacks.counting.costs import Costs, learn
from callbacks.counting.learning import learn_costs
from callbacks.counting.request import CountRequest
from tests.support.rendered import RenderedCounter


def counts(style: str = "compact-gemma") -> dict[str, int]:
    counter = RenderedCounter(style)
    config = types.GenerateContentConfig()
    return {
        name: counter.truth(CountRequest("m", config, contents))
        for name, contents in probes.plan().items()
    }


class GroupedDigits(ByteTokens):
    """Three digits to a token, as some vocabularies have it."""

    def count(self, text: str) -> int:
        digits = sum(c.isdigit() for c in text)
        return len(text.encode()) - digits + digits // 3


async def test_a_tokenizer_that_groups_digits_is_never_proven():
    """Where digits are not one token each, no probe has a known size, so everything is asked."""
    assert await learn_costs(RenderedCounter(tokens=GroupedDigits()), "m") is None


@pytest.mark.parametrize("name", ["text/marks", "text/two", "text/three", "text/four"])
def test_escaped_texts_are_never_proven(name: str):
    """Where a text costs more than its bytes, the service does not spell texts as they are."""
    found = counts()
    found[name] += len(probes.TEXTS[name.removeprefix("text/")].encode())
    assert learn(found) is None


def test_escapes_are_told_apart():
    r"""Raw UTF-8 is priced by bytes, \uXXXX by units, octal escapes not at all."""
    raw, escaped, octal = (learn(counts(f"{s}-gemma")) for s in ("compact", "escaped", "proto"))
    assert raw is not None
    assert escaped is not None
    assert octal is not None
    assert raw.response is not None
    assert escaped.response is not None
    assert octal.response is not None
    assert raw.response.strings.raw
    assert not escaped.response.strings.raw
    assert escaped.response.strings.unit >= 6
    assert octal.response.strings.unit == 0


@pytest.mark.parametrize(
    ("missing", "still"),
    [
        ("response/string/quotes", {"call": True, "response": False, "exchange": True}),
        ("call/list/2/9", {"call": False, "response": True, "exchange": True}),
        ("exchange", {"call": False, "response": False, "exchange": False}),
    ],
)
def test_a_probe_that_is_declined_leaves_its_kind_to_be_asked(missing: str, still: dict[str, bool]):
    """What a service would not count is not concluded from other probes."""
    found = counts()
    del found[missing]
    costs = learn(found)
    assert costs is not None
    assert {
        "call": costs.call is not None,
        "response": costs.response is not None,
        "exchange": costs.exchange > 0,
    } == still


def test_without_turns_nothing_is_learned():
    """A missing probe of turns leaves everything to be asked."""
    found = counts()
    del found["turn/2"]
    assert learn(found) is None


def test_declined_ids_are_asked():
    """Calls with ids have no bound where the probes of ids were declined."""
    found = counts()
    del found["exchange/short_id"]
    costs = learn(found)
    assert costs is not None
    assert costs.call_id is None


def test_costs_survive_being_kept():
    """Costs are the same after a trip through a cache."""
    costs = learn(counts("xml_repeated-tags"))
    assert costs is not None
    assert Costs.model_validate_json(costs.model_dump_json()) == costs


async def test_an_unreachable_service_teaches_nothing():
    """A failure while probing is a failure, not a conclusion."""
    counter = RenderedCounter()
    counter.fails = True
    with pytest.raises(CounterFailed):
        await learn_costs(counter, "m")


async def test_a_service_that_declines_calls_can_still_prove_texts():
    """HTTP 400 for calls leaves texts provable; everything else is asked."""

    def has_call(request: CountRequest) -> bool:
        return any(p.function_call for c in request.contents for p in c.parts or ())

    costs = await learn_costs(RenderedCounter(declines=has_call), "m")
    assert costs is not None
    assert costs.exchange == 0
    assert costs.call is None
    assert costs.response is None


def test_no_probe_holds_anything_but_its_own_digits():
    """Probes are the same for everybody: nothing of a conversation is in them."""
    assert probes.plan() == probes.plan()
