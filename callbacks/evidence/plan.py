"""Which claims an answer must prove, decided by rules before anything is fetched.

A model may propose claims. The validator decides: one that is neither asked for nor a prerequisite
of what is asked for is refused, and the refusal is recorded.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from callbacks.evidence.contract import Outcome, TaskContract
from callbacks.evidence.errors import EvidenceError
from callbacks.evidence.frozen import Frozen, Id, Scope


class Claim(Frozen):
    """Something an answer must prove.

    Attributes:
        id: Name of the claim.
        kind: What kind of claim; the authority matrix speaks of kinds.
        subject: What it is about, where one subject alone will do; empty for any.
        scope: Where it is to hold, beyond what the task says.
        accepts: Kinds of evidence that may prove it.
        parts: Predicates that must all be proven; empty means any one fact of the kind.
        quotes: Whether it is about what a text says, so that text nobody vouches for may be quoted
            for it; such a claim is never critical.
        lineages: How many independent lineages must agree.
        freshness_ms: How old an observation may be; None when any unexpired one will do.
        critical: Whether it decides the conclusion: annotations and summaries never prove it.
        required: Whether the answer fails without it.
        outcomes: What it may come to.
        needs_tool: The tool whose result proves it; empty when none does.
        needs: Claims that must stand before it.
        depends_on: Fields of the case it depends on.
        compares: A field of the case whose value is compared with the claim's; empty for none.
        open_fields: Fields of the case that make it conditional while they are unknown.
        asked_by: What a person may ask for that this answers.
    """

    id: Id
    kind: Id
    subject: Id | None = None
    scope: Scope = ()
    accepts: tuple[Id, ...]
    parts: tuple[Id, ...] = ()
    quotes: bool = False
    lineages: Annotated[int, Field(ge=1, le=3)] = 1
    freshness_ms: Annotated[int, Field(gt=0)] | None = None
    critical: bool = True
    required: bool = True
    outcomes: tuple[Outcome, ...] = tuple(Outcome)
    needs_tool: Id | None = None
    needs: tuple[Id, ...] = ()
    depends_on: tuple[Id, ...] = ()
    compares: Id | None = None
    open_fields: tuple[Id, ...] = ()
    asked_by: tuple[Id, ...] = ()

    @model_validator(mode="after")
    def _quotes_decide_nothing(self) -> Self:
        if self.quotes and self.critical:
            raise ValueError("What a claim only quotes decides nothing.")
        return self


class Refusal(Frozen):
    """A proposed claim that was not taken, and why."""

    claim: str
    reason: Literal["not_in_catalogue", "not_the_catalogues", "neither_asked_nor_prerequisite"]


class ClaimPlan(Frozen):
    """The claims of one task.

    Attributes:
        task_type: The type of task in the contract.
        revision: Counts up with every change.
        asks: What the person asks for, sorted.
        claims: The claims, in the catalogue's order.
        refused: What was proposed and not taken.
    """

    schema_version: Literal[1] = 1
    task_type: Id
    revision: Annotated[int, Field(ge=1)] = 1
    asks: tuple[Id, ...]
    claims: tuple[Claim, ...]
    refused: tuple[Refusal, ...] = ()

    @model_validator(mode="after")
    def _unique(self) -> Self:
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) != len(ids):
            raise ValueError("A claim stands once in a plan.")
        return self

    def claim(self, claim_id: str) -> Claim | None:
        """Return a claim of the plan, or None."""
        return next((claim for claim in self.claims if claim.id == claim_id), None)


class PlanDiff(Frozen):
    """What a revision of a plan changed: ids of claims, sorted."""

    before: int
    after: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def make_plan(
    contract: TaskContract,
    task_type: str,
    asks: Iterable[str],
    catalogue: tuple[Claim, ...],
) -> ClaimPlan:
    """Plan the claims of a task by rules.

    What is asked for, the contract's required kinds for the type of task, and what both need.

    Args:
        contract: Says which kinds a type of task must prove.
        task_type: The type of task.
        asks: What the person asks for.
        catalogue: Every claim there can be.

    Raises:
        EvidenceError: The catalogue cannot provide a required kind or a prerequisite.
    """
    asked = set(asks)
    kinds = set(contract.kinds(task_type))
    wanted = {claim.id for claim in catalogue if asked & set(claim.asked_by) or claim.kind in kinds}
    missing = kinds - {claim.kind for claim in catalogue}
    if missing:
        raise EvidenceError(
            "The catalogue has no claim of a kind that the contract requires.",
            numbers={"missing": len(missing)},
        )
    wanted = _with_prerequisites(wanted, catalogue)
    claims = tuple(claim for claim in catalogue if claim.id in wanted)
    return ClaimPlan(task_type=task_type, asks=tuple(sorted(asked)), claims=claims)


def propose(plan: ClaimPlan, proposals: Iterable[Claim], catalogue: tuple[Claim, ...]) -> ClaimPlan:
    """Return the plan with those proposed claims that may be in it; the others are recorded.

    Args:
        plan: The plan so far.
        proposals: What a model proposes.
        catalogue: Every claim there can be.
    """
    known = {claim.id: claim for claim in catalogue}
    taken = {claim.id for claim in plan.claims}
    prerequisites = _with_prerequisites(taken, catalogue)
    refused = list(plan.refused)
    for proposal in proposals:
        if proposal.id in taken and known.get(proposal.id) == proposal:
            continue
        reason: Literal["not_in_catalogue", "not_the_catalogues", "neither_asked_nor_prerequisite"]
        if proposal.id not in known:
            reason = "not_in_catalogue"
        elif known[proposal.id] != proposal:
            reason = "not_the_catalogues"
        elif set(proposal.asked_by) & set(plan.asks) or proposal.id in prerequisites:
            taken |= _with_prerequisites({proposal.id}, catalogue)
            continue
        else:
            reason = "neither_asked_nor_prerequisite"
        refused.append(Refusal(claim=proposal.id, reason=reason))
    claims = tuple(claim for claim in catalogue if claim.id in taken)
    if claims == plan.claims and tuple(refused) == plan.refused:
        return plan
    return plan.model_copy(
        update={"claims": claims, "refused": tuple(refused), "revision": plan.revision + 1}
    )


def diff(before: ClaimPlan, after: ClaimPlan) -> PlanDiff:
    """Return what changed between two revisions of a plan."""
    old = {claim.id: claim for claim in before.claims}
    new = {claim.id: claim for claim in after.claims}
    return PlanDiff(
        before=before.revision,
        after=after.revision,
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(key for key in old.keys() & new.keys() if old[key] != new[key])),
    )


def affected(plan: ClaimPlan, fields: Iterable[str]) -> tuple[str, ...]:
    """Return the claims to build again when fields of the case have changed, in the plan's order.

    Those that depend on one of the fields, and those that need such a claim.
    """
    changed = set(fields)
    found = {
        claim.id
        for claim in plan.claims
        if changed & {*claim.depends_on, *claim.open_fields, *filter(None, (claim.compares,))}
    }
    growing = True
    while growing:
        more = {
            claim.id for claim in plan.claims if claim.id not in found and found & set(claim.needs)
        }
        found |= more
        growing = bool(more)
    return tuple(claim.id for claim in plan.claims if claim.id in found)


def _with_prerequisites(wanted: set[str], catalogue: tuple[Claim, ...]) -> set[str]:
    known = {claim.id: claim for claim in catalogue}
    found: set[str] = set()
    waiting = sorted(wanted)
    while waiting:
        claim_id = waiting.pop()
        if claim_id in found:
            continue
        if claim_id not in known:
            raise EvidenceError("A claim needs another that the catalogue does not have.")
        found.add(claim_id)
        waiting.extend(known[claim_id].needs)
    return found
