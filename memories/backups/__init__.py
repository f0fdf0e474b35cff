"""Backups: what a project remembers as one signed file, proven by restoring it, and brought back from it."""

from memories.backups import bundle, encryption, push, restoration, storage
from memories.backups.retention import (
    StillNeeded,
    backup_status,
    backups,
    delete,
    expire,
    get_backup,
    import_bundle,
    list_outdated_packs,
    project_of,
    protect,
)

__all__ = [
    "backups",
    "bundle",
    "delete",
    "encryption",
    "expire",
    "get_backup",
    "project_of",
    "backup_status",
    "protect",
    "push",
    "restoration",
    "list_outdated_packs",
    "StillNeeded",
    "storage",
    "import_bundle",
]
