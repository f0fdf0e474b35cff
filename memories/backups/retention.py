"""Retention: which backups there are, which stay, and how old the last good proof is."""

import datetime
import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from django.conf import settings
from django.db.models import Max, QuerySet

from memories import access
from memories.access import NotFound, Principal
from memories.backups import encryption, storage
from memories.backups.bundle import BundleReader, Manifest, v1_format
from memories.backups.restoration import BaseMissing, check_place
from memories.errors import NovaError
from memories.models import Backup, Operation
from memories.models.backups import SOUND
from memories.models.enums import BackupOrigin, ExportPolicy
from memories.models.sql import fetch

UPLOAD_DAYS = 7
PROVEN = datetime.timedelta(days=7)  # so long a good drill speaks for the backups
LATE = datetime.timedelta(days=60)  # so long it may be since the last look at the packs
# What stands elsewhere too, or stood before a restore: in numbers they would push out what is proven every day.
PASSING = (BackupOrigin.UPLOADED, BackupOrigin.SYNC, BackupOrigin.SAFETY)

# Packs in whose namespace something was forgotten that their snapshot may hold. What the open transaction itself forgot
# before, its snapshot knew.
SPOILED = """SELECT o.id FROM memories_operation o CROSS JOIN LATERAL (
        SELECT (o.cursor ->> 'upto')::xid8 AS upto, pg_current_xact_id_if_assigned() AS mine
    ) s WHERE o.project_id = %(project)s AND o.id = ANY (%(ids)s) AND (EXISTS (
        SELECT FROM memories_erasureevent e JOIN memories_fragmentevent f
            ON f.pgh_obj_id = e.fragment_id AND f.project_id = e.project_id AND f.namespace_id = o.namespace_id
        WHERE e.project_id = o.project_id AND e.pgh_label <> 'delete'
            AND e.recorded_in >= s.upto AND e.recorded_in IS DISTINCT FROM s.mine
    ) OR EXISTS (
        SELECT FROM memories_tombstoneevent t
        WHERE t.project_id = o.project_id AND t.pgh_label = 'delete' AND t.namespace_id = o.namespace_id
            AND t.recorded_in >= s.upto AND t.recorded_in IS DISTINCT FROM s.mine
            AND NOT EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = t.project_id AND f.id = t.original_id)
    ))"""


class StillNeeded(NovaError):
    """The backup is protected, or another one goes on from it."""

    code = "still_needed"
    title = "This backup is still needed"


def backups(principal: Principal) -> QuerySet[Backup]:
    """Return all, to be called inside `access.enter`."""
    rows: QuerySet[Backup] = Backup.objects.within(principal.project_id)
    return rows


def get_backup(principal: Principal, backup_id: uuid.UUID) -> Backup:
    """Return one backup. Raise NotFound."""
    with access.enter(principal, why="read"):
        row = backups(principal).filter(id=backup_id).first()
    if row is None:
        raise NotFound("backup")
    return row


def protect(principal: Principal, backup_id: uuid.UUID, *, protected: bool) -> Backup:
    """Keep a backup from retention and deletion, or lets go of it. Raise NotFound."""
    with access.enter(principal, why="protect backup"):
        row = backups(principal).select_for_update().filter(id=backup_id).first()
        if row is None:
            raise NotFound("backup")
        row.protected = protected
        row.save(update_fields=["protected"])
        return row


def delete(principal: Principal, backup_id: uuid.UUID) -> None:
    """Delete a backup and its file. Raise NotFound, StillNeeded."""
    with access.enter(principal, why="delete backup"):
        row = backups(principal).select_for_update().filter(id=backup_id).first()
        if row is None:
            raise NotFound("backup")
        if row.protected:
            raise StillNeeded("the backup is protected")
        if backups(principal).filter(base=row).exists():
            raise StillNeeded("another backup goes on from this one: delete that first")
        row.delete()
        storage.remove(row.file)  # before the commit: rather a row without its file than a file that nobody knows


def expire(principal: Principal, *, now: datetime.datetime) -> int:
    """Delete all but the newest, the last of weeks and months, the protected, and what these go on from; how many.

    Uploads, packs, safety backups and what was made to be pushed elsewhere stay a week.
    """
    with access.enter(principal, why="retention"):
        rows = list(backups(principal).order_by("-created_at", "-id"))
        made = [row for row in rows if row.origin not in PASSING]
        fresh = now - datetime.timedelta(days=UPLOAD_DAYS)
        kept = {row.id for row in made[: settings.BACKUP_KEEP]}
        kept |= {row.id for row in last_of_periods(made, weeks=settings.BACKUP_WEEKLY, months=settings.BACKUP_MONTHLY)}
        kept |= {row.id for row in rows if row.protected or row.created_at >= fresh and row not in made}
        bases = {row.id: row.base_id for row in rows}
        for which in list(kept):
            while (base := bases.get(which)) is not None:
                kept.add(base)
                which = base
        gone = [row for row in rows if row.id not in kept]
        for row in gone:  # the newest first: what goes on from another goes before it
            row.delete()
        packs = Operation.objects.within(principal.project_id).filter(kind="pack", created_at__gte=fresh - LATE)
        made_at = dict(packs.values_list("id", "created_at"))
        stale = {i for i, at in made_at.items() if at < fresh}
        stale |= set(list_outdated_packs(principal.project_id, made_at.keys() - stale))
        for name in (*(row.file for row in gone), *map(storage.pack_file, stale)):
            storage.remove(name)
        known = set(backups(principal).values_list("file", flat=True))
    for name in storage.list_abandoned_files(f"{principal.project}-"):
        if name not in known and _of_project(principal.project, name):
            storage.remove(name)  # whoever wrote it was killed before its row was there
    return len(gone)


def last_of_periods(newest_first: Sequence[Backup], *, weeks: int, months: int) -> list[Backup]:
    """Return the last whole backup of each of so many weeks and months in which one was made (UTC)."""
    whole = [row for row in newest_first if row.policy == ExportPolicy.FULL and row.base_id is None]
    sound = [row for row in whole if {row.verdict, row.drill_verdict} <= {"", SOUND}]
    found: list[Backup] = []
    for most, period_of in ((weeks, _week), (months, _month)):
        last: dict[tuple[int, int], Backup] = {}
        for row in sound:
            last.setdefault(period_of(row.created_at.astimezone(datetime.UTC)), row)
        found += list(last.values())[:most]
    return found


def _week(at: datetime.datetime) -> tuple[int, int]:
    return at.isocalendar()[:2]


def _month(at: datetime.datetime) -> tuple[int, int]:
    return at.year, at.month


def list_outdated_packs(project_id: uuid.UUID, pack_ids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    """Those of these packs, by their operations, that may hold what was forgotten since. Inside `access.enter`."""
    return [i for (i,) in fetch(SPOILED, {"project": project_id, "ids": list(pack_ids)})]


def _of_project(project: str, name: str) -> bool:
    """Return whether a file is one of this project's bundles: another's name may begin alike."""
    return (
        re.fullmatch(rf"{re.escape(project)}-(upload|\d{{8}}T\d{{6}}Z)-[0-9a-f-]{{36}}\.ndjson\.gz(\.age)?", name)
        is not None
    )


def project_of(file: BinaryIO, *, now: datetime.datetime) -> str:
    """The name of the project that a bundle is of, empty for an envelope that does not say. Raise BrokenBundle."""
    with encryption.decrypted(file) as plain:
        if v1_format.is_envelope(plain):
            return v1_format.project_of(plain)
        return BundleReader(plain, now=now, allow_version=True).manifest.project


def import_bundle(
    principal: Principal,
    file: BinaryIO,
    *,
    now: datetime.datetime,
    allow_version: bool = False,
    is_read_whole: bool = False,
) -> Backup:
    """Store a bundle that comes from elsewhere, so that it can be restored; its first line is read, or all of it.

    A V1 envelope becomes a bundle; what is encrypted is kept so. One that was read to its end and goes on from no other
    is verified. Of an unknown version the first line is read alone: nobody knows the others. Raise BrokenBundle,
    WrongProject, BaseMissing, NoSpace, IdentityMissing.
    """
    is_encrypted = encryption.is_encrypted(file)
    if not is_encrypted and v1_format.is_envelope(file):
        file = v1_format.bundle_of(file, project=principal.project, now=now, allow_version=allow_version)
    with encryption.decrypted(file) as plain:
        reader = BundleReader(plain, now=now, allow_version=True)
        check_place(principal, reader.manifest)
        is_whole = is_read_whole and reader.is_known
        records = sum(1 for _ in reader.lines()) if is_whole else 0
    is_verified = is_whole and not reader.manifest.chain
    which = uuid.uuid4()
    row = Backup(
        id=which,
        project_id=principal.project_id,
        policy=reader.manifest.policy if reader.manifest.policy in ("full", "identity") else "full",
        policy_version=max(0, min(reader.manifest.policyVersion, 32_767)),
        namespaces=list(reader.manifest.namespaces),
        include_embeddings=reader.manifest.embeddings,
        base=_base(principal, reader.manifest),
        origin=BackupOrigin.UPLOADED,
        file=f"{principal.project}-upload-{which}.ndjson.gz{'.age' if is_encrypted else ''}",
        encrypted=is_encrypted,
        signer=reader.signer,
        records=records,
        verdict=SOUND if is_verified else "",
        verified_at=now if is_verified else None,
        created_at=now,
    )
    file.seek(0)
    row.sha256, row.size = storage.store(row.file, file)
    with access.enter(principal, why="upload backup"):
        row.save(force_insert=True)
    return row


def _base(principal: Principal, manifest: Manifest) -> Backup | None:
    if not manifest.chain:
        return None
    with access.enter(principal, why="upload backup"):
        row = backups(principal).filter(sha256=manifest.chain[-1]).order_by("-created_at").first()
    if row is None:
        raise BaseMissing("the bundle goes on from another that is not here: upload that first")
    return row


def backup_status(principal: Principal, *, now: datetime.datetime) -> dict[str, Any]:
    """Return how many backups there are, their bytes, when the last was made, and how old the last good drill is.

    They count as proven for a week after it.
    """
    with access.enter(principal, why="stats"):
        rows = backups(principal)
        last = rows.aggregate(made=Max("exported_at"))["made"]
        drilled = rows.filter(drill_verdict=SOUND).aggregate(at=Max("drilled_at"))["at"]
        sizes = list(rows.values_list("size", flat=True))
    return {
        "count": len(sizes),
        "bytes": sum(sizes),
        "last_backup_at": last,
        "last_drill_at": drilled,
        "last_drill_age_seconds": int((now - drilled).total_seconds()) if drilled else None,
        "are_proven": drilled is not None and now - drilled < PROVEN,
    }
