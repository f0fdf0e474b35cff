"""A plan that somebody looked at: a run that names it does what the plan said, or nothing."""

import uuid
from typing import Any

from django.db.models import QuerySet

from memories.access import NotFound
from memories.errors import NovaError
from memories.models import Operation
from memories.models.enums import OperationState
from memories.operations.kinds import BadOptions, Options
from memories.operations.leases import OPEN

PLAN = "plan_id"
# Although recall checks would fail afterwards.
ACCEPT = "accept_recall_loss"
BESIDE = (PLAN, ACCEPT)  # what a run says beside what its plan was asked


class NoPlan(NotFound):
    """There is no such plan of what the run is about, or it is gone."""

    code = "no_plan"
    title = "This plan is gone"
    is_public = True


class PlanUsed(NovaError):
    """The plan was applied already."""

    code = "plan_used"
    title = "This plan was applied already"


class PlanChanged(NovaError):
    """What the run would do is no longer what its plan said."""

    code = "plan_changed"
    is_kept = True


def check_plan_id(options: Options) -> None:
    """Raise BadOptions unless `plan_id` is an id, or left out."""
    try:
        uuid.UUID(str(options.get(PLAN, uuid.UUID(int=0))))
    except ValueError as error:
        raise BadOptions(PLAN, "Give the id of a plan.") from error


def plan_of(operation: Operation) -> Operation | None:
    """The dry run whose plan a run is bound to; None for a run without one. Inside `access.enter`. Raise NoPlan."""
    if PLAN not in operation.options or operation.dry_run:
        return None
    rows = Operation.objects.within(operation.project_id).filter(
        id=operation.options[PLAN], dry_run=True, state=OperationState.SUCCEEDED
    )
    found: Operation | None = rows.filter(kind=operation.kind, namespace=operation.namespace_id).first()
    if found is None or _asked(found) != _asked(operation):
        raise NoPlan("there is no such plan of this any more")
    return found


def _asked(operation: Operation) -> dict[str, Any]:
    return {name: value for name, value in operation.options.items() if name not in BESIDE}


def check_accepted(options: Options) -> None:
    """Raise BadOptions unless `accept_recall_loss` is a truth value, or left out."""
    if not isinstance(options.get(ACCEPT, False), bool):
        raise BadOptions(ACCEPT, "Give true or false.")


def runs_of(plan: Operation) -> QuerySet[Any]:
    """Return the runs that applied a plan, or are about to. Inside `access.enter`."""
    rows = Operation.objects.within(plan.project_id).filter(kind=plan.kind, options__plan_id=str(plan.id))
    return rows.filter(dry_run=False, state__in=(*OPEN, OperationState.SUCCEEDED)).order_by("created_at", "id")


def refuse_unfit_plan(operation: Operation) -> None:
    """Raise NoPlan or PlanUsed when the plan that a queued run is bound to can't be applied."""
    plan = plan_of(operation)
    if plan and runs_of(plan).exclude(id=operation.id).exists():
        raise PlanUsed("this plan was applied already")
