"""Consolidation: memory that stays small and true, and every run of which can be taken back (docs/spec.md §7)."""

from memories.operations import NoPlan, PlanUsed
from memories.upkeep.consolidation.change_log import record_changes
from memories.upkeep.consolidation.decay import count_fading
from memories.upkeep.consolidation.digest_requests import CannotDigest, DigestRequest, prepare_digest, store_digest
from memories.upkeep.consolidation.digests import LEAST, MOST
from memories.upkeep.consolidation.options import RANGES, check
from memories.upkeep.consolidation.pipeline import consolidate
from memories.upkeep.consolidation.plan_execution import NeedsConfirmation
from memories.upkeep.consolidation.planner import refuse_unfit_plan
from memories.upkeep.consolidation.report_texts import report_lines
from memories.upkeep.consolidation.run_undo import RECORDED, CannotUndoRun, expire, permit, refuse_unfit, undo, undo_run

DIGEST_SIZES = LEAST, MOST  # how many memories go into one digest

__all__ = [
    "DIGEST_SIZES",
    "RANGES",
    "RECORDED",
    "CannotDigest",
    "CannotUndoRun",
    "DigestRequest",
    "NeedsConfirmation",
    "NoPlan",
    "PlanUsed",
    "check",
    "consolidate",
    "count_fading",
    "expire",
    "store_digest",
    "report_lines",
    "prepare_digest",
    "record_changes",
    "permit",
    "refuse_unfit",
    "refuse_unfit_plan",
    "undo_run",
    "undo",
]
