"""Which kinds of operations there are, and how one is handed to a worker."""

import datetime
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerAway

from memories import access, operations, upkeep
from memories.access import Principal
from memories.models import EmbeddingModel, Namespace, Operation, Project
from memories.models.search import LIVE
from memories.models.words import ModelState
from memories.operations.running import Handler

log = structlog.get_logger(__name__)

HANDLERS: Mapping[str, Handler] = {"rebuild": upkeep.rebuild, "backfill": upkeep.backfill, "retire": upkeep.drop}
FITTING = {"backfill": LIVE, "retire": (ModelState.RETIRED,)}  # states of the model that a job is about


class BadOptions(Exception):
    """The options do not fit the kind."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


def check_options(kind: str, options: Mapping[str, Any]) -> None:
    """Raises BadOptions unless the options are those of the kind."""
    if kind not in HANDLERS:
        raise BadOptions("kind", f"Use one of: {', '.join(HANDLERS)}.")
    if kind in FITTING:
        _check_model(kind, options)
    elif set(options) != {"target"} or options["target"] not in list(upkeep.TARGETS):
        raise BadOptions("options", f"Give a target: {', '.join(upkeep.TARGETS)}.")


def _check_model(kind: str, options: Mapping[str, Any]) -> None:
    if set(options) != {"model"} or not isinstance(options["model"], str):
        raise BadOptions("options", "Give the name of a model.")
    if not EmbeddingModel.objects.filter(name=options["model"], state__in=FITTING[kind]).exists():
        raise BadOptions("options", f"Give the name of a model that is {' or '.join(FITTING[kind])}.")


def start(
    principal: Principal,
    *,
    kind: str,
    namespace: Namespace | None,
    options: dict[str, Any],
    now: datetime.datetime,
) -> Operation:
    """A queued operation whose worker is woken when the transaction commits. Raises BadOptions."""
    check_options(kind, options)
    if kind in FITTING and namespace:
        raise BadOptions("namespace", "This job is about the whole project.")
    operation = operations.start(principal, kind=kind, namespace=namespace, options=options, dry_run=False, now=now)
    transaction.on_commit(lambda: wake(operation.project_id, operation.id), robust=True)
    return operation


def start_for_model(
    principal: Principal, *, kind: str, model: EmbeddingModel, now: datetime.datetime, wake_up: bool = True
) -> Operation:
    """The project's open operation about the model, begun now when there is none. Raises BadOptions.

    Without `wake_up` no worker is told: the caller runs it.
    """
    options = {"model": model.name}
    with access.enter(principal, why=f"start {kind}"):
        open_ones = Operation.objects.within(principal.project_id).filter(state__in=operations.OPEN)
        found: Operation | None = open_ones.filter(kind=kind, options=options, cancel_requested=False).first()
        wish: dict[str, Any] = {"kind": kind, "namespace": None, "options": options, "now": now}
        begin = start if wake_up else partial(operations.start, dry_run=False)
        return found or begin(principal, **wish)


def start_elsewhere(principal: Principal, *, kind: str, model: EmbeddingModel, now: datetime.datetime) -> None:
    """The same in every other project: models are the installation's. Not to be called inside a transaction."""
    for project in Project.objects.exclude(id=principal.project_id).order_by("name"):
        start_for_model(access.system_principal(project), kind=kind, model=model, now=now)


def wake(project_id: uuid.UUID, operation_id: uuid.UUID) -> None:
    """Tells a worker. Without a broker the row waits: the sweeper tells again."""
    try:
        current_app.send_task("memories.tasks.run_operation", args=[str(project_id), str(operation_id)])
    except BrokerAway as error:
        log.warning("broker_away", operation=str(operation_id), error=type(error).__name__)


def run(principal: Principal, operation_id: uuid.UUID, **kwargs: Any) -> Operation | None:
    """Runs an operation here and now; see `operations.run`."""
    return operations.run(principal, operation_id, handlers=HANDLERS, **kwargs)
