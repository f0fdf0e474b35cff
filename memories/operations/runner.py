"""Running an operation to its end, with progress that people can watch and a stop between batches."""

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog
from django.db import DatabaseError, connection
from django.utils import timezone

from memories import access, failpoints, spans
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Operation
from memories.models.enums import OperationState
from memories.models.history import events_of
from memories.operations.leases import LeaseLost, claim, lease, renew_lease

log = structlog.get_logger(__name__)
NOTED_EVERY = 1.0  # seconds
Watcher = Callable[[str, int, int | None], None]


class Cancelled(Exception):
    """Somebody asked the operation to end."""


class Progress:
    """A worker's hand on its operation: says how far it is and hears whether to stop."""

    def __init__(self, principal: Principal, operation: Operation, watcher: Watcher | None = None) -> None:
        self.principal, self.operation, self._watcher = principal, operation, watcher
        # What a run that fails or is cancelled leaves as its report.
        self.report: dict[str, Any] | None = None
        # How far a transaction is that still lasts, and whether somebody asked it to end.
        self._noted: dict[str, Any] = {}
        self._cancelled = False

    def save(self, *, stage: str, done: int, total: int | None, cursor: Any = None) -> None:
        """Save how far it is and where to go on after a crash. Raise LeaseLost.

        Inside a transaction with the rows of a batch, both are kept or neither: whoever lost the lease writes nothing.
        """
        renew_lease(
            self.principal, self.operation, now=timezone.now(), stage=stage, done=done, total=total, cursor=cursor
        )
        if self._watcher:
            self._watcher(stage, done, total)

    def note(self, *, stage: str, done: int, total: int | None) -> None:
        """Inside `alive`: how far it is, for people; written soon, by the other connection. Raise Cancelled."""
        self._noted = {"stage": stage, "done": done, "total": total}
        if self._watcher:
            self._watcher(stage, done, total)
        if self._cancelled:
            raise Cancelled

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Renews the lease meanwhile from a connection of its own: for what takes long in one transaction."""
        over = threading.Event()
        thread = threading.Thread(target=self._renew, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _renew(self, over: threading.Event) -> None:
        waited, state = 0.0, self._noted
        while not over.wait(NOTED_EVERY):
            waited += NOTED_EVERY
            if waited < lease().total_seconds() / 3 and state is self._noted:
                continue
            waited, state = 0.0, self._noted
            try:
                renew_lease(self.principal, self.operation, now=timezone.now(), **state)
                self._cancelled = self._is_to_end()
            except LeaseLost:
                return  # whoever saves next hears of it
            except DatabaseError as error:
                log.warning("lease_not_renewed", operation=str(self.operation.id), error=type(error).__name__)
            finally:
                connection.close()

    def _is_to_end(self) -> bool:
        with access.enter(self.principal, why="progress"):
            rows = Operation.objects.within(self.principal.project_id).filter(id=self.operation.id)
            return bool(rows.values_list("cancel_requested", flat=True).get())

    def check(self) -> None:
        """To be called between batches. Raise Cancelled when somebody asked the operation to end."""
        with access.enter(self.principal, why="progress"):
            self.operation.refresh_from_db(fields=["cancel_requested"])
        if self.operation.cancel_requested:
            raise Cancelled


UNFORESEEN = "internal"
DISK_FULL = "53100"  # of Postgres
Handler = Callable[[Principal, Operation, Progress], dict[str, Any]]


def run(
    principal: Principal, operation_id: uuid.UUID, *, handlers: Mapping[str, Handler], watcher: Watcher | None = None
) -> Operation | None:
    """Claims the operation and runs it to its end; None when there was nothing to claim."""
    operation = claim(principal, operation_id, now=timezone.now())
    if operation is None:
        return None
    named = {"novamem.operation": str(operation.id)}
    with access.attribute_to(_starter(principal, operation)), spans.span("internal", operation.kind, named):
        _carry_out(principal, operation, handlers, Progress(principal, operation, watcher))
    return operation


def _starter(principal: Principal, operation: Operation) -> Mapping[str, Any]:
    """Return who started it, as row history says."""
    with access.enter(principal, why="claim"):
        events = events_of(Operation).objects.filter(pgh_obj=operation.id, pgh_label="insert")
        context = events.values_list("pgh_context", flat=True).first()
    return context or {}


def _carry_out(principal: Principal, operation: Operation, handlers: Mapping[str, Handler], progress: Progress) -> None:
    try:
        progress.check()
        report = access.retry_on_contention(
            lambda: handlers[operation.kind](principal, _as_kept(principal, operation), progress)
        )
        failpoints.reach("operations.handled")
        _end(principal, operation, OperationState.SUCCEEDED, report=report)
    except LeaseLost:
        log.warning("lease_lost", operation=str(operation.id), kind=operation.kind)
    except Cancelled:
        _end(principal, operation, OperationState.CANCELLED, **_left(progress))
    except Exception as error:  # noqa: BLE001  # whatever a handler raises belongs into the row that people look at
        if access.is_cut_off(error):
            # The lease runs out, and another worker goes on: a restart of Postgres fails no operation.
            log.warning("database_lost", operation=str(operation.id), kind=operation.kind)
        else:
            _fail(principal, operation, progress, error)


def _fail(principal: Principal, operation: Operation, progress: Progress, error: Exception) -> None:
    code = error_code_of(error)
    about = {"operation": str(operation.id), "kind": operation.kind, "code": code}
    # What a room refuses by a name of its own is an answer; a traceback tells of what nobody foresaw.
    if code == UNFORESEEN:
        log.exception("operation_failed", exc_info=error, **about)
    else:
        log.warning("operation_failed", **about)
    _end(
        principal,
        operation,
        OperationState.FAILED,
        error={"code": code, "type": type(error).__name__, **_more(error)},
        **_left(progress),
    )


def _as_kept(principal: Principal, operation: Operation) -> Operation:
    """Bring the row to how far it is by what was committed, and return it."""
    with access.enter(principal, why="progress"):
        operation.refresh_from_db(fields=["done", "total", "cursor", "stage", "stages"])
    return operation


def _left(progress: Progress) -> dict[str, Any]:
    return {"report": progress.report} if progress.report is not None else {}


def error_code_of(error: Exception) -> str:
    """Return the error's code, if it is one of ours or tells that the database's disk is full."""
    if getattr(error.__cause__, "sqlstate", None) == DISK_FULL:
        return "no_space"
    return error.code if isinstance(error, NovaError) else UNFORESEEN


def _more(error: Exception) -> dict[str, Any]:
    """Return what an error of ours says besides its code: words and numbers, never a memory's text."""
    return error.summary if isinstance(error, NovaError) else {}


def _end(principal: Principal, operation: Operation, state: OperationState, **values: Any) -> None:
    now = timezone.now()
    try:
        with access.enter(principal, why=operation.kind):  # row history tells what ended
            renew_lease(principal, operation, now=now, state=state, finished_at=now, **values)
    except LeaseLost:
        log.warning("lease_lost", operation=str(operation.id), kind=operation.kind)
        return
    spans.note({"novamem.state": state})
    took = (now - operation.started_at).total_seconds() if operation.started_at else 0.0
    log.info("operation_ended", operation=str(operation.id), kind=operation.kind, state=state, took_s=round(took, 1))
    with access.enter(principal, why="end"):
        operation.refresh_from_db()
