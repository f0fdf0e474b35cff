"""The canonical digest of a namespace: two that answer the same have the same."""

import hashlib

from django.db import connection

from memories.models import Namespace

# Row numbers, transaction ids and what triggers make of other columns say nothing of what is remembered.
PARTS = {
    "fragment": "SELECT to_jsonb(t) - 'change' AS row FROM memories_fragment t WHERE {here}",
    "claim": "SELECT to_jsonb(t) AS row FROM memories_claim t WHERE {here}",
    "access": "SELECT to_jsonb(t) AS row FROM memories_access t WHERE {of}",
    "link": "SELECT to_jsonb(t) - 'id' AS row FROM memories_link t WHERE t.kind <> 'similar' AND {of}",
    "vote": "SELECT to_jsonb(t) - 'id' AS row FROM conflicts_vote t WHERE {of}",
    "conflict": "SELECT to_jsonb(t) - 'id' AS row FROM conflicts_pendingconflict t WHERE {here}",
    "ruling": "SELECT to_jsonb(t) - 'id' AS row FROM conflicts_ruling t WHERE {here}",
    "tombstone": "SELECT to_jsonb(t) - 'id' AS row FROM memories_tombstone t WHERE {here}",
    "archive": "SELECT to_jsonb(t) - 'id' AS row FROM memories_archive t WHERE {here}",
}
HERE = "t.project_id = %(project)s AND t.namespace_id = %(namespace)s"
OF = """t.project_id = %(project)s AND EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = t.project_id
    AND f.id = t.fragment_id AND f.namespace_id = %(namespace)s)"""
BATCH = 5_000


def canonical_digest(namespace: Namespace) -> str:
    """SHA-256 over the canonical JSON of every row of a namespace, part by part, in the order of their texts.

    To be called inside `access.enter`. Vectors, words and similar links are left out: they follow from the texts.
    """
    whole = hashlib.sha256()
    values = {"project": namespace.project_id, "namespace": namespace.id}
    for name, query in PARTS.items():
        whole.update(f"{name}\n".encode())
        with connection.cursor() as cursor:
            statement = query.format(here=HERE, of=OF)
            cursor.execute(f'SELECT row::text FROM ({statement}) AS part ORDER BY row::text COLLATE "C"', values)
            while rows := cursor.fetchmany(BATCH):
                whole.update("".join(f"{row}\n" for (row,) in rows).encode())
    return whole.hexdigest()
