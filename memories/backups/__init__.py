"""Backups: what a project remembers as one signed file, proven by restoring it, and brought back from it."""

from memories.backups.bundle_reader import BrokenBundle, UnknownVersion, records_of
from memories.backups.bundle_writer import BackupRequest, back_up, check_recipients, make, recipients_of, refuse_missing
from memories.backups.bundle_writer import check as check_backup
from memories.backups.encryption import BadRecipient, IdentityMissing, decrypted, has_identity, identity, is_encrypted
from memories.backups.fingerprint_keys import BadKeyFile, take_key, write_key
from memories.backups.push import PushRefused, Remote, Unreachable
from memories.backups.push import options as push_options
from memories.backups.restoration import BaseMissing, WrongProject, restore, trusted_signers
from memories.backups.restoration import check as check_restore
from memories.backups.restoration import permit as permit_restore
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
from memories.backups.storage import FileMissing, NoSpace, opened, pack_file, readable, remove, store, taking_room
from memories.backups.v1_format import EnvelopeTooLarge, NoEnvelope, envelope_of
from memories.backups.verification import DrillFailed, FileChanged, drill, verify
from memories.backups.verification import check as check_proof

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
    "PushRefused",
    "Remote",
    "StillNeeded",
    "UnknownVersion",
    "Unreachable",
    "BackupRequest",
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
