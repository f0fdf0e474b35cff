"""Rollbacks: a namespace becomes what it was at a point in time, by a plan that binds, and can be taken back."""

from memories.rollbacks.options import check_rollback, permit_rollback, refuse_unfit_rollback
from memories.rollbacks.restores import permit_undo, refuse_unfit_undo, undo_restore
from memories.rollbacks.runs import roll_back, undo_rollback

__all__ = [
    "check_rollback",
    "permit_rollback",
    "permit_undo",
    "refuse_unfit_undo",
    "refuse_unfit_rollback",
    "roll_back",
    "undo_restore",
    "undo_rollback",
]
