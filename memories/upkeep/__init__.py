"""Keeping what is derived in step with the canonical rows."""

from memories.upkeep.comparing import DEPTH, Overlap, compare
from memories.upkeep.modelling import (
    ModelTaken,
    UnfitState,
    VectorsMissing,
    activate,
    add_model,
    begin_backfill,
    check_complete,
    is_complete,
    retire,
)
from memories.upkeep.rebuilding import TARGETS, rebuild
from memories.upkeep.reembedding import backfill, drop, missing

__all__ = [
    "DEPTH",
    "TARGETS",
    "ModelTaken",
    "Overlap",
    "UnfitState",
    "VectorsMissing",
    "activate",
    "add_model",
    "backfill",
    "begin_backfill",
    "check_complete",
    "compare",
    "drop",
    "is_complete",
    "missing",
    "rebuild",
    "retire",
]
