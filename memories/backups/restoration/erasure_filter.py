"""Erasure filter: what of a bundle was forgotten, here or where it comes from, and what does not come back with it."""

import datetime
import uuid
from typing import Any

from conflicts.public import lock_namespace
from memories.backups.restoration.actions import Erase
from memories.models import Archive
from memories.models.lineage import LINEAGE, quoting
from memories.models.sql import batches, execute, fetch

COPIES = 200
# This very memory; or its words, by somebody as strong. What the bundle holds lived on beside the erasures it holds
# too: that is another memory with these words, and only an erasure that the bundle does not know bars it by them.
ERASED = """({fragment} IN (SELECT fragment_id FROM memories_erasure WHERE project_id = %(project)s
        UNION ALL SELECT fragment_id FROM staged_erasure)
    OR EXISTS (SELECT FROM memories_erasure e WHERE e.project_id = %(project)s AND e.authority >= {authority}
        AND (e.namespace_id IS NULL OR e.namespace_id = %(here)s)
        AND e.fingerprint = ANY ({prints})
        AND NOT EXISTS (SELECT FROM staged_erasure b WHERE b.fragment_id = e.fragment_id
            AND b.fingerprint = e.fingerprint AND b.authority >= e.authority
            AND (b.namespace_id IS NULL OR e.namespace_id IS NOT NULL))))"""
BESIDE = """FROM staged_fragment s JOIN staged_verdict v ON v.id = s.id AND v.verdict IN ('insert', 'update')
    WHERE EXISTS (SELECT FROM staged_erasure e
        WHERE e.fingerprint = ANY (nova_words_prints(%(project)s, s.content, s.extra)))"""
GONE = """(SELECT fragment_id FROM memories_erasure WHERE project_id = %(project)s
    UNION ALL SELECT fragment_id FROM staged_erasure UNION ALL SELECT id FROM staged_forgotten
    UNION ALL SELECT id FROM staged_barred)"""
HELD = "convert_from(s.payload, 'UTF8')::jsonb"
MADE_OF = f"""SELECT s.id, {LINEAGE.format("s")} FROM staged_fragment s
    WHERE s.namespace_id = %(there)s AND s.source_type = 'digest'
    UNION ALL SELECT a.fragment_id, a.lineage FROM staged_archive a
    WHERE a.namespace_id = %(there)s AND a.lineage IS NOT NULL"""
COMING = """SELECT s.id FROM staged_fragment s WHERE s.namespace_id = %(there)s AND s.id = ANY (%(ids)s)
    UNION SELECT a.fragment_id FROM staged_archive a
    WHERE a.namespace_id = %(there)s AND a.fragment_id = ANY (%(ids)s) AND a.reason <> 'compacted'"""

FORGOTTEN = """SELECT f.id, f.namespace_id, e.authority FROM staged_forgotten e JOIN (
        SELECT project_id, id, namespace_id, authority FROM memories_fragment
        UNION ALL SELECT project_id, original_id, namespace_id, authority FROM memories_tombstone
    ) AS f ON f.project_id = %s AND f.id = e.id AND f.authority <= e.authority
    ORDER BY f.namespace_id, f.id"""


def erased(fragment: str, authority: str, text: str, extra: str = "") -> str:
    """The SQL that asks whether a text, or a step in `extra`, was forgotten, `here` or where the bundle comes from."""
    if not any(_any(table) for table in ("memories_erasure", "staged_erasure")):
        return "false"
    prints = f"nova_words_prints(%(project)s, {text}, {extra or 'NULL'})"
    return ERASED.format(fragment=fragment, authority=authority, prints=prints)


def _any(table: str) -> bool:
    ((found,),) = fetch(f"SELECT EXISTS (SELECT FROM {table})", [])
    return bool(found)


def exempt_unrelated(project_id: uuid.UUID) -> None:
    """Names those that come although something else with their words was forgotten where they come from.

    The database keeps every other forgotten text out until the open transaction ends.
    """
    if _any("staged_erasure"):
        execute(f"SELECT set_config('nova.beside', array_agg(s.id)::text, true) {BESIDE}", {"project": project_id})


def stage_lineage() -> None:
    """Keep of each staged copy of a digest what that was made of."""
    query = """SELECT id, convert_from(payload, 'UTF8') FROM staged_archive
        WHERE position('"source_type": "digest"'::bytea IN payload) > 0"""
    found = [(which, Archive.lineage_in(text)) for rows in batches(query, [], size=COPIES) for which, text in rows]
    for which, lineage in found:
        execute("UPDATE staged_archive SET lineage = %s WHERE id = %s", [lineage, which])


def bar_digests(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> None:
    """Let `staged_verdict` say too which digests may not come, and keep in `staged_barred` who may not.

    Those are, of what is staged under `there`: whom the verdict blocks, whose copy holds a forgotten text, and digests
    that quote them or what was forgotten before.
    """
    values: dict[str, Any] = {"project": project_id, "there": there, "here": here}
    execute("DROP TABLE IF EXISTS pg_temp.staged_barred", [])
    execute(
        "CREATE TEMP TABLE staged_barred ON COMMIT DROP AS"
        " SELECT id FROM staged_verdict WHERE verdict = 'blocked_by_erasure'",
        [],
    )
    lineages: dict[uuid.UUID, list[uuid.UUID]] = dict(fetch(MADE_OF, values))
    if not lineages:
        return
    if (forgotten := _in_copies()) != "false":
        execute(
            f"""INSERT INTO staged_barred SELECT s.fragment_id FROM staged_archive s
                WHERE s.namespace_id = %(there)s AND s.reason <> 'compacted' AND {forgotten}""",
            values,
        )
    values["ids"] = list({i for lineage in lineages.values() for i in lineage})
    barred = {i for (i,) in fetch(f"SELECT u FROM unnest(%(ids)s::uuid[]) AS u WHERE u IN {GONE}", values)}
    coming = {i for (i,) in fetch(COMING, values)}
    quotes = list(quoting(project_id, here, lineages, barred=barred, coming=coming))
    execute("INSERT INTO staged_barred SELECT unnest(%s::uuid[])", [quotes])
    execute(
        "UPDATE staged_verdict SET verdict = 'blocked_by_erasure'"
        " WHERE id = ANY (%s) AND verdict IN ('insert', 'update', 'conflict')",
        [quotes],
    )


def _in_copies() -> str:
    """Return the SQL that asks whether a staged copy `s` is of a forgotten memory, or holds a forgotten text."""
    words = [[f"{HELD} #> '{{{part},{name}}}'" for name in ("content", "extra")] for part in ("fragment", "made")]
    conditions = [erased("s.fragment_id", "1", f"({text} #>> '{{}}')", extra) for text, extra in words]
    return "false" if "false" in conditions else f"({' OR '.join(conditions)})"


def drop(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> None:
    """Take what stands around those that may not come, and every forgotten text, away from what is staged.

    `bar` said who may not: their copies and tombstones go, and their words in conflicts.
    """
    values = {"project": project_id, "there": there, "here": here}
    part = "s.namespace_id = %(there)s"
    execute(f"DELETE FROM staged_archive s WHERE {part} AND s.fragment_id IN {GONE}", values)
    execute(f"DELETE FROM staged_tombstone s WHERE {part} AND s.original_id IN {GONE}", values)
    _blank_conflicts(values)
    if (forgotten := _in_copies()) == "false":
        return
    _blank_notes(values)
    execute(f"DELETE FROM staged_archive s WHERE {part} AND {forgotten}", values)
    former = erased("s.fragment_id", "1", "s.content")
    ours = "EXISTS (SELECT FROM staged_verdict v WHERE v.id = s.fragment_id)"
    execute(f"DELETE FROM staged_revisions s WHERE {ours} AND {former}", values)
    former = erased("s.fragment_id", "1", "r.e ->> 'content'")
    revisions = f"jsonb_array_elements({HELD} -> 'revisions') WITH ORDINALITY AS r (e, place)"
    execute(
        f"""UPDATE staged_archive s SET payload = convert_to(jsonb_set({HELD}, '{{revisions}}', coalesce(
                (SELECT jsonb_agg(r.e ORDER BY r.place) FROM {revisions} WHERE NOT {former}), 'null'))::text, 'UTF8')
            WHERE {part} AND CASE jsonb_typeof({HELD} -> 'revisions') WHEN 'array' THEN
                EXISTS (SELECT FROM {revisions} WHERE {former}) END""",
        values,
    )


def _blank_notes(values: dict[str, Any]) -> None:
    """Let nothing that was noted beside memories that come be a forgotten text."""
    here = "s.namespace_id = %(there)s"
    beside = "EXISTS (SELECT FROM staged_fragment f WHERE f.id = s.fragment_id AND f.namespace_id = %(there)s)"
    for table, name, part in (
        ("conflict", "note", here),
        ("ruling", "note", here),
        ("episode", "title", here),
        ("votes", "reason", beside),
    ):
        forgotten = erased("NULL::uuid", "1", f"s.{name}")
        execute(f"UPDATE staged_{table} s SET {name} = '' WHERE {part} AND s.{name} <> '' AND {forgotten}", values)
    execute(f"DELETE FROM staged_labels s WHERE {beside} AND {erased('NULL::uuid', '1', 's.label')}", values)


def _blank_conflicts(values: dict[str, Any]) -> None:
    """As forgetting does: what waits for one that may not come waits no more, and no word of it is kept."""
    part = "s.namespace_id = %(there)s"
    execute(
        f"""DELETE FROM staged_conflict s WHERE {part} AND s.resolved_at IS NULL AND (s.newcomer_id IN {GONE}
            OR (s.kind = 'dispute' OR s.newcomer_id IS NULL) AND s.existing_id IN {GONE})""",
        values,
    )
    execute(
        f"""UPDATE staged_conflict s SET note = '', before = NULL WHERE {part} AND s.newcomer_id IN (
            SELECT o.newcomer_id FROM staged_conflict o WHERE o.existing_id IN {GONE})""",
        values,
    )
    execute(
        f"""UPDATE staged_ruling s SET note = '' WHERE {part} AND EXISTS (
            SELECT FROM unnest(s.chosen_fragments || s.ruled_out_fragments || s.fragment_id) AS e (id)
            WHERE e.id IN {GONE})""",
        values,
    )
    execute(
        f"""UPDATE staged_conflict s SET statement = NULL, note = '', before = NULL
            WHERE {part} AND (s.newcomer_id IN {GONE} OR s.existing_id IN {GONE})""",
        values,
    )


def apply_erasures(project_id: uuid.UUID, *, erase: Erase, now: datetime.datetime) -> None:
    """Forget what was forgotten where the bundle comes from by somebody as strong, and is still kept here."""
    rows = fetch(FORGOTTEN, [project_id])
    for place in dict.fromkeys(place for _, place, _ in rows):
        lock_namespace(place)
    for authority in sorted({authority for *_, authority in rows}):
        ids = [which for which, _, rank in rows if rank == authority]
        erase(project_id, ids, authority=authority, now=now)
