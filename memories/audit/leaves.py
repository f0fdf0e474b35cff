"""The digests of events, as the database has them now, in the order in which they are sealed."""

import hashlib
import json
from dataclasses import astuple, dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from memories.models.history import event_models
from memories.models.raw import fetch

LAST = 2**64 - 1  # xid8


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """One event: its transaction, table and number, and the SHA-256 of its content."""

    recorded_in: int
    table: str
    number: int
    digest: str

    @property
    def name(self) -> str:
        """How people speak of it."""
        return f"{self.table} {self.number}"


def leaves(project_id: UUID, *, since: int, before: int = LAST) -> list[Leaf]:
    """The project's events of transactions in [since, before), ordered. Null columns do not count, so that a later
    migration that adds one leaves old digests alone."""
    parts = [
        f"""SELECT recorded_in, '{model._meta.db_table}', pgh_id,
                encode(sha256(convert_to(jsonb_strip_nulls(to_jsonb(e))::text, 'UTF8')), 'hex')
            FROM {model._meta.db_table} e
            WHERE project_id = %(project)s AND recorded_in >= %(since)s::text::xid8
                AND recorded_in < %(before)s::text::xid8"""
        for model in event_models()
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), {"project": project_id, "since": str(since), "before": str(before)})
        return sorted(Leaf(int(row[0]), *row[1:]) for row in cursor)


def newest() -> int:
    """No transaction has come as far as this id yet: an event that says so was slipped in."""
    ((found,),) = fetch("SELECT pg_snapshot_xmax(pg_current_snapshot())::text", [])
    return int(found)


def genesis(project_id: UUID) -> bytes:
    """What the first seal of a project is hashed onto."""
    return hashlib.sha256(b"novamem audit" + project_id.bytes).digest()


def chain(former: bytes, *, number: int, upto: int, sealed_at: str, content: list[Leaf]) -> bytes:
    """SHA-256 over the former seal and everything that this one says and covers."""
    body: list[Any] = [number, upto, sealed_at, [astuple(leaf) for leaf in content]]
    return hashlib.sha256(former + json.dumps(body, separators=(",", ":")).encode()).digest()
