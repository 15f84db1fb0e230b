"""A second exact solver (HiGHS, the extra ``evidence``): the test's oracle, and for large problems.

Levels are fixed one after another, never weighted into one objective: a solver's tolerance of one
in a million would eat the smaller levels. The fourth level, ids, is not asked of it. The library
prints a banner on the standard output of the process when it is first used; whoever prints data
there runs it in a process of its own.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.selection import Problem, Selection


def select_with_highs(problem: Problem, *, seconds: int = 60) -> Selection:
    """Return a best selection in claims, size and risk, found by HiGHS.

    Args:
        problem: What is to be covered.
        seconds: How long each level may take.

    Raises:
        EvidenceError: The extra is not installed, or the solver did not finish.
    """
    try:
        highspy: Any = import_module("highspy")  # an extra: the room works without it
    except ImportError:
        raise EvidenceError("The second solver needs the extra evidence.") from None
    model: Any = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("time_limit", float(seconds))
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("mip_abs_gap", 0.5)
    used = sorted({at for need in problem.needs for bundle in need.bundles for at in bundle})
    take: dict[int, Any] = {at: model.addBinary() for at in used}
    missed = []
    for need in problem.needs:
        ways = []
        for bundle in need.bundles:
            way = model.addBinary()
            for at in bundle:
                model.addConstr(way <= take[at])
            ways.append(way)
        dummy = model.addBinary()
        missed.append((need, dummy))
        model.addConstr(sum(ways) + dummy >= 1)
    for name, limit in (*problem.caps, ("", problem.total)):
        members = [at for at in used if not name or problem.candidates[at].channel == name]
        if limit is not None and members:
            model.addConstr(sum(problem.candidates[at].units * take[at] for at in members) <= limit)
    for one, other in problem.excludes:
        if one in take and other in take:
            model.addConstr(take[one] + take[other] <= 1)
    levels = [
        [(1, dummy) for need, dummy in missed if need.required],
        [(1, dummy) for need, dummy in missed if not need.required],
        [(problem.candidates[at].units, take[at]) for at in used],
        [(problem.candidates[at].risk, take[at]) for at in used if problem.candidates[at].risk],
    ]
    nodes = 0
    for level in levels:
        if not level:
            continue
        expression = sum(weight * variable for weight, variable in level)
        model.minimize(expression)
        if model.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            # What the level before has just solved cannot be infeasible: presolve of 1.16 says so
            # once in some hundred problems. Without it the level is solved.
            model.setOptionValue("presolve", "off")
            model.clearSolver()
            model.minimize(expression)
            model.setOptionValue("presolve", "choose")
        if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise EvidenceError("The second solver did not finish.")
        model.addConstr(expression <= round(model.getObjectiveValue()))
        nodes += int(model.getInfo().mip_node_count)
    return _report(problem, model, take, missed, nodes)


def _report(
    problem: Problem, model: Any, take: Mapping[int, Any], missed: list[Any], nodes: int
) -> Selection:
    chosen = [problem.candidates[at] for at in take if round(model.val(take[at]))]
    held = {at for at in take if round(model.val(take[at]))}
    left = [need for need, _ in missed if not any(bundle <= held for bundle in need.bundles)]
    units = sum(item.units for item in chosen)
    return Selection(
        chosen=tuple(sorted(item.id for item in chosen)),
        uncovered=tuple(sorted(need.claim for need in left if need.required)),
        skipped=tuple(sorted(need.claim for need in left if not need.required)),
        units=units,
        risk=sum(item.risk for item in chosen),
        method="exact_solver",
        proven=True,
        bound=units,
        gap_permille=0,
        nodes=nodes,
    )
