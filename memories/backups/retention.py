"""Retention: which backups there are, which stay, and how old the last good proof is."""

import datetime
import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db.models import Max, Q, QuerySet

from memories import access
from memories.access import NotFound, Principal
from memories.backups import storage
from memories.backups.bundle import backup_id
from memories.backups.inventory import ENDING, ID, StoredBundle
from memories.errors import NovaError
from memories.models import Backup, Operation
from memories.models.backups import SOUND
from memories.models.enums import BackupOrigin, ExportPolicy, OperationState
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
        if name not in known and _is_left_behind(principal, name):
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


def _is_left_behind(principal: Principal, name: str) -> bool:
    """Return whether an operation of this database, or an upload, left a file that no row knows.

    What a former database wrote stays: nobody here knows what it holds, and it may be all that is left of that.
    """
    if re.fullmatch(rf"{re.escape(principal.project)}-upload-{ID}{ENDING}", name):
        return True
    bundle = StoredBundle.of(name)
    if bundle is None or bundle.project != principal.project:
        return False
    with access.enter(principal, why="retention"):
        began = Operation.objects.within(principal.project_id).values_list("id", flat=True)
        return any(bundle.id == backup_id(which, origin) for which in began for origin in BackupOrigin)


def backup_status(principal: Principal, *, now: datetime.datetime) -> dict[str, Any]:
    """Return how many backups there are, their bytes, when the last was made, and how old the last good drill is.

    They count as proven for a week after it. `last_restore_at` is when the last restore in earnest succeeded.
    """
    with access.enter(principal, why="stats"):
        rows = backups(principal)
        last = rows.aggregate(made=Max("exported_at"), drilled=Max("drilled_at", filter=Q(drill_verdict=SOUND)))
        sizes = list(rows.values_list("size", flat=True))
        restores = Operation.objects.within(principal.project_id).filter(kind="restore", dry_run=False)
        restored = restores.filter(state=OperationState.SUCCEEDED).aggregate(at=Max("finished_at"))["at"]
    drilled = last["drilled"]
    return {
        "count": len(sizes),
        "bytes": sum(sizes),
        "last_backup_at": last["made"],
        "last_restore_at": restored,
        "last_drill_at": drilled,
        "last_drill_age_seconds": int((now - drilled).total_seconds()) if drilled else None,
        "are_proven": drilled is not None and now - drilled < PROVEN,
    }
