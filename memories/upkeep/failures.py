"""Failures of single rows: a run sets aside what it can't work on, tells of it, and goes on with the rest."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import structlog
from django.db import InterfaceError, OperationalError, transaction

from memories.operations import Cancelled, LeaseLost, error_code_of

Row = TypeVar("Row")
Made = TypeVar("Made")
log = structlog.get_logger(__name__)
MOST_SET_ASIDE = 100  # in one batch: where more fail, it is not the rows' fault
# What says nothing about a row: the run has to end.
NOT_OF_A_ROW = (OperationalError, InterfaceError, MemoryError, Cancelled, LeaseLost)


class SetAside:
    """The rows that a run could not work on."""

    def __init__(self, phase: str = "", text: Sequence[dict[str, str]] = ()) -> None:
        self.phase, self.told = phase, list(text)

    def __contains__(self, row_id: uuid.UUID) -> bool:
        return any(each["id"] == str(row_id) for each in self.told)

    def report(self) -> dict[str, Any]:
        """Return the part of a run's report; empty when there is nothing to tell."""
        return {"set_aside": self.told} if self.told else {}

    def note(self, row_id: uuid.UUID, error: Exception) -> None:
        """Keep in mind that the phase failed on a row."""
        about = {"id": str(row_id), "phase": self.phase, "code": error_code_of(error), "type": type(error).__name__}
        log.warning("row_set_aside", **about, exc_info=error)
        self.told.append(about)

    def each(self, rows: Iterable[Row], work: Callable[[Row], Made], *, name: Callable[[Row], Any]) -> list[Made]:
        """Return what the work makes of each row; it writes nothing."""
        made = []
        for row in rows:
            try:
                made.append(work(row))
            except NOT_OF_A_ROW:
                raise
            except Exception as error:  # noqa: BLE001  # whatever it is, it is this row's
                self.note(name(row), error)
        return made

    def together(
        self, rows: Sequence[Row], work: Callable[[Sequence[Row]], Made], *, name: Callable[[Row], Any]
    ) -> Made:
        """Return what the work makes of the rows together, in the open transaction; without those on which it fails.

        The work may be tried many times, and has to read anew whatever it changes.
        """
        try:
            with transaction.atomic():
                return work(rows)
        except NOT_OF_A_ROW:
            raise
        except Exception:
            failing = dict(_failing(rows, work, [], start=0))
            if not 0 < len(failing) <= MOST_SET_ASIDE:
                raise
            for number, error in failing.items():
                self.note(name(rows[number]), error)
            with transaction.atomic():
                return work([row for number, row in enumerate(rows) if number not in failing])


def _failing(
    rows: Sequence[Row], work: Callable[[Sequence[Row]], Any], found: list[tuple[int, Exception]], *, start: int
) -> list[tuple[int, Exception]]:
    """Return the numbers of the rows on which the work fails, by halves; hardly more than `MOST_SET_ASIDE`."""
    if len(found) > MOST_SET_ASIDE or not rows or not (error := _error(rows, work)):
        return found
    if len(rows) == 1:
        return [*found, (start, error)]
    middle = len(rows) // 2
    return _failing(rows[middle:], work, _failing(rows[:middle], work, found, start=start), start=start + middle)


def _error(rows: Sequence[Any], work: Callable[[Sequence[Any]], Any]) -> Exception | None:
    """Return why the work fails on the rows, if it does; nothing of it stays."""
    try:
        with transaction.atomic():
            work(rows)
            transaction.set_rollback(True)
    except NOT_OF_A_ROW:
        raise
    except Exception as error:  # noqa: BLE001  # whatever it is, the caller asks for it
        return error
    return None
