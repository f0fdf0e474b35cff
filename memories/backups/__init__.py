"""Backups: what a project remembers as one signed file, proven by restoring it, and brought back from it."""

from memories.backups.encryption import BadRecipient, IdentityMissing, decrypted, has_identity, identity, is_encrypted
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
from memories.backups.places import FileMissing, NoSpace, opened, pack_file, readable, remove, store, taking_room
from memories.backups.proving import DrillFailed, FileChanged, drill, verify
from memories.backups.proving import check as check_proof
from memories.backups.pushing import Refused, Remote, Unreachable
from memories.backups.pushing import options as push_options
from memories.backups.reading import BrokenBundle, UnknownVersion, records_of
from memories.backups.restoring import BaseMissing, WrongProject, restore, trusted_signers
from memories.backups.restoring import check as check_restore
from memories.backups.restoring import permit as permit_restore
from memories.backups.salts import BadKeyFile, take_key, write_key
from memories.backups.writing import Wish, back_up, check_recipients, make, recipients_of, refuse_missing
from memories.backups.writing import check as check_backup

__all__ = [
    "BadKeyFile",
    "BadRecipient",
    "BaseMissing",
    "BrokenBundle",
    "DrillFailed",
    "EnvelopeTooLarge",
    "FileChanged",
    "FileMissing",
    "IdentityMissing",
    "NoEnvelope",
    "NoSpace",
    "Refused",
    "Remote",
    "StillNeeded",
    "UnknownVersion",
    "Unreachable",
    "Wish",
    "WrongProject",
    "back_up",
    "backups",
    "check_backup",
    "check_proof",
    "check_recipients",
    "check_restore",
    "decrypted",
    "delete",
    "drill",
    "envelope_of",
    "expire",
    "found",
    "has_identity",
    "identity",
    "is_encrypted",
    "make",
    "opened",
    "pack_file",
    "permit_restore",
    "project_of",
    "proofs",
    "protect",
    "push_options",
    "readable",
    "recipients_of",
    "records_of",
    "refuse_missing",
    "remove",
    "restore",
    "spoiled",
    "store",
    "take_in",
    "take_key",
    "taking_room",
    "trusted_signers",
    "verify",
    "write_key",
]
