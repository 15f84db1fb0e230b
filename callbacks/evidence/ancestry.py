"""What was made of what, through however many steps: what falls with a source, and why."""

from collections.abc import Iterable, Mapping

Made = Mapping[str, Iterable[str]]
"""Id of an item -> ids of the items that it was made from."""


def with_derived(fallen: Iterable[str], made: Made) -> frozenset[str]:
    """Return what has fallen with all that was made from it, near or far.

    Args:
        fallen: Ids of what fell by itself.
        made: What each item was made from; items that go round in a circle fall together.
    """
    after: dict[str, list[str]] = {}
    for name, sources in made.items():
        for source in sources:
            after.setdefault(source, []).append(name)
    return frozenset(_reached(fallen, after))


def lineage_of(names: Iterable[str], made: Made) -> dict[str, tuple[str, ...]]:
    """Return, of what was made of what, the part that these items go back to.

    Args:
        names: Ids of items.
        made: What each item was made from.
    """
    found = _reached(names, made)
    return {name: tuple(made[name]) for name in sorted(found) if name in made}


def _reached(names: Iterable[str], steps: Mapping[str, Iterable[str]]) -> set[str]:
    found = set(names)
    waiting = list(found)
    while waiting:
        more = [name for name in steps.get(waiting.pop(), ()) if name not in found]
        found.update(more)
        waiting.extend(more)
    return found
