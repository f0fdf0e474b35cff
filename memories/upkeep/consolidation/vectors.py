"""A namespace's vectors as one matrix, read by COPY: at 500,000 memories no row may cost a Python object."""

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from psycopg import sql

from memories import access
from memories.models.sql import copying
from memories.upkeep.consolidation.plan_state import Outlook

HEADER = 19  # bytes before the first row: signature, flags, extension
SAMPLE = 20_000
ACTIVE = """
    COPY (SELECT e.fragment_id, e.vector FROM memories_embedding e WHERE e.project_id = {} AND e.root_id = {}
        AND e.namespace_id = {} AND e.model_id = {} AND e.status = 'active' ORDER BY e.fragment_id)
        TO STDOUT (FORMAT binary)
"""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors (n × dim, half precision), the fragment of each row, and their centre."""

    ids: Any
    matrix: Any
    centre: Any

    def fragment(self, row: int) -> uuid.UUID:
        """Return the fragment of a row."""
        return uuid.UUID(bytes=self.ids[row].tobytes())


def read(outlook: Outlook) -> Vectors:
    """Return the vectors of what is active, by fragment id.

    The centre is that of all statuses, so that a run's own changes do not move it.
    """
    where = [outlook.project_id, outlook.namespace.root_id, outlook.namespace.id, outlook.model.id]
    # Django's cursor takes no parameters for COPY while it logs.
    query = sql.SQL(ACTIVE).format(*map(sql.Literal, where))
    data = bytearray()
    with access.enter(outlook.principal, why="plan"), connection.cursor() as cursor:
        with copying(query) as copy:
            for part in copy:
                data += part
        cursor.execute(
            """SELECT avg(vector)::real[] FROM (SELECT e.vector FROM memories_embedding e WHERE e.project_id = %s
               AND e.root_id = %s AND e.namespace_id = %s AND e.model_id = %s
               ORDER BY e.fragment_id LIMIT %s) AS sample""",
            [*where, SAMPLE],
        )
        (centre,) = cursor.fetchone()
    return _parsed(data, outlook.model.dim, centre)


def _parsed(data: bytearray, dim: int, centre: list[float] | None) -> Vectors:
    row = np.dtype(
        [
            ("columns", ">i2"),
            ("id_length", ">i4"),
            ("id", "u1", 16),
            ("length", ">i4"),
            ("dim", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f2", dim),
        ]
    )
    count = (len(data) - HEADER) // row.itemsize
    rows = np.frombuffer(data, row, count=count, offset=HEADER)
    matrix = rows["vector"].astype(np.float16)
    return Vectors(rows["id"].copy(), matrix, np.asarray(centre or [0.0] * dim, np.float32))
