"""Keeping what is derived in step with the canonical rows, and the memory small."""

from memories.upkeep import consolidation, graph, lifecycle, model_comparison, model_registry, reindex, vector_backfill
from memories.upkeep.digest import canonical_digest
from memories.upkeep.protections import MAY_BE_DIGESTED, is_spared

__all__ = [
    "MAY_BE_DIGESTED",
    "canonical_digest",
    "consolidation",
    "graph",
    "is_spared",
    "lifecycle",
    "model_comparison",
    "model_registry",
    "reindex",
    "vector_backfill",
]
