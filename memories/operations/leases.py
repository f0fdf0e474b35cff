"""Who works on an operation: claimed by a conditional update, kept by a lease, told apart by a fencing token."""

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from memories import access
from memories.access import NotFound, Principal
from memories.errors import NovaError
from memories.models import Namespace, Operation
from memories.models.enums import OperationState
from memories.models.operation import MOST_STAGES

ATTEMPTS = 5  # a job that loses its worker so often is what ends the worker
BATCH = 1_000  # deleted in one transaction
OPEN = (OperationState.QUEUED, OperationState.RUNNING)


class NotOpen(NovaError):
    """The operation has ended already."""

    code = "not_open"
    title = "It has ended already"


class LeaseLost(Exception):
    """Another worker has taken the operation over."""


def lease() -> datetime.timedelta:
    """Return how long a worker may stay silent before its operation is given to another."""
    return datetime.timedelta(seconds=settings.OPERATION_LEASE_SECONDS)


def start(
    principal: Principal,
    *,
    kind: str,
    namespace: Namespace | None,
    options: dict[str, Any],
    dry_run: bool,
    now: datetime.datetime,
) -> Operation:
    """Return a queued operation."""
    with access.enter(principal, why=f"start {kind}"):
        return _made(principal, kind=kind, namespace=namespace, options=options, dry_run=dry_run, created_at=now)


def record(principal: Principal, *, kind: str, report: dict[str, Any], now: datetime.datetime) -> Operation:
    """Return an operation that was done at once, in the open transaction: it tells who did it, and when."""
    state = OperationState.SUCCEEDED
    return _made(principal, kind=kind, report=report, state=state, created_at=now, finished_at=now)


def _made(principal: Principal, **values: Any) -> Operation:
    return Operation.objects.create(
        project_id=principal.project_id,
        owner_id=principal.owner_id,
        key_id=principal.key_id,
        user_id=principal.user_id,
        ceiling=principal.ceiling,
        **values,
    )


def starter(principal: Principal, operation: Operation) -> Principal:
    """Return the principal of a worker in the name of whoever started the operation, up to their ceiling."""
    kind = "key" if operation.key_id else "person" if operation.user_id else principal.kind
    return replace(
        principal,
        kind=kind,
        owner_id=operation.owner_id,
        key_id=operation.key_id,
        user_id=operation.user_id,
        ceiling=operation.ceiling or principal.ceiling,
        is_operator=principal.is_operator and kind != "key" and _may_operate(operation.user_id),
    )


def _may_operate(user_id: int | None) -> bool:
    """Return whether the installation is a person's, or nobody is named."""
    people = get_user_model()._default_manager
    return user_id is None or bool(people.filter(pk=user_id, is_superuser=True).exists())


def claim(principal: Principal, operation_id: uuid.UUID, *, now: datetime.datetime) -> Operation | None:
    """Return the operation, now ours under a new fencing token; None when it ended or another worker holds it."""
    with access.enter(principal, why="claim"):
        free = Q(state=OperationState.QUEUED) | Q(state=OperationState.RUNNING, lease_until__lt=now)
        taken = (
            Operation.objects.within(principal.project_id)
            .filter(free, id=operation_id)
            .update(
                state=OperationState.RUNNING,
                fence=F("fence") + 1,
                lease_until=now + lease(),
                heartbeat_at=now,
                started_at=Coalesce("started_at", now),
            )
        )
        return Operation.objects.select_related("namespace").get(id=operation_id) if taken else None


def renew_lease(principal: Principal, operation: Operation, *, now: datetime.datetime, **values: Any) -> None:
    """Write values while the lease is ours and renews it. Raise LeaseLost."""
    with access.enter(principal, why="progress"):
        rows = Operation.objects.within(principal.project_id).filter(
            id=operation.id, fence=operation.fence, state=OperationState.RUNNING
        )
        stage = values.get("stage")
        if stage and stage != operation.stage and len(operation.stages) < MOST_STAGES:
            values["stages"] = [*operation.stages, [stage, now.isoformat()]]
        if not rows.update(heartbeat_at=now, lease_until=now + lease(), **values):
            raise LeaseLost(str(operation.id))
        if stage:
            operation.stage, operation.stages = stage, values.get("stages", operation.stages)


def cancel(principal: Principal, operation_id: uuid.UUID, *, now: datetime.datetime) -> Operation:
    """End a queued operation at once, ask a running one to end. Raise NotFound, NotOpen."""
    with access.enter(principal, why="cancel"):
        operation: Operation | None = (
            Operation.objects.within(principal.project_id).select_for_update().filter(id=operation_id).first()
        )
        if operation is None:
            raise NotFound("operation")
        if operation.state not in OPEN:
            raise NotOpen(f"the operation has {operation.state} already")
        operation.cancel_requested = True
        if operation.state == OperationState.QUEUED:
            operation.state, operation.finished_at = OperationState.CANCELLED, now
        operation.save(update_fields=["cancel_requested", "state", "finished_at"])
        return operation


def stranded_operations(principal: Principal, *, now: datetime.datetime) -> list[uuid.UUID]:
    """Operations that nobody works on: queued for a lease's length, or running with an expired lease."""
    with access.enter(principal, why="sweep"):
        _fail_stranded(principal, now)
        waiting = Q(state=OperationState.QUEUED, created_at__lt=now - lease())
        silent = Q(state=OperationState.RUNNING, lease_until__lt=now)
        rows = Operation.objects.within(principal.project_id).filter(waiting | silent, finished_at__isnull=True)
        return list(rows.order_by("created_at").values_list("id", flat=True))


def _fail_stranded(principal: Principal, now: datetime.datetime) -> None:
    """End the operations that have lost their worker too often."""
    Operation.objects.within(principal.project_id).filter(
        state=OperationState.RUNNING, lease_until__lt=now, fence__gte=ATTEMPTS
    ).update(
        state=OperationState.FAILED,
        finished_at=now,
        error={"code": "worker_lost", "attempts": ATTEMPTS},
    )


def expire(principal: Principal, *, now: datetime.datetime, days: int, longer: Mapping[str, int]) -> int:
    """Delete the project's operations that ended so many days ago, some kinds later; how many. In batches."""
    kinds = {kind: max(days, most) for kind, most in longer.items()}
    ended = {most: [kind for kind in kinds if kinds[kind] == most] for most in kinds.values()}
    old = Q(finished_at__lt=now - datetime.timedelta(days=days)) & ~Q(kind__in=list(kinds))
    for most, names in ended.items():
        old |= Q(finished_at__lt=now - datetime.timedelta(days=most), kind__in=names)
    deleted = 0
    while True:
        with access.enter(principal, why="retention"):
            rows = Operation.objects.within(principal.project_id)
            ids = list(rows.filter(old).order_by("created_at").values_list("id", flat=True)[:BATCH])
            deleted += rows.filter(id__in=ids).delete()[0]
        if len(ids) < BATCH:
            return deleted
