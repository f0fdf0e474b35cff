"""Events: what happened to beliefs, read from row history in the order of its transactions (docs/spec.md §4).

Ids and enums, never text. A transaction counts once everything older is over (`nova_horizon`), so that whoever
reads on from a place misses no late commit.
"""

import base64
import binascii
import datetime
import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.db import connection
from django.db.models import TextChoices

from memories import access
from memories.access import Principal
from memories.models import sql

MOST_XID, MOST_NUMBER = 2**64 - 1, 2**63 - 1


class Happening(TextChoices):
    """What there is to announce."""

    SUPERSEDE = "supersede"
    CONFLICT_PENDING = "conflict_pending"
    CONFLICT_RESOLVED = "conflict_resolved"
    DISPUTE = "dispute"
    CORROBORATE = "corroborate"
    CONSOLIDATE = "consolidate"
    ERASE = "erase"
    RECALL_NOTICE = "recall_notice"


class NoBookmark(ValueError):
    """A text that is no bookmark of ours."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A place in the history: the transaction; in it the table, the event and what of the event was announced last."""

    recorded_in: int
    table: int = 0
    number: int = 0
    kind: str = ""

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what `str` wrote. Raise NoBookmark."""
        try:
            recorded_in, table, number, kind = base64.urlsafe_b64decode(text.encode()).decode().split("|")
            mark = cls(int(recorded_in), int(table), int(number), kind)
        except (ValueError, binascii.Error) as error:
            raise NoBookmark(text) from error
        known = kind in ("", *Happening) and mark.table in (0, *SOURCES)
        if not known or not 0 <= mark.recorded_in <= MOST_XID or not 0 <= mark.number <= MOST_NUMBER:
            raise NoBookmark(text)
        return mark

    def __str__(self) -> str:
        text = f"{self.recorded_in}|{self.table}|{self.number}|{self.kind}"
        return base64.urlsafe_b64encode(text.encode()).decode()


@dataclass(frozen=True, slots=True)
class Announcement:
    """One thing that happened: to which fragment or conflict, which other one it concerns, by whom and why.

    Of a consolidation: the operation, and as the other one the run that an undo took back. Of a recall notice: the
    receipt that carried the fragment, as the other one what superseded it, and why: the reason.
    """

    mark: Bookmark
    kind: str
    at: datetime.datetime
    namespace: str
    fragment_id: uuid.UUID | None
    conflict_id: uuid.UUID | None
    operation_id: uuid.UUID | None
    other_id: uuid.UUID | None
    receipt_id: uuid.UUID | None
    who: dict[str, str | None]
    why: str | None


@dataclass(frozen=True, slots=True)
class News:
    """Announcements, oldest first, and where to read on."""

    announcements: list[Announcement]
    next: Bookmark


FRAGMENTS, CONFLICTS, OPERATIONS, TOMBSTONES, NOTICES = 1, 2, 3, 4, 5
# Whose copy stays in the archive is not erased.
LEAVING = ["evict", "put away"]
# `b` is the same object before the event; the first conditions pass over what can't be news without looking for it.
SOURCES = {
    FRAGMENTS: """
        SELECT e.recorded_in, 1 AS place, e.pgh_id, k.kind, e.pgh_created_at, e.namespace_id,
            e.pgh_obj_id AS fragment_id, NULL::uuid AS conflict_id, NULL::uuid AS operation_id,
            CASE k.kind WHEN 'supersede' THEN e.superseded_by_id END AS other_id,
            NULL::uuid AS receipt_id, e.pgh_context
        FROM memories_fragmentevent e
        LEFT JOIN LATERAL (
            SELECT status, disputes, corroboration FROM memories_fragmentevent
            WHERE pgh_obj_id = e.pgh_obj_id AND pgh_id < e.pgh_id AND project_id = e.project_id
            ORDER BY pgh_id DESC LIMIT 1
        ) b ON e.pgh_label = 'update'
        CROSS JOIN LATERAL (VALUES
            ('corroborate', e.corroboration > b.corroboration),
            ('dispute', e.disputes > b.disputes OR (e.status = 'disputed' AND b.status <> 'disputed')),
            ('erase', e.pgh_label = 'delete' AND coalesce(e.pgh_context ->> 'why', '') <> ALL (%(leaving)s)),
            ('supersede', e.status = 'superseded' AND b.status <> 'superseded')
        ) k (kind, holds)
        WHERE (e.pgh_label = 'delete' OR (e.pgh_label = 'update'
            AND (e.status IN ('superseded', 'disputed') OR e.disputes > 0 OR e.corroboration > 1)))""",
    CONFLICTS: """
        SELECT e.recorded_in, 2 AS place, e.pgh_id, k.kind, e.pgh_created_at, e.namespace_id,
            coalesce(e.newcomer_id, e.existing_id) AS fragment_id, e.pgh_obj_id AS conflict_id,
            NULL::uuid AS operation_id,
            CASE WHEN e.newcomer_id IS NOT NULL THEN e.existing_id END AS other_id,
            NULL::uuid AS receipt_id, e.pgh_context
        FROM conflicts_pendingconflictevent e
        LEFT JOIN LATERAL (
            SELECT resolved_at FROM conflicts_pendingconflictevent
            WHERE pgh_obj_id = e.pgh_obj_id AND pgh_id < e.pgh_id AND project_id = e.project_id
            ORDER BY pgh_id DESC LIMIT 1
        ) b ON e.pgh_label = 'update'
        CROSS JOIN LATERAL (VALUES
            ('conflict_pending', e.resolved_at IS NULL AND (e.pgh_label = 'insert' OR b.resolved_at IS NOT NULL)),
            ('conflict_resolved', e.resolved_at IS NOT NULL AND e.pgh_label = 'update' AND b.resolved_at IS NULL)
        ) k (kind, holds)
        WHERE e.pgh_label <> 'delete'""",
    OPERATIONS: """
        SELECT e.recorded_in, 3 AS place, e.pgh_id, k.kind, e.pgh_created_at, e.namespace_id,
            NULL::uuid AS fragment_id, NULL::uuid AS conflict_id, e.pgh_obj_id AS operation_id,
            u.id AS other_id, NULL::uuid AS receipt_id, e.pgh_context
        FROM memories_operationevent e
        LEFT JOIN memories_operation o ON e.kind = 'undo' AND o.project_id = e.project_id AND o.id = e.pgh_obj_id
        LEFT JOIN memories_operation u ON u.project_id = e.project_id AND u.kind = 'consolidate'
            AND u.id = (o.options ->> 'operation')::uuid
        CROSS JOIN LATERAL (VALUES ('consolidate', e.kind = 'consolidate' OR u.id IS NOT NULL)) k (kind, holds)
        WHERE e.pgh_label = 'update' AND e.state = 'succeeded' AND NOT e.dry_run""",
    # What was forgotten after it had left: its tombstone goes, and no fragment comes back in that transaction.
    TOMBSTONES: """
        SELECT e.recorded_in, 4 AS place, e.pgh_id, k.kind, e.pgh_created_at, e.namespace_id,
            e.original_id AS fragment_id, NULL::uuid AS conflict_id, NULL::uuid AS operation_id,
            NULL::uuid AS other_id, NULL::uuid AS receipt_id, e.pgh_context
        FROM memories_tombstoneevent e
        CROSS JOIN LATERAL (VALUES ('erase', NOT EXISTS (
            SELECT FROM memories_fragmentevent f WHERE f.pgh_obj_id = e.original_id AND f.project_id = e.project_id
                AND f.recorded_in = e.recorded_in AND f.pgh_label = 'insert'))) k (kind, holds)
        WHERE e.pgh_label = 'delete'""",
    NOTICES: """
        SELECT e.recorded_in, 5 AS place, e.pgh_id, k.kind, e.created_at, e.namespace_id,
            e.fragment_id, NULL::uuid AS conflict_id, NULL::uuid AS operation_id,
            e.superseded_by AS other_id, e.receipt_id, jsonb_build_object('why', e.reason) AS pgh_context
        FROM (SELECT *, number AS pgh_id FROM memories_recallnotice) e
        CROSS JOIN LATERAL (VALUES ('recall_notice', true)) k (kind, holds)
        WHERE true""",
}
NARROWED = """
    ({source}
        AND e.project_id = %(project)s AND e.namespace_id = ANY (%(namespaces)s::uuid[])
        AND e.recorded_in >= %(recorded_in)s::text::xid8 AND e.recorded_in < %(before)s::text::xid8
        AND k.holds AND k.kind = ANY (%(kinds)s)
        AND (e.recorded_in, {place}, e.pgh_id, k.kind)
            > (%(recorded_in)s::text::xid8, %(table)s, %(number)s, %(kind)s)
    ORDER BY e.recorded_in, e.pgh_id, k.kind LIMIT %(limit)s)"""
QUERY = (
    " UNION ALL ".join(NARROWED.format(source=source, place=place) for place, source in SOURCES.items())
    + " ORDER BY recorded_in, place, pgh_id, kind LIMIT %(limit)s"
)


def latest(principal: Principal) -> Bookmark:
    """Behind all that is over by now."""
    with access.enter(principal, why="events"):
        return Bookmark(sql.horizon())


def list_events(
    principal: Principal,
    *,
    since: Bookmark | None,
    limit: int,
    kinds: Sequence[str] = Happening.values,
    namespace: str | None = None,
) -> News:
    """What happened after `since`, in the covered namespaces. Raise NotFound for a namespace that is not covered."""
    since = since or Bookmark(0)
    with access.enter(principal, why="events"):
        rows = access.requested_scopes(principal, namespace)
        names = {row.id: row.name for row in rows}
        horizon = Bookmark(sql.horizon())
        values = {
            **asdict(since),
            "recorded_in": str(since.recorded_in),
            "before": str(horizon.recorded_in),
            "project": principal.project_id,
            "namespaces": list(names),
            "kinds": list(kinds),
            "limit": limit,
            "leaving": LEAVING,
        }
        with connection.cursor() as cursor:
            cursor.execute(QUERY, values)
            found = [_announcement(row, names) for row in cursor]
    return News(found, found[-1].mark if len(found) == limit else max(since, horizon, key=lambda at: at.recorded_in))


def _announcement(row: tuple[Any, ...], names: dict[uuid.UUID, str]) -> Announcement:
    recorded_in, table, number, kind, at, namespace_id, *ids, context = row
    fragment_id, conflict_id, operation_id, other_id, receipt_id = ids
    context_values = json.loads(context) if context else {}
    return Announcement(
        mark=Bookmark(int(recorded_in), table, number, kind),
        kind=kind,
        at=at,
        namespace=names[namespace_id],
        fragment_id=fragment_id,
        conflict_id=conflict_id,
        operation_id=operation_id,
        other_id=other_id,
        receipt_id=receipt_id,
        who={part: context_values.get(part) for part in ("kind", "owner", "key", "user")},
        why=context_values.get("why"),
    )
