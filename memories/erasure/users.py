"""Erasure of a user: all that is kept of one, in every scope, and the scopes with it."""

import datetime
import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q

from conflicts.authority import rank_of
from conflicts.public import lock_namespace
from memories import access
from memories.access import Principal
from memories.access.users import ERASED, scopes_of
from memories.erasure.backup_copies import backups_of, check_purging
from memories.erasure.bulk import CountDiffers, check_right
from memories.erasure.fragments import Forgotten, erase
from memories.models import Erasure, Fragment, Namespace, Operation, RepeatedRequest, Tombstone
from memories.models.enums import Verb
from memories.models.sql import execute

# Reports of restores and of their undo tell by namespace, and so does what a restore keeps for its undo.
STRIKE = """UPDATE memories_operation SET
        report = report #- ARRAY['namespaces', %(name)s] #- ARRAY['deleted', %(name)s]
            || CASE WHEN report ? 'made' THEN jsonb_build_object('made', (report -> 'made') - %(name)s) ELSE '{}' END,
        cursor = CASE WHEN cursor ? 'made' THEN cursor #- ARRAY['counts', %(name)s] #- ARRAY['transactions', %(name)s]
            || jsonb_build_object('made', (cursor -> 'made') - %(name)s) ELSE cursor END
    WHERE project_id = %(project)s AND finished_at IS NOT NULL AND (report -> 'namespaces' ? %(name)s
        OR report -> 'deleted' ? %(name)s OR cursor -> 'counts' ? %(name)s)"""


@dataclass(frozen=True, slots=True)
class ErasedUser:
    """How many memories of a user went, or would, and the backups that still hold any."""

    user: str
    namespaces: list[str]
    count: int
    backups: list[dict[str, Any]]


def erase_user(
    principal: Principal,
    user: str,
    namespace: str | None,
    *,
    expected: int | None,
    dry_run: bool = False,
    purge_backups: bool = False,
    now: datetime.datetime,
) -> ErasedUser:
    """Erase all that is kept of a user, every copy, in one transaction; no restore of an older backup brings it back.

    Begun anew where a worker that stores what the user said was in the way.
    Raise NotFound, NotPermitted, CountDiffers; nothing is erased then.
    """
    principal.require(Verb.ADMIN)
    check_purging(principal, purge=purge_backups)
    work = partial(
        _erase_user, principal, user, namespace,
        expected=expected, dry_run=dry_run, purge_backups=purge_backups, now=now,
    )  # fmt: skip
    return access.retry_on_contention(work)


def _erase_user(
    principal: Principal,
    user: str,
    namespace: str | None,
    *,
    expected: int | None,
    dry_run: bool,
    purge_backups: bool,
    now: datetime.datetime,
) -> ErasedUser:
    with access.enter(principal.of_everybody(), why=ERASED):
        scopes = scopes_of(principal, user, namespace)
        if not dry_run:
            for scope in scopes:
                lock_namespace(scope.id)
        ids = {scope.id: _held_in(scope) for scope in scopes}
        count = sum(map(len, ids.values()))
        names = [scope.root_name for scope in scopes]
        held = {
            row["id"]: row
            for scope in scopes
            for row in backups_of(scope, ids[scope.id], purge=purge_backups, dry_run=dry_run)
        }
        found = ErasedUser(user, names, count, list(held.values()) if principal.covers_all else [])
        if dry_run:
            return found
        if expected is not None and expected != count:
            raise CountDiffers(count=count, expected=expected)
        authority = rank_of(principal)
        for scope in scopes:
            check_right(
                scope, Forgotten(len(ids[scope.id]), ids[scope.id]),
                expected=len(ids[scope.id]), authority=authority,
            )  # fmt: skip
            erase(principal.project_id, ids[scope.id], authority=authority, now=now)
            _strike_name(scope)
            Erasure.objects.bar_only_themselves(principal.project_id, ids[scope.id])
            scope.delete()
        return found


def _strike_name(scope: Namespace) -> None:
    """Take the name of a user's scope out of kept answers and operations; those of the scope alone go."""
    Operation.objects.within(scope.project_id).filter(namespace=scope).delete()
    execute(STRIKE, {"project": scope.project_id, "name": scope.name})
    told = Q(answer__namespace=scope.name) | Q(answer__namespace=scope.root_name, answer__user=scope.user)
    RepeatedRequest.objects.within(scope.project_id).filter(told).delete()


def _held_in(scope: Namespace) -> list[uuid.UUID]:
    rows = Fragment.objects.within(scope.project_id).filter(namespace=scope).order_by("id")
    tombstones = Tombstone.objects.within(scope.project_id).filter(namespace=scope)
    found = list(rows.values_list("id", flat=True))
    return found + sorted(set(tombstones.values_list("original_id", flat=True)) - set(found))
