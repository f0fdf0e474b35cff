"""Backups: what a project remembers as one signed file, proven by restoring it, and brought back from it."""

from memories.backups import bundle, encryption, push, restoration, storage
from memories.backups.retention import (
    StillNeeded,
    backups,
    delete,
    expire,
    found,
    project_of,
    proofs,
    protect,
    spoiled,
    take_in,
)

__all__ = [
    "backups",
    "bundle",
    "delete",
    "encryption",
    "expire",
    "found",
    "project_of",
    "proofs",
    "protect",
    "push",
    "restoration",
    "spoiled",
    "StillNeeded",
    "storage",
    "take_in",
]
