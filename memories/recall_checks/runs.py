"""A run on demand: an operation that asks all checks of a namespace or of the project, with progress."""

import time
from typing import Any

from memories import access
from memories.access import Principal
from memories.models import Operation, RecallCheck
from memories.models.enums import RecallCause
from memories.operations import BadOptions, Options, Progress
from memories.recall_checks.evaluation import Judge, Places
from memories.recall_checks.guard import asks_users, keep_run


def check_options(options: Options) -> None:
    """Raise BadOptions for any option."""
    for name in sorted(options):
        raise BadOptions(name, "This option is not known.")


def run(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Ask them; the report counts, and name by id those that fail, and those of them that passed the last time."""
    began, now = time.perf_counter(), operation.started_at or operation.created_at
    with access.enter(principal, why="recall checks"):
        rows = RecallCheck.objects.within(principal.project_id)
        namespaces = [operation.namespace] if operation.namespace else None
        checks = list(rows.concerning(namespaces, users=asks_users(operation)).in_order())
    judge, places = Judge.of(principal.project_id, now=now), Places()
    for some in judge.asked(checks):
        places |= judge.places(some)
        progress.save(stage="asking", done=len(places), total=len(checks))
        progress.check()
    lost = [check.id for check in checks if check.passed and places[check.id] is None]
    kept = keep_run(
        judge,
        checks,
        places,
        cause=RecallCause.ASKED,
        namespace=operation.namespace,
        operation_id=operation.id,
        took=time.perf_counter() - began,
        lost=lost,
    )
    return {
        "run_id": str(kept.id),
        "checked": len(checks),
        "passed": kept.passed,
        "failed": [str(each) for each in kept.failed],
        "lost": [str(each) for each in lost],
    }
