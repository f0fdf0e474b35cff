"""What a bare COPY does in a second: memories into tables like those they stand in, and the JSON of memories out.

The tables have the same columns, CHECKs and indexes, but no trigger and no reference, and begin empty; rows are binary
and lie in memory before the clock runs.
"""

import statistics
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from psycopg import sql

from memories.backups.bundle import records
from memories.models import Namespace

# One row for each memory that is stored without its vector.
TABLES = ("fragment", "fragmentevent", "keywords", "pendingembedding", "pendingconnection")
HEADER, TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
SAMPLE = 50_000  # rows of a table
RUNS = 3  # of which the median counts
COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER'"


def memories_in(project_id: uuid.UUID, *, size: int) -> float:
    """Return how many memories a second COPY takes in, `size` at once: those of a project, or a sample of them."""
    with _owner(project_id) as cursor:
        return 1 / sum(_seconds_of_row(cursor, f"memories_{table}", project_id, size) for table in TABLES)


def _seconds_of_row(cursor: Any, table: str, project_id: uuid.UUID, size: int) -> float:
    cursor.execute(COLUMNS, [table])
    names = sql.SQL(", ").join(sql.Identifier(name) for (name,) in cursor.fetchall())
    rows = _rows(cursor, table, names, project_id, most=min(SAMPLE, 10 * size))
    took = statistics.median(_seconds(cursor, table, names, rows, size) for _ in range(RUNS))
    return took / len(rows)


def _seconds(cursor: Any, table: str, names: sql.Composed, rows: list[bytes], size: int) -> float:
    cursor.execute("DROP TABLE IF EXISTS bare_copy")
    cursor.execute(sql.SQL("CREATE TABLE bare_copy (LIKE {} INCLUDING ALL)").format(sql.Identifier(table)))
    start = time.perf_counter()
    for place in range(0, len(rows), size):
        with cursor.copy(sql.SQL("COPY bare_copy ({}) FROM STDIN (FORMAT binary)").format(names)) as copy:
            copy.write(b"".join([HEADER, *rows[place : place + size], TRAILER]))
    took = time.perf_counter() - start
    cursor.execute("DROP TABLE bare_copy")
    return took


def _rows(cursor: Any, table: str, names: sql.Composed, project_id: uuid.UUID, *, most: int) -> list[bytes]:
    """Return rows as COPY has them."""
    statement = "COPY (SELECT {} FROM {} WHERE project_id = {} LIMIT {}) TO STDOUT (FORMAT binary)"
    with cursor.copy(sql.SQL(statement).format(names, sql.Identifier(table), project_id, most)) as copy:
        first, *others = (bytes(row) for row in copy)
    return [first.removeprefix(HEADER), *others[:-1]]


def memories_out(namespace: Namespace) -> float:
    """Return of how many memories COPY gives the JSON in a second, by the statement that makes it for a backup."""
    values = records.Selection.of(namespace.project_id, [namespace]).values
    with _owner(namespace.project_id) as cursor:
        cursor.execute("SELECT id FROM memories_fragment WHERE namespace_id = %s", [namespace.id])
        ids = [str(which) for (which,) in cursor.fetchall()]
        statement = cursor.mogrify(records.FRAGMENTS, {**values, "ids": f"{{{','.join(ids)}}}"})
        start = time.perf_counter()
        with cursor.copy(f"COPY ({statement}) TO STDOUT") as copy:
            for _ in copy:
                pass
        return len(ids) / (time.perf_counter() - start)


@contextmanager
def _owner(project_id: uuid.UUID) -> Iterator[Any]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT set_config('nova.project', %s, false), set_config('nova.users', '*', false)", [str(project_id)]
        )
        yield cursor
    connections["owner"].close()
