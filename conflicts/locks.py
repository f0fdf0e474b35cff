"""Locks of belief: whoever decides on a key does so alone.

The order that keeps writers from waiting for each other in a circle: namespaces, keys, fragments by id, the rest.
"""

import hashlib
import uuid
from collections.abc import Collection, Iterable

from django.db import connection

# A transaction that held a lock a key for many thousands would exhaust Postgres' shared memory.
MOST_KEYS = 64

Place = tuple[uuid.UUID, bytes]  # namespace, key digest


def lock_namespaces(
    namespace_ids: Iterable[uuid.UUID], *, claims: int, roots: Collection[uuid.UUID] = frozenset()
) -> bool:
    """Keep the rules of these namespaces as they are until the transaction ends; before anything is read.

    `roots` are those that users' scopes have their rules from. Whoever is about to decide on many claims takes the
    namespaces for itself. Answers whether it did: no key needs a lock of its own then.
    """
    alone = claims > MOST_KEYS
    wanted = {_number(root_id.bytes): True for root_id in roots}
    wanted |= {_number(namespace_id.bytes): not alone for namespace_id in namespace_ids}
    for number, shared in sorted(wanted.items()):
        _lock_numbers([number], shared=shared)
    return alone


def lock_namespace(namespace_id: uuid.UUID) -> None:
    """Hold every key of a namespace, and its rules."""
    _lock_numbers([_number(namespace_id.bytes)])


def lock_belief(namespace_ids: Iterable[uuid.UUID]) -> None:
    """Let nobody decide in these namespaces until the transaction ends; before anything is read."""
    lock_namespaces(set(namespace_ids), claims=MOST_KEYS + 1)


def lock_keys(places: Iterable[Place]) -> None:
    """Hold these keys until the transaction ends. The namespaces are locked already."""
    _lock_numbers(sorted(_number(namespace_id.bytes + key) for namespace_id, key in set(places)))


def _lock_numbers(numbers: list[int], *, shared: bool = False) -> None:
    if numbers:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(pg_advisory_xact_lock{'_shared' if shared else ''}(n))"
                " FROM (SELECT unnest(%s::bigint[]) AS n OFFSET 0) AS t",
                [numbers],
            )


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(b"belief" + data).digest()[:8], signed=True)
