"""Archive copies: a fragment with everything under it, taken before it leaves, put back exactly as it was.

The database writes and reads the JSON, so that floats, times and vectors come back to the last digit. Keywords are
worked out anew; columns that triggers set are theirs.
"""

import datetime
import uuid
from collections.abc import Sequence

from django.apps import apps
from django.conf import settings

from conflicts.search_index import index_keywords
from memories.models import Archive
from memories.models.bulk import insert
from memories.models.search import LIVE
from memories.models.sql import execute, fetch
from memories.models.table_spec import made_columns, parts_of_copies, specs, table_of

# Who only names the fragment, and loses the name when it goes: the model, the column, when the name is put back.
NAMING: dict[str, tuple[str, str, str]] = {
    "replaced": ("memories.Fragment", "superseded_by_id", "t.status = 'superseded'"),
    "outdone": ("memories.Claim", "superseded_by_id", "t.status = 'superseded'"),
    "newcomer_of": ("conflicts.PendingConflict", "newcomer_id", "true"),
    "existing_of": ("conflicts.PendingConflict", "existing_id", "true"),
}
OF_THAT_STATUS = ("claims", "vectors")  # they bear the fragment's status
# Copies from before keys have none; a key that was given anew meanwhile is not given back.
OWN_KEY = """CASE WHEN EXISTS (SELECT FROM memories_fragment k WHERE k.project_id = r.project_id
    AND k.namespace_id = r.namespace_id AND k.key = r.key) THEN '' ELSE coalesce(r.key, '') END"""
# Columns that are worked out when a copy is put back, by table.
ANEW = {
    "memories.Fragment": {
        "superseded_by_id": """(SELECT s.id FROM memories_fragment s
            WHERE s.project_id = r.project_id AND s.id = r.superseded_by_id)""",
        "key": OWN_KEY,
    },
    # Copies from before there were several hold one claim, the first.
    "memories.Claim": {
        "id": "nova_claim_id(r.fragment_id, coalesce(r.position, 0))",
        "position": "coalesce(r.position, 0)",
        "verdict": "coalesce(r.verdict, '')",
        "superseded_by_id": """(SELECT s.id FROM memories_fragment s
            WHERE s.project_id = r.project_id AND s.id = r.superseded_by_id)""",
    },
    "memories.Embedding": {
        "root_id": "(SELECT coalesce(n.parent_id, n.id) FROM memories_namespace n WHERE n.id = r.namespace_id)",
    },
}
# What has to be there still for a row to be put back.
STILL = {
    "vectors": """EXISTS (SELECT FROM memories_embeddingmodel m
        WHERE m.id = r.model_id AND m.dim = vector_dims(r.vector))""",
    # A former text that was forgotten meanwhile as another's, by whomever.
    "revisions": """NOT EXISTS (SELECT FROM memories_erasure e WHERE e.project_id = r.project_id
        AND e.fingerprint = ANY (nova_fingerprints(r.project_id, r.content))
        AND (e.namespace_id IS NULL OR e.namespace_id = (SELECT f.namespace_id FROM memories_fragment f
            WHERE f.project_id = r.project_id AND f.id = r.fragment_id)))""",
    "links": """EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = r.project_id AND f.id = r.fragment_id)
        AND EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = r.project_id AND f.id = r.other_id)""",
}


def copy_fragments(
    project_id: uuid.UUID,
    fragment_ids: Sequence[uuid.UUID],
    *,
    reason: str,
    operation_id: uuid.UUID | None,
    now: datetime.datetime,
) -> None:
    """Copy the fragments, which the caller holds, into the archive."""
    parts = [
        f"'{name}', (SELECT jsonb_agg(to_jsonb(u) - 'root_id') FROM {table_of(model)} u"
        " WHERE u.project_id = f.project_id"
        f" AND f.id IN ({', '.join(f'u.{column}' for column in specs()[model].belongs_to)}))"
        for name, model in parts_of_copies().items()
    ]
    parts += [
        f"'{name}', (SELECT jsonb_agg(u.id) FROM {table_of(model)} u"
        f" WHERE u.project_id = f.project_id AND u.{column} = f.id)"
        for name, (model, column, _) in NAMING.items()
    ]
    rows = fetch(
        f"""SELECT f.namespace_id, f.id, jsonb_build_object('fragment', to_jsonb(f), {", ".join(parts)})::text
            FROM memories_fragment f WHERE f.project_id = %s AND f.id = ANY (%s) ORDER BY f.id""",
        [project_id, list(fragment_ids)],
    )
    insert([copy_of(project_id, *row, reason=reason, operation_id=operation_id, now=now) for row in rows])


def copy_of(
    project_id: uuid.UUID,
    namespace_id: uuid.UUID,
    fragment_id: uuid.UUID,
    payload: str,
    *,
    reason: str,
    operation_id: uuid.UUID | None,
    now: datetime.datetime,
) -> Archive:
    """Return a copy, not stored yet; kept for ARCHIVE_DAYS."""
    return Archive(
        project_id=project_id,
        namespace_id=namespace_id,
        fragment_id=fragment_id,
        reason=reason,
        payload=Archive.packed(payload),
        lineage=Archive.lineage_in(payload),
        operation_id=operation_id,
        archived_at=now,
        expires_at=now + datetime.timedelta(days=settings.ARCHIVE_DAYS),
    )


def restore_fragments(copies: Sequence[Archive], *, statuses: Sequence[str]) -> None:
    """Store the fragments of whole copies again, each in this status; what they name comes back as far as it is there.

    Whether they may stand so is the caller's to know. Raise IntegrityError when a fragment is there already.
    """
    if not copies:
        return
    project_id, ids = copies[0].project_id, [copy.fragment_id for copy in copies]
    held = [copy.text() for copy in copies], list(statuses)
    _insert("memories.Fragment", _with_status("jsonb_build_array(c.held -> 'fragment')"), held)
    for name, (model, column, when) in NAMING.items():
        _name_again(project_id, held[0], name, table=table_of(model), column=column, when=when)
    for name, model in parts_of_copies().items():
        rows = f"coalesce(nullif(c.held -> '{name}', 'null'), '[]')"
        _insert(model, _with_status(rows) if name in OF_THAT_STATUS else rows, held, still=STILL.get(name, "true"))
    index_keywords(ids)
    _await_vectors(project_id, ids)


def _with_status(rows: str) -> str:
    return f"(SELECT jsonb_agg(e || jsonb_build_object('status', c.status)) FROM jsonb_array_elements({rows}) AS e)"


def _insert(model: str, rows: str, held: tuple[list[str], list[str]], *, still: str = "true") -> None:
    """Insert the rows that an expression finds in each copy `c`, with the columns that the model knows."""
    fields = apps.get_model(model)._meta.concrete_fields
    columns = [str(f.column) for f in fields if f.column and not f.generated and f.column not in made_columns()]
    named = ", ".join(f'"{column}"' for column in columns)
    anew = ANEW.get(model, {})
    values = ", ".join(anew.get(column, f'r."{column}"') for column in columns)
    table = table_of(model)
    execute(
        f"""WITH r AS MATERIALIZED (  -- read once: a join in another order would read every copy for each row
                SELECT r.*
                FROM (SELECT u.held::jsonb, u.status FROM unnest(%s::text[], %s::text[]) AS u (held, status)) AS c
                CROSS JOIN LATERAL jsonb_populate_recordset(NULL::{table}, {rows}) AS r)
            INSERT INTO {table} ({named}) SELECT {values} FROM r
            WHERE {still} {"ON CONFLICT DO NOTHING" if model == "memories.Link" else ""}""",
        list(held),
    )


def _name_again(project_id: uuid.UUID, held: list[str], name: str, *, table: str, column: str, when: str) -> None:
    """Let those that lost the fragment's name when it went bear it again."""
    execute(
        f"""WITH named AS MATERIALIZED (  -- likewise
                SELECT (c.held #>> '{{fragment,id}}')::uuid AS fragment_id, e::uuid AS id
                FROM (SELECT u::jsonb AS held FROM unnest(%s::text[]) AS u) AS c
                CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(nullif(c.held -> '{name}', 'null'), '[]')) AS e)
            UPDATE {table} t SET {column} = named.fragment_id FROM named
            WHERE t.project_id = %s AND t.id = named.id AND t.{column} IS NULL AND {when}""",
        [held, project_id],
    )


def _await_vectors(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> None:
    """Mark what has no vector of a live model: one that was added meanwhile, or that had not come yet."""
    execute(
        """INSERT INTO memories_pendingembedding (id, project_id, fragment_id, model_id, attempts, not_before)
           SELECT gen_random_uuid(), f.project_id, f.id, m.id, 0, now()
           FROM memories_fragment f JOIN memories_embeddingmodel m ON m.state = ANY (%s)
           WHERE f.project_id = %s AND f.id = ANY (%s) AND NOT EXISTS (
               SELECT FROM memories_embedding e WHERE e.project_id = f.project_id
                   AND e.namespace_id = f.namespace_id AND e.fragment_id = f.id AND e.model_id = m.id)
           ON CONFLICT (project_id, fragment_id, model_id) DO NOTHING""",
        [list(LIVE), project_id, list(fragment_ids)],
    )
