"""Backups that still hold what is erased: who may see them, and purging them."""

import datetime
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.db.models import F, Min, Q

from memories import access, backups
from memories.access import NotFound, NotPermitted, Principal
from memories.models import Backup, Fragment, Namespace, Operation, Project, Tombstone
from memories.models.enums import BackupOrigin, Verb
from memories.models.history import events_of


def sees_backups(principal: Principal) -> bool:
    """Return whether backups are the principal's to see and delete: they hold all of the project."""
    return principal.covers_all and Verb.ADMIN in principal.verbs


def check_purging(principal: Principal, *, purge: bool) -> None:
    """Raise NotPermitted for a wish to purge backups by who may not see them."""
    if purge and not sees_backups(principal):
        raise NotPermitted("purging backups needs the verb admin and a key for all of the project")


def lock_backups(principal: Principal, *, purge: bool) -> None:
    """Before all else a purge lets no other backup be noted, and is counted: one that is being written begins anew.

    Raise NotPermitted as `check_purging`.
    """
    check_purging(principal, purge=purge)
    if purge:
        Project.objects.filter(id=principal.project_id).update(purges=F("purges") + 1)


def backups_of(
    namespace: Namespace, ids: Sequence[uuid.UUID], *, purge: bool, dry_run: bool = False
) -> list[dict[str, Any]]:
    """Return the backups that may still hold one of these memories, which are there yet.

    With `purge` those that are not protected are deleted when the transaction has committed. Packs of the namespace are
    deleted then in any case: they are copies on the way out. A `dry_run` deletes nothing and says what would go.
    """
    found = _holding(namespace, ids)
    going = _without_dependents(found) if purge else []
    if not dry_run:
        _clear_when_committed(namespace, going)
    return [
        {"id": str(row.id), "file": row.file, "created_at": row.created_at.isoformat(), "purged": row in going}
        for row in found
    ]


def _holding(namespace: Namespace, ids: Sequence[uuid.UUID]) -> list[Backup]:
    """Return those made since the first of these memories was written, newest first, and uploads whenever they came."""
    rows = Backup.objects.within(namespace.project_id).filter(namespaces__contains=[namespace.name])
    # Of what was evicted nobody knows any more when it was written.
    gone = Tombstone.objects.within(namespace.project_id).filter(original_id__in=ids).exists()
    born = None if gone else _first_written(namespace.project_id, ids)
    since = Q(created_at__gte=born) | Q(origin=BackupOrigin.UPLOADED) if born else Q()
    return list(rows.filter(since).newest_first())


def _clear_when_committed(namespace: Namespace, going: Sequence[Backup]) -> None:
    packs = list(
        Operation.objects.within(namespace.project_id)
        .filter(kind="pack", namespace=namespace)
        .values_list("id", flat=True)
    )

    def clear() -> None:
        for row in going:
            with suppress(backups.StillNeeded, NotFound):
                backups.delete(access.system_principal(Project.objects.get(id=row.project_id)), row.id)
        for operation_id in packs:
            backups.storage.remove(backups.storage.pack_file(operation_id))

    transaction.on_commit(clear, robust=True)


def _first_written(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> datetime.datetime | None:
    """Return when the first of these memories was, by its own time or by history's: an upload's may lie ahead."""
    rows = Fragment.objects.within(project_id).filter(id__in=ids).aggregate(at=Min("created_at"))
    events = events_of(Fragment).objects.filter(project_id=project_id, pgh_obj__in=ids)
    at: datetime.datetime | None = rows["at"]
    return at and min(at, events.aggregate(at=Min("pgh_created_at"))["at"] or at)


def _without_dependents(rows: Sequence[Backup]) -> list[Backup]:
    """Return those, newest first, that are not protected and that nothing which stays goes on from."""
    going = [row for row in rows if not row.protected]
    while True:
        ids = {row.id for row in going}
        needing = Backup.objects.filter(base__in=ids).exclude(id__in=ids).values_list("base", flat=True)
        needed = set(needing)
        if not needed:
            return going
        going = [row for row in going if row.id not in needed]
