"""Owners: who spoke in a bundle that is trusted, and stands here under the same name with another id."""

import json
import uuid

from memories.backups.restoration.erasure_filter import HELD
from memories.models.sql import execute, fetch

NAMESAKES = """SELECT s.id::text, o.id::text FROM staged_owner s
    JOIN memories_owner o ON o.project_id = %(project)s AND o.name = s.name AND o.kind = s.kind AND o.id <> s.id
    WHERE NOT EXISTS (SELECT FROM memories_owner k WHERE k.project_id = %(project)s AND k.id = s.id)"""
RENAMED = "{0} || jsonb_build_object('owner_id', coalesce(%(known)s::jsonb -> ({0} ->> 'owner_id'), {0} -> 'owner_id'))"
IN_COPIES = f"""UPDATE staged_archive s SET payload = convert_to(({HELD} || jsonb_build_object(
        'fragment', {RENAMED.format(f"({HELD} -> 'fragment')")},
        'votes', CASE jsonb_typeof({HELD} -> 'votes') WHEN 'array' THEN (
            SELECT coalesce(jsonb_agg({RENAMED.format("v.e")} ORDER BY v.place), '[]')
            FROM jsonb_array_elements({HELD} -> 'votes') WITH ORDINALITY AS v (e, place))
            ELSE {HELD} -> 'votes' END))::text, 'UTF8')
    WHERE s.reason <> 'compacted' AND convert_from(s.payload, 'UTF8') ~ %(ids)s"""
# Every other column that names one.
COLUMNS = (("fragment", "owner_id"), ("votes", "owner_id"), ("conflict", "resolved_by"), ("ruling", "decided_by"))


def map_owners(project_id: uuid.UUID) -> None:
    """Let what they said be said by those of the same name and kind who are known here: so it stays theirs."""
    known: dict[str, str] = dict(fetch(NAMESAKES, {"project": project_id}))
    if not known:
        return
    values = {"known": json.dumps(known), "ids": "|".join(known)}
    for name, column in COLUMNS:
        execute(
            f"UPDATE staged_{name} s SET {column} = (k.value)::uuid FROM jsonb_each_text(%(known)s::jsonb) AS k"
            f" WHERE s.{column} = (k.key)::uuid",
            values,
        )
    execute(IN_COPIES, values)
