"""Restoration: from a bundle back to rows, checked, planned and proven by a drill (docs/spec.md §9)."""

from memories.backups.restoration.actions import RestoreActions
from memories.backups.restoration.pipeline import (
    BaseMissing,
    WrongProject,
    check_place,
    check_restore,
    permit_restore,
    refuse_unfit_restore,
    restore,
    trusted_signers,
)
from memories.backups.restoration.plan import WrittenNamespaces
from memories.backups.restoration.relocation import moved_id
from memories.backups.restoration.verification import DrillFailed, FileChanged, check_proof, drill, verify

__all__ = [
    "BaseMissing",
    "check_place",
    "check_proof",
    "check_restore",
    "drill",
    "DrillFailed",
    "FileChanged",
    "moved_id",
    "permit_restore",
    "refuse_unfit_restore",
    "restore",
    "RestoreActions",
    "trusted_signers",
    "verify",
    "WrittenNamespaces",
    "WrongProject",
]
