"""Backups: what a project remembers as one signed file, proven by restoring it, and brought back from it."""

from memories.backups.envelopes import EnvelopeTooLarge, NoEnvelope, envelope_of
from memories.backups.keeping import (
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
from memories.backups.places import FileMissing, NoSpace, opened, pack_file, remove, store, taking_room
from memories.backups.proving import DrillFailed, FileChanged, drill, verify
from memories.backups.proving import check as check_proof
from memories.backups.pushing import Refused, Remote, Unreachable
from memories.backups.pushing import options as push_options
from memories.backups.reading import BrokenBundle, UnknownVersion, records_of
from memories.backups.restoring import BaseMissing, WrongProject, restore, trusted_signers
from memories.backups.restoring import check as check_restore
from memories.backups.restoring import permit as permit_restore
from memories.backups.writing import Wish, back_up, make, refuse_missing
from memories.backups.writing import check as check_backup

__all__ = [
    "BaseMissing",
    "BrokenBundle",
    "DrillFailed",
    "EnvelopeTooLarge",
    "FileChanged",
    "FileMissing",
    "NoEnvelope",
    "NoSpace",
    "StillNeeded",
    "Refused",
    "Remote",
    "UnknownVersion",
    "Unreachable",
    "Wish",
    "WrongProject",
    "back_up",
    "backups",
    "check_backup",
    "check_proof",
    "check_restore",
    "delete",
    "drill",
    "envelope_of",
    "expire",
    "found",
    "make",
    "opened",
    "pack_file",
    "permit_restore",
    "project_of",
    "proofs",
    "protect",
    "push_options",
    "records_of",
    "refuse_missing",
    "remove",
    "restore",
    "spoiled",
    "store",
    "take_in",
    "taking_room",
    "trusted_signers",
    "verify",
]
