"""Run changes: what stood before in each row that a run changes, so that the run can be taken back exactly."""

from memories.run_changes.change_log import count_changes, record_changes
from memories.run_changes.undo import (
    RECORDED,
    CannotUndoRun,
    expire,
    permit,
    refuse_gone,
    refuse_unfit,
    report_changed,
    undo_run,
)

__all__ = [
    "RECORDED",
    "CannotUndoRun",
    "count_changes",
    "expire",
    "permit",
    "record_changes",
    "refuse_gone",
    "refuse_unfit",
    "report_changed",
    "undo_run",
]
