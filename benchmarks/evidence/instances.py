"""Random selection problems: claims, lineages, dependencies, exclusions, caps."""

import random

from callbacks.evidence.selection import Candidate, Need, Problem

CHANNELS = ("policy", "case", "tools", "conditions", "history")


def instance(seed: int) -> Problem:
    """Return a problem of 20 to 200 items and 3 to 12 claims, the same for the same seed."""
    source = random.Random(seed)  # noqa: S311 - makes cases, not secrets
    count, claims = source.randint(20, 200), source.randint(3, 12)
    candidates = tuple(
        Candidate(
            f"item-{at:03d}",
            source.randint(20, 900),
            source.choice((0, 0, 0, 1, 5, 20)),
            source.choice(CHANNELS),
        )
        for at in range(count)
    )
    closure = _closures(source, count)
    needs = []
    for number in range(claims):
        supporters = source.sample(range(count), source.randint(2, max(2, min(25, count // 4))))
        shape = source.random()
        if shape < 0.55 or len(supporters) < 4:  # any one of them proves it
            ways = [{one} for one in supporters]
        elif shape < 0.8:  # two parts, each proven by one of its own
            half = len(supporters) // 2
            ways = [{a, b} for a in supporters[:half] for b in supporters[half:]]
        else:  # two lineages: the parity stands for the document
            ways = [{a, b} for a in supporters for b in supporters if a < b and (a + b) % 2]
        bundles = {frozenset().union(*(closure[at] for at in way)) for way in ways}
        needs.append(Need(f"C{number:02d}", tuple(sorted(bundles, key=sorted))))
    excludes = {
        tuple(sorted(source.sample(range(count), 2))) for _ in range(source.randint(0, count // 10))
    }
    typical = sum(item.units for item in candidates) // count
    tight = source.choice((1.2, 1.6, 2.5, 4.0))
    total = int(typical * claims * tight)
    caps = tuple((name, int(total * source.uniform(0.2, 0.7))) for name in CHANNELS)
    return Problem(
        candidates,
        tuple(needs),
        caps,
        total,
        tuple((one, other) for one, other in sorted(excludes)),
    )


def _closures(source: random.Random, count: int) -> list[frozenset[int]]:
    links = {
        at: source.sample(range(count), source.choice((1, 1, 2)))
        for at in range(count)
        if source.random() < 0.25
    }
    found = []
    for at in range(count):
        seen: set[int] = set()
        waiting = [at]
        while waiting and len(seen) < 6:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting.extend(links.get(current, ()))
        found.append(frozenset(seen))
    return found
