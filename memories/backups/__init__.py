"""Backups: what a project remembers as one signed file, proven by restoring it, and brought back from it."""

from memories.backups import bundle, encryption, inventory, push, restoration, storage
from memories.backups.inventory import import_bundle, known_as, project_of
from memories.backups.retention import (
    StillNeeded,
    backup_status,
    backups,
    delete,
    expire,
    get_backup,
    list_outdated_packs,
    protect,
)

__all__ = [
    "backups",
    "bundle",
    "delete",
    "encryption",
    "expire",
    "get_backup",
    "inventory",
    "known_as",
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
