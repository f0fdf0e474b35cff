"""Keeping what is derived in step with the canonical rows."""

from memories.upkeep.rebuilding import TARGETS, rebuild

__all__ = ["TARGETS", "rebuild"]
