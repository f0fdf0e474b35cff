"""Consolidation: memory that stays small and true, and every run of which can be taken back (docs/spec.md §7)."""

from memories.operations import NoPlan, PlanUsed
from memories.upkeep.consolidation.decay import count_fading
from memories.upkeep.consolidation.digest_requests import DigestRequest, prepare_digest, store_digest
from memories.upkeep.consolidation.digests import LEAST, MOST, CannotDigest
from memories.upkeep.consolidation.options import RANGES, check
from memories.upkeep.consolidation.pipeline import consolidate
from memories.upkeep.consolidation.plan_execution import NeedsConfirmation
from memories.upkeep.consolidation.planner import refuse_unfit_plan
from memories.upkeep.consolidation.report_texts import report_lines
from memories.upkeep.consolidation.undo import undo

DIGEST_SIZES = LEAST, MOST  # how many memories go into one digest

__all__ = [
    "DIGEST_SIZES",
    "RANGES",
    "CannotDigest",
    "DigestRequest",
    "NeedsConfirmation",
    "NoPlan",
    "PlanUsed",
    "check",
    "consolidate",
    "count_fading",
    "store_digest",
    "report_lines",
    "prepare_digest",
    "refuse_unfit_plan",
    "undo",
]
