"""Removal: a fragment goes, a compressed copy and a tombstone stay."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection
from psycopg.types.json import Jsonb

from memories.models import Fragment
from memories.models.enums import EvictionReason
from memories.upkeep.lifecycle.snapshots import copy_fragments

BATCH = 500
LONGEST = 100  # characters of a name on a tombstone

# Nobody knows a better moment than the one that the text is about. Names of people, never a word of the text.
BURY = """
    INSERT INTO memories_tombstone (id, project_id, namespace_id, original_id, evicted_at, topics, participants,
        approximate_date, reason, reason_details, authority)
    SELECT gen_random_uuid(), f.project_id, f.namespace_id, f.id, %(now)s, f.topics,
        ARRAY(SELECT DISTINCT left(e ->> 'text', %(longest)s) FROM jsonb_array_elements(f.entities) AS e
              WHERE e ->> 'label' = 'person' ORDER BY 1),
        (coalesce(f.event_at, f.created_at) AT TIME ZONE 'UTC')::date, t.reason, t.details, f.authority
    FROM unnest(%(ids)s::uuid[], %(reasons)s::text[], %(details)s::jsonb[]) AS t (id, reason, details)
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id
    ON CONFLICT (project_id, original_id) DO UPDATE SET evicted_at = excluded.evicted_at, reason = excluded.reason,
        reason_details = excluded.reason_details, topics = excluded.topics, participants = excluded.participants
"""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a fragment leaves, as its tombstone says it: a reason, and numbers, ids and words of ours."""

    reason: EvictionReason
    details: Mapping[str, object]


def remove_fragments(
    project_id: uuid.UUID,
    causes: Mapping[uuid.UUID, Cause],
    *,
    copied: str,
    operation_id: uuid.UUID | None,
    now: datetime.datetime,
) -> None:
    """Copy these fragments, which the caller holds, leave a tombstone for each, and delete them."""
    if not causes:
        return
    ids = list(causes)
    copy_fragments(project_id, ids, reason=copied, operation_id=operation_id, now=now)
    with connection.cursor() as cursor:
        cursor.execute(
            BURY,
            {
                "project": project_id,
                "now": now,
                "longest": LONGEST,
                "ids": ids,
                "reasons": [cause.reason.value for cause in causes.values()],
                "details": [Jsonb(dict(cause.details)) for cause in causes.values()],
            },
        )
        cursor.execute("DELETE FROM memories_fragment WHERE project_id = %s AND id = ANY (%s)", [project_id, ids])


def lock_fragments(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Lock those of the fragments that nobody else works on; what they are is to be looked at after this."""
    rows = Fragment.objects.within(project_id).filter(id__in=fragment_ids).order_by("id")
    return list(rows.select_for_update(skip_locked=True).values_list("id", flat=True))
