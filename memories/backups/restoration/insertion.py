"""Insertion: staged rows become real ones by set-based SQL, one namespace at a time; the same SQL serves the drill."""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import structlog
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from conflicts.keys import digests_of
from conflicts.search_index import index_keywords
from memories.access import Principal
from memories.backups.restoration import diff
from memories.backups.restoration.staging_tables import UNDER
from memories.models import Namespace
from memories.models.namespace import parts_of
from memories.models.search import LIVE
from memories.models.sql import array_of, batches, copying, execute, fetch
from memories.models.table_spec import columns_of, specs, table_of

log = structlog.get_logger(__name__)

BATCH = 5_000
MANY = 1_000  # of which the planner has to know
TAKEN = "JOIN staged_verdict v ON v.id = {id} AND v.verdict IN ({verdicts})"
NEW, NEWER = "'insert'", "'insert', 'update'"


def columns(model: str) -> list[str]:
    """Return the columns of a table that are written, as they are named in SQL."""
    return [column for column in columns_of(apps.get_model(model)) if column not in specs()[model].made]


def insert_staged(model: str, name: str, source: str, *, once: str = "", replaced: dict[str, str] | None = None) -> int:
    """INSERT … SELECT of staged rows `s`; how many were written. `replaced` gives other SQL for columns."""
    names, listed = columns(model), replaced or {}
    values = ", ".join(listed.get(column, f's."{column}"') for column in names)
    quoted = ", ".join(f'"{column}"' for column in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table_of(model)} ({quoted}) SELECT {values} FROM staged_{name} s {source}"
            f" ON CONFLICT {once} DO NOTHING"
        )
        return int(cursor.rowcount)


def ensure_namespace(principal: Principal, row: Mapping[str, Any]) -> uuid.UUID:
    """The namespace of that name; made as the record says when it is missing, under its own id where that is free."""
    rows = Namespace.objects.within(principal.project_id)
    found = rows.named([row["name"]]).first()
    if found is None:
        source = rows.named([row["forked_from"]]).first() if row["forked_from"] else None
        more = {name: row[name] for name in ("language", "archive_policy", "created_at")}
        root, user = parts_of(row["name"])
        if user is not None:
            parent = Namespace.objects.ensure(project_id=principal.project_id, name=root)
            more |= {"parent": parent, "user": user}
        fresh = Namespace(
            id=uuid.UUID(row["id"]), project_id=principal.project_id, name=row["name"], forked_from=source, **more
        )
        with suppress(IntegrityError), transaction.atomic():
            Namespace.objects.bulk_create([fresh], ignore_conflicts=True)
        found = Namespace.objects.ensure(project_id=principal.project_id, name=row["name"])
    return uuid.UUID(str(found.id))


def insert_owners() -> int:
    """Owners that are not known, neither by id nor by name."""
    return insert_staged("memories.Owner", "owner", "")


def insert_erasures() -> int:
    """Fingerprints of what was forgotten where the bundle comes from."""
    known = "(SELECT n.id FROM memories_namespace n WHERE n.project_id = s.project_id AND n.name = s.scope)"
    return insert_staged(
        "memories.Erasure", "erasure", "", replaced={"namespace_id": f"coalesce({known}, s.namespace_id)"}
    )


def scope_erasures(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> None:
    """Let those of a namespace that has another id here bar their texts in it."""
    if there != here:
        execute(
            """UPDATE memories_erasure e SET namespace_id = %(here)s FROM staged_erasure s
               WHERE e.project_id = %(project)s AND e.id = s.id AND e.namespace_id = %(there)s""",
            {"project": project_id, "there": there, "here": here},
        )


def digest_claims(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> None:
    """Work out the digests of the claims that are to be written, by the rules of the namespace here."""
    execute("DROP TABLE IF EXISTS pg_temp.staged_digest", [])
    execute(
        """CREATE TEMP TABLE staged_digest (claim_id uuid PRIMARY KEY, subject_digest bytea, predicate_digest bytea,
               key_digest bytea, value_digest bytea)""",
        [],
    )
    query = f"""SELECT s.id, s.subject, s.predicate, s.value FROM staged_claim s
        {TAKEN.format(id="s.fragment_id", verdicts=NEWER)} WHERE s.namespace_id = %(there)s"""
    for rows in batches(query, {"there": there}, size=BATCH):
        found = digests_of(project_id, here, [row[1:] for row in rows])
        with copying("COPY staged_digest FROM STDIN") as copy:
            for row, digests in zip(rows, found, strict=True):
                copy.write_row((row[0], *digests))
    execute("ANALYZE staged_digest", [])


def insert_fragments(*, here: uuid.UUID, held_back: Sequence[uuid.UUID] = ()) -> int:
    """Return those judged as new. Held back ones lie in the archive until the gate has heard them."""
    back = f"s.id = ANY ('{array_of(held_back)}'::uuid[])" if held_back else "false"
    replaced = {
        "namespace_id": f"'{here}'::uuid",
        "superseded_by_id": "NULL",  # see put_successors
        "status": f"CASE WHEN {back} THEN 'archived' ELSE s.status END",
    }
    return insert_staged(
        "memories.Fragment", "fragment", TAKEN.format(id="s.id", verdicts=NEW), once="(id)", replaced=replaced
    )


def analyze() -> None:
    """Tell the planner of them (docs/decisions/0073); where somebody holds the table for longer it goes on without."""
    ((done,),) = fetch("SELECT nova_analyze_fragments()", [])
    if not done:
        log.warning("restored_fragments_not_analyzed")


def update_successors(project_id: uuid.UUID) -> None:
    """Who supersedes whom: which of them came is known only after it."""
    execute(
        f"""UPDATE memories_fragment f SET superseded_by_id = o.id
            FROM staged_fragment s {TAKEN.format(id="s.id", verdicts=NEW)}, memories_fragment o
            WHERE f.project_id = %s AND f.id = s.id AND o.project_id = f.project_id AND o.id = s.superseded_by_id""",
        [project_id],
    )


def mark_taken(project_id: uuid.UUID) -> int:
    """Return those whose id turned out to be taken by something nobody here may see; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE staged_verdict v SET verdict = 'rejected', reason = 'id_taken' WHERE v.verdict = 'insert'
               AND NOT EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = %s AND f.id = v.id)""",
            [project_id],
        )
        return int(cursor.rowcount)


def change_fragments(project_id: uuid.UUID, *, here: uuid.UUID, held_back: Sequence[uuid.UUID] = ()) -> int:
    """Return those judged as newer; their claims and votes become those of the bundle."""
    kept = {"id", "project_id", "namespace_id", *diff.BIRTH}
    names = [name for name in columns("memories.Fragment") if name not in kept]
    back = f"s.id = ANY ('{array_of(held_back)}'::uuid[])" if held_back else "false"
    new_values = {
        "status": f"CASE WHEN {back} THEN 'archived' ELSE s.status END",
        "superseded_by_id": """(SELECT o.id FROM memories_fragment o
            WHERE o.project_id = s.project_id AND o.id = s.superseded_by_id)""",
    }
    assigned = ", ".join(f'"{name}" = {new_values.get(name, f"s.{name}")}' for name in names)
    taken = "FROM staged_fragment s JOIN staged_verdict v ON v.id = s.id AND v.verdict = 'update'"
    part = "WHERE f.project_id = %(project)s AND f.id = s.id"
    values = {"project": project_id}
    for table in ("memories_claim", "conflicts_vote"):
        execute(
            f"DELETE FROM {table} f USING staged_verdict v WHERE f.project_id = %(project)s"
            " AND f.fragment_id = v.id AND v.verdict = 'update'",
            values,
        )
    # The vectors of a text that changes belong to the former one.
    execute(
        f"""DELETE FROM memories_embedding e USING memories_fragment f, staged_fragment s, staged_verdict v
        {part} AND v.id = s.id AND v.verdict = 'update' AND f.content <> s.content
        AND e.project_id = f.project_id AND e.namespace_id = f.namespace_id AND e.fragment_id = f.id""",
        values,
    )
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE memories_fragment f SET {assigned} {taken} {part}", values)
        changed = int(cursor.rowcount)
    # A trigger counts on where the text is another one.
    execute(f"UPDATE memories_fragment f SET revision = s.revision {taken} {part} AND f.revision <> s.revision", values)
    return changed


def insert_dependents(*, here: uuid.UUID) -> None:
    """What stands under the fragments that were written, but for links."""
    digests = "JOIN staged_digest d ON d.claim_id = s.id"
    taken = TAKEN.format(id="s.fragment_id", verdicts=NEWER)
    status = """(SELECT nova_claim_status(f.status, s.verdict) FROM memories_fragment f
        WHERE f.project_id = s.project_id AND f.id = s.fragment_id)"""
    successor = "(SELECT o.id FROM memories_fragment o WHERE o.project_id = s.project_id AND o.id = s.superseded_by_id)"
    replaced = {name: f"d.{name}" for name in ("subject_digest", "predicate_digest", "key_digest", "value_digest")}
    replaced |= {"namespace_id": f"'{here}'::uuid", "status": status, "superseded_by_id": successor}
    insert_staged(UNDER["claim"], "claim", f"{digests} {taken}", once="(id)", replaced=replaced)
    for name in ("revisions", "votes", "labels"):
        insert_staged(UNDER[name], name, taken)
    execute(
        f"""INSERT INTO memories_access AS a
                (fragment_id, project_id, access_count, count_at_tier, last_accessed_at, stability)
            SELECT s.fragment_id, s.project_id, s.access_count, s.count_at_tier, s.last_accessed_at, s.stability
            FROM staged_access s {taken}
            ON CONFLICT (fragment_id) DO UPDATE SET access_count = greatest(a.access_count, excluded.access_count),
                count_at_tier = greatest(a.count_at_tier, excluded.count_at_tier),
                last_accessed_at = greatest(a.last_accessed_at, excluded.last_accessed_at),
                stability = greatest(a.stability, excluded.stability)""",
        [],
    )


def insert_links() -> None:
    """Those of what was written, here or in a namespace before, whose ends are both there by now."""
    execute(f"INSERT INTO staged_taken SELECT v.id FROM staged_verdict v WHERE v.verdict IN ({NEWER})", [])
    both = """JOIN staged_taken t ON t.id = s.fragment_id
        JOIN memories_fragment o ON o.project_id = s.project_id AND o.id = s.other_id
        WHERE s.kind <> 'similar' AND s.other_id <> s.fragment_id
            AND EXISTS (SELECT FROM staged_verdict v WHERE v.id IN (s.fragment_id, s.other_id))"""
    insert_staged(UNDER["links"], "links", both)


def insert_vectors(project_id: uuid.UUID, *, here: uuid.UUID) -> int:
    """Vectors of models that are known here, of fragments that have none of theirs."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO memories_embedding (project_id, root_id, namespace_id, fragment_id, model_id, status,
                    session_id, valid_from, valid_until, vector, cold)
                SELECT f.project_id, coalesce(n.parent_id, n.id), f.namespace_id, f.id, m.id, f.status,
                    c.session_id, c.valid_from, c.valid_until, s.vector::halfvec, f.tier = 'cold'
                FROM staged_vector s {TAKEN.format(id="s.fragment_id", verdicts=NEWER)}
                JOIN memories_embeddingmodel m ON m.name = s.model AND m.dim = s.dim
                JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = s.fragment_id
                    AND f.namespace_id = %(here)s
                JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
                CROSS JOIN LATERAL nova_reach(f.project_id, f.id) AS c
                ON CONFLICT DO NOTHING""",
            {"project": project_id, "here": here},
        )
        return int(cursor.rowcount)


def index(project_id: uuid.UUID) -> None:
    """Keywords of what was written; what has no vector of a live model waits for it."""
    for rows in batches(f"SELECT v.id FROM staged_verdict v WHERE v.verdict IN ({NEWER})", {}, size=BATCH):
        index_keywords([row[0] for row in rows])
    execute(
        f"""INSERT INTO memories_pendingembedding (id, project_id, fragment_id, model_id, attempts, not_before)
            SELECT gen_random_uuid(), f.project_id, f.id, m.id, 0, now()
            FROM staged_verdict v JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = v.id
            JOIN memories_embeddingmodel m ON m.state = ANY (%(live)s)
            WHERE v.verdict IN ({NEWER}) AND NOT EXISTS (
                SELECT FROM memories_embedding e WHERE e.project_id = f.project_id
                    AND e.namespace_id = f.namespace_id AND e.fragment_id = f.id AND e.model_id = m.id)
            ON CONFLICT (project_id, fragment_id, model_id) DO NOTHING""",
        {"project": project_id, "live": list(LIVE)},
    )


def write(
    project_id: uuid.UUID,
    *,
    here: uuid.UUID,
    held_back: Sequence[uuid.UUID],
    counts: dict[str, Any],
    shadow: bool = False,
) -> None:
    """The fragments that were judged as new or newer, with all under them. Nothing refers to those of a shadow."""
    insert_fragments(here=here, held_back=held_back)
    if counts["insert"] >= MANY and not shadow:
        analyze()
    update_successors(project_id)
    if taken := mark_taken(project_id):
        counts["insert"] -= taken
        counts["rejected"]["id_taken"] = taken
    if counts["update"]:
        change_fragments(project_id, here=here, held_back=held_back)
    insert_dependents(here=here)
    insert_links()
    insert_vectors(project_id, here=here)
