"""What is learned about models and envelopes: kept in memory and in a cache, with an age."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable

import pydantic

from callbacks.counting.cache import CountCache
from callbacks.counting.costs import Costs

_IN_MEMORY = 4096


class Learned:
    """Costs of models, exact counts of envelopes, and which of them broke a promise.

    Keys are hashes and values are numbers: nothing of a request is kept.
    """

    def __init__(
        self, cache: CountCache, *, identity: str, max_age_s: float, clock: Callable[[], float]
    ) -> None:
        """Keep what was learned under one identity.

        Args:
            cache: Where it outlives the process.
            identity: Backend and SDK version; what was learned elsewhere does not count.
            max_age_s: How long it counts, in seconds: an alias of a model may move on.
            clock: Seconds since the epoch.
        """
        self._cache = cache
        self._identity = identity
        self._max_age = max_age_s
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._parsed: dict[str, tuple[str, Costs]] = {}

    def costs(self, model: str) -> Costs | None:
        """Return what was learned about a model; None when nothing is, or it is too old."""
        text = self._get(self._key("costs", model))
        if not text:
            return None
        parsed = self._parsed.get(model)
        if parsed is not None and parsed[0] is text:
            return parsed[1]
        try:
            costs = Costs.model_validate_json(text)
        except pydantic.ValidationError:
            return None  # written by another version of this package: learned anew
        self._parsed[model] = (text, costs)
        return costs

    def unprovable(self, model: str) -> bool:
        """Tell whether probes said that nothing may be proven about a model."""
        return self._get(self._key("costs", model)) == ""

    def put_costs(self, model: str, costs: Costs | None) -> None:
        """Keep what was learned; None is that nothing may be proven."""
        text = costs.model_dump_json() if costs is not None else ""
        self._put(self._key("costs", model), text)

    def envelope(self, key: str) -> int | None:
        """Return the exact count of an envelope with one digit as its only content."""
        text = self._get(self._key("envelope", key))
        return int(text) if text is not None and text.isdecimal() else None

    def put_envelope(self, key: str, units: int) -> None:
        """Keep the exact count of an envelope."""
        self._put(self._key("envelope", key), str(units))

    def distrusts_envelope(self, key: str) -> bool:
        """Tell whether a proof about this envelope was broken."""
        return self._get(self._key("broken", key)) is not None

    def distrusts_shapes(self, model: str) -> frozenset[str]:
        """Return the shapes whose proofs were broken for a model."""
        text = self._get(self._key("broken_shapes", model))
        return frozenset(text.split()) if text else frozenset()

    def distrust(self, model: str, key: str, shapes: frozenset[str]) -> None:
        """End proofs about an envelope, and about the shapes of a model."""
        self._put(self._key("broken", key), "1")
        together = self.distrusts_shapes(model) | shapes
        self._put(self._key("broken_shapes", model), " ".join(sorted(together)))

    def _key(self, kind: str, name: str) -> str:
        return hashlib.sha256(f"{kind}|{self._identity}|{name}".encode()).hexdigest()

    def _get(self, key: str) -> str | None:
        now = self._clock()
        entry = self._known.get(key)
        if entry is None or (entry[1] == _ABSENT and now - entry[0] > _ABSENT_FOR):
            entry = _decoded(self._cache.get(key)) or (now, _ABSENT)
            self._remember(key, entry)
        written, text = entry
        if text == _ABSENT or now - written > self._max_age:
            return None
        return text

    def _put(self, key: str, text: str) -> None:
        now = self._clock()
        self._remember(key, (now, text))
        self._cache.put(key, json.dumps([now, text]).encode())

    def _remember(self, key: str, entry: tuple[float, str]) -> None:
        self._known[key] = entry
        while len(self._known) > _IN_MEMORY:
            self._known.popitem(last=False)


_ABSENT = "\x00"
"""Stands for what the cache does not have, so that it is not asked at every decision."""
_ABSENT_FOR = 60.0
"""Seconds until the cache is asked again: another process may have put it there."""


def _decoded(value: bytes | None) -> tuple[float, str] | None:
    """Return an entry as it was put; what cannot be read is as good as absent."""
    try:
        written, text = json.loads(value or b"null")
        return float(written), str(text)
    except (ValueError, TypeError):
        return None
