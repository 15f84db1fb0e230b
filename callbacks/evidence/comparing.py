"""What differs between two generations: ids, outcomes and sizes, no content."""

from typing import Any

from callbacks.evidence.plan import diff
from callbacks.evidence.record import GenerationRecord


def compare_records(before: GenerationRecord, after: GenerationRecord) -> dict[str, Any]:
    """Return what changed from one generation to another, as plain data.

    Args:
        before: The earlier one.
        after: The later one.
    """
    plan = diff(before.spec.plan, after.spec.plan)
    old = {one.claim: one for one in before.spec.sections}
    new = {one.claim: one for one in after.spec.sections}
    was = {one.id: one.sha256 for one in before.items}
    now = {one.id: one.sha256 for one in after.items}
    facts = {
        name: tuple((fact.field, fact.revision) for fact in record.spec.task.facts)
        for name, record in (("before", before), ("after", after))
    }
    return {
        "before": before.id,
        "after": after.id,
        "claims_added": list(plan.added),
        "claims_removed": list(plan.removed),
        "claims_changed": list(plan.changed),
        "outcomes": [
            {"claim": name, "before": old[name].outcome.value, "after": new[name].outcome.value}
            for name in sorted(old.keys() & new.keys())
            if old[name].outcome is not new[name].outcome
        ],
        "facts_changed": sorted({name for name, _ in set(facts["before"]) ^ set(facts["after"])}),
        "items_added": sorted(now.keys() - was.keys()),
        "items_removed": sorted(was.keys() - now.keys()),
        "items_changed": sorted(name for name in was.keys() & now.keys() if was[name] != now[name]),
        "unknowns_added": sorted(_ids(after) - _ids(before)),
        "unknowns_gone": sorted(_ids(before) - _ids(after)),
        "sizes": [
            {"channel": name, "before": size, "after": dict(_sizes(after))[name]}
            for name, size in _sizes(before)
            if dict(_sizes(after))[name] != size
        ],
        "contract_same": before.contract_sha256 == after.contract_sha256,
        "config_same": before.config_sha256 == after.config_sha256,
    }


def _ids(record: GenerationRecord) -> set[str]:
    return {one.id for one in record.spec.unknowns}


def _sizes(record: GenerationRecord) -> tuple[tuple[str, int], ...]:
    return tuple((name, size) for name, size, _ in record.sizes)
