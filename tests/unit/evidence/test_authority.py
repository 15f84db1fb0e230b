"""Authority is by kind of claim; a document counts once; chains are whole; conflicts are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.evidence.authority import AuthorityMatrix, agrees, support
from callbacks.evidence.conflict import (
    Duty,
    Lookup,
    Resolution,
    find_conflicts,
    resolve,
    unknown_of,
)
from callbacks.evidence.cover import cover
from callbacks.evidence.dependencies import chain
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.item import EvidenceItem, make_row
from callbacks.evidence.lifecycle import Event, Lifecycle, Stage
from callbacks.evidence.plan import Claim
from tests.unit.evidence.procurement import money

MATRIX = AuthorityMatrix.from_data({"rows": [["limit", [["law", "policy"], ["guide"]]]]})
CLAIM = Claim.from_data({"id": "C", "kind": "limit", "accepts": ["text"]})


def item(name, *, amount=5, source="policy", links=(), **more):
    fields = {
        "id": name, "kind": "text", "source": source, "entity": name, "access": ["all"],
        "trust": "authoritative", "text": name * 3, "lineage": {"document": name},
        "links": [{"relation": "definition", "target": target} for target in links],
        "facts": [{"claim": "limit", "subject": "s", "predicate": "p", "value": money(amount)}],
        **more,
    }  # fmt: skip
    return EvidenceItem.from_data(make_row(**fields))


def known(*items):
    return {one.id: one for one in items}


def sizes(items):
    return {name: len(one.text) for name, one in items.items()}


def ways(claim, items, resolutions=()):
    found = support(claim, items, MATRIX, now_ms=100)
    conflicts = find_conflicts(found, items, sizes(items), duties={})
    found, conflicts = resolve(found, conflicts, resolutions, {"region": "east"})
    return cover(found, conflicts, items, sizes(items)), conflicts


def test_a_lower_rank_is_background_and_another_duty_is_a_lead():
    """A guide does not soften a policy, and a draft's number is only a reason to ask."""
    items = known(item("a"), item("b", source="guide", amount=9), item("c", source="draft"))
    found = support(CLAIM, items, MATRIX, now_ms=0)
    assert [proof.item for proof in found.proofs] == ["a"]
    assert found.background == ("b",)
    assert found.leads == ("c",)
    assert ways(CLAIM, items)[1] == ()


def test_what_is_only_stated_or_prepared_is_a_lead():
    """Neither a person's word nor a summary proves a claim, whatever its source is called."""
    items = known(
        item("a", trust="stated"), item("b", trust="prepared"), item("c", trust="untrusted")
    )
    assert support(CLAIM, items, MATRIX, now_ms=0).leads == ("a", "b", "c")


def test_the_newest_observation_of_one_thing_stands():
    """Two answers of one ledger are no conflict: the newer one replaces the older."""
    old = item("a", amount=1, entity="E", as_of_ms=1, ttl_ms=500)
    new = item("b", amount=2, entity="E", as_of_ms=2, ttl_ms=500)
    found = support(CLAIM, known(old, new), MATRIX, now_ms=3)
    assert [proof.item for proof in found.proofs] == ["b"]
    fresh = CLAIM.model_copy(update={"freshness_ms": 1})
    assert support(fresh, known(old, new), MATRIX, now_ms=3).proofs == ()


def test_one_document_counts_once():
    """A claim that wants two lineages is not proven by a policy and its own summary."""
    twice = CLAIM.model_copy(update={"lineages": 2})
    first = item("a")
    copy = item("b", lineage={"document": "elsewhere", "derived_from": ["a"], "rule": "extract"})
    assert ways(twice, known(first, copy))[0].ways == ()
    assert ways(twice, known(first, copy, item("c")))[0].ways == (
        frozenset({"a", "c"}), frozenset({"b", "c"}),
    )  # fmt: skip


def test_parts_are_all_proven():
    """A claim of two parts is covered by proofs of both."""
    claim = CLAIM.model_copy(update={"parts": ("p", "q")})
    other = item(
        "b", facts=[{"claim": "limit", "subject": "s", "predicate": "q", "value": money(1)}]
    )
    assert ways(claim, known(item("a"), other))[0].ways == (frozenset({"a", "b"}),)
    assert ways(claim, known(item("a")))[0].ways == ()


def test_a_chain_is_taken_whole_or_not_at_all():
    """Without its definition a rule is not offered; with it both stand together."""
    rule, definition = item("a", links=["d"]), item("d", facts=[])
    found, _ = ways(CLAIM, known(rule))
    assert (found.ways, found.broken) == ((), (("a", "target_not_admitted"),))
    assert ways(CLAIM, known(rule, definition))[0].ways == (frozenset({"a", "d"}),)


@given(st.integers(1, 9), st.integers(1, 12))
def test_cycles_are_marked_and_bounds_are_kept(length, bound):
    """A ring of links ends where it began, marked; a chain over the bound is not whole (12)."""
    items = known(*(item(f"i{n}", links=[f"i{(n + 1) % length}"]) for n in range(length)))
    found = chain(
        "i0", claim_id="C", claim_kind="limit", items=items, units=sizes(items), bound=bound
    )
    assert found.whole == (length <= bound)
    assert len(found.items) == min(length, bound)
    if found.whole:
        assert [hop.cycle for hop in found.hops] == [False] * (length - 1) + [True]
    else:
        assert found.reason == "chain_too_long"


def test_links_for_other_claims_are_not_followed():
    """Only relations that matter for the claim are expanded."""
    link = [{"relation": "exception", "target": "x", "claims": ["other"]}]
    rule = EvidenceItem.from_data({**item("a").as_json(), "links": link})
    assert ways(CLAIM, known(rule))[0].ways == (frozenset({"a"}),)


def test_a_conflict_shows_both_sides_by_their_shortest_originals():
    """Equal rank and different values: both sides stand, and neither alone covers the claim."""
    items = known(
        item("a"), item("b", amount=7), item("longer", amount=7), item("law", source="law")
    )
    found, conflicts = ways(CLAIM, items)
    assert len(conflicts) == 1
    assert conflicts[0].sides == ("a", "b")
    assert found.ways == (frozenset({"a", "b"}),)


def test_a_decision_closes_a_conflict_only_in_its_scope():
    """A ruling for the east does not close the conflict in the west."""
    items = known(item("a"), item("b", amount=7))
    conflict = ways(CLAIM, items)[1][0]
    east = Resolution(conflict=conflict.id, prefers="b", scope=(("region", ("east",)),))
    west = Resolution(conflict=conflict.id, prefers="b", scope=(("region", ("west",)),))
    assert ways(CLAIM, items, (east,))[0].ways == (frozenset({"b"}),)
    assert ways(CLAIM, items, (west,))[1] == (conflict,)
    stray = east.model_copy(update={"prefers": "z"})
    assert ways(CLAIM, items, (stray,))[1] == (conflict,)


def test_the_same_amount_with_tax_unsaid_is_no_conflict():
    """Unknown tax agrees with either state; included and excluded contradict."""

    def fact(tax):
        return item(
            "a",
            facts=[{"claim": "limit", "subject": "s", "predicate": "p", "value": money(5, tax)}],
        ).facts[0]

    assert agrees(fact("unknown"), fact("included"))
    assert not agrees(fact("excluded"), fact("included"))


@pytest.mark.parametrize(
    ("lookup", "why"),
    [
        (None, "not_found"),
        (Lookup(claim="limit"), "not_found"),
        (Lookup(claim="limit", complete=True), "absent"),
        (Lookup(claim="limit", state="unavailable"), "unavailable"),
        (Lookup(claim="limit", state="denied"), "not_available_to_you"),
    ],
)
def test_not_found_proves_absence_only_for_complete_queries(lookup, why):
    """An empty search says that this way found nothing, not that there is nothing."""
    duty = Duty(of="limit", owner="o", supplies="s", retry_ms=10)
    unknown = unknown_of(CLAIM, lookup, {"limit": duty}, now_ms=5)
    assert (unknown.why, unknown.owner, unknown.retry_at_ms) == (why, "o", 15)
    assert unknown_of(CLAIM, lookup, {}, now_ms=5).owner == "unknown"


def test_a_kind_stands_once_in_the_matrix():
    """Two rows for one kind would be two answers to one question."""
    with pytest.raises(EvidenceError):
        AuthorityMatrix.from_data({"rows": [["a", [["x"]]], ["a", [["y"]]]]})
    assert MATRIX.rank("other", "law") is None


def event(name, stage, *inputs):
    return Event(item=name, stage=stage, at_ms=1, reason="r", inputs=inputs)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=15), st.integers(0, 9))
def test_what_is_derived_falls_with_its_source(pairs, source):
    """After an item falls, nothing stands that was made of it, near or far; others stand (8)."""
    made: dict[str, set[str]] = {}
    for one, other in pairs:
        low, high = sorted((one, other))
        if low != high:
            made.setdefault(f"i{high}", set()).add(f"i{low}")
    events = []
    for number in range(10):
        name = f"i{number}"
        stage = Stage.DERIVED if name in made else Stage.CANDIDATE
        events.append(event(name, stage, *sorted(made.get(name, ()))))
    life = Lifecycle().add(events)
    fallen = set(life.invalidate(f"i{source}", at_ms=2, reason="withdrawn").fallen())
    expected = {f"i{source}"}
    for number in range(10):
        if made.get(f"i{number}", set()) & expected:
            expected.add(f"i{number}")
    assert fallen == expected


def test_a_life_goes_forward_only():
    """Steps follow the stages; nothing is derived from nothing or from what has fallen."""
    life = Lifecycle().add([event("a", Stage.CANDIDATE), event("a", Stage.ELIGIBLE)])
    life = life.add([event("a", Stage.SELECTED), event("a", Stage.PUBLISHED)])
    fallen = life.invalidate("a", at_ms=2, reason="expired")
    assert fallen.invalidate("a", at_ms=3, reason="expired") == fallen
    assert fallen.events[: len(life.events)] == life.events
    for bad in (
        event("b", Stage.PUBLISHED),
        event("b", Stage.DERIVED),
        event("b", Stage.DERIVED, "a"),
        event("b", Stage.CANDIDATE, "a"),
        event("a", Stage.ELIGIBLE),
    ):
        with pytest.raises(EvidenceError):
            fallen.add([bad])
