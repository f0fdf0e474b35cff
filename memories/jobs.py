"""Which kinds of operations there are, and how one is handed to a worker."""

import datetime
import uuid
from collections.abc import Mapping
from typing import Any

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerAway

from memories import operations, upkeep
from memories.access import Principal
from memories.models import Namespace, Operation
from memories.operations.running import Handler

log = structlog.get_logger(__name__)

HANDLERS: Mapping[str, Handler] = {"rebuild": upkeep.rebuild}


class BadOptions(Exception):
    """The options do not fit the kind."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


def check_options(kind: str, options: Mapping[str, Any]) -> None:
    """Raises BadOptions unless the options are those of the kind."""
    if kind not in HANDLERS:
        raise BadOptions("kind", f"Use one of: {', '.join(HANDLERS)}.")
    if set(options) != {"target"} or options["target"] not in list(upkeep.TARGETS):
        raise BadOptions("options", f"Give a target: {', '.join(upkeep.TARGETS)}.")


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
    operation = operations.start(principal, kind=kind, namespace=namespace, options=options, dry_run=False, now=now)
    transaction.on_commit(lambda: wake(operation.project_id, operation.id), robust=True)
    return operation


def wake(project_id: uuid.UUID, operation_id: uuid.UUID) -> None:
    """Tells a worker. Without a broker the row waits: the sweeper tells again."""
    try:
        current_app.send_task("memories.tasks.run_operation", args=[str(project_id), str(operation_id)])
    except BrokerAway as error:
        log.warning("broker_away", operation=str(operation_id), error=type(error).__name__)


def run(principal: Principal, operation_id: uuid.UUID, **kwargs: Any) -> Operation | None:
    """Runs an operation here and now; see `operations.run`."""
    return operations.run(principal, operation_id, handlers=HANDLERS, **kwargs)
