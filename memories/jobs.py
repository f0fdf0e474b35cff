"""Which kinds of operations there are, and how one is handed to a worker."""

import datetime
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from celery import current_app
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from kombu.exceptions import OperationalError as BrokerAway

from memories import (
    access,
    agent_tasks,
    backups,
    containment,
    erasure,
    governance,
    namespaces,
    operations,
    packs,
    recall_checks,
    rollbacks,
    run_changes,
    upkeep,
)
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Connected, EmbeddingModel, Namespace, Operation, Project
from memories.models.enums import ModelState, OperationState, RecallCause
from memories.operations import BadOptions, OperationKind, Options, Progress
from memories.upkeep.thresholds import refuse_falling_days

log = structlog.get_logger(__name__)

KINDS: Mapping[str, OperationKind] = {
    "rebuild": OperationKind(upkeep.reindex.rebuild, upkeep.reindex.check_target),
    "backfill": OperationKind(
        upkeep.vector_backfill.backfill, upkeep.vector_backfill.check_backfill, whole_project=True, own_door=True
    ),
    "retire": OperationKind(
        upkeep.vector_backfill.drop, upkeep.vector_backfill.check_drop, whole_project=True, own_door=True
    ),
    "tier": OperationKind(upkeep.lifecycle.tier, upkeep.lifecycle.check_tiering, dry_runs=True),
    "archive": OperationKind(
        upkeep.lifecycle.archive_old,
        upkeep.lifecycle.check_putting_away,
        dry_runs=True,
        undo=upkeep.lifecycle.undo_leaving,
    ),
    "compact": OperationKind(
        upkeep.lifecycle.compact,
        upkeep.lifecycle.check_compaction,
        check_start=refuse_falling_days,
        dry_runs=True,
        undo=upkeep.lifecycle.undo_compaction,
    ),
    "evict": OperationKind(
        upkeep.lifecycle.evict,
        upkeep.lifecycle.check_eviction,
        whole_project=True,
        dry_runs=True,
        undo=upkeep.lifecycle.undo_leaving,
    ),
    "consolidate": OperationKind(
        upkeep.consolidation.consolidate,
        upkeep.consolidation.check,
        undo=upkeep.consolidation.undo,
        check_undo=run_changes.refuse_unfit,
        check_start=upkeep.consolidation.refuse_unfit_plan,
        permit=run_changes.permit,
        one_namespace=True,
        dry_runs=True,
    ),
    "forget": OperationKind(erasure.run, erasure.check_forgetting, one_namespace=True, dry_runs=True, own_door=True),
    "fork": OperationKind(
        namespaces.fork, namespaces.check_fork, check_start=namespaces.refuse_taken, one_namespace=True, own_door=True
    ),
    "merge": OperationKind(
        namespaces.merge,
        namespaces.check_merge,
        undo=namespaces.undo_merge,
        check_undo=run_changes.refuse_unfit,
        check_start=namespaces.refuse_unfit_merge,
        permit=namespaces.permit_merge,
        one_namespace=True,
        dry_runs=True,
        own_door=True,
    ),
    "rollback": OperationKind(
        rollbacks.roll_back,
        rollbacks.check_rollback,
        undo=rollbacks.undo_rollback,
        check_undo=run_changes.refuse_unfit,
        check_start=rollbacks.refuse_unfit_rollback,
        permit=rollbacks.permit_rollback,
        one_namespace=True,
        dry_runs=True,
        own_door=True,
    ),
    "propose": OperationKind(governance.propose_way_out, governance.check_impasse, one_namespace=True, own_door=True),
    "evolve": OperationKind(governance.find_contradictions, governance.check_evolving, one_namespace=True),
    "pack": OperationKind(packs.write, packs.check, one_namespace=True),
    "recall": OperationKind(
        recall_checks.run, recall_checks.check_options, own_door=True, once=[OperationState.QUEUED]
    ),
    # Of the whole project, for the operation would go with its namespace.
    "delete": OperationKind(
        namespaces.delete_namespace,
        namespaces.check_namespace,
        permit=namespaces.permit_deletion,
        whole_project=True,
        own_door=True,
        once=operations.OPEN,
    ),
    "delete_project": OperationKind(
        namespaces.delete_project,
        namespaces.check_project,
        permit=namespaces.permit_deletion,
        whole_project=True,
        own_door=True,
        once=operations.OPEN,
    ),
    "backup": OperationKind(
        lambda *given: _back_up(*given),
        backups.bundle.check_backup,
        check_start=backups.bundle.refuse_missing,
        whole_project=True,
    ),
    "verify": OperationKind(backups.restoration.verify, backups.restoration.check_proof, whole_project=True),
    "drill": OperationKind(backups.restoration.drill, backups.restoration.check_proof, whole_project=True),
    "restore": OperationKind(
        partial(
            backups.restoration.restore,
            actions=backups.restoration.RestoreActions(erasure.erase, containment.set_aside_returned),
        ),
        backups.restoration.check_restore,
        check_start=backups.restoration.refuse_unfit_restore,
        permit=lambda *given: _permit_restore(*given),
        undo=rollbacks.undo_restore,
        check_undo=rollbacks.refuse_unfit_undo,
        whole_project=True,
        dry_runs=True,
    ),
}
UNDO = "undo"
FROM_ARCHIVE = ("archive", "compact", "evict")  # what their undo reads
IDLE = datetime.timedelta(days=1)  # between two consolidations of a namespace in which nothing changes


class AlreadyRunning(NovaError):
    """The namespace is being consolidated already, by that operation."""

    code = "already_running"
    title = "This namespace is being consolidated already"

    def __init__(self, operation_id: uuid.UUID) -> None:
        super().__init__(f"operation {operation_id} consolidates this namespace already")
        self.operation_id = operation_id

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return which operation runs."""
        return [{"field": "namespace", "message": str(self.operation_id)}]


class NotUndoable(NovaError):
    """There is nothing to undo, or operations of this kind can't be undone."""

    code = "cannot_undo"
    title = "This can’t be undone"


def check_options(
    kind: str, options: Options, *, namespace: Namespace | None = None, placed: bool = False, dry_run: bool = False
) -> None:
    """Raise BadOptions unless options and place (once it is `placed`) are those of the kind."""
    if kind not in KINDS:
        raise BadOptions("kind", f"Use one of: {', '.join(KINDS)}.")
    KINDS[kind].check(options)
    if KINDS[kind].whole_project and namespace:
        raise BadOptions("namespace", "This job is about the whole project.")
    if KINDS[kind].one_namespace and placed and namespace is None:
        raise BadOptions("namespace", "This job is about one namespace: name it.")
    if dry_run and not KINDS[kind].dry_runs:
        raise BadOptions("dry_run", "This job has no dry run.")


def start(
    principal: Principal,
    *,
    kind: str,
    namespace: Namespace | None,
    options: dict[str, Any],
    now: datetime.datetime,
    dry_run: bool = False,
    wake_up: bool = True,
) -> Operation:
    """Return a queued operation whose worker is woken when the transaction commits. Raise BadOptions, AlreadyRunning.

    And what the kind refuses. Without `wake_up` no worker is told: the caller runs it. Raise NotFound in a project that
    went meanwhile.
    """
    check_options(kind, options, namespace=namespace, placed=True, dry_run=dry_run)
    with access.enter(principal, why=f"start {kind}"):
        if KINDS[kind].once and (found := _one_like(principal, kind, namespace, options)):
            return found
        try:
            with transaction.atomic():
                operation = operations.start(
                    principal, kind=kind, namespace=namespace, options=options, dry_run=dry_run, now=now
                )
                if permit := KINDS[kind].permit:
                    permit(principal, operation)
                if check_start := KINDS[kind].check_start:
                    check_start(operation)
        except IntegrityError as error:
            running = _open_one(principal, kind, namespace)
            if running is None:
                raise
            raise AlreadyRunning(running) from error
        if wake_up:
            transaction.on_commit(lambda: wake(operation.project_id, operation.id), robust=True)
        return operation


def _one_like(
    principal: Principal, kind: str, namespace: Namespace | None, options: dict[str, Any]
) -> Operation | None:
    """Return the one that does for another, if the principal may start it; nobody starts another meanwhile."""
    if not Project.objects.select_for_update(no_key=True).filter(id=principal.project_id).exists():
        raise access.NotFound("project")
    rows = Operation.objects.within(principal.project_id).filter(state__in=KINDS[kind].once, cancel_requested=False)
    rows = rows.filter(kind=kind, namespace=namespace, options=options)
    if not KINDS[kind].permit:  # it sees what its starter sees
        rows = rows.filter(owner_id=principal.owner_id, key_id=principal.key_id, user_id=principal.user_id)
    found: Operation | None = rows.first()
    if found and (permit := KINDS[kind].permit):
        permit(principal, found)
    return found


def _open_one(principal: Principal, kind: str, namespace: Namespace | None) -> uuid.UUID | None:
    rows = Operation.objects.within(principal.project_id).filter(kind=kind, namespace=namespace, finished_at=None)
    found: uuid.UUID | None = rows.values_list("id", flat=True).first()
    return found


def start_undo(
    principal: Principal, operation_id: uuid.UUID, *, now: datetime.datetime, wake_up: bool = True
) -> Operation:
    """A queued operation that takes an ended one back. Raise NotFound, NotUndoable and what the kind refuses."""
    with access.enter(principal, why="undo"):
        found = Operation.objects.within(principal.project_id).select_related("namespace").filter(id=operation_id)
        operation = found.first()
        if operation is None:
            raise access.NotFound("operation")
        kind = KINDS.get(operation.kind)
        if kind is None or kind.undo is None:
            raise NotUndoable(f"{operation.kind} can't be undone")
        if operation.state in operations.OPEN or operation.dry_run:
            raise NotUndoable("this operation has done nothing that could be undone")
        if kind.permit:
            kind.permit(principal, operation)
        if kind.check_undo:
            kind.check_undo(operation)
        options = {"operation": str(operation.id)}
        made = operations.start(
            principal, kind=UNDO, namespace=operation.namespace, options=options, dry_run=False, now=now
        )
        if wake_up:
            transaction.on_commit(lambda: wake(made.project_id, made.id), robust=True)
        return made


def can_undo(operation: Operation) -> bool:
    """Return whether an ended operation may be taken back, as far as its row tells."""
    kind = KINDS.get(operation.kind)
    if kind is None or kind.undo is None or operation.dry_run or operation.state in operations.OPEN:
        return False
    if kind.check_undo:
        try:
            kind.check_undo(operation)
        except NovaError:
            return False
    elif operation.state != OperationState.SUCCEEDED:
        return False
    return not (operation.report or {}).keys() & {"undone", "expired"}


def _undo(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Hand an undo to the kind of what is undone."""
    with access.enter(principal, why="undo"):
        rows = Operation.objects.within(principal.project_id).select_related("namespace")
        undone = rows.get(id=operation.options["operation"])
    take_back = KINDS[undone.kind].undo
    if take_back is None:
        raise NotUndoable(f"{undone.kind} can't be undone")
    return take_back(principal, undone, progress)


def start_due(principal: Principal, *, now: datetime.datetime) -> list[Operation]:
    """Operations for what keeps the project's memory small and has something to do; none beside one that is open."""
    with access.enter(principal, why="schedule"):
        open_ones = Operation.objects.within(principal.project_id).filter(state__in=operations.OPEN)
        running = set(open_ones.values_list("kind", flat=True))
        kinds = [kind for kind in upkeep.lifecycle.due(principal.project_id, now=now) if kind not in running]
        return [start(principal, kind=kind, namespace=None, options={}, now=now) for kind in kinds]


def start_for_model(
    principal: Principal, *, kind: str, model: EmbeddingModel, now: datetime.datetime, wake_up: bool = True
) -> Operation:
    """Return the project's open operation about the model, begun now when there is none. Raise BadOptions.

    Without `wake_up` no worker is told: the caller runs it.
    """
    options = {"model": model.name}
    with access.enter(principal, why=f"start {kind}"):
        open_ones = Operation.objects.within(principal.project_id).filter(state__in=operations.OPEN)
        found: Operation | None = open_ones.filter(kind=kind, options=options, cancel_requested=False).first()
        arguments: dict[str, Any] = {"kind": kind, "namespace": None, "options": options, "now": now}
        begin = start if wake_up else partial(operations.start, dry_run=False)
        return found or begin(principal, **arguments)


def fill_model(model: EmbeddingModel, *, now: datetime.datetime) -> list[Operation]:
    """Start to embed what has no vector of the model, in every project. Not to be called inside a transaction."""
    upkeep.model_registry.begin_backfill(model.id)
    return _start_in_every_project("backfill", model, now=now)


def switch_model(model: EmbeddingModel, *, accept_recall_loss: bool = False, now: datetime.datetime) -> EmbeddingModel:
    """Make it the model of questions, once the recall checks of all projects were asked by it.

    Raise RecallLost, UnfitState.
    """
    guards = []
    if model.state != ModelState.ACTIVE:
        everybody = [access.system_principal(one) for one in Project.objects.order_by("name")]
        guards = recall_checks.whole_project(everybody, cause=RecallCause.MODEL, model=model, now=now)
    if (lost := [check for guard in guards for check in guard.lost]) and not accept_recall_loss:
        raise recall_checks.RecallLost(lost)
    row = upkeep.model_registry.activate(model.id)
    for guard in guards:
        guard.keep()
    return row


def activate_model(
    model: EmbeddingModel, *, force: bool, accept_recall_loss: bool = False, now: datetime.datetime
) -> EmbeddingModel:
    """Make it the model of questions; forced, what is missing follows. Raise VectorsMissing, RecallLost, UnfitState."""
    if not force:
        upkeep.model_registry.check_complete(model)
    row = switch_model(model, accept_recall_loss=accept_recall_loss, now=now)
    if force:
        _start_in_every_project("backfill", row, now=now)
    return row


def retire_model(model: EmbeddingModel, *, now: datetime.datetime) -> list[Operation]:
    """End it and start to drop its vectors, in every project. Raise UnfitState."""
    return _start_in_every_project("retire", upkeep.model_registry.retire(model.id), now=now)


def _start_in_every_project(kind: str, model: EmbeddingModel, *, now: datetime.datetime) -> list[Operation]:
    projects = Project.objects.order_by("name")
    return [start_for_model(access.system_principal(one), kind=kind, model=model, now=now) for one in projects]


def consolidate_everything(principal: Principal, *, now: datetime.datetime) -> None:
    """Start a consolidation of each namespace of the project, but for those where one is open.

    Only where memories have changed since the last one began; where nothing did, once a day: what nobody reads fades.
    The scopes of users wait for a change.
    """
    with access.enter(principal, why="start consolidate"):
        runs = Operation.objects.within(principal.project_id).filter(kind="consolidate", dry_run=False)
        open_ones = runs.filter(state__in=operations.OPEN).values("namespace")
        changed = Connected.objects.within(principal.project_id).filter(changed=True)
        changed = changed.exclude(namespace__in=open_ones)
        scopes = set(changed.select_for_update(of=("self",)).values_list("namespace_id", flat=True))
        changed.update(changed=False)
        lately = runs.filter(created_at__gt=now - IDLE).values("namespace")
        rows = Namespace.objects.within(principal.project_id)
        idle = Q(parent=None) & ~Q(id__in=lately)
        places = list(rows.filter(idle | Q(id__in=scopes)).order_by("name"))
    options: dict[str, Any] = {"method": "llm"} if governance.digests.has_model() else {}
    for place in places:
        with suppress(AlreadyRunning):
            start(principal, kind="consolidate", namespace=place, options=options, now=now)


def evolve_everything(principal: Principal, *, now: datetime.datetime) -> None:
    """Start a look for contradictions in free texts in each namespace of the project, where a model is there.

    None beside one that is open. Of the scopes of users only in those in which memories have changed since the last.
    """
    if not governance.digests.has_model():
        return
    with access.enter(principal, why="start evolve"):
        open_ones = Operation.objects.within(principal.project_id).filter(state__in=operations.OPEN, kind="evolve")
        busy = set(open_ones.values_list("namespace_id", flat=True))
        unexamined = Connected.objects.within(principal.project_id).filter(unexamined=True).exclude(namespace__in=busy)
        scopes = set(unexamined.select_for_update().values_list("namespace_id", flat=True))
        unexamined.update(unexamined=False)
        rows = Namespace.objects.within(principal.project_id).exclude(id__in=busy)
        for place in rows.filter(Q(parent=None) | Q(id__in=scopes)).order_by("name"):
            start(principal, kind="evolve", namespace=place, options={}, now=now)


def back_up_daily(principal: Principal, *, now: datetime.datetime) -> None:
    """Start a full backup, none beside one that is open, and prove the newest: read to its end, and restored."""
    with access.enter(principal, why="schedule"):
        open_ones = Operation.objects.within(principal.project_id).filter(state__in=operations.OPEN)
        running = set(open_ones.values_list("kind", flat=True))
        if "backup" not in running:
            options: dict[str, Any] = {"origin": "scheduled", "prove": True}
            start(principal, kind="backup", namespace=None, options=options, now=now)


def _permit_restore(principal: Principal, operation: Operation) -> None:
    """Whoever starts one, or takes one back."""
    backups.restoration.permit_restore(principal, operation)
    if operation.state == OperationState.SUCCEEDED:
        rollbacks.permit_undo(principal, operation)


def _back_up(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Make a backup; with `prove` it is verified and drilled next, as operations of their own."""
    report = backups.bundle.run_backup(principal, operation, progress)
    if operation.options.get("prove") and report["encrypted"] and not backups.encryption.has_identity():
        report["unproven"] = backups.encryption.IdentityMissing.code
    elif operation.options.get("prove"):
        now = operation.started_at or operation.created_at
        options: dict[str, Any] = {"namespace": None, "options": {"backup_id": report["backup_id"]}, "now": now}
        report["proofs"] = [str(start(principal, kind=kind, **options).id) for kind in ("verify", "drill")]
    return report


def report_task(
    principal: Principal, report: agent_tasks.TaskReport, prepared: Any, *, now: datetime.datetime
) -> agent_tasks.Reported:
    """Keep what an agent reports of a task; after the third failure in half an hour a proposal is queued.

    Raises as `agent_tasks.report_task`.
    """
    with access.enter(principal, why="task"):
        answer = agent_tasks.report_task(principal, report, prepared, now=now)
        if answer.impasse:
            options: dict[str, Any] = {"task": str(answer.task.id)}
            start(principal, kind="propose", namespace=answer.task.namespace, options=options, now=now)
        return answer


def wake(project_id: uuid.UUID, operation_id: uuid.UUID) -> None:
    """Tell a worker. Without a broker the row waits: the sweeper tells again."""
    _enqueue("memories.tasks.run_operation", str(project_id), str(operation_id))


def wake_ingestion(project_id: uuid.UUID) -> None:
    """Tell a worker that something was said in the project. Without a broker the rows wait for the next round."""
    _enqueue("memories.tasks.ingest_exchanges", str(project_id))


def _enqueue(task: str, *ids: str) -> None:
    try:
        current_app.send_task(task, args=list(ids))
    except BrokerAway as error:
        log.warning("broker_away", task=task, ids=ids, error=type(error).__name__)


def run(principal: Principal, operation_id: uuid.UUID, **kwargs: Any) -> Operation | None:
    """Run an operation here and now; see `operations.run`."""
    handlers = {name: kind.run for name, kind in KINDS.items()} | {UNDO: _undo}
    return operations.run(principal, operation_id, handlers=handlers, **kwargs)


def expire(principal: Principal, *, now: datetime.datetime) -> int:
    """Delete operations that ended OPERATION_DAYS ago and can't be undone any more; how many. 0 days keep them all."""
    if not settings.OPERATION_DAYS:
        return 0
    longer = dict.fromkeys(run_changes.RECORDED, settings.CONSOLIDATION_UNDO_DAYS) | dict.fromkeys(
        FROM_ARCHIVE, settings.ARCHIVE_DAYS
    )
    return operations.expire(principal, now=now, days=settings.OPERATION_DAYS, longer=longer)
