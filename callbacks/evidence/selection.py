"""Chooses the smallest set that covers every claim, exactly, by branch and bound over bitmasks.

Four levels decide, one after another: claims left uncovered, size, risk, ids. They are folded into
one whole number for each item, so that one bound serves all four and the optimum is unique.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from callbacks.evidence.errors import EvidenceError

DEFAULT_NODES = 20_000
"""How many nodes are searched at most: nodes, not seconds, so that the answer is the same
everywhere."""

Method = Literal["branch_and_bound", "neighbourhood", "exact_solver"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item as the search sees it.

    Attributes:
        id: Its name.
        units: Its size in the counter's unit; at least 1.
        risk: How likely it misleads (staleness, conflict); at least 0.
        channel: Where it travels.
    """

    id: str
    units: int
    risk: int = 0
    channel: str = "policy"


@dataclass(frozen=True, slots=True)
class Need:
    """A claim with the ways to cover it.

    Attributes:
        claim: Its id.
        bundles: Each way as positions of candidates that must all be there.
        required: Whether leaving it uncovered is a failure.
    """

    claim: str
    bundles: tuple[frozenset[int], ...]
    required: bool = True


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be covered, with what, within which limits.

    Attributes:
        candidates: The items, in any order of distinct ids.
        needs: The claims.
        caps: Largest sum of sizes by channel; a channel not named has no limit of its own.
        total: Largest sum of sizes.
        excludes: Pairs of positions that must not stand together.
    """

    candidates: tuple[Candidate, ...]
    needs: tuple[Need, ...]
    caps: tuple[tuple[str, int], ...] = ()
    total: int | None = None
    excludes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen, and how sure that is.

    Attributes:
        chosen: Ids, sorted.
        uncovered: Required claims left uncovered, sorted.
        skipped: Optional claims left uncovered, sorted.
        units: Sum of sizes.
        risk: Sum of risks.
        method: How it was found.
        proven: Whether nothing better exists; without it "uncovered" proves nothing.
        bound: Units below which no set covers as much; equal to ``units`` when proven.
        gap_permille: How far ``units`` may be above the best, in thousandths of ``bound``.
        nodes: Nodes searched.
    """

    chosen: tuple[str, ...]
    uncovered: tuple[str, ...]
    skipped: tuple[str, ...]
    units: int
    risk: int
    method: Method
    proven: bool
    bound: int
    gap_permille: int
    nodes: int


def select(problem: Problem, nodes: int = DEFAULT_NODES) -> Selection:
    """Return the best selection; the best found, with its bound, where nodes run out.

    Args:
        problem: What is to be covered.
        nodes: How many nodes may be searched.

    Raises:
        EvidenceError: Sizes below 1, negative risks, ids that repeat, or a position that is not
            there.
    """
    return _Search(problem, nodes).run()


_REMEMBERED = 200_000  # masks whose sums are kept: about 60 MB at most
_Claim = tuple[int, list[int]]  # a claim's position, and masks of the ways that would cover it


class _Mask(NamedTuple):
    """What is known about a set of items: positions, weight, packed sizes, what it excludes."""

    places: tuple[int, ...]
    weight: int
    size: int
    clash: int


class _Search:
    """One search. Bits of every mask are positions among the relevant candidates by id."""

    def __init__(self, problem: Problem, nodes: int) -> None:
        _check(problem)
        self.problem, self.limit, self.nodes = problem, nodes, 0
        used = sorted(
            {at for need in problem.needs for bundle in need.bundles for at in bundle},
            key=lambda at: problem.candidates[at].id,
        )
        self.items = [problem.candidates[at] for at in used]
        bit = {at: 1 << place for place, at in enumerate(used)}
        count = len(self.items)
        # risk_base is above any sum of risks, so size decides before risk. Id bits: of two sets of
        # the same size and risk, the one that holds the first id in which they differ wins, which
        # for sizes of at least one is the order of their sorted ids.
        risk_base = sum(item.risk for item in self.items) + 1
        self.unit_weight = risk_base << count
        self.weight = [
            ((item.units * risk_base + item.risk) << count) - (1 << (count - 1 - place))
            for place, item in enumerate(self.items)
        ]
        optional = sum(self.weight) + 1
        required = optional * (len(problem.needs) + 1)
        self.dummy = [required if need.required else optional for need in problem.needs]
        self._limits()
        self.clash = [0] * count
        for one, other in problem.excludes:
            if one in bit and other in bit:
                self.clash[bit[one].bit_length() - 1] |= bit[other]
                self.clash[bit[other].bit_length() - 1] |= bit[one]
        self.known: dict[int, _Mask] = {}
        self.options: list[list[int]] = []
        for need in problem.needs:
            masks = _undominated([sum(bit[at] for at in bundle) for bundle in need.bundles])
            self.options.append([mask for mask in masks if self._fits(mask, 0, 0)])
        self.best = 0
        self.best_state: tuple[int, int] = (0, 0)
        self.open_bound: int | None = None
        self.seen: set[tuple[int, int]] = set()

    def run(self) -> Selection:
        everything = list(enumerate(self.options))
        self.best = sum(self.dummy)
        self.best_state = (0, (1 << len(self.options)) - 1)
        self._greedy(everything)
        root = self._ascend(everything, 6)[0]
        self._descend(0, 0, 0, everything, 0)
        method: Method = "branch_and_bound"
        bound = self.best
        if self.open_bound is not None:
            method = "neighbourhood"
            bound = max(root, self.open_bound)
            self._neighbourhoods()
        return self._report(method, min(bound, self.best))

    def _limits(self) -> None:
        """Pack the sizes by channel into one number, so that one subtraction checks every limit."""
        members: list[tuple[str | None, int]] = list(self.problem.caps)
        if self.problem.total is not None:
            members.append((None, self.problem.total))
        width = sum(item.units for item in self.items).bit_length() + 2
        width = max([width, *(limit.bit_length() + 2 for _, limit in members)])
        self.room = self.guard = 0
        self.sizes = [0] * len(self.items)
        for place, (name, limit) in enumerate(members):
            self.room |= limit << (width * place)
            self.guard |= 1 << (width * place + width - 1)
            for at, item in enumerate(self.items):
                if name is None or item.channel == name:
                    self.sizes[at] |= item.units << (width * place)

    def _mask(self, mask: int) -> "_Mask":
        known = self.known.get(mask)
        if known is None:
            places, rest = [], mask
            while rest:
                low = rest & -rest
                places.append(low.bit_length() - 1)
                rest ^= low
            clash = 0
            for at in places:
                clash |= self.clash[at]
            known = _Mask(
                tuple(places),
                sum(self.weight[at] for at in places),
                sum(self.sizes[at] for at in places),
                clash,
            )
            if len(self.known) < _REMEMBERED:
                self.known[mask] = known
        return known

    def _fits(self, extra: int, chosen: int, size: int) -> bool:
        mask = self._mask(extra)
        if mask.clash & (chosen | extra):
            return False
        return (self.room + self.guard - size - mask.size) & self.guard == self.guard

    def _live(self, chosen: int, size: int, before: Sequence[_Claim]) -> list[_Claim]:
        """Return the claims not covered yet, each with what its feasible ways would add."""
        found = []
        for at, options in before:
            extras = {option & ~chosen for option in options}
            if 0 not in extras:
                found.append((at, [one for one in extras if self._fits(one, chosen, size)]))
        return found

    def _ascend(
        self, live: Sequence[_Claim], sweeps: int
    ) -> tuple[int, list[int], list[dict[int, int]], list[int]]:
        """Bound from below what covering the claims costs, by dual ascent.

        Each item's cost is shared out among the claims it may serve, so that no shared item is
        counted twice; a claim costs at least its cheapest way in its own shares.

        Returns:
            The bound; each claim's part of it; each claim's shares; what no claim took.
        """
        pool = list(self.weight)
        parts = [0] * len(live)
        shares: list[dict[int, int]] = [{} for _ in live]
        ways = [[self._mask(extra).places for extra in extras] for _, extras in live]
        order = sorted(range(len(live)), key=lambda at: (len(ways[at]), live[at][0]))
        for _ in range(sweeps):
            grown = False
            for at in order:
                for place, share in shares[at].items():
                    pool[place] += share
                least = self.dummy[live[at][0]]
                for places in ways[at]:
                    least = min(least, sum([pool[place] for place in places]))
                mine: dict[int, int] = {}
                for places in ways[at]:
                    lacks = least - sum([mine.get(place, 0) for place in places])
                    for place in places:
                        if lacks <= 0:
                            break
                        gives = min(lacks, pool[place])
                        mine[place] = mine.get(place, 0) + gives
                        pool[place] -= gives
                        lacks -= gives
                grown = grown or least > parts[at]
                shares[at], parts[at] = mine, least
            if not grown:
                break
        return sum(parts), parts, shares, pool

    def _descend(
        self, chosen: int, size: int, given_up: int, before: Sequence[_Claim], spent: int
    ) -> None:
        # Depth is at most the number of claims: each choice settles one.
        live = self._live(chosen, size, before)
        if not live:
            if spent < self.best:
                self.best, self.best_state = spent, (chosen, given_up)
            return
        state = (chosen, given_up)
        if state in self.seen:
            return
        self.seen.add(state)
        total, parts, shares, pool = self._ascend(live, 3)
        if spent + total >= self.best:
            return
        if self.nodes >= self.limit:
            lower = spent + total
            self.open_bound = lower if self.open_bound is None else min(self.open_bound, lower)
            return
        self.nodes += 1
        pruned: list[tuple[int, list[tuple[int, int]]]] = []
        for (at, extras), part, mine in zip(live, parts, shares, strict=True):
            # What a whole solution costs at least if it covers this claim in this way.
            others = spent + total - part
            costs = sorted(
                (
                    others
                    + sum([mine.get(one, 0) + pool[one] for one in self._mask(extra).places]),
                    extra,
                )
                for extra in extras
            )
            pruned.append((at, [one for one in costs if one[0] < self.best]))
        at, ways = min(pruned, key=lambda one: (len(one[1]), one[0]))
        rest = [(other, [extra for _, extra in costs]) for other, costs in pruned if other != at]
        for lower, extra in ways:
            if lower < self.best:
                mask = self._mask(extra)
                self._descend(chosen | extra, size + mask.size, given_up, rest, spent + mask.weight)
        if spent + self.dummy[at] < self.best:
            self._descend(chosen, size, given_up | 1 << at, rest, spent + self.dummy[at])

    def _greedy(self, live: list[_Claim]) -> None:
        chosen = size = given_up = spent = 0
        while live := self._live(chosen, size, live):
            ways = [(self._mask(one).weight, at, one) for at, extras in live for one in extras]
            if ways:
                cost, at, extra = min(ways)
                chosen |= extra
                size += self._mask(extra).size
            else:
                at = live[0][0]
                cost, given_up = self.dummy[at], given_up | 1 << at
            spent += cost
            live = [one for one in live if one[0] != at]
        if spent < self.best:
            self.best, self.best_state = spent, (chosen, given_up)

    def _neighbourhoods(self) -> None:
        """Free a few claims at a time and search again around what the others need."""
        count = len(self.options)
        windows = sorted(
            {
                frozenset((start + step * stride) % count for step in range(min(count, 4)))
                for stride in (1, 2, 3, 5)
                for start in range(count)
            },
            key=sorted,
        )
        improved, rounds = True, 0
        while improved and rounds < 8:
            improved, rounds = False, rounds + 1
            for free in windows:
                before = self.best
                kept, gone = self._kept([at for at in range(count) if at not in free])
                self.seen.clear()
                self.limit = self.nodes + 200
                mask = self._mask(kept)
                spent = mask.weight + sum(self.dummy[at] for at in gone)
                live = [one for one in enumerate(self.options) if one[0] not in gone]
                self._descend(kept, mask.size, sum(1 << at for at in gone), live, spent)
                improved = improved or self.best < before

    def _kept(self, fixed: list[int]) -> tuple[int, list[int]]:
        chosen, given_up = self.best_state
        kept, gone = 0, []
        for at in fixed:
            ways = [option for option in self.options[at] if option & chosen == option]
            if ways:
                kept |= min(ways, key=lambda one: self._mask(one).weight)
            elif given_up >> at & 1:
                gone.append(at)
        return kept, gone

    def _report(self, method: Method, bound_weight: int) -> Selection:
        chosen = self.best_state[0]
        needs = self.problem.needs
        left = [
            at
            for at, options in enumerate(self.options)
            if not any(option & chosen == option for option in options)
        ]
        picked = [item for at, item in enumerate(self.items) if chosen >> at & 1]
        units = sum(item.units for item in picked)
        proven = method == "branch_and_bound"
        floor = max(0, bound_weight - sum(self.dummy[at] for at in left))
        # Rounded down: the rest of the division holds the risk, which is no size.
        bound = units if proven else min(units, floor // self.unit_weight)
        return Selection(
            chosen=tuple(item.id for item in picked),
            uncovered=tuple(sorted(needs[at].claim for at in left if needs[at].required)),
            skipped=tuple(sorted(needs[at].claim for at in left if not needs[at].required)),
            units=units,
            risk=sum(item.risk for item in picked),
            method=method,
            proven=proven,
            bound=bound,
            gap_permille=0 if proven else -(-(units - bound) * 1000 // max(1, bound)),
            nodes=self.nodes,
        )


def _undominated(masks: list[int]) -> list[int]:
    """Return the masks of which no other is a part, in a fixed order."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda one: (one.bit_count(), one)):
        if not any(other & mask == other for other in kept):
            kept.append(mask)
    return kept


def _check(problem: Problem) -> None:
    ids = {item.id for item in problem.candidates}
    count = len(problem.candidates)
    if len(ids) != count:
        raise EvidenceError("Candidates of a selection have ids of their own.")
    if any(item.units < 1 or item.risk < 0 for item in problem.candidates):
        raise EvidenceError("A candidate's size is at least one and its risk at least zero.")
    places = {at for need in problem.needs for bundle in need.bundles for at in bundle}
    if any(not 0 <= at < count for at in places):
        raise EvidenceError("A bundle names a candidate that is not there.")
