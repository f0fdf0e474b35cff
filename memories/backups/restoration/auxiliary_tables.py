"""What a restore writes beside memories: rules, origins, episodes, conflicts, tombstones, copies, by the same SQL."""

import datetime
import json
import uuid

from conflicts.former import create_missing_rulings
from conflicts.keys import spelling_digests
from conflicts.rulings import fill_prints
from memories.backups.restoration.insertion import insert_staged
from memories.backups.restoration.staging_tables import MEMBERS, MODELS
from memories.models import Archive, Project
from memories.models.sql import batches, execute, fetch

COPIES = 200


def digest_predicates(project_id: uuid.UUID) -> None:
    """Under which the rules are known once."""
    rows = fetch("SELECT id, name FROM staged_predicate", [])
    digests = spelling_digests(project_id, [name for _, name in rows])
    for (which, _), digest in zip(rows, digests, strict=True):
        execute("UPDATE staged_predicate SET spelling_digest = %s WHERE id = %s", [digest, which])


def insert_predicates(*, there: uuid.UUID, here: uuid.UUID) -> int:
    """Rules that the namespace has none of."""
    place = {"namespace_id": f"'{here}'::uuid"}
    return insert_staged("conflicts.Predicate", "predicate", f"WHERE s.namespace_id = '{there}'", replaced=place)


def rules_left(*, there: uuid.UUID, here: uuid.UUID) -> int:
    """Return how many of the bundle's rules the namespace has not: they would rename what is claimed here."""
    ((count,),) = fetch(
        """SELECT count(*) FROM staged_predicate s WHERE s.namespace_id = %s AND NOT EXISTS (
               SELECT FROM conflicts_predicate p WHERE p.project_id = s.project_id AND p.namespace_id = %s
                   AND p.spelling_digest = s.spelling_digest)""",
        [there, here],
    )
    return int(count)


def insert_auxiliary_rows(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> dict[str, int]:
    """Episodes with their members, conflicts, tombstones and copies; how many of each."""
    part, place = f"WHERE s.namespace_id = '{there}'", {"namespace_id": f"'{here}'::uuid"}
    known = "(SELECT f.id FROM memories_fragment f WHERE f.project_id = s.project_id AND f.id = s.{0})"
    sides = {name: known.format(name) for name in ("newcomer_id", "existing_id")}
    lives = "EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = s.project_id AND f.id = s.{0})"
    # All of whose members were forgotten brings no title back.
    kept = f"""coalesce((SELECT bool_or(EXISTS (
            SELECT FROM memories_fragment f WHERE f.project_id = s.project_id AND f.id = m.fragment_id
        )) FROM {MEMBERS} m WHERE m.episode_id = s.id), true)"""
    by_hand = f"{part} AND s.conversation_id = '' AND {kept}"
    counts = {
        "episode": insert_staged(MODELS["episode"], "episode", by_hand, replaced=place),
        "conflict": insert_staged(MODELS["conflict"], "conflict", part, replaced={**place, **sides}),
        "ruling": _put_rulings(there=there, here=here),
        "tombstone": insert_staged(
            MODELS["tombstone"], "tombstone", f"{part} AND NOT {lives.format('original_id')}", replaced=place
        ),
        "archive": _put_copies(project_id, there=there, here=here),
    }
    execute(
        f"""INSERT INTO memories_episodemember (project_id, episode_id, fragment_id, position)
            SELECT s.project_id, s.episode_id, s.fragment_id, s.position FROM {MEMBERS} s
            JOIN memories_episode e ON e.project_id = s.project_id AND e.id = s.episode_id AND e.namespace_id = %s
            WHERE {lives.format("fragment_id")} ON CONFLICT DO NOTHING""",
        [here],
    )
    return counts


KEPT = """NOT EXISTS (SELECT FROM conflicts_pendingconflict c WHERE c.project_id = {0}.project_id
    AND c.id = {0}.conflict_id AND c.resolved_at IS DISTINCT FROM {0}.decided_at)"""


def _put_rulings(*, there: uuid.UUID, here: uuid.UUID) -> int:
    """Rulings of decisions that were not taken back here; of what they name, what is there."""
    known = "(SELECT o.id FROM {1} o WHERE o.project_id = s.project_id AND o.id = s.{0})"
    replaced = {
        "namespace_id": f"'{here}'::uuid",
        "conflict_id": known.format("conflict_id", "conflicts_pendingconflict"),
        "fragment_id": known.format("fragment_id", "memories_fragment"),
        "replaced_by_id": f"(SELECT o.id FROM staged_ruling o WHERE o.id = s.replaced_by_id AND {KEPT.format('o')})",
    }
    part = f"WHERE s.namespace_id = '{there}' AND {KEPT.format('s')}"
    return insert_staged(MODELS["ruling"], "ruling", part, replaced=replaced)


# The rows of a copy live here again: the inverse of what `records.COPY` takes away.
_HOME = """{0} || (SELECT coalesce(jsonb_object_agg(k, %(home)s::jsonb -> k), '{{}}')
    FROM unnest('{{project_id,namespace_id}}'::text[]) AS k WHERE jsonb_exists({0}, k))"""
LIVING = f"""SELECT a.id, a.fragment_id, a.reason, a.operation_id, a.archived_at, a.expires_at,
        (SELECT jsonb_object_agg(key, CASE jsonb_typeof(value)
            WHEN 'object' THEN {_HOME.format("value")}
            WHEN 'array' THEN (SELECT coalesce(jsonb_agg(CASE jsonb_typeof(e) WHEN 'object'
                THEN {_HOME.format("e")} ELSE e END ORDER BY place), '[]')
                FROM jsonb_array_elements(value) WITH ORDINALITY AS l (e, place))
            ELSE value END) FROM jsonb_each(convert_from(a.payload, 'UTF8')::jsonb))::text
    FROM staged_archive a WHERE a.namespace_id = %(there)s
        AND (a.reason = 'compacted' OR NOT EXISTS (
            SELECT FROM memories_fragment f WHERE f.project_id = a.project_id AND f.id = a.fragment_id))
    ORDER BY a.archived_at, a.id"""


def _put_copies(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> int:
    home = {"project_id": str(project_id), "namespace_id": str(here)}
    values = {"there": there, "home": json.dumps(home)}
    count = 0
    for rows in batches(LIVING, values, size=COPIES):
        names = ("id", "fragment_id", "reason", "operation_id", "archived_at", "expires_at")
        fresh = [
            Archive(
                **dict(zip(names, row[:-1], strict=True)),
                project_id=project_id,
                namespace_id=here,
                payload=Archive.packed(row[-1]),
                lineage=Archive.lineage_in(row[-1]),
            )
            for row in rows
        ]
        Archive.objects.bulk_create(fresh, ignore_conflicts=True)
        count += len(fresh)
    return count


# Of whom something is said: who came, stands here or is gone, and no id of another project's. Of who is gone only where
# nothing was said before: the namespace may have begun anew since.
ORIGINS = """WHERE s.namespace_id = '{there}' AND (s.fragment_id IN (SELECT t.id FROM staged_taken t)
    OR EXISTS (SELECT FROM memories_fragment f
        WHERE f.project_id = s.project_id AND f.namespace_id = '{here}' AND f.id = s.fragment_id)
    OR NOT EXISTS (SELECT FROM memories_origin o WHERE o.project_id = s.project_id AND o.namespace_id = '{here}')
        AND (EXISTS (SELECT FROM memories_tombstone d
                WHERE d.project_id = s.project_id AND d.namespace_id = '{here}' AND d.original_id = s.fragment_id)
            OR EXISTS (SELECT FROM memories_erasure e
                WHERE e.project_id = s.project_id AND e.fragment_id = s.fragment_id)))"""


def insert_origins(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> None:
    """Of which memories others are copies; once all is judged, since what digests quote goes by what stood before."""
    execute(
        """DELETE FROM memories_origin o USING staged_origin s JOIN staged_taken t ON t.id = s.fragment_id
           WHERE s.namespace_id = %s AND o.project_id = %s AND o.fragment_id = s.fragment_id""",
        [there, project_id],
    )
    rows = ORIGINS.format(there=there, here=here)
    insert_staged(MODELS["origin"], "origin", rows, once="(fragment_id)", replaced={"namespace_id": f"'{here}'::uuid"})


def log_tombstones(project_id: uuid.UUID, operation_id: uuid.UUID) -> None:
    """Keep, for the undo, what `clear_tombstones` is about to take away."""
    for table, column, more in (
        ("memories_tombstone", "original_id", ""),
        ("memories_archive", "fragment_id", "AND t.reason <> 'compacted'"),
    ):
        execute(
            f"""INSERT INTO memories_runchange (id, project_id, operation_id, fragment_id, place, row_id, before, after)
                SELECT gen_random_uuid(), t.project_id, %s, t.{column}, '{table}', t.id, to_jsonb(t), ''
                FROM {table} t JOIN staged_verdict v ON v.id = t.{column} AND v.verdict = 'insert'
                JOIN memories_fragment f ON f.project_id = t.project_id AND f.id = t.{column}
                WHERE t.project_id = %s {more}""",
            [operation_id, project_id],
        )


def clear_tombstones(project_id: uuid.UUID) -> None:
    """Who is here again has no tombstone, and no copy to come back from."""
    values = {"project": project_id}
    back = "USING staged_verdict v WHERE t.project_id = %(project)s AND v.verdict = 'insert'"
    execute(f"DELETE FROM memories_archive t {back} AND v.id = t.fragment_id AND t.reason <> 'compacted'", values)
    execute(f"DELETE FROM memories_tombstone t {back} AND v.id = t.original_id", values)


def create_rulings_of_restored(project_id: uuid.UUID, *, here: uuid.UUID) -> None:
    """A bundle from before rulings holds decisions without: they get them, or wait again. None holds fingerprints."""
    salt = bytes(Project.objects.values_list("salt", flat=True).get(id=project_id))
    create_missing_rulings(project_id, salt, namespace_ids=[here])
    fill_prints(project_id, namespace_id=here)


VERSIONS = """INSERT INTO conflicts_pendingconflict (id, project_id, namespace_id, kind, reason, existing_id,
        subject_digest, predicate_digest, key_digest, value_digest, scope, session_id, statement, new_authority,
        existing_authority, revision, created_at, resolution, keep, note)
    SELECT gen_random_uuid(), f.project_id, f.namespace_id, 'restore', 'equal_time_other_content', f.id, '', '', '',
        sha256(convert_to(s.content, 'UTF8')), '', '', jsonb_build_object('subject', '', 'predicate', 'content',
            'value', s.content, 'negated', false), s.authority, f.authority, 1, %(now)s, '', '', ''
    FROM staged_fragment s JOIN staged_verdict v ON v.id = s.id AND v.verdict = 'conflict'
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = s.id
    WHERE NOT EXISTS (
        SELECT FROM conflicts_pendingconflict c WHERE c.project_id = f.project_id AND c.existing_id = f.id
            AND c.kind = 'restore' AND c.value_digest = sha256(convert_to(s.content, 'UTF8')))"""


def insert_version_conflicts(project_id: uuid.UUID, *, now: datetime.datetime) -> None:
    """A conflict for each memory of which the bundle has another version of the same time; once."""
    execute(VERSIONS, {"project": project_id, "now": now})
