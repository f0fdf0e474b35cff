"""The salt that a project's fingerprints are keyed with: without it those of a bundle say nothing elsewhere.

Whoever holds fingerprints and salt can guess what was forgotten. So it travels in encrypted bundles, and else in a key
file that the operator carries; a plain bundle only names it.
"""

import hashlib
import json
import os
from pathlib import Path

from memories import access
from memories.access import Principal
from memories.backups.bundle.manifest import Manifest
from memories.models import Project
from memories.models.sql import execute, fetch

LONGEST = 4096  # bytes of a key file


class BadKeyFile(Exception):
    """It is no key file, or not of this project, or the project has fingerprints of its own."""


def name_of(salt: bytes) -> str:
    """Return how a bundle names a salt of 32 random bytes: nobody finds that by guessing."""
    return hashlib.sha256(b"novamem salt\0" + salt).hexdigest()


def salt_of(principal: Principal) -> bytes:
    """Return the project's."""
    return bytes(Project.objects.values_list("salt", flat=True).get(id=principal.project_id))


def has_project_salt(principal: Principal, manifest: Manifest) -> bool:
    """Return whether the bundle's salt is the project's."""
    salt = salt_of(principal)
    return name_of(salt) == manifest.saltName or salt.hex() == manifest.salt


def is_new(principal: Principal) -> bool:
    """Return whether nothing was ever kept here that is keyed with the project's salt."""
    tables = ("memories_fragment", "conflicts_predicate", "conflicts_pendingconflict", "memories_erasure")
    kept = " OR ".join(
        f"EXISTS (SELECT FROM {table} t WHERE t.project_id = %(project)s)"
        for table in (*tables, "memories_tombstone", "memories_archive")
    )
    ((found,),) = fetch(f"SELECT {kept}", {"project": principal.project_id})
    return not found


def adopt_salt(principal: Principal, manifest: Manifest, left_out: dict[str, int]) -> None:
    """Take over the bundle's salt if the project is new still: since the plan somebody may have stored something.

    Whoever makes a first namespace waits for the project's row.
    """
    if has_project_salt(principal, manifest):
        return
    if not manifest.salt or not _replace_salt(principal, bytes.fromhex(manifest.salt)):
        drop_fingerprints(left_out)


def write_key(principal: Principal, path: Path) -> None:
    """Write the project's key file, readable by its owner only. Raise OSError."""
    record = {"project": principal.project, "salt": salt_of(principal).hex()}
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        path.chmod(0o600)
        file.write(json.dumps(record) + "\n")


def import_key(principal: Principal, path: Path) -> None:
    """Take over the salt of a key file, before anything is restored. Raise BadKeyFile, OSError."""
    try:
        with path.open("rb") as file:
            record = json.loads(file.read(LONGEST))
        salt, project = bytes.fromhex(record["salt"]), record["project"]
    except (ValueError, TypeError, KeyError) as error:
        raise BadKeyFile(f"{path} is no key file") from error
    if project != principal.project or len(salt) != 32:
        raise BadKeyFile(f"{path} is not the key file of {principal.project}")
    with access.enter(principal, why="take key"):
        if salt != salt_of(principal) and not _replace_salt(principal, salt):
            raise BadKeyFile(f"{principal.project} has fingerprints of its own: only a new project takes others over")


def _replace_salt(principal: Principal, salt: bytes) -> bool:
    project = Project.objects.select_for_update().get(id=principal.project_id)
    if not is_new(principal):
        return False
    project.salt = salt
    project.save(update_fields=["salt"])
    return True


def drop_fingerprints(left_out: dict[str, int]) -> None:
    """Leave the staged ones out; the report says how many there are."""
    if count := execute("DELETE FROM staged_erasure", []):
        left_out["erasure"] = count
