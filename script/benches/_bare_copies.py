"""What a bare COPY takes: of rows into tables with the same columns, CHECKs and indexes but no trigger; of JSON out.

Rows are binary and lie in memory before the clock runs; the tables begin empty, which suits the COPY.
"""

import time
import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connections
from psycopg import sql

from memories.backups.bundle import records

HEADER, TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
SAMPLE = 50_000  # rows of a table that are held in memory
HELD = """SELECT c.table_name::text, array_agg(c.column_name::text) FILTER (WHERE c.is_generated = 'NEVER')
    FROM information_schema.columns c JOIN pg_class t ON t.oid = to_regclass(c.table_name) AND NOT t.relispartition
    WHERE c.table_schema = 'public' GROUP BY c.table_name HAVING bool_or(c.column_name = 'project_id')"""


def seconds_in(project_id: uuid.UUID, *, size: int, most: Sequence[str] = ()) -> tuple[float, dict[str, int]]:
    """Return how long a project's rows take to be copied in, `size` a transaction; and how many they are by table.

    Of a table with more than a sample, that sample is taken and counted up. `most` names tables, else all that hold
    at least one per cent of the rows.
    """
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql.SQL("SET nova.project = {}").format(str(project_id)))
        cursor.execute(HELD)
        columns = dict(cursor.fetchall())
        counts = {table: _count(cursor, table, project_id) for table in most or columns}
        counts = {table: count for table, count in counts.items() if count > sum(counts.values()) / 100}
        took = sum(_copied(cursor, table, columns[table], project_id, size) * n for table, n in counts.items())
    connections["owner"].close()
    return took, counts


def _count(cursor: Any, table: str, project_id: uuid.UUID) -> int:
    cursor.execute(sql.SQL("SELECT count(*) FROM {} WHERE project_id = {}").format(sql.Identifier(table), project_id))
    return int(cursor.fetchone()[0])


def _copied(cursor: Any, table: str, columns: Sequence[str], project_id: uuid.UUID, size: int) -> float:
    """Return the seconds that a row takes."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL("COPY (SELECT {} FROM {} WHERE project_id = {} LIMIT {}) TO STDOUT (FORMAT binary)").format(
        names, sql.Identifier(table), project_id, SAMPLE
    )
    with cursor.copy(query) as copy:
        rows = [bytes(row) for row in copy]
    rows[0], rows[-1:] = rows[0].removeprefix(HEADER), []
    cursor.execute("DROP TABLE IF EXISTS bare_copy")
    cursor.execute(sql.SQL("CREATE TABLE bare_copy (LIKE {} INCLUDING ALL)").format(sql.Identifier(table)))
    start = time.perf_counter()
    for place in range(0, len(rows), size):
        with cursor.copy(sql.SQL("COPY bare_copy ({}) FROM STDIN (FORMAT binary)").format(names)) as copy:
            copy.write(b"".join([HEADER, *rows[place : place + size], TRAILER]))
    took = time.perf_counter() - start
    cursor.execute("DROP TABLE bare_copy")
    return took / len(rows)


def seconds_out(selection: records.Selection) -> tuple[float, int]:
    """Return how long COPY takes to give the JSON of a backup's fragments, and its bytes."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql.SQL("SET nova.project = {}").format(str(selection.project_id)))
        statement = cursor.mogrify(records.whole(selection), selection.values)
        start = time.perf_counter()
        with cursor.copy(f"COPY ({statement}) TO STDOUT") as copy:
            given = sum(len(piece) for piece in copy)
        took = time.perf_counter() - start
    connections["owner"].close()
    return took, given
