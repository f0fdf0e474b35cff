"""Locks of belief: whoever decides on a key does so alone (DESIGN §4, writes).

The order that keeps writers from waiting for each other in a circle: namespaces, keys, fragments by id, the rest.
"""

import hashlib
import uuid
from collections.abc import Iterable

from django.db import connection

# A transaction that holds a lock a key for many thousands would exhaust Postgres' shared memory.
MOST_KEYS = 64

Place = tuple[uuid.UUID, bytes]  # namespace, key digest


def lock(places: Iterable[Place], *, alone: bool = False) -> None:
    """Holds these keys until the transaction ends: each by itself, or for many, or `alone`, their whole namespaces."""
    wanted = set(places)
    whole = alone or len(wanted) > MOST_KEYS
    namespaces = sorted(_number(namespace_id.bytes) for namespace_id in {namespace_id for namespace_id, _ in wanted})
    keys = [] if whole else sorted(_number(namespace_id.bytes + key) for namespace_id, key in wanted)
    with connection.cursor() as cursor:
        for number in namespaces:
            cursor.execute(f"SELECT pg_advisory_xact_lock{'' if whole else '_shared'}(%s)", [number])
        if keys:
            cursor.execute(
                "SELECT count(pg_advisory_xact_lock(n)) FROM (SELECT unnest(%s::bigint[]) AS n OFFSET 0) AS t", [keys]
            )


def lock_namespace(namespace_id: uuid.UUID) -> None:
    """Holds every key of a namespace."""
    lock([(namespace_id, b"")], alone=True)


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(b"belief" + data).digest()[:8], signed=True)
