"""The plan of a restore; a run that is bound to one does what it said, or nothing."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from memories import access
from memories.access import Principal
from memories.backups.restoration import diff
from memories.models import Namespace, Operation
from memories.operations import PlanChanged, Progress, plan_of

AGREED = {"agreed": True}
COMPARED = ("foreign", "left_out", "forgotten")


def counts_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a person agreed to in a plan: the counts by namespace, and what is left out or forgotten besides."""
    parts = {
        name: {kind: part[kind] for kind in (*diff.COUNTED, "rejected")}
        for name, part in (report.get("namespaces") or {}).items()
    }
    return {"namespaces": parts, **{name: report.get(name) for name in COMPARED}}


def plan_namespaces(principal: Principal, ids: Sequence[tuple[str, uuid.UUID]]) -> dict[str, Any]:
    """Return what a restore would do, by namespace; `ids` are their names and under which ids they are staged."""
    return {name: _plan(principal, name, there) for name, there in ids}


def _plan(principal: Principal, name: str, there: uuid.UUID) -> dict[str, Any]:
    with access.enter(principal, why="restore"):
        here = Namespace.objects.within(principal.project_id).named([name]).first()
        return diff.judge(principal.project_id, there=there, here=here.id if here else there)


def summarise_counts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of all namespaces together, and of each."""
    whole: dict[str, Any] = {name: sum(part[name] for part in parts.values()) for name in diff.COUNTED}
    reasons = {reason for part in parts.values() for reason in part["rejected"]}
    whole["rejected"] = {
        reason: sum(part["rejected"].get(reason, 0) for part in parts.values()) for reason in sorted(reasons)
    }
    return {**whole, "namespaces": dict(parts)}


def refuse_changed(
    principal: Principal, operation: Operation, report: Mapping[str, Any], ids: Sequence[tuple[str, uuid.UUID]]
) -> None:
    """Raise PlanChanged when the plan that a run is bound to said other counts, NoPlan when it is gone.

    A run that began to write once goes on, whatever it has changed.
    """
    if operation.cursor == AGREED:
        return
    with access.enter(principal, why="restore"):
        plan = plan_of(operation)
    if plan and counts_of(plan.report or {}) != counts_of({**report, "namespaces": plan_namespaces(principal, ids)}):
        raise PlanChanged("the restore would do something else than its plan said")


def require_agreed_counts(operation: Operation, progress: Progress) -> None:
    """Keep that it may write, before anything is written."""
    operation.cursor = AGREED
    progress.save(stage="applying", done=0, total=None, cursor=AGREED)
