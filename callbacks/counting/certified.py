"""Decides that requests fit by proof where it can, and by asking where it must."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from google.genai import types

from callbacks.context.budget import Unit
from callbacks.context.errors import ContextError, InvalidSetting
from callbacks.counting import probes
from callbacks.counting.anchors import Anchors, chain_of
from callbacks.counting.bounds import contents_bound
from callbacks.counting.cache import CountCache, MemoryCountCache
from callbacks.counting.costs import Costs
from callbacks.counting.learned import Learned
from callbacks.counting.learning import learn_costs
from callbacks.counting.request import CountRequest
from callbacks.counting.telemetry import Telemetry
from callbacks.counting.uncountable import require_countable
from callbacks.counting.verdict import AskingCounter, CallAllowance, Verdict, counted

Mode = Literal["certified", "exact"]

WEEK_S = 7 * 24 * 3600.0
_PROMISES = 1024
_RETRY_LEARNING_S = 60.0

logger = logging.getLogger(__name__)


class _Proof(NamedTuple):
    bound: int
    envelope: str
    shapes: frozenset[str]


class CertifiedCounter:
    """A counter that almost never asks.

    An envelope is counted once. What a turn adds to it is bounded by its bytes and by costs
    learned from probes; if that fits, the request is proven to fit. Otherwise the very request is
    counted. Only a count ever refuses.
    """

    def __init__(
        self,
        inner: AskingCounter,
        *,
        mode: Mode = "certified",
        cache: CountCache | None = None,
        telemetry: Telemetry | None = None,
        learn: Literal["background", "never"] = "background",
        max_age_s: float = WEEK_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prove on top of a counter that asks.

        Args:
            inner: Counts exactly, in tokens.
            mode: ``exact`` asks about every request and proves nothing.
            cache: Where counts of envelopes and probes outlive the process; in memory by default.
            telemetry: Where broken promises are reported.
            learn: Whether a model that is met for the first time is probed in the background;
                until then its requests are counted. With ``never``, call `warm_up`.
            max_age_s: How long learned costs and envelope counts hold, in seconds.
            clock: Seconds since the epoch.

        Raises:
            InvalidSetting: A setting has no meaning.
        """
        if mode not in ("certified", "exact") or max_age_s <= 0:
            raise InvalidSetting("The mode is certified or exact, and counts hold for a while.")
        self._inner = inner
        self._mode = mode
        self._learn = learn
        self._clock = clock
        self._telemetry = telemetry or Telemetry()
        self._learned = Learned(
            cache or MemoryCountCache(),
            identity=inner.identity,
            max_age_s=max_age_s,
            clock=clock,
        )
        self._anchors = Anchors()
        self._promises: OrderedDict[str, tuple[_Proof, str]] = OrderedDict()
        self._learning: dict[str, asyncio.Task[None]] = {}
        self._failed_at: dict[str, float] = {}

    @property
    def unit(self) -> Unit:
        """The inner counter's unit: ``tokens``."""
        return self._inner.unit

    async def count(self, request: CountRequest) -> int:
        """Return the exact size, by asking.

        Raises:
            ContextError: The request could not be counted.
        """
        return await self._ask(request, None)

    async def prove(
        self, request: CountRequest, limit: int, *, calls: CallAllowance | None = None
    ) -> Verdict | None:
        """Return a proof that the request is at most ``limit`` tokens, or None.

        Only a new envelope is asked about, once.

        Raises:
            ContextError: The request is of a kind that cannot be counted, or its envelope could
                not be.
        """
        require_countable(request)
        if self._mode == "exact":
            return None
        proof = await self._prove(request, limit, calls)
        if proof is None or proof.bound > limit:
            return None
        self._promise(request, proof, "proven")
        return Verdict(True, None, proof.bound, "proven")

    async def decide(
        self, request: CountRequest, limit: int, *, calls: CallAllowance | None = None
    ) -> Verdict:
        """Tell whether the request is at most ``limit`` tokens.

        Args:
            request: The very request that would be sent.
            limit: In tokens.
            calls: What the turn may still ask.

        Raises:
            ContextError: It could not be decided; never taken for a fit.
        """
        proven = await self.prove(request, limit, calls=calls)
        if proven is not None:
            return proven
        verdict = counted(await self._ask(request, calls), limit)
        if verdict.fits:
            promise = _Proof(verdict.bound, _envelope_key(request), frozenset())
            self._promise(request, promise, "counted")
        return verdict

    def observe(self, request: CountRequest, measured: int | None) -> None:
        """Compare a model call's measured prompt with what was promised for its request.

        A larger one ends proofs about that envelope and about the model's shapes it rested on. An
        equal, smaller or missing one teaches nothing.

        Args:
            request: The request as it was sent.
            measured: Its prompt tokens by the model, without those of tools it used itself; with
                automatic continuation, the first hop's.
        """
        promised = self._promises.pop(request.fingerprint, None)
        if promised is None or type(measured) is not int:
            return
        proof, decision = promised
        if measured <= proof.bound:
            return
        self._learned.distrust(request.model, proof.envelope, proof.shapes)
        self._anchors.forget()
        self._telemetry.violated(decision=decision, promised=proof.bound, measured=measured)
        logger.warning(
            "count_promise_broken decision=%s promised=%d measured=%d envelope=%s shapes=%s",
            decision,
            proof.bound,
            measured,
            proof.envelope[:12],
            ",".join(sorted(proof.shapes)),
        )

    async def warm_up(self, model: str) -> bool:
        """Probe a model now, unless it is known already.

        Returns:
            Whether requests to it can be proven.

        Raises:
            ContextError: The count service did not answer.
        """
        if self._learned.costs(model) is None and not self._learned.unprovable(model):
            costs = await learn_costs(self._inner, model)
            self._learned.put_costs(model, costs)
        return self._learned.costs(model) is not None

    async def close(self) -> None:
        """Stop probing."""
        tasks = list(self._learning.values())
        self._learning.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _prove(
        self, request: CountRequest, limit: int, calls: CallAllowance | None
    ) -> _Proof | None:
        model = request.model
        costs = self._learned.costs(model)
        if costs is None:
            self._start_learning(model)
            return None
        key = _envelope_key(request)
        if self._learned.distrusts_envelope(key):
            return None
        added = contents_bound(request.contents, costs)
        distrusted = self._learned.distrusts_shapes(model)
        if added is not None and (added.units > limit or not added.shapes.isdisjoint(distrusted)):
            added = None
        if added is not None:
            base = self._learned.envelope(key)
            if base is None:
                base = await self._ask_envelope(request, key, calls)
            if base + added.units <= limit:
                return _Proof(base + added.units, key, added.shapes)
        return self._from_anchor(request, key, costs, distrusted)

    def _from_anchor(
        self, request: CountRequest, key: str, costs: Costs, distrusted: frozenset[str]
    ) -> _Proof | None:
        contents: Sequence[types.Content] = request.contents
        known = self._anchors.longest(chain_of(key, contents))
        if known is None:
            return None
        length, units = known
        if length == len(contents):
            return None  # counted before: `_ask` answers from there
        before = contents[length - 1]
        after_call = any(part.function_call is not None for part in before.parts or ())
        added = contents_bound(contents[length:], costs, after_call=after_call)
        if added is None or not added.shapes.isdisjoint(distrusted):
            return None
        return _Proof(units + added.units, key, added.shapes)

    async def _ask_envelope(
        self, request: CountRequest, key: str, calls: CallAllowance | None
    ) -> int:
        alone = request.with_contents((probes.said("user", "7"),))
        units = await self._inner.count(alone, calls=calls)
        verdict = counted(units, units)
        self._learned.put_envelope(key, verdict.bound)
        return verdict.bound

    async def _ask(self, request: CountRequest, calls: CallAllowance | None) -> int:
        if self._mode == "exact":
            return await self._inner.count(request, calls=calls)
        chain = chain_of(_envelope_key(request), request.contents)
        known = self._anchors.exact(chain) if chain else None
        if known is not None:
            return known
        units = await self._inner.count(request, calls=calls)
        if chain and type(units) is int:
            self._anchors.put(chain, units)
        return units

    def _promise(self, request: CountRequest, proof: _Proof, decision: str) -> None:
        self._promises[request.fingerprint] = (proof, decision)
        while len(self._promises) > _PROMISES:
            self._promises.popitem(last=False)

    def _start_learning(self, model: str) -> None:
        if self._learn == "never" or model in self._learning or self._learned.unprovable(model):
            return
        if self._clock() - self._failed_at.get(model, float("-inf")) < _RETRY_LEARNING_S:
            return
        self._learning[model] = asyncio.create_task(self._learn_in_background(model))

    async def _learn_in_background(self, model: str) -> None:
        try:
            await self.warm_up(model)
        except ContextError as error:
            # Nothing is proven until the next try; requests are counted meanwhile.
            self._failed_at[model] = self._clock()
            logger.warning("count_probes_failed code=%s", error.error_code)
        finally:
            self._learning.pop(model, None)


def _envelope_key(request: CountRequest) -> str:
    return hashlib.sha256(request.envelope_json).hexdigest()
