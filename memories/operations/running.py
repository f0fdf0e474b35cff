"""Running an operation to its end, with progress that people can watch and a stop between batches."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from django.utils import timezone

from memories import access
from memories.access import Principal
from memories.models import Operation
from memories.models.words import OperationState
from memories.operations.leasing import LeaseLost, claim, keep_hold

log = structlog.get_logger(__name__)
Watcher = Callable[[str, int, int | None], None]


class Cancelled(Exception):
    """Somebody asked the operation to end."""


class Progress:
    """A worker's hand on its operation: says how far it is and hears whether to stop."""

    def __init__(self, principal: Principal, operation: Operation, watcher: Watcher | None = None) -> None:
        self.principal, self.operation, self._watcher = principal, operation, watcher

    def save(self, *, stage: str, done: int, total: int | None, cursor: Any = None) -> None:
        """Saves how far it is and where to go on after a crash. Raises LeaseLost.

        Inside a transaction with the rows of a batch, both are kept or neither: whoever lost the lease writes nothing.
        """
        keep_hold(
            self.principal, self.operation, now=timezone.now(), stage=stage, done=done, total=total, cursor=cursor
        )
        if self._watcher:
            self._watcher(stage, done, total)

    def check(self) -> None:
        """To be called between batches. Raises Cancelled when somebody asked the operation to end."""
        with access.enter(self.principal, why="progress"):
            self.operation.refresh_from_db(fields=["cancel_requested"])
        if self.operation.cancel_requested:
            raise Cancelled


Handler = Callable[[Principal, Operation, Progress], dict[str, Any]]


def run(
    principal: Principal, operation_id: uuid.UUID, *, handlers: Mapping[str, Handler], watcher: Watcher | None = None
) -> Operation | None:
    """Claims the operation and runs it to its end; None when there was nothing to claim."""
    operation = claim(principal, operation_id, now=timezone.now())
    if operation is None:
        return None
    progress = Progress(principal, operation, watcher)
    try:
        progress.check()
        report = handlers[operation.kind](principal, operation, progress)
        _end(principal, operation, OperationState.SUCCEEDED, report=report)
    except LeaseLost:
        log.warning("lease_lost", operation=str(operation.id), kind=operation.kind)
    except Cancelled:
        _end(principal, operation, OperationState.CANCELLED)
    except Exception as error:  # whatever a handler raises belongs into the row that people look at
        log.exception("operation_failed", operation=str(operation.id), kind=operation.kind)
        _end(principal, operation, OperationState.FAILED, error={"code": _code(error), "type": type(error).__name__})
    return operation


def _code(error: Exception) -> str:
    """The exception's own word for itself, when it has one: other people's `code` may be anything."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and code.isidentifier() else "internal"


def _end(principal: Principal, operation: Operation, state: OperationState, **values: Any) -> None:
    now = timezone.now()
    try:
        keep_hold(principal, operation, now=now, state=state, finished_at=now, **values)
    except LeaseLost:
        log.warning("lease_lost", operation=str(operation.id), kind=operation.kind)
        return
    with access.enter(principal, why="end"):
        operation.refresh_from_db()
