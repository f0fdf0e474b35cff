"""Change log: while a run is named, triggers keep what stood before in each row that changes, whoever changes it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from psycopg import sql

from memories.models import Operation
from memories.models.sql import fetch

# The tables whose rows are recorded, and the column that identifies one; parents come before children.
PLACES = {
    "memories_fragment": "id",
    "memories_claim": "id",
    "memories_access": "fragment_id",
    "memories_link": "id",
    "conflicts_vote": "id",
    "conflicts_pendingconflict": "id",
    # By a rollback itself; no trigger does.
    "conflicts_ruling": "id",
}
FINISH = """
    UPDATE memories_runchange c SET after = nova_part_digest(to_jsonb(t), c.before)
    FROM {table} t WHERE c.project_id = %s AND c.operation_id = %s AND c.place = %s
        AND t.project_id = c.project_id AND t.{row} = c.row_id
"""

# What became of the fragments: a former status stands in `before` where it changed.
TALLY = """
    SELECT count(*), count(*) FILTER (WHERE c.before IS NULL),
        count(*) FILTER (WHERE f.status = 'active' AND (c.before IS NULL OR c.before ->> 'status' <> 'active')),
        count(*) FILTER (WHERE f.status <> 'active' AND c.before ->> 'status' = 'active')
    FROM memories_runchange c JOIN memories_fragment f ON f.project_id = c.project_id AND f.id = c.row_id
    WHERE c.project_id = %s AND c.operation_id = %s AND c.place = 'memories_fragment'
"""


@contextmanager
def record_changes(operation: Operation) -> Iterator[None]:
    """What changes in here can be taken back; see `undoing`."""
    _name(str(operation.id))
    yield
    _name("")
    with connection.cursor() as cursor:
        for place, row in PLACES.items():
            cursor.execute(
                sql.SQL(FINISH).format(table=sql.Identifier(place), row=sql.Identifier(row)),
                [operation.project_id, operation.id, place],
            )


def _name(operation: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SET LOCAL nova.run = {}").format(sql.Literal(operation)))


def count_changes(operation: Operation) -> dict[str, int]:
    """How many fragments the triggers saw change, be made, become active and cease to be, in this transaction."""
    (row,) = fetch(TALLY, [operation.project_id, operation.id])
    return dict(zip(("changed", "made", "became_active", "ceased"), row, strict=True))
