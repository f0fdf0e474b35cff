"""Users, the people behind agents: who they are, all that is kept of one, and erasing it (docs/spec.md §2.2)."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, Q

from memories import access
from memories.access import NotFound, Principal
from memories.models import Fragment, Namespace, Tombstone
from memories.models.answer_rows import load_answer_rows
from memories.models.enums import Verb
from memories.models.namespace import user_of
from memories.models.sql import fetch

ERASED = "erase user"  # why the scopes of an erased user are deleted, as row history has it
# Only what the grant reaches, in the order of names as bytes, which no language changes; of a page alone is counted.
KNOWN = """
    SELECT s."user", array_agg(r.name ORDER BY r.name), sum(held.memories)::int, min(s.created_at)
    FROM (
        SELECT DISTINCT k."user" COLLATE "C" AS "user" FROM memories_namespace k
        WHERE k.project_id = %(project)s AND k.parent_id = ANY (%(roots)s) AND k."user" COLLATE "C" {beyond} %(after)s
        ORDER BY 1 {order} LIMIT %(limit)s
    ) AS page
    JOIN memories_namespace s ON s.project_id = %(project)s AND s."user" = page."user"
    JOIN memories_namespace r ON r.project_id = s.project_id AND r.id = s.parent_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS memories FROM memories_fragment f
        WHERE f.project_id = s.project_id AND f.namespace_id = s.id
    ) AS held
    WHERE s.parent_id = ANY (%(roots)s)
    GROUP BY s."user" ORDER BY s."user" COLLATE "C" {order}"""
ONWARD, BACK = KNOWN.format(beyond=">", order="ASC"), KNOWN.format(beyond="<", order="DESC")

# Below each namespace the first of its users.
FIRST = """
    SELECT r.id, s."user", held.memories
    FROM unnest(%(roots)s::uuid[]) AS r (id)
    CROSS JOIN LATERAL (
        SELECT k.id, k."user" FROM memories_namespace k WHERE k.project_id = %(project)s AND k.parent_id = r.id
        ORDER BY k."user" COLLATE "C" LIMIT %(each)s
    ) AS s
    CROSS JOIN LATERAL (
        SELECT count(*)::int AS memories FROM memories_fragment f
        WHERE f.project_id = %(project)s AND f.namespace_id = s.id
    ) AS held
    ORDER BY r.id, s."user" COLLATE "C" """


@dataclass(frozen=True, slots=True)
class User:
    """A person behind agents: in which namespaces there is a scope of theirs, and how many memories these hold."""

    user: str
    namespaces: list[str]
    memories: int
    since: datetime.datetime


@dataclass(frozen=True, slots=True)
class Below:
    """The users of a namespace: how many there are, how many memories they have, and the first with their numbers."""

    users: int
    memories: int
    first: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class UserHoldings:
    """How many memories of a user a namespace holds, by status, and how many tombstones."""

    namespace: str
    memories: dict[str, int]
    tombstones: int
    newest: datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Kept:
    """All that is kept of a user: memories in every status, and what is left of evicted ones."""

    user: str
    scopes: Sequence[Namespace]
    memories: Sequence[Fragment]
    tombstones: Sequence[Tombstone]


def known_users(
    principal: Principal, namespace: str | None, *, after: str = "", limit: int, back: bool = False
) -> list[User]:
    """Return the users whom the principal reaches, by name, those behind `after`. Raise NotFound.

    With `back` those before it, the nearest first.
    """
    principal.require(Verb.READ)
    with access.enter(principal.of_everybody(), why="users"):
        roots = [row.id for row in _roots(principal, namespace)]
        found: list[User] = []
        while len(found) < limit:
            params = {"project": principal.project_id, "roots": roots, "after": after, "limit": limit}
            rows = [User(*row) for row in fetch(BACK if back else ONWARD, params)]
            found += [row for row in rows if principal.speaks_for(row.user)]
            if len(rows) < limit:
                break
            after = rows[-1].user
        return found[:limit]


def users_by_namespace(principal: Principal, *, each: int) -> dict[uuid.UUID, Below]:
    """Return by namespace the users there, for a principal who speaks for all of them; those without any are absent."""
    principal.require(Verb.READ)
    with access.enter(principal.of_user(None, all_users=True), why="users"):
        roots = [row.id for row in _roots(principal, None)]
        scopes = Namespace.objects.within(principal.project_id).filter(parent__in=roots).order_by()
        users = dict(scopes.values_list("parent").annotate(n=Count("id")))
        rows = Fragment.objects.within(principal.project_id).filter(namespace__parent__in=list(users)).order_by()
        memories = dict(rows.values_list("namespace__parent").annotate(n=Count("id"))) if users else {}
        params = {"project": principal.project_id, "roots": list(users), "each": each}
        first: dict[uuid.UUID, list[tuple[str, int]]] = {root: [] for root in users}
        for root, user, number in fetch(FIRST, params) if users else ():
            first[root].append((user, number))
        return {root: Below(users[root], memories.get(root, 0), first[root]) for root in users}


def count_holdings(principal: Principal, user: str, namespace: str | None = None) -> list[UserHoldings]:
    """Return how much is kept of a user, by namespace. Raise NotFound."""
    principal.require(Verb.READ)
    with access.enter(principal.of_everybody(), why="users"):
        scopes = scopes_of(principal, user, namespace)
        rows = Fragment.objects.within(principal.project_id).filter(namespace__in=scopes).order_by()
        found = list(rows.values_list("namespace", "status").annotate(n=Count("id"), at=Max("created_at")))
        tombstones = Tombstone.objects.within(principal.project_id).filter(namespace__in=scopes).order_by()
        gone = dict(tombstones.values_list("namespace").annotate(n=Count("id")))
    return [
        UserHoldings(
            scope.root_name,
            {status: n for where, status, n, _ in found if where == scope.id},
            gone.get(scope.id, 0),
            max((at for where, _, _, at in found if where == scope.id), default=None),
        )
        for scope in scopes
    ]


def load_user_data(principal: Principal, user: str, namespace: str | None) -> Kept:
    """Return all that is kept of a user, the oldest first; to be read inside `access.enter`. Raise NotFound."""
    principal.require(Verb.READ)
    with access.enter(principal.of_everybody(), why="export user"):
        scopes = scopes_of(principal, user, namespace)
        rows = Fragment.objects.within(principal.project_id).filter(namespace__in=scopes).order_by("created_at", "id")
        tombstones = (
            Tombstone.objects.within(principal.project_id).filter(namespace__in=scopes).select_related("namespace")
        )
        gone = list(tombstones.order_by("evicted_at", "id"))
        return Kept(user, scopes, load_answer_rows(principal.project_id, rows), gone)


def _roots(principal: Principal, namespace: str | None) -> list[Namespace]:
    unbound = principal.of_everybody()
    rows = access.readable(unbound, [namespace]) if namespace else access.all_readable(unbound)
    return [row for row in rows if row.parent_id is None]


def scopes_of(principal: Principal, user: str, namespace: str | None) -> list[Namespace]:
    """Return the scopes of a user. Raise NotFound when there is none that the principal reaches."""
    named = user_of(user)
    if not principal.speaks_for(named):
        raise NotFound("user")
    rows = Namespace.objects.within(principal.project_id).filter(
        Q(parent__in=[row.id for row in _roots(principal, namespace)]), user=named
    )
    found = list(rows.order_by("name"))
    if not found:
        raise NotFound("user")
    return found
