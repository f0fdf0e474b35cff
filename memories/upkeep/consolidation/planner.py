"""Planner: phase by phase, what each memory is to become. Nothing but the plan's own rows is written."""

import datetime
import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import Q

from memories import access, failpoints
from memories.access import Principal
from memories.ingest.embedding_queue import embed_pending
from memories.models import Fragment, Namespace, Operation, PlanStep, sql
from memories.models.enums import OperationState
from memories.operations import NoPlan, PlanUsed, Progress
from memories.providers import active_model
from memories.upkeep.consolidation import (
    contradiction_scan,
    corroboration,
    decay,
    deduplication,
    digest_phase,
    steps,
)
from memories.upkeep.consolidation.options import parse_options
from memories.upkeep.consolidation.plan_state import Outlook, declined_steps
from memories.upkeep.consolidation.steps import Phase
from memories.upkeep.thresholds import thresholds_of

KIND = "consolidate"
UNAPPLIED = datetime.timedelta(days=1)  # how long a plan that was not applied may still be


def outlook_of(principal: Principal, operation: Operation) -> Outlook:
    """Return what a run stands on; the steps of earlier runs at the same `now` count against its caps."""
    with access.enter(principal, why="plan"):
        namespace = operation.namespace
        namespace.refresh_from_db()
        outlook = Outlook(principal, operation, namespace, parse_options(operation.options), active_model())
        outlook.declined = declined_steps(namespace)
        outlook.thresholds = thresholds_of(principal.project_id)
        for report in _at_that_time(operation):
            for name, number in (report or {}).get("used", {}).items():
                outlook.used[name] = outlook.used.get(name, 0) + number
        last = _earlier(operation).order_by("-finished_at").values_list("report", flat=True).first()
        outlook.examined_to = int((last or {}).get("examined_to", 0))
        return outlook


def _earlier(operation: Operation) -> Any:
    """Run of the namespace that did something and were not undone."""
    rows = Operation.objects.within(operation.project_id).filter(namespace=operation.namespace, kind=KIND)
    rows = rows.filter(state=OperationState.SUCCEEDED, dry_run=False).exclude(id=operation.id)
    return rows.filter(report__undone__isnull=True)


def _at_that_time(operation: Operation) -> Any:
    rows = _earlier(operation).filter(report__timestamp=operation.created_at.isoformat())
    return rows.values_list("report", flat=True)


def embed_waiting(principal: Principal, operation: Operation) -> int:
    """Embed what waits for its vector; how many were. A text that fails waits longer and holds up nothing."""
    total = 0
    while True:
        done, failed = embed_pending(principal, now=operation.created_at)
        total += done
        if not done + failed:
            return total


def make(outlook: Outlook, progress: Progress) -> dict[str, Any]:
    """Plan every phase and keep the steps; answer the plan's part of the report."""
    operation = outlook.operation
    with access.enter(outlook.principal, why="plan"):
        examined_to, before = (
            sql.horizon(),
            Fragment.objects.within(outlook.namespace.project_id).in_namespaces([outlook.namespace]).totals(),
        )
        _forget_old_plans(outlook)
    likenesses: list[deduplication.Likeness] = []
    phases: list[tuple[Phase, Callable[[], None]]] = [
        (Phase.DEDUPLICATE, lambda: deduplication.plan(outlook, likenesses)),
        (Phase.CONTRADICTIONS, lambda: contradiction_scan.plan(outlook)),
        (Phase.CORROBORATE, lambda: corroboration.plan(outlook, likenesses)),
        (Phase.DIGEST, lambda: digest_phase.plan(outlook)),
        (Phase.DECAY, lambda: decay.plan(outlook)),
    ]
    for number, (phase, plan) in enumerate(phases):
        progress.save(stage=f"plan {phase}", done=number, total=steps.STAGES)
        progress.check()
        outlook.aside.phase = str(phase)
        if phase == Phase.DEDUPLICATE:
            likenesses += deduplication.find_duplicates(outlook)
        plan()
        failpoints.reach(f"consolidation.plan.{phase}")
    with access.enter(outlook.principal, why="plan"):
        steps.store_steps(operation, outlook.steps)
        values = {
            "plan_id": str(operation.id),
            "plan_hash": steps.digest(operation),
            "planned": len(outlook.steps),
            "deferred": outlook.deferred,
            "examined_to": examined_to if not outlook.deferred.get(Phase.CONTRADICTIONS) else outlook.examined_to,
            "before": before,
            **outlook.aside.report(),
        }
        progress.save(stage="planned", done=steps.PLANNED, total=steps.STAGES, cursor={"plan": values})
    failpoints.reach("consolidation.planned")
    return values


def _forget_old_plans(outlook: Outlook) -> None:
    """Plan of the namespace that nobody applied for a day: an hourly run makes a new one."""
    ended = [OperationState.SUCCEEDED, OperationState.FAILED, OperationState.CANCELLED]
    old = Operation.objects.within(outlook.project_id).filter(
        namespace=outlook.namespace, kind=KIND, state__in=ended, created_at__lt=outlook.now - UNAPPLIED
    )
    applied = _runs(outlook.namespace).filter(state=OperationState.SUCCEEDED, report__expired__isnull=True)
    # What a run did is read by the steps of its plan, which may be another operation's.
    plans = [plan for plan in applied.filter(dry_run=False).values_list("report__plan_id", flat=True) if plan]
    unapplied = old.exclude(id__in=plans).values("id")
    PlanStep.objects.within(outlook.project_id).filter(operation__in=unapplied, declined=False).delete()


def earlier_plan(outlook: Outlook, plan_id: uuid.UUID) -> tuple[Operation, dict[str, Any]]:
    """Return the operation that made a plan of this namespace, and the plan's part of its report. Raise NoPlan."""
    with access.enter(outlook.principal, why="plan"):
        return _plan(outlook.namespace, plan_id)


def _plan(namespace: Namespace, plan_id: uuid.UUID) -> tuple[Operation, dict[str, Any]]:
    made = _runs(namespace).filter(id=plan_id).first()
    plan = ((made and made.cursor) or {}).get("plan")
    kept = made and PlanStep.objects.within(namespace.project_id).filter(operation=made).exists()
    if made is None or plan is None or (plan["planned"] and not kept):
        raise NoPlan("there is no such plan in this namespace any more")
    return made, plan


def _runs(namespace: Namespace) -> Any:
    return Operation.objects.within(namespace.project_id).filter(kind=KIND, namespace=namespace)


def refuse_unfit_plan(operation: Operation) -> None:
    """Raise NoPlan or PlanUsed when the plan that a queued run is to apply can't be, in the open transaction."""
    plan_id = parse_options(operation.options).plan_id
    if plan_id is None:
        return
    _plan(operation.namespace, plan_id)
    applied = _runs(operation.namespace).filter(state=OperationState.SUCCEEDED, dry_run=False)
    if applied.filter(Q(id=plan_id) | Q(options__plan_id=str(plan_id))).exists():
        raise PlanUsed("this plan was applied already")
