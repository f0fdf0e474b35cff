"""Undo of a consolidation: every row becomes what it was, and what was undone is not planned again."""

import uuid
from typing import Any

from memories import run_changes
from memories.access import Principal
from memories.models import Operation, PlanStep
from memories.operations import Progress


def undo(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Take a consolidation back, and does not plan it again; see `run_changes.undo_run`."""

    def decline(run: Operation) -> None:
        PlanStep.objects.within(run.project_id).filter(operation=_plan_of(run)).update(declined=True)

    return run_changes.undo_run(principal, operation, progress, also=decline, failpoint="consolidation.undone")


def _plan_of(run: Operation) -> uuid.UUID:
    return uuid.UUID((run.report or {})["plan_id"])
