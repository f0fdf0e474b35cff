"""Size estimate: how much room a bundle will take, before a byte of it is written."""

import uuid
from collections.abc import Sequence

from memories.models.sql import fetch

A_NUMBER = 3.0  # bytes of a vector: half precision in base64, compressed (2.8 measured with random ones)
SIZES = """SELECT
    (SELECT coalesce(sum(pg_column_size(f.*)), 0) FROM memories_fragment f
        WHERE f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s))
    + (SELECT coalesce(sum(pg_column_size(r.*)), 0) FROM memories_revision r
        JOIN memories_fragment f ON f.project_id = r.project_id AND f.id = r.fragment_id
        WHERE r.project_id = %(project)s AND f.namespace_id = ANY (%(places)s))
    + (SELECT coalesce(sum(octet_length(a.payload)), 0) FROM memories_archive a
        WHERE a.project_id = %(project)s AND a.namespace_id = ANY (%(places)s))"""
DIMENSIONS = """SELECT coalesce(sum(m.dim), 0) FROM memories_embedding e
    JOIN memories_embeddingmodel m ON m.id = e.model_id
    WHERE e.project_id = %(project)s AND e.namespace_id = ANY (%(places)s)"""


def size(project_id: uuid.UUID, place_ids: Sequence[uuid.UUID], *, embeddings: bool) -> int:
    """About as many bytes as the file will have, rather more: the rows as the database keeps them, and vectors."""
    values = {"project": project_id, "places": list(place_ids)}
    ((rows,),) = fetch(SIZES, values)
    ((numbers,),) = fetch(DIMENSIONS, values) if embeddings else [(0,)]
    return int(rows) + int(numbers * A_NUMBER)
