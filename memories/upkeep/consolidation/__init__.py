"""Consolidation: memory that stays small and true, and every run of which can be taken back (docs/spec.md §7)."""

from memories.operations import NoPlan, PlanUsed
from memories.upkeep.consolidation.change_log import recorded
from memories.upkeep.consolidation.digest_requests import CannotDigest, DigestRequest, keep_digest, prepare_digest
from memories.upkeep.consolidation.digests import LEAST, MOST
from memories.upkeep.consolidation.options import RANGES, check
from memories.upkeep.consolidation.pipeline import consolidate
from memories.upkeep.consolidation.plan_execution import NeedsConfirmation
from memories.upkeep.consolidation.planner import refuse_unfit_plan
from memories.upkeep.consolidation.report_texts import lines
from memories.upkeep.consolidation.rollback import CannotRollBack, expire, permit, refuse_unfit, take_back, undo

DIGEST_SIZES = LEAST, MOST  # how many memories go into one digest

__all__ = [
    "DIGEST_SIZES",
    "RANGES",
    "CannotDigest",
    "CannotRollBack",
    "DigestRequest",
    "NeedsConfirmation",
    "NoPlan",
    "PlanUsed",
    "check",
    "consolidate",
    "expire",
    "keep_digest",
    "lines",
    "prepare_digest",
    "recorded",
    "permit",
    "refuse_unfit",
    "refuse_unfit_plan",
    "take_back",
    "undo",
]
