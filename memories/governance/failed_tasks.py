"""The operation that proposes a way out of an impasse: a task that was reported failed again and again."""

import uuid
from typing import Any

from memories import access
from memories.access import Principal
from memories.governance.task_proposals import Situation, ask_and_judge, store_outcome
from memories.models import Operation, Proposal, Task
from memories.operations import BadOptions, Options, Progress

NAMESPACE_OF_IDS = uuid.UUID("7f3fbb52-4a0d-4f6e-9a1e-0d2f3ac0c9d1")


def check_impasse(options: Options) -> None:
    """Raise BadOptions unless a task is named."""
    try:
        uuid.UUID(options["task"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadOptions("task", "Give the id of a task's row.") from error


def propose_way_out(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Ask for a proposal and concludes it; begun again after its end it has nothing to do."""
    proposal_id = uuid.uuid5(NAMESPACE_OF_IDS, str(operation.id))
    with access.enter(principal, why="proposal"):
        done = Proposal.objects.within(principal.project_id).filter(id=proposal_id).first()
        tasks = Task.objects.within(principal.project_id).select_related("namespace")
        task = tasks.filter(id=operation.options["task"]).first()
    if done is None:
        if task is None:
            return {"outcome": None, "why": "the task was forgotten"}
        values = {"title": task.title, "summary": task.summary, "status": task.status}
        with progress.alive():
            considered = ask_and_judge(
                principal,
                task.namespace.name,
                Situation(task.task_id, values),
                now=operation.created_at,
                about=[task.fragment_id] if task.fragment_id else [],
                proposal_id=proposal_id,
            )
        progress.check()
        done = store_outcome(principal, considered, now=operation.created_at)
    return {"proposal": str(done.id), "outcome": done.outcome, "reasons": done.reasons}
