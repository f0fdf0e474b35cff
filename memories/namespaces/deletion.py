"""Deletion of a namespace or a whole project: batch by batch, until nothing is left but events, which hold no text."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q

from conflicts.authority import refuse_below
from conflicts.rulings import with_protection
from memories import access, backups, failpoints
from memories.access import Principal
from memories.models import (
    ApiKey,
    Archive,
    Backup,
    Erasure,
    Fragment,
    Membership,
    Namespace,
    Operation,
    Project,
    RepeatedRequest,
    Tombstone,
)
from memories.models.enums import BackupOrigin
from memories.models.sql import execute
from memories.namespaces.forks import with_users
from memories.operations import BadOptions, Options, Progress

BATCH = 5_000


@dataclass(frozen=True, slots=True)
class ProjectHoldings:
    """What would go with a project."""

    memories: int
    users: int
    backups: int
    newest_backup: datetime.datetime | None


def check_namespace(options: Options) -> None:
    """Raise BadOptions unless they name a namespace."""
    if set(options) != {"namespace"}:
        raise BadOptions("namespace", "Name the namespace that is to go.")


def check_project(options: Options) -> None:
    """Raise BadOptions unless they name a project."""
    if set(options) != {"project"}:
        raise BadOptions("project", "Name the project that is to go.")


def permit_deletion(principal: Principal, operation: Operation) -> None:
    """Raise NotPermitted when something in the namespace, or in the project, is believed more than the ceiling."""
    name, whole = operation.options.get("namespace"), Q(project=principal.project_id)
    namespace = name and Namespace.objects.within(principal.project_id).named([name]).first()
    refuse_stronger(principal, with_users(namespace) if namespace else whole, what="something that would go")


def refuse_stronger(principal: Principal, here: Q, *, what: str) -> None:
    """Raise NotPermitted when some memory here, whosever it is, is above the principal's ceiling, or was chosen so."""
    with access.enter(principal.of_everybody(), why="ceiling"):
        rows = with_protection(Fragment.objects.within(principal.project_id).filter(here)).order_by("-rank")
        refuse_below(principal, rows.values_list("rank", flat=True)[:1], what=what)


def delete_namespace(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Delete `options.namespace` with all that it and its users' scopes hold; one that is gone needs nothing.

    Begun again after its end it has nothing to do: what has that name by then is another one.
    """
    if isinstance(operation.cursor, dict):
        return operation.cursor
    name, deleted = operation.options["namespace"], int(operation.cursor or 0)
    with access.enter(principal, why="delete namespace"):
        named = Namespace.objects.within(principal.project_id).named([name]).first()
    if named is None:
        return {"namespace": name, "deleted": deleted}
    for number in _emptied(principal, with_users(named), progress, stage=name, done=deleted):
        deleted = number
    report = {"namespace": name, "deleted": deleted}
    with access.enter(principal, why="delete namespace"):
        packs = _packs(Operation.objects.within(principal.project_id).filter(with_users(named)))
        named.delete()  # its users' scopes go by cascade
        progress.save(stage=name[:64], done=deleted, total=deleted, cursor=report)
        _remove(packs)
    return report


def delete_project(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Delete the project with everything in it, keys, members and this operation too."""
    with access.enter(principal, why="delete project"):
        roots = list(Namespace.objects.within(principal.project_id).roots().order_by("name"))
    deleted = int(operation.cursor or 0)
    for root in roots:
        for number in _emptied(principal, with_users(root), progress, stage=root.name, done=deleted):
            deleted = number
    with access.enter(principal, why="delete project"):
        files = list(Backup.objects.within(principal.project_id).values_list("file", flat=True))
        files += _packs(Operation.objects.within(principal.project_id))
        Membership.objects.filter(project=principal.project_id).delete()
        # What hangs on it goes by cascade: the app role may not take a seal away by itself.
        execute("DELETE FROM memories_project WHERE id = %s", [principal.project_id])
        _remove(files)  # before the commit, after which nobody would know of them
        failpoints.reach("branches.deleted")
    return {"project": principal.project, "deleted": deleted}


def take_back_project(principal: Principal) -> None:
    """Delete a project that was made for what did not come then; not one that holds something, or that has keys."""
    with access.enter(principal, why="delete project"):
        Project.objects.select_for_update().get(id=principal.project_id)  # whoever makes a first namespace waits for it
        used = (
            model.objects.filter(project=principal.project_id) for model in (Namespace, Erasure, ApiKey, Membership)
        )
        if any(rows.exists() for rows in used):
            return
        uploads = Backup.objects.within(principal.project_id).filter(origin=BackupOrigin.UPLOADED)
        files = list(uploads.values_list("file", flat=True))
        execute("DELETE FROM memories_project WHERE id = %s", [principal.project_id])
        _remove(files)


def _packs(operations: Any) -> list[str]:
    """Return the files of packs that these operations made."""
    return [backups.storage.pack_file(i) for i in operations.filter(kind="pack").values_list("id", flat=True)]


def _remove(files: list[str]) -> None:
    """Take files out of the storage, once no row names them any more."""
    for name in files:
        backups.storage.remove(name)


def size(namespace: Namespace) -> int:
    """Return how many memories would go."""
    return int(Fragment.objects.within(namespace.project_id).filter(with_users(namespace)).count())


def project_size(project: Project) -> int:
    """Return how many memories would go with the whole project."""
    return int(Fragment.objects.within(project.id).count())


def count_project(principal: Principal) -> ProjectHoldings:
    """Return what would go with the principal's project, whosever it is."""
    with access.enter(principal.of_everybody(), why="count"):
        scopes = Namespace.objects.within(principal.project_id).exclude(parent=None)
        made = Backup.objects.within(principal.project_id).aggregate(n=Count("id"), newest=Max("created_at"))
        return ProjectHoldings(
            Fragment.objects.within(principal.project_id).count(),
            scopes.aggregate(n=Count("user", distinct=True))["n"],
            made["n"],
            made["newest"],
        )


def _emptied(principal: Principal, here: Q, progress: Progress, *, stage: str, done: int) -> Iterator[int]:
    """Delete a namespace's memories, so many in each transaction; yields how many are gone."""
    project_id = principal.project_id
    while True:
        with access.enter(principal, why="delete namespace"):
            rows = Fragment.objects.within(project_id).filter(here)
            ids = list(rows.order_by("id").values_list("id", flat=True)[:BATCH])
            if not ids:
                tombstones = Tombstone.objects.within(project_id).filter(here)
                gone = list(tombstones.values_list("original_id", flat=True))
                RepeatedRequest.objects.within(project_id).filter(fragment_ids__overlap=gone).delete()
                return
            RepeatedRequest.objects.within(project_id).filter(fragment_ids__overlap=ids).delete()
            Archive.objects.within(project_id).filter(fragment_id__in=ids).delete()
            execute("DELETE FROM memories_fragment WHERE project_id = %s AND id = ANY (%s)", [project_id, ids])
            done += len(ids)
            progress.save(stage=stage[:64], done=done, total=None, cursor=done)
            failpoints.reach("branches.deleting")
        yield done
        progress.check()
