"""The digests of events, as the database has them now, in the order in which they are sealed."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from memories.models import AccountEvent
from memories.models.history import event_models
from memories.models.sql import batches, fetch

LAST = 2**64 - 1  # xid8
BATCH = 5000


class Leaf(NamedTuple):
    """One event: its transaction, table and number, and the SHA-256 of its content."""

    recorded_in: int
    table: str
    number: int
    digest: str

    @property
    def name(self) -> str:
        """How people speak of it."""
        return f"{self.table} {self.number}"


def leaves(project_id: UUID, *, since: int, before: int = LAST) -> Iterator[Leaf]:
    """The project's events of transactions in [since, before), ordered, in the open transaction; never all in memory.

    And those of accounts, which reach every project. Null columns do not count, so that a later migration that adds one
    leaves old digests alone.
    """
    tables: list[tuple[Any, str]] = [(model, "project_id = %(project)s") for model in event_models()]
    parts = [
        f"""SELECT recorded_in, '{model._meta.db_table}' COLLATE "C" AS source, pgh_id,
                encode(sha256(convert_to(jsonb_strip_nulls(to_jsonb(e))::text, 'UTF8')), 'hex')
            FROM {model._meta.db_table} e
            WHERE {own} AND recorded_in >= %(since)s::text::xid8
                AND recorded_in < %(before)s::text::xid8"""
        for model, own in [*tables, (AccountEvent, "true")]
    ]
    statement = " UNION ALL ".join(parts) + " ORDER BY recorded_in, source, pgh_id"
    span = {"project": project_id, "since": str(since), "before": str(before)}
    for rows in batches(statement, span, size=BATCH):
        for row in rows:
            yield Leaf(int(row[0]), *row[1:])


def newest() -> int:
    """No transaction has come as far as this id yet: an event that says so was slipped in."""
    ((found,),) = fetch("SELECT pg_snapshot_xmax(pg_current_snapshot())::text", [])
    return int(found)


def genesis(project_id: UUID) -> bytes:
    """Return what the first seal of a project is hashed onto."""
    return hashlib.sha256(b"novamem audit" + project_id.bytes).digest()


class SealLink:
    """A link of the chain: SHA-256 over the former seal and everything that this one says and covers.

    Its leaves go by one after the other, in their order; only the hash and their number stay.
    """

    def __init__(self, former: bytes, *, number: int, upto: int, sealed_at: str) -> None:
        head = json.dumps([number, upto, sealed_at], separators=(",", ":"))
        self.events = 0
        self._hash = hashlib.sha256(former + head.removesuffix("]").encode() + b",[")

    def add(self, leaf: Leaf) -> bytes:
        """Cover the next leaf; what it adds to the list of leaves in the file."""
        text = json.dumps(leaf, separators=(",", ":")).encode()
        added = b"," + text if self.events else text
        self._hash.update(added)
        self.events += 1
        return added

    def digest(self) -> bytes:
        """32 bytes."""
        whole = self._hash.copy()
        whole.update(b"]]")
        return whole.digest()
