"""A guard around what changes recall: checks asked before and after, and a refusal where one would be lost.

What failed before is no loss of the operation; one that failed for another reason would otherwise bar all upkeep.
"""

import datetime
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.models import EmbeddingModel, Namespace, Operation, RecallCheck, RecallRun
from memories.operations import ACCEPT, Progress
from memories.recall_checks.evaluation import AskedCheck, Judge, Places

NAMED = 5


class RecallLost(NovaError):
    """Checks that pass would fail afterwards, and nobody agreed to that."""

    code = "recall_lost"
    title = "Recall checks would fail"

    def __init__(self, lost: Sequence[RecallCheck]) -> None:
        names = ", ".join(f"“{check.name}”" for check in lost[:NAMED])
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        one = len(lost) == 1
        super().__init__(f"{len(lost)} recall {'check' if one else 'checks'} would be lost: {names}{more}")
        self.lost = lost

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return which checks."""
        return [{"field": ACCEPT, "message": str(check.id)} for check in self.lost]

    @property
    def summary(self) -> dict[str, Any]:
        """Return which checks."""
        return {"lost": [str(check.id) for check in self.lost]}


def asks_users(operation: Operation | None) -> bool:
    """Return whether users' checks are asked too: a key may speak for one user, and learns of no other's."""
    return operation is None or operation.key_id is None


@dataclass(slots=True)
class RecallGuard:
    """The checks that an operation concerns, how they stood before it, and how they stand after."""

    judge: Judge
    cause: str
    namespace: Namespace | None
    operation_id: uuid.UUID | None
    asked: list[AskedCheck]
    before: Places
    took: float = 0.0
    after: Places = field(default_factory=dict)

    @classmethod
    def around(
        cls,
        principal: Principal,
        namespaces: Sequence[Namespace] | None,
        *,
        cause: str,
        now: datetime.datetime,
        namespace: Namespace | None = None,
        operation: Operation | None = None,
    ) -> "RecallGuard":
        """Ask the checks that concern some namespaces, or all, as things stand. Not inside a transaction."""
        with access.enter(principal, why="recall checks"):
            rows = RecallCheck.objects.within(principal.project_id)
            checks = list(rows.concerning(namespaces, users=asks_users(operation)).in_order())
        judge = Judge.of(principal.project_id, now=now)
        checks_asked = [each for some in judge.asked(checks) for each in some]
        return cls(
            judge, cause, namespace, operation.id if operation else None, checks_asked, judge.places(checks_asked)
        )

    def look(self) -> None:
        """Ask again, as the open transaction has it."""
        began = time.perf_counter()
        self.after = self.judge.places(self.asked)
        self.took = time.perf_counter() - began

    def look_by(self, model: EmbeddingModel) -> None:
        """Ask again by another model, before questions are switched to it."""
        self.judge = self.judge.by(model)
        self.asked = [each for some in self.judge.asked([one.check for one in self.asked]) for each in some]
        self.look()

    @property
    def lost(self) -> list[RecallCheck]:
        """Return the checks that passed before and fail after."""
        checks = (each.check for each in self.asked)
        return [one for one in checks if self.before[one.id] is not None and self.after[one.id] is None]

    def told(self) -> dict[str, Any]:
        """Return the part of a report about them: numbers and ids."""
        passed = sum(place is not None for place in self.after.values())
        lost = [str(check.id) for check in self.lost]
        return {"recall": {"checked": len(self.after), "passed": passed, "lost": lost}} if self.asked else {}

    def refuse(self, *, accept: bool) -> None:
        """Raise RecallLost where a check is lost and nobody agreed."""
        if self.lost and not accept:
            raise RecallLost(self.lost)

    def keep(self) -> None:
        """Keep how it went, in the open transaction: it is undone with what it is about."""
        if self.asked:
            judge, checks = self.judge, [each.check for each in self.asked]
            keep_run(
                judge,
                checks,
                self.after,
                cause=self.cause,
                namespace=self.namespace,
                operation_id=self.operation_id,
                took=self.took,
                lost=[check.id for check in self.lost],
            )

    def settle(self, *, accept: bool, progress: Progress) -> dict[str, Any]:
        """Look, refuse and keep, at the end of the transaction; the report's part. Raise RecallLost, reported too."""
        self.look()
        if self.lost and not accept:
            progress.report = {**(progress.report or {}), **self.told()}
        self.refuse(accept=accept)
        self.keep()
        return self.told()


def keep_run(
    judge: Judge,
    checks: Sequence[RecallCheck],
    places: Places,
    *,
    cause: str,
    namespace: Namespace | None,
    operation_id: uuid.UUID | None,
    took: float,
    lost: Sequence[uuid.UUID],
) -> RecallRun:
    """Keep a run, and with each check how it went."""
    project_id = judge.principal.project_id
    with access.enter(judge.principal, why="recall checks"):
        for check in checks:
            check.place, check.run_at = places[check.id], judge.now
            check.passed = check.place is not None
        RecallCheck.objects.bulk_update(checks, ["passed", "place", "run_at"], batch_size=500)
        return RecallRun.objects.keep(
            project_id,
            namespace=namespace,
            cause=cause,
            operation_id=operation_id,
            created_at=judge.now,
            took_ms=round(took * 1000),
            passed=sum(place is not None for place in places.values()),
            failed=[check.id for check in checks if places[check.id] is None],
            lost=list(lost),
        )


def whole_project(
    principals: Iterable[Principal], *, cause: str, model: EmbeddingModel, now: datetime.datetime
) -> list[RecallGuard]:
    """Return guards of whole projects that asked all checks by the active model, then by another one."""
    guards = [RecallGuard.around(principal, None, cause=cause, now=now) for principal in principals]
    for guard in guards:
        guard.look_by(model)
    return guards
