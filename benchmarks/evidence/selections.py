"""Selection against a second exact solver, and its cost from raw candidates to a packet."""

import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.evidence.instances import instance
from benchmarks.evidence.worlds import NOW_MS, measure
from callbacks.evidence.admission import Asked, Reader
from callbacks.evidence.assembly import assemble
from callbacks.evidence.authority import AuthorityMatrix
from callbacks.evidence.case import CaseState
from callbacks.evidence.contract import TaskContract
from callbacks.evidence.highs import select_with_highs
from callbacks.evidence.inputs import Inputs
from callbacks.evidence.item import make_row
from callbacks.evidence.plan import Claim, make_plan
from callbacks.evidence.selection import select


def measure_selection(feasible: int = 500) -> dict[str, Any]:
    """Return how selection compares with HiGHS on random problems, and what it costs.

    Args:
        feasible: How many feasible problems; infeasible ones drawn on the way are compared too.
    """
    count = infeasible = equal = proven = infeasible_equal = within = 0
    worst = 0.0
    times: list[float] = []
    seed = 0
    while count < feasible:
        for uncovered, units in _oracle(seed, feasible - count):
            before = time.process_time()
            found = select(instance(seed))
            times.append((time.process_time() - before) * 1000)
            seed += 1
            if uncovered:
                infeasible += 1
                infeasible_equal += len(found.uncovered) == uncovered and found.proven
                continue
            count += 1
            proven += found.proven
            equal += not found.uncovered
            gap = found.units / units - 1
            within += gap <= 0.01
            worst = max(worst, gap)
    times.sort()
    costs = {name: candidates(number) for name, number in (("10k", 10_000), ("100k", 100_000))}
    return {
        "instances": count,
        "infeasible": infeasible,
        "infeasible_proven": infeasible_equal,
        "cover_equal": round(equal / count, 4),
        "within_1_percent": round(within / count, 4),
        "worst_gap": round(worst, 6),
        "proven": round(proven / count, 4),
        "ms_median": round(statistics.median(times), 2),
        "ms_p95": round(times[int(len(times) * 0.95)], 2),
        "ms_10k": costs["10k"]["ms"],
        "ms_100k": costs["100k"]["ms"],
        "mb_100k": costs["100k"]["mb"],
        "clock": "process CPU",
    }


def _oracle(seed: int, count: int) -> list[tuple[int, int]]:
    """Return HiGHS's uncovered claims and units for problems, from a process of its own."""
    code = f"from benchmarks.evidence.selections import _solve; _solve({seed}, {count})"
    done = subprocess.run(  # noqa: S603 - our own code in our own interpreter
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    # The solver prints a banner of its own before the last line.
    return [(one, other) for one, other in json.loads(done.stdout.splitlines()[-1])]


def _solve(seed: int, count: int) -> None:
    found = [select_with_highs(instance(at), seconds=900) for at in range(seed, seed + count)]
    answer = [(len(one.uncovered), one.units) for one in found]
    sys.stdout.write("\n" + json.dumps(answer))


def candidates(number: int) -> dict[str, float]:
    """Return what a packet from raw candidates costs, measured in a process of its own.

    Args:
        number: How many raw candidates; one in a hundred is admissible.
    """
    code = f"from benchmarks.evidence.selections import _cost; _cost({number})"
    done = subprocess.run(  # noqa: S603 - our own code in our own interpreter
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    ms, mb = done.stdout.split()
    return {"ms": float(ms), "mb": float(mb)}


def _cost(number: int) -> None:
    rows = [_row(at) for at in range(number)]
    kinds = [f"kind-{at}" for at in range(10)]
    contract = TaskContract.from_data(
        {
            "id": "COST",
            "version": "1",
            "outcomes": ["supported"],
            "required": [["advice", kinds]],
            "rules": "Evidence alone.",
            "output": "One JSON object.",
        }
    )
    catalogue = tuple(
        Claim.from_data({"id": kind, "kind": kind, "accepts": ["policy"]}) for kind in kinds
    )
    inputs = Inputs(
        generation="cost",
        contract=contract,
        approved_sha256=contract.digest(),
        plan=make_plan(contract, "advice", (), catalogue),
        rows=rows,
        reader=Reader(frozenset({"staff"})),
        reader_id="reader",
        asked=Asked(NOW_MS, NOW_MS, (("hotel", "hotel_a"),)),
        matrix=AuthorityMatrix.from_data({"rows": [[kind, [["policy"]]] for kind in kinds]}),
        case=CaseState(fields=()),
    )
    gc.collect()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = time.process_time()
    assemble(inputs, measure=measure)
    ms = (time.process_time() - before) * 1000
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    sys.stdout.write(f"{ms:.1f} {more / 1024:.1f}")


def _row(at: int) -> dict[str, Any]:
    good = at % 100 == 0
    why = at % 5
    return make_row(
        id=f"item-{at:06d}",
        kind="policy",
        source="policy",
        entity=f"entity-{at:06d}",
        access=["staff"] if good or why else ["board"],
        status="withdrawn" if not good and why == 1 else "in_force",
        valid_from_ms=NOW_MS + 1 if not good and why == 2 else 0,
        scope=[["hotel", ["hotel_a" if good or why != 3 else "hotel_b"]]],
        as_of_ms=NOW_MS - 10_000,
        ttl_ms=20_000 if good or why != 4 else 5_000,
        trust="authoritative",
        facts=[
            {
                "claim": f"kind-{at // 100 % 10}",
                "subject": "hotel_a",
                "predicate": "rule",
                "value": {"kind": "word", "word": "allowed"},
            }
        ],
        text=f"Rule {at} of the house, in a sentence of usual length for such a rule. " * 3,
        lineage={"document": f"document-{at}"},
    )
