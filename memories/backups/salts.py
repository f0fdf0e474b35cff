"""Whether fingerprints of a bundle say anything here: only those that are keyed with the project's own salt do."""

from memories.access import Principal
from memories.backups.manifest import Manifest
from memories.models import Project
from memories.models.raw import execute, fetch


def fit(principal: Principal, manifest: Manifest) -> bool:
    """Whether the bundle's salt is the project's."""
    salt = bytes(Project.objects.values_list("salt", flat=True).get(id=principal.project_id))
    return salt.hex() == manifest.salt


def is_new(principal: Principal) -> bool:
    """Whether nothing was ever kept here that is keyed with the project's salt."""
    tables = ("memories_fragment", "conflicts_predicate", "conflicts_pendingconflict", "memories_erasure")
    kept = " OR ".join(
        f"EXISTS (SELECT FROM {table} t WHERE t.project_id = %(project)s)"
        for table in (*tables, "memories_tombstone", "memories_archive")
    )
    ((found,),) = fetch(f"SELECT {kept}", {"project": principal.project_id})
    return not found


def agree(principal: Principal, manifest: Manifest, left_out: dict[str, int]) -> None:
    """Takes over the bundle's salt if the project is new still: since the plan somebody may have stored something.

    Whoever makes a first namespace waits for the project's row.
    """
    if fit(principal, manifest):
        return
    project = Project.objects.select_for_update().get(id=principal.project_id)
    if is_new(principal):
        project.salt = bytes.fromhex(manifest.salt)
        project.save(update_fields=["salt"])
    else:
        drop_fingerprints(left_out)


def drop_fingerprints(left_out: dict[str, int]) -> None:
    """Leaves the staged ones out; the report says how many there are."""
    if count := execute("DELETE FROM staged_erasure", []):
        left_out["erasure"] = count
