"""A bundle: a project as one signed file, read and written record by record (docs/spec.md §9)."""

from memories.backups.bundle.changes import uncovered
from memories.backups.bundle.fingerprint_keys import BadKeyFile, import_key, write_key
from memories.backups.bundle.manifest import Manifest
from memories.backups.bundle.reader import (
    BrokenBundle,
    BundleLine,
    BundleReader,
    UnknownVersion,
    batches,
    prefetch_batches,
    records_of,
)
from memories.backups.bundle.v1_format import EnvelopeTooLarge, NoEnvelope, Sealed, envelope_of
from memories.backups.bundle.vectors import unpacked
from memories.backups.bundle.writer import (
    BackupRequest,
    backup_id,
    chain_of,
    check_backup,
    check_recipients,
    make,
    recipients_of,
    refuse_missing,
    run_backup,
)

__all__ = [
    "backup_id",
    "chain_of",
    "uncovered",
    "unpacked",
    "prefetch_batches",
    "run_backup",
    "BackupRequest",
    "BadKeyFile",
    "batches",
    "BrokenBundle",
    "BundleLine",
    "BundleReader",
    "check_backup",
    "check_recipients",
    "envelope_of",
    "EnvelopeTooLarge",
    "make",
    "Manifest",
    "NoEnvelope",
    "Sealed",
    "recipients_of",
    "records_of",
    "refuse_missing",
    "import_key",
    "UnknownVersion",
    "write_key",
]
