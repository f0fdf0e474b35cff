"""The plan of a restore, and what it has written: bound to a plan it does what that said, or nothing."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from memories import access
from memories.access import Principal
from memories.backups.restoration import diff
from memories.models import Namespace, Operation
from memories.models.sql import fetch
from memories.operations import PlanChanged, Progress, plan_of

AGREED = "agreed"
COMPARED = ("foreign", "left_out", "forgotten")


@dataclass(frozen=True, slots=True)
class WrittenNamespaces:
    """The namespaces that a restore wrote, kept in the transactions that did: who goes on, and an undo, go by it."""

    # By namespace, of the transaction that wrote it first.
    counts: Mapping[str, Any] = field(default_factory=dict)
    made: Sequence[str] = ()
    # In which each was written: several, where another worker began anew.
    transactions: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, operation: Operation) -> Self:
        """Return what a restore wrote so far; nothing of what goes on by another cursor."""
        kept = operation.cursor if isinstance(operation.cursor, dict) else {}
        return cls(**{each.name: kept[each.name] for each in fields(cls) if each.name in kept})

    def joined(self, name: str, counts: Mapping[str, Any], *, is_made: bool) -> Self:
        """Return these and one that the open transaction wrote, or wrote again."""
        ((transaction,),) = fetch("SELECT pg_current_xact_id()::text", [])
        return type(self)(
            {name: counts, **self.counts},
            [*self.made, *([name] if is_made and name not in self.made else [])],
            {**self.transactions, name: [*self.transactions.get(name, ()), transaction]},
        )

    def cursor(self) -> dict[str, Any]:
        """Return where the restore goes on."""
        return {AGREED: True, **asdict(self)}

    def report(self) -> dict[str, Any]:
        """Return what its report says of them."""
        return {"made": list(self.made), **summarise_counts(self.counts)}


def has_begun(operation: Operation) -> bool:
    """Return whether a restore may write, whatever was changed since its plan."""
    return bool((operation.cursor or {}).get(AGREED))


def counts_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a person agreed to in a plan: the counts by namespace, and what is left out or forgotten besides."""
    parts = {
        name: {kind: part.get(kind, 0) for kind in (*diff.COUNTED, "rejected")}  # a plan of before lacks some
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
    whole: dict[str, Any] = {name: sum(part.get(name, 0) for part in parts.values()) for name in diff.COUNTED}
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
    if has_begun(operation):
        return
    with access.enter(principal, why="restore"):
        plan = plan_of(operation)
    if plan and counts_of(plan.report or {}) != counts_of({**report, "namespaces": plan_namespaces(principal, ids)}):
        raise PlanChanged("the restore would do something else than its plan said")


def require_agreed_counts(operation: Operation, progress: Progress) -> None:
    """Keep that it may write, before anything is written."""
    operation.cursor = WrittenNamespaces.of(operation).cursor()
    progress.save(stage="applying", done=0, total=None, cursor=operation.cursor)
