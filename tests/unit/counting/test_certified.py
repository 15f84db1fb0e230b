"""CertifiedCounter: proves what it may, asks otherwise, and stops where a promise was broken."""

import asyncio
import logging

import pytest
from google.genai import types

from callbacks.context.errors import CounterFailed, InvalidCount, InvalidSetting
from callbacks.counting.cache import MemoryCountCache, SqliteCountCache
from callbacks.counting.certified import CertifiedCounter
from callbacks.counting.probes import exchange, plan, said
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import CallAllowance, DecidingCounter
from tests.support.rendered import RenderedCounter

CONFIG = types.GenerateContentConfig(system_instruction="規則")
QUESTION = said("user", "花壇有什麼吃的？")
LOOP = (QUESTION, *exchange({"area": "花壇鄉"}, {"places": [{"name": "蔬食"}]}))
PLENTY = 100_000


def request(*contents: types.Content, config=CONFIG, model="m") -> CountRequest:
    return CountRequest(model, config, contents or (QUESTION,))


async def warm(inner: RenderedCounter | None = None, **settings):
    inner = inner or RenderedCounter()
    counter = CertifiedCounter(inner, learn="never", **settings)
    assert await counter.warm_up("m")
    inner.asked.clear()
    return counter, inner


async def test_an_envelope_is_asked_once_and_then_requests_are_proven():
    """After one count of the envelope, requests that fit are proven without asking."""
    counter, inner = await warm()
    for contents in (LOOP, (QUESTION,), LOOP):
        verdict = await counter.decide(request(*contents), PLENTY)
        assert verdict.decision == "proven"
        assert verdict.fits
        assert verdict.units is None
        assert verdict.bound >= inner.truth(request(*contents))
    assert len(inner.asked) == 1
    assert inner.asked[0].contents == (said("user", "7"),)


async def test_what_is_not_proven_is_counted_exactly():
    """Where the bound is over the limit, the very request is counted, and only a count refuses."""
    counter, inner = await warm()
    true = inner.truth(request())
    fits = await counter.decide(request(), true)
    assert (fits.fits, fits.units, fits.decision) == (True, true, "counted")
    too_big = await counter.decide(request(), true - 1)
    assert (too_big.fits, too_big.units, too_big.decision) == (False, true, "counted")
    # The envelope and the request; the second decision knows the count.
    assert len(inner.asked) == 2


async def test_media_is_asked():
    """A picture has no bound: the request is counted, with the picture."""
    counter, inner = await warm()
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"1" * 1000))
    with_picture = request(types.Content(role="user", parts=[picture]))
    verdict = await counter.decide(with_picture, PLENTY)
    assert verdict.decision == "counted"
    assert inner.asked == [with_picture]


async def test_exact_mode_asks_about_every_request():
    """The mode exact proves nothing and remembers nothing."""
    inner = RenderedCounter()
    counter = CertifiedCounter(inner, mode="exact")
    for _ in range(3):
        assert (await counter.decide(request(), PLENTY)).decision == "counted"
    assert len(inner.asked) == 3


async def test_an_anchor_proves_the_next_step_of_a_tool_loop():
    """A step's exact count and a bound of what was added prove the next step."""
    counter, inner = await warm()
    long_text = said("user", "花" * 300 + "\ufdfa")  # bounded far above what it costs
    first = request(long_text)
    step = await counter.decide(first, inner.truth(first))
    assert step.decision == "counted"
    second = request(long_text, *LOOP[1:])
    asked = len(inner.asked)
    # Between what an anchor and what a bound of everything can prove.
    for limit in range(inner.truth(second), PLENTY):
        proof = await counter.prove(second, limit)
        if proof is not None:
            break
    assert len(inner.asked) == asked
    assert proof is not None
    fresh, _ = await warm()
    assert await fresh.prove(second, proof.bound) is None


@pytest.mark.parametrize("kind", ["proven", "counted"])
async def test_a_broken_promise_ends_proofs(kind: str, caplog: pytest.LogCaptureFixture):
    """A prompt measured above its promise ends proofs of its envelope and shapes, and warns."""
    counter, inner = await warm()
    sent = request(*LOOP)
    limit = PLENTY if kind == "proven" else inner.truth(sent)
    verdict = await counter.decide(sent, limit)
    assert verdict.decision == kind
    counter.observe(sent, verdict.bound)
    counter.observe(sent, None)
    assert await counter.prove(request(*LOOP), PLENTY) is not None
    await counter.decide(sent, limit)
    with caplog.at_level(logging.WARNING):
        counter.observe(sent, verdict.bound + 1)
    assert f"promised={verdict.bound} measured={verdict.bound + 1}" in caplog.text
    assert "花壇" not in caplog.text
    assert await counter.prove(request(*LOOP), PLENTY) is None
    other = request(*LOOP, config=types.GenerateContentConfig(system_instruction="別的"))
    after = await counter.prove(other, PLENTY)
    # A proof rested on shapes; a count did not.
    assert (after is None) == (kind == "proven")


async def test_smaller_missing_and_unknown_measurements_teach_nothing():
    """Unknown is not zero, and a smaller prompt is no reason to promise less."""
    counter, _ = await warm()
    sent = request()
    verdict = await counter.decide(sent, PLENTY)
    counter.observe(sent, 1)
    await counter.decide(sent, PLENTY)
    counter.observe(sent, True)
    counter.observe(request(said("user", "never decided")), 10**9)
    assert await counter.prove(sent, PLENTY) == verdict


async def test_learned_counts_outlive_the_process(tmp_path):
    """A second counter over the same file asks neither probes nor envelope again."""
    cache = SqliteCountCache(tmp_path / "counts.db")
    first, _ = await warm(cache=cache)
    await first.prove(request(), PLENTY)
    inner = RenderedCounter()
    second = CertifiedCounter(inner, cache=SqliteCountCache(tmp_path / "counts.db"), learn="never")
    assert (await second.decide(request(), PLENTY)).decision == "proven"
    assert inner.asked == []


async def test_a_broken_promise_is_known_to_other_processes(tmp_path):
    """Whoever opens the cache after a violation does not prove by what broke."""
    first, _ = await warm(cache=SqliteCountCache(tmp_path / "counts.db"))
    sent = request()
    verdict = await first.decide(sent, PLENTY)
    first.observe(sent, verdict.bound + 1)
    second, _ = await warm(cache=SqliteCountCache(tmp_path / "counts.db"))
    assert await second.prove(request(), PLENTY) is None


async def test_counts_of_another_backend_or_sdk_are_not_used():
    """Counts are kept under backend and SDK version."""
    cache = MemoryCountCache()
    await warm(cache=cache)
    other = CertifiedCounter(RenderedCounter("xml-chat"), cache=cache, learn="never")
    assert await other.prove(request(), PLENTY) is None


async def test_counts_grow_old():
    """An alias of a model may move on: what was learned holds for a while only."""
    now = [0.0]
    counter, _ = await warm(max_age_s=10, clock=lambda: now[0])
    assert await counter.prove(request(), PLENTY) is not None
    now[0] = 11.0
    assert await counter.prove(request(), PLENTY) is None


async def test_a_new_model_is_probed_in_the_background():
    """The first request to a model is counted; after its probes, requests are proven."""
    inner = RenderedCounter()
    counter = CertifiedCounter(inner)
    calls = CallAllowance()
    assert (await counter.decide(request(), PLENTY, calls=calls)).decision == "counted"
    assert calls.used == 1
    for _ in range(len(plan()) * 3):
        await asyncio.sleep(0)
    assert (await counter.decide(request(), PLENTY)).decision == "proven"
    await counter.close()


async def test_probing_that_fails_is_tried_again_later(caplog: pytest.LogCaptureFixture):
    """A service that fails while probing leaves requests counted, and is probed a minute later."""
    now = [0.0]
    inner = RenderedCounter()
    inner.fails = True
    counter = CertifiedCounter(inner, clock=lambda: now[0])
    with pytest.raises(CounterFailed):
        await counter.decide(request(), PLENTY)
    for _ in range(400):
        await asyncio.sleep(0)
    assert "count_probes_failed" in caplog.text
    inner.fails = False
    asked = len(inner.asked)
    await counter.decide(request(), PLENTY)
    await asyncio.sleep(0)
    assert len(inner.asked) == asked + 1
    now[0] = 61.0
    await counter.decide(request(said("user", "again")), PLENTY)
    for _ in range(400):
        await asyncio.sleep(0)
    assert await counter.prove(request(), PLENTY) is not None


async def test_closing_stops_probing():
    """Nothing goes on asking after close."""
    inner = RenderedCounter()
    counter = CertifiedCounter(inner)
    await counter.decide(request(), PLENTY)
    await counter.close()
    asked = len(inner.asked)
    await asyncio.sleep(0)
    assert len(inner.asked) == asked


async def test_a_model_that_cannot_be_proven_is_not_probed_again():
    """Where probes said that nothing may be proven, every request is counted."""

    class Doubling(RenderedCounter):
        async def count(self, request, *, calls=None):
            return 2 * await super().count(request, calls=calls)

    inner = Doubling()
    counter = CertifiedCounter(inner, learn="background")
    assert not await counter.warm_up("m")
    asked = len(inner.asked)
    assert not await counter.warm_up("m")
    assert (await counter.decide(request(), PLENTY)).decision == "counted"
    await asyncio.sleep(0)
    assert len(inner.asked) == asked + 1


@pytest.mark.parametrize(
    "config",
    [
        types.GenerateContentConfig(cached_content="cachedContents/1"),
        types.GenerateContentConfig(http_options=types.HttpOptions(extra_body={"a": 1})),
    ],
)
async def test_what_cannot_be_counted_is_not_proven_either(config):
    """A bound must not let through what a count would refuse."""
    counter, _ = await warm()
    with pytest.raises(CounterFailed):
        await counter.decide(request(config=config), PLENTY)


async def test_a_failing_service_refuses_and_never_guesses():
    """When it must ask and cannot, the counter raises; bytes never stand in for tokens."""
    counter, inner = await warm()
    inner.fails = True
    with pytest.raises(CounterFailed):
        await counter.decide(request(), 10)


@pytest.mark.parametrize("answer", [-1, True, 1.5, None, "9"])
async def test_an_answer_that_is_no_count_refuses(answer):
    """An inner counter's answer is a whole number of at least zero, or nothing is decided."""

    class Odd(RenderedCounter):
        async def count(self, request, *, calls=None):
            return answer

    with pytest.raises(InvalidCount):
        await CertifiedCounter(Odd(), mode="exact").decide(request(), PLENTY)
    with pytest.raises(InvalidCount):
        await CertifiedCounter(Odd(), learn="never").decide(request(), PLENTY)


async def test_the_turns_allowance_reaches_the_service():
    """Envelope and request take from the calls of the turn."""
    counter, inner = await warm()
    limit = inner.truth(request())  # the envelope is asked about, and then the request
    with pytest.raises(CounterFailed) as caught:
        await counter.decide(request(), limit, calls=CallAllowance(1))
    assert caught.value.numbers["cause"] == "call_limit"


def test_settings_must_mean_something():
    """A mode nobody knows and an age of nothing are refused."""
    with pytest.raises(InvalidSetting):
        CertifiedCounter(RenderedCounter(), mode="guess")  # type: ignore[arg-type]  # the test
    with pytest.raises(InvalidSetting):
        CertifiedCounter(RenderedCounter(), max_age_s=0)


async def test_it_is_a_deciding_counter_in_tokens():
    """It stands wherever a counter stands."""
    counter, inner = await warm()
    assert isinstance(counter, DecidingCounter)
    assert counter.unit == "tokens"
    assert await counter.count(request()) == inner.truth(request())
