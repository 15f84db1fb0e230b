"""The smallest set that covers every claim is found exactly, or what was found says how far off."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.evidence.instances import instance
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.highs import select_with_highs
from callbacks.evidence.selection import Candidate, Need, Problem, select


@st.composite
def problems(draw):
    count = draw(st.integers(1, 8))
    candidates = tuple(
        Candidate(
            f"i{n}", draw(st.integers(1, 9)), draw(st.integers(0, 2)), draw(st.sampled_from("ab"))
        )
        for n in range(count)
    )
    bundle = st.frozensets(st.integers(0, count - 1), min_size=1, max_size=3)
    needs = tuple(
        Need(f"C{n}", tuple(draw(st.lists(bundle, max_size=4))), draw(st.booleans()))
        for n in range(draw(st.integers(0, 4)))
    )
    caps = draw(st.sampled_from([(), (("a", 12),), (("a", 6), ("b", 9))]))
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda p: p[0] != p[1]
    )
    return Problem(
        candidates,
        needs,
        caps,
        draw(st.none() | st.integers(1, 25)),
        tuple(draw(st.lists(pair, max_size=2))),
    )


def brute(problem):
    best = None
    places = range(len(problem.candidates))
    for size in range(len(problem.candidates) + 1):
        for chosen in combinations(places, size):
            held = frozenset(chosen)
            items = [problem.candidates[at] for at in chosen]
            if any(
                sum(i.units for i in items if i.channel == name) > limit
                for name, limit in problem.caps
            ):
                continue
            if problem.total is not None and sum(i.units for i in items) > problem.total:
                continue
            if any({one, other} <= held for one, other in problem.excludes):
                continue
            left = [n for n in problem.needs if not any(b <= held for b in n.bundles)]
            key = (
                sum(n.required for n in left), sum(not n.required for n in left),
                sum(i.units for i in items), sum(i.risk for i in items),
                tuple(sorted(i.id for i in items)),
            )  # fmt: skip
            best = key if best is None else min(best, key)
    return best


def moved_bundles(need, place):
    return tuple(frozenset(place[at] for at in bundle) for bundle in reversed(need.bundles))


def key_of(found):
    return (len(found.uncovered), len(found.skipped), found.units, found.risk, found.chosen)


@settings(max_examples=300)
@given(problems())
def test_the_search_finds_what_trying_everything_finds(problem):
    """Uncovered claims, size, risk, ids: on every level the choice is the best there is (12)."""
    found = select(problem)
    assert found.proven
    assert key_of(found) == brute(problem)
    assert (found.bound, found.gap_permille) == (found.units, 0)


@given(problems(), st.randoms())
def test_the_order_of_candidates_changes_nothing(problem, source):
    """Items and bundles in another order: the same choice (12)."""
    order = list(range(len(problem.candidates)))
    source.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    moved = Problem(
        tuple(problem.candidates[at] for at in order),
        tuple(
            Need(
                n.claim,
                moved_bundles(n, place),
                n.required,
            )
            for n in problem.needs
        ),
        problem.caps,
        problem.total,
        tuple((place[one], place[other]) for one, other in problem.excludes),
    )
    assert key_of(select(moved)) == key_of(select(problem))


@settings(max_examples=20)  # each solves three problems; the benchmark solves five hundred
@given(st.integers(0, 400), st.integers(0, 3))
def test_without_enough_nodes_the_answer_says_so(seed, nodes):
    """Cut short, the search still obeys every limit, and its bound is below the true best (12)."""
    problem = instance(seed)
    short, best = select(problem, nodes), select(problem)
    if short.proven:
        assert key_of(short) == key_of(best)
    else:
        assert short.method == "neighbourhood"
        assert (len(short.uncovered), short.units) >= (len(best.uncovered), best.units)
        if not short.uncovered:
            assert short.bound <= best.units <= short.units
            assert short.units <= short.bound * (1 + short.gap_permille / 1000)
    assert select(problem, nodes) == short


@pytest.mark.parametrize("seed", range(8))
def test_a_second_exact_solver_agrees(seed):
    """HiGHS finds the same cover, size and risk."""
    pytest.importorskip("highspy", reason="the extra evidence is not installed")
    ours, theirs = select(instance(seed)), select_with_highs(instance(seed))
    assert (len(ours.uncovered), ours.units, ours.risk) == (
        len(theirs.uncovered),
        theirs.units,
        theirs.risk,
    )


@pytest.mark.parametrize(
    "problem",
    [
        Problem((Candidate("a", 0),), ()),
        Problem((Candidate("a", 1, -1),), ()),
        Problem((Candidate("a", 1), Candidate("a", 2)), ()),
        Problem((Candidate("a", 1),), (Need("C", (frozenset({3}),)),)),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(problem):
    """Sizes below one, negative risks, ids that repeat and bundles of nothing are refused."""
    with pytest.raises(EvidenceError):
        select(problem)
