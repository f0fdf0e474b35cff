"""Entries: what was decided, done, contained and forgotten, in the order of its transactions, read from row history."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import TextChoices

from memories import access
from memories.access import Principal
from memories.access.users import ERASED
from memories.cursors import BadCursor, Cursor
from memories.models.sql import fetch

MOST = 2**63 - 1
# What a cursor holds: the transaction, the table, and the event in it.
PLACE = {"times": 0, "ids": 0, "texts": 3}


class TimelineKind(TextChoices):
    """What stands on the line."""

    DECISION = "decision"
    CONSOLIDATION = "consolidation"
    RESTORE = "restore"
    MERGE = "merge"
    FORK = "fork"
    BACKUP = "backup"
    EVICTION = "eviction"
    FORGETTING = "forgetting"
    DELETION = "deletion"
    CONTAINMENT = "containment"
    ROLLBACK = "rollback"


# Operations as they are called on the line.
OPERATIONS = {
    "consolidate": TimelineKind.CONSOLIDATION,
    "restore": TimelineKind.RESTORE,
    "merge": TimelineKind.MERGE,
    "fork": TimelineKind.FORK,
    "backup": TimelineKind.BACKUP,
    "evict": TimelineKind.EVICTION,
    "forget": TimelineKind.FORGETTING,
    "delete": TimelineKind.DELETION,
    "rollback": TimelineKind.ROLLBACK,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was decided or done: what, when, where and by whom; `undoes` where it takes that back."""

    recorded_in: int
    place: int
    number: int
    kind: str
    at: datetime.datetime
    # Of the conflict, the operation or the containment; of a forgetting at once of the first memory that went.
    id: uuid.UUID
    namespace: str | None
    user: str | None
    owner_id: uuid.UUID | None
    # Of a decision what was decided; of a forgetting at once what went: `memories`, `user`.
    action: str
    undoes: uuid.UUID | None

    def cursor(self, *, back: bool = False) -> Cursor:
        """Return where it stands."""
        return Cursor((str(self.recorded_in), str(self.place), str(self.number)), back)


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Entries, newest first, and whether there are more beyond them."""

    entries: Sequence[Entry]
    more: bool


# The reasons of a transaction that forgets at once: at whatever door, of the graph's tools, by filter.
FORGETTING = ("forget", "graph", "POST api/v1/forget")
# `b` is the same conflict before the event: it waited, or was decided.
SOURCES = {
    1: """
        SELECT e.recorded_in, 1 AS place, e.pgh_id, 'decision' AS kind, e.pgh_created_at AS at, e.pgh_obj_id AS id,
            e.namespace_id, e.pgh_context, e.resolution AS action,
            CASE WHEN e.resolved_at IS NULL THEN e.pgh_obj_id END AS undoes
        FROM conflicts_pendingconflictevent e
        JOIN LATERAL (
            SELECT resolved_at, resolution FROM conflicts_pendingconflictevent
            WHERE project_id = e.project_id AND pgh_obj_id = e.pgh_obj_id AND pgh_id < e.pgh_id
            ORDER BY pgh_id DESC LIMIT 1
        ) b ON e.resolved_at IS NULL AND b.resolution NOT IN ('', 'obsolete') OR b.resolved_at IS NULL
            AND e.resolution NOT IN ('', 'obsolete')
        WHERE e.pgh_label = 'update' AND e.namespace_id = ANY (%(namespaces)s)""",
    2: f"""
        SELECT e.recorded_in, 2 AS place, e.pgh_id, k.told AS kind, e.pgh_created_at AS at, e.pgh_obj_id AS id,
            e.namespace_id, e.pgh_context || jsonb_strip_nulls(jsonb_build_object('owner', e.owner_id)) AS pgh_context,
            '' AS action, u.id AS undoes
        FROM memories_operationevent e
        LEFT JOIN memories_operation o ON e.kind = 'undo' AND o.project_id = e.project_id AND o.id = e.pgh_obj_id
        LEFT JOIN memories_operation u ON u.project_id = e.project_id AND u.id = (o.options ->> 'operation')::uuid
        JOIN (VALUES {", ".join(f"('{kind}', '{told.value}')" for kind, told in OPERATIONS.items())}) AS k (kind, told)
            ON k.kind = coalesce(u.kind, e.kind)
        WHERE e.pgh_label = 'update' AND e.state = 'succeeded' AND NOT e.dry_run
            AND (e.namespace_id = ANY (%(namespaces)s) OR e.namespace_id IS NULL AND %(all)s)""",
    3: """
        SELECT e.recorded_in, 3 AS place, e.pgh_id, 'containment' AS kind, e.pgh_created_at AS at, e.pgh_obj_id AS id,
            NULL::uuid AS namespace_id, e.pgh_context, '' AS action,
            CASE WHEN e.pgh_label = 'update' THEN e.pgh_obj_id END AS undoes
        FROM memories_containmentevent e WHERE e.pgh_label IN ('insert', 'update') AND %(all)s""",
    # One for each namespace of a transaction; the scopes of an erased user are gone, and told as one. An operation that
    # forgets says another reason: it stands on the line itself.
    4: f"""
        SELECT e.recorded_in, 4 AS place, e.pgh_id, 'forgetting' AS kind, e.pgh_created_at AS at, e.fragment_id AS id,
            e.namespace_id, e.pgh_context, CASE WHEN w.of_user THEN 'user' ELSE 'memories' END AS action,
            NULL::uuid AS undoes
        FROM memories_erasureevent e CROSS JOIN LATERAL (SELECT e.pgh_context ->> 'why' = '{ERASED}' AS of_user) AS w
        WHERE e.pgh_label = 'insert' AND (w.of_user OR e.pgh_context ->> 'why' = ANY (%(forgetting)s))
            AND (e.namespace_id = ANY (%(namespaces)s) OR (e.namespace_id IS NULL OR w.of_user) AND %(all)s)
            AND NOT EXISTS (
                SELECT FROM memories_erasureevent f
                WHERE f.project_id = e.project_id AND f.recorded_in = e.recorded_in AND f.pgh_id < e.pgh_id
                    AND (w.of_user OR f.namespace_id IS NOT DISTINCT FROM e.namespace_id))""",
}
BEYOND = "(e.recorded_in, {place}, e.pgh_id) {side} (%(recorded_in)s::text::xid8, %(place)s, %(number)s)"
QUERY = """
    SELECT t.recorded_in::text::bigint, t.place, t.pgh_id, t.kind, t.at, t.id,
        split_part(n.name, '/', 1), n.user, (t.pgh_context ->> 'owner')::uuid, t.action, t.undoes
    FROM ({parts}) AS t
    LEFT JOIN memories_namespace n ON n.project_id = %(project)s AND n.id = t.namespace_id
    ORDER BY t.recorded_in {order}, t.place {order}, t.pgh_id {order} LIMIT %(limit)s"""


def entries(
    principal: Principal,
    *,
    namespace: str | None = None,
    kinds: Sequence[str] = TimelineKind.values,
    since: datetime.datetime | None = None,
    until: datetime.datetime | None = None,
    limit: int,
    cursor: Cursor | None = None,
) -> TimelinePage:
    """Return a page of what the principal may know, newest first: without a namespace also of the whole project.

    Raise NotFound for a namespace that is not covered, BadCursor.
    """
    back = cursor is not None and cursor.back
    with access.enter(principal, why="timeline"):
        scopes = access.requested_scopes(principal, namespace)
        recorded_in, place, number = _place(cursor)
        values = {
            "project": principal.project_id,
            "namespaces": [scope.id for scope in scopes],
            "all": namespace is None and principal.asks_for_all,
            "kinds": list(kinds),
            "forgetting": list(FORGETTING),
            "since": since,
            "until": until,
            **{"recorded_in": str(recorded_in), "place": place, "number": number, "limit": limit + 1},
        }
        order, side = ("ASC", ">") if back else ("DESC", "<")
        parts = " UNION ALL ".join(
            f"(SELECT * FROM ({source} AND e.project_id = %(project)s AND {_beyond(cursor, which, side)}) AS p"
            " WHERE p.kind = ANY (%(kinds)s) AND (%(since)s::timestamptz IS NULL OR p.at >= %(since)s)"
            " AND (%(until)s::timestamptz IS NULL OR p.at <= %(until)s)"
            f" ORDER BY recorded_in {order}, pgh_id {order} LIMIT %(limit)s)"
            for which, source in SOURCES.items()
        )
        rows = fetch(QUERY.format(parts=parts, order=order), values)
    found = [Entry(*row) for row in rows[:limit]]
    return TimelinePage(found[::-1] if back else found, len(rows) > limit)


def _place(cursor: Cursor | None) -> tuple[int, int, int]:
    if cursor is None:
        return 0, 0, 0
    try:
        recorded_in, place, number = map(int, cursor.values)
    except ValueError as error:
        raise BadCursor(str(cursor)) from error
    if place not in SOURCES or not (0 <= recorded_in <= MOST and 0 <= number <= MOST):
        raise BadCursor(str(cursor))
    return recorded_in, place, number


def _beyond(cursor: Cursor | None, place: int, side: str) -> str:
    return "true" if cursor is None else BEYOND.format(place=place, side=side)
