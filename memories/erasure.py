"""Erasure of many at once: what a filter finds, if it is as much as the caller expects; all of it or nothing."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F, Min, Q
from django.db.models.expressions import RawSQL
from django.utils.dateparse import parse_datetime

from conflicts.public import lock_namespace, with_protection
from memories import access, backups, ingest
from memories.access import NotFound, NotPermitted, Principal
from memories.errors import NovaError
from memories.models import Backup, Erasure, Fragment, Namespace, Operation, Project, Tombstone
from memories.models.enums import BackupOrigin, Verb
from memories.models.history import events_of
from memories.models.scoring import relevance_of
from memories.operations import BadOptions, Options, Progress
from memories.retrieval import Filters

FEW = 1_000  # so many are forgotten at once; more are an operation
MOST_NAMED = 100
TIMES = ("since", "until", "event_since", "event_until")
RELEVANCE = relevance_of("memories_fragment", now="%s::timestamptz")


class CountDiffers(NovaError):
    """Other memories than the caller expects would be forgotten: by their number."""

    code = "count_differs"
    title = "Nothing was erased"

    def __init__(self, *, count: int, expected: int) -> None:
        super().__init__(f"{count} memories fit, not {expected}; nothing was forgotten")
        self.count = count

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return how many fit."""
        return [{"field": "expected_count", "message": str(self.count)}]


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """What is to be forgotten: the filters of a search without its question, or ids, or both together."""

    filters: Filters = field(default_factory=Filters)
    # Those of evicted memories too; with ids alone any status fits.
    ids: Sequence[uuid.UUID] = ()

    def options(self) -> dict[str, Any]:
        """For an operation's row."""
        given = {name: value for name, value in asdict(self.filters).items() if value}
        told = {name: value.isoformat() if name in TIMES else value for name, value in given.items()}
        return {"filters": told, "ids": [str(i) for i in self.ids]}

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> "ErasureRequest":
        """As `options` wrote it."""
        given: dict[str, Any] = {
            name: parse_datetime(v) if name in TIMES else v for name, v in options["filters"].items()
        }
        return cls(Filters(**given), [uuid.UUID(i) for i in options["ids"]])


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many memories fit, the first of them, what went and came with them, and backups that still hold them."""

    count: int
    ids: Sequence[uuid.UUID]
    digests: int = 0
    backups: Sequence[Mapping[str, Any]] = ()
    # What stands again: it had lost to one of these, or its words stood in a digest that went.
    restored: Sequence[uuid.UUID] = ()

    def report(self) -> dict[str, Any]:
        """In JSON's terms."""
        told = {"count": self.count, "ids": [str(i) for i in self.ids[:MOST_NAMED]], "digests": self.digests}
        restored = [str(i) for i in self.restored[:MOST_NAMED]]
        return {**told, "restored_ids": restored, "backups": list(self.backups)}


def forget(
    principal: Principal,
    fragment_id: uuid.UUID,
    *,
    purge_backups: bool = False,
    everywhere: bool = False,
    now: datetime.datetime,
) -> Forgotten:
    """Erases one memory, or what is left of one that was evicted. Raises NotFound, NotPermitted.

    The answer names backups to who covers all of the project; of these, admins may purge them.
    """
    with access.enter(principal, why="forget"):
        check_everywhere(principal, everywhere=everywhere)
        _hold_backups(principal, purge=purge_backups)
        home = _home(principal.project_id, fragment_id)
        held_in = backups_of(home, [fragment_id], purge=purge_backups) if home else []
        erased = ingest.forget(principal, fragment_id, everywhere=everywhere, now=now)
        return _told(principal, [fragment_id], erased, held_in)


def _told(
    principal: Principal, ids: Sequence[uuid.UUID], erased: ingest.Erased, held_in: Sequence[Mapping[str, Any]]
) -> Forgotten:
    """What the principal may know of it."""
    return Forgotten(
        len(ids), ids, len(erased.digests), held_in if principal.covers_all else [], restored=erased.returned
    )


def _home(project_id: uuid.UUID, fragment_id: uuid.UUID) -> Namespace | None:
    """The namespace of a memory, evicted or not."""
    for rows in (
        Fragment.objects.within(project_id).filter(id=fragment_id),
        Tombstone.objects.within(project_id).filter(original_id=fragment_id),
    ):
        if row := rows.select_related("namespace").first():
            found: Namespace = row.namespace
            return found
    return None


def lift(principal: Principal, content: str, *, authority: int, namespace: Namespace | None = None) -> int:
    """Lets a forgotten text be said again, in one namespace or the whole project; how many fingerprints went.

    Nothing comes back by itself, and what bars it everywhere no namespace lifts for itself. Raises NotFound when the
    text was not forgotten, NotPermitted when somebody above `authority` forgot it.
    """
    with access.enter(principal, why="lift erasure"):
        place = namespace.id if namespace else None
        rows = Erasure.objects.of_text(principal.project_id, content, namespace_id=place)
        if rows.filter(authority__gt=authority).exists():
            raise NotPermitted("somebody stronger than this key forgot it")
        count, _ = rows.delete()
        if not count:
            raise NotFound("erasure")
        return int(count)


def look(principal: Principal, namespace: Namespace, wish: ErasureRequest, *, now: datetime.datetime) -> Forgotten:
    """What would be forgotten; nothing is."""
    with access.enter(principal, why="forget"):
        found = _found(namespace, wish, now=now)
        return Forgotten(len(found), found)


def forget_all(
    principal: Principal,
    namespace: Namespace,
    wish: ErasureRequest,
    *,
    expected: int,
    authority: int,
    purge_backups: bool = False,
    everywhere: bool = False,
    now: datetime.datetime,
) -> Forgotten:
    """Erases all that fits, with every copy of its texts, in one transaction; the answer is as that of `forget`.

    Raises CountDiffers, and NotPermitted for what is above `authority`; nothing is forgotten then.
    """
    with access.enter(principal, why="forget"):
        _hold_backups(principal, purge=purge_backups)
        lock_namespace(namespace.id)
        found = _found(namespace, wish, now=now, hold=True)
        check_right(namespace, Forgotten(len(found), found), expected=expected, authority=authority)
        held_in = backups_of(namespace, found, purge=purge_backups)
        erased = ingest.erase(namespace.project_id, found, authority=authority, everywhere=everywhere, now=now)
        return _told(principal, found, erased, held_in)


def sees_backups(principal: Principal) -> bool:
    """Whether backups are the principal's to see and delete: they hold all of the project."""
    return principal.covers_all and Verb.ADMIN in principal.verbs


def check_purging(principal: Principal, *, purge: bool) -> None:
    """Raises NotPermitted for a wish to purge backups by who may not see them."""
    if purge and not sees_backups(principal):
        raise NotPermitted("purging backups needs the verb admin and a key for all of the project")


def check_everywhere(principal: Principal, *, everywhere: bool) -> None:
    """Raises NotPermitted for a wish to bar a text in the whole project by who may not say what that keeps."""
    if everywhere and not (principal.covers_all and Verb.ADMIN in principal.verbs):
        raise NotPermitted("forgetting everywhere needs the verb admin and a key for all of the project")


def check_right(namespace: Namespace, found: Forgotten, *, expected: int, authority: int) -> None:
    """Raises CountDiffers for another count than is expected, NotPermitted for what is above `authority`."""
    if found.count != expected:
        raise CountDiffers(count=found.count, expected=expected)
    if above := _above(namespace.project_id, found.ids, authority):
        raise NotPermitted(f"the authority of {above} of these memories is above this key's ceiling")


def _hold_backups(principal: Principal, *, purge: bool) -> None:
    """Before all else a purge lets no other backup be noted, and is counted: one that is being written begins anew.

    Raises NotPermitted as `check_purging`.
    """
    check_purging(principal, purge=purge)
    if purge:
        Project.objects.filter(id=principal.project_id).update(purges=F("purges") + 1)


def backups_of(namespace: Namespace, ids: Sequence[uuid.UUID], *, purge: bool) -> list[dict[str, Any]]:
    """The backups that may still hold one of these memories, which are there yet: made since the first was written.

    Uploads may whenever they came. With `purge` those that are not protected are deleted when the transaction has
    committed. Packs of the namespace are deleted then in any case: they are copies on the way out.
    """
    rows = Backup.objects.within(namespace.project_id).filter(namespaces__contains=[namespace.name])
    # Of what was evicted nobody knows any more when it was written.
    gone = Tombstone.objects.within(namespace.project_id).filter(original_id__in=ids).exists()
    born = None if gone else _first_written(namespace.project_id, ids)
    since = Q(created_at__gte=born) | Q(origin=BackupOrigin.UPLOADED) if born else Q()
    found = list(rows.filter(since).newest_first())
    going = _unneeded(found) if purge else []
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
            backups.remove(backups.pack_file(operation_id))

    transaction.on_commit(clear, robust=True)
    return [
        {"id": str(row.id), "file": row.file, "created_at": row.created_at.isoformat(), "purged": row in going}
        for row in found
    ]


def _first_written(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> datetime.datetime | None:
    """When the first of these memories was, by its own time or by history's: an upload's may lie ahead."""
    rows = Fragment.objects.within(project_id).filter(id__in=ids).aggregate(at=Min("created_at"))
    events = events_of(Fragment).objects.filter(project_id=project_id, pgh_obj__in=ids)
    at: datetime.datetime | None = rows["at"]
    return at and min(at, events.aggregate(at=Min("pgh_created_at"))["at"] or at)


def _unneeded(rows: Sequence[Backup]) -> list[Backup]:
    """Those, newest first, that are not protected and that nothing which stays goes on from."""
    going = [row for row in rows if not row.protected]
    while True:
        ids = {row.id for row in going}
        needing = Backup.objects.filter(base__in=ids).exclude(id__in=ids).values_list("base", flat=True)
        needed = set(needing)
        if not needed:
            return going
        going = [row for row in going if row.id not in needed]


def check_forgetting(options: Options) -> None:
    """Raises BadOptions unless they were written by `wanted`."""
    if set(options) - {"everywhere"} != {"filters", "ids", "expected_count", "authority", "purge_backups"}:
        raise BadOptions("options", "Say what is to be forgotten, and how many that are.")


def wanted(
    wish: ErasureRequest, *, expected: int, authority: int, purge_backups: bool, everywhere: bool = False
) -> dict[str, Any]:
    """The options of an operation that forgets."""
    how = {"expected_count": expected, "authority": authority, "purge_backups": purge_backups, "everywhere": everywhere}
    return {**wish.options(), **how}


def run(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Forgets what an operation asks for; begun again after its end it has nothing to do. Raises as `forget_all`."""
    if operation.cursor:
        return dict(operation.cursor)
    options, now = operation.options, operation.created_at
    assert operation.namespace is not None  # the kind asks for one
    if operation.dry_run:
        return look(principal, operation.namespace, ErasureRequest.read(options), now=now).report()
    with progress.alive(), access.enter(principal, why="forget"):
        told = forget_all(
            principal,
            operation.namespace,
            ErasureRequest.read(options),
            expected=options["expected_count"],
            authority=options["authority"],
            purge_backups=options["purge_backups"],
            everywhere=options.get("everywhere", False),
            now=now,
        ).report()
        progress.save(stage="forgotten", done=told["count"], total=told["count"], cursor=told)
    return told


def _found(
    namespace: Namespace, wish: ErasureRequest, *, now: datetime.datetime, hold: bool = False
) -> list[uuid.UUID]:
    """What fits, the oldest first; of what was evicted, what is named by its id."""
    rows = _fitting(namespace, wish, now=now)
    rows = rows.select_for_update(of=("self",)).order_by("id") if hold else rows
    found = [row for _, row in sorted(rows.values_list("created_at", "id"))]
    if wish.ids and wish.filters == Filters():
        stones = Tombstone.objects.within(namespace.project_id).filter(namespace=namespace, original_id__in=wish.ids)
        stones = stones.select_for_update(of=("self",)) if hold else stones
        found += sorted(set(stones.values_list("original_id", flat=True)) - set(found))
    return found


def _fitting(namespace: Namespace, wish: ErasureRequest, *, now: datetime.datetime) -> Any:
    filters = wish.filters
    rows = Fragment.objects.within(namespace.project_id).filter(filters.conditions(), namespace=namespace)
    if wish.ids:
        rows = rows.filter(id__in=wish.ids)
    if not wish.ids or filters != Filters():
        rows = rows.filter(status__in=filters.statuses)
    if filters.min_relevance:
        rows = rows.alias(relevance=RawSQL(RELEVANCE, [now])).filter(relevance__gte=filters.min_relevance)
    return rows


def _above(project_id: uuid.UUID, ids: Sequence[uuid.UUID], authority: int) -> int:
    """How many of them may not be forgotten with this authority, their own or that of who chose them."""
    rows = Fragment.objects.within(project_id).filter(id__in=ids)
    stones = Tombstone.objects.within(project_id).filter(original_id__in=ids, authority__gt=authority)
    return int(with_protection(rows).filter(rank__gt=authority).count()) + int(stones.count())
