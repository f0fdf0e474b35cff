"""A consolidation: embed what waits, plan, and, unless it is a dry run, apply the plan."""

from typing import Any

from django.utils import timezone

from memories import access, failpoints
from memories.access import Principal
from memories.models import Operation
from memories.operations import Progress
from memories.upkeep.consolidation import plan_execution, planner, reports
from memories.upkeep.consolidation.plan_state import Outlook
from memories.upkeep.consolidation.steps import load_steps


def consolidate(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Run it to its end; the report is that of docs/spec.md §7. Its `now` is the operation's creation.

    Whoever runs it again after a crash goes on from the plan, or only tells what was applied. Raises
    NeedsConfirmation, RecallLost, NoPlan; the report then says what was planned.
    """
    cursor = operation.cursor or {}
    progress.report = {"phases": [], "applied": False}
    with progress.alive():
        embedded = 0
        if not cursor:
            progress.save(stage="embed", done=0, total=None)
            embedded = planner.embed_waiting(principal, operation)
            failpoints.reach("consolidation.embedded")
        outlook = planner.outlook_of(principal, operation)
        plan, earlier = operation, cursor.get("plan")
        if outlook.wish.plan_id is not None:
            plan, earlier = planner.earlier_plan(outlook, outlook.wish.plan_id)
            outlook.operation.created_at = plan.created_at
        elif earlier is None:
            earlier = planner.make(outlook, progress)
        assert earlier is not None
        common = {**earlier, "dry_run": operation.dry_run, "reembedded": embedded, "timestamp": outlook.now.isoformat()}
        progress.report |= {**common, **_foretold(outlook, plan, earlier)}
        if operation.dry_run:
            done = {**_foretold(outlook, plan, earlier), **plan_execution.rehearse(outlook, plan, earlier, progress)}
        else:
            done = cursor.get("applied") or plan_execution.run(outlook, plan, earlier, progress)
    return {**common, **done, **reports.duration(operation.started_at or outlook.now, timezone.now())}


def _foretold(outlook: Outlook, plan: Operation, text: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a plan, as if it were applied now."""
    with access.enter(outlook.principal, why="plan"):
        planned = list(load_steps(plan).values())
    numbers = reports.counted(planned)
    return {
        **numbers,
        "stale": reports.named([]),
        "left": [],
        "before": text["before"],
        "after": reports.predict_totals(text["before"], planned),
    }
