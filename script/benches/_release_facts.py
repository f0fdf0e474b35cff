"""What no upgrade may change: how many there are of each, and a digest over them, in columns that every release has."""

import hashlib
from collections.abc import Mapping
from typing import Any

FACTS: Mapping[str, str] = {
    "projects": "SELECT id, name, salt FROM memories_project",
    "namespaces": "SELECT id, name, forked_from_id FROM memories_namespace",
    "people": "SELECT username, password, is_superuser FROM auth_user",
    "members": "SELECT project_id, user_id, role FROM memories_membership",
    "owners": "SELECT id, name FROM memories_owner",
    "keys": "SELECT id, key_id, digest, owner_id, revoked_at FROM memories_apikey",
    "grants": "SELECT id, namespaces, verbs, ceiling FROM memories_grant",
    "memories": """SELECT id, namespace_id, content, status, authority, source, type, tags, extra, created_at
        FROM memories_fragment""",
    "former texts": "SELECT fragment_id, content FROM memories_revision",
    "claims": "SELECT fragment_id, subject, predicate, value, status, valid_from FROM memories_claim",
    "conflicts": "SELECT id, newcomer_id, existing_id, resolution, note FROM conflicts_pendingconflict",
    "rulings": "SELECT id, conflict_id, fragment_id, decided_at FROM conflicts_ruling",
    "votes": "SELECT id, fragment_id FROM conflicts_vote",
    "predicates": "SELECT id, name FROM conflicts_predicate",
    "tombstones": "SELECT id, original_id, reason FROM memories_tombstone",
    "erasures": "SELECT id, fragment_id, fingerprint FROM memories_erasure",
    "copies": "SELECT id, fragment_id FROM memories_archive",
    "vectors": "SELECT fragment_id, model_id FROM memories_embedding",
    "receipts": "SELECT id, fragment_ids, tokens FROM memories_receipt",
    "operations": "SELECT id, kind, state FROM memories_operation",
    "backups": "SELECT id, file, sha256 FROM memories_backup",
    "seals": "SELECT project_id, number, digest, signature FROM memories_seal",
}
EVENTS = ("fragment", "claim", "apikey", "grant", "namespace", "membership", "operation", "tombstone", "erasure")


def facts_of(connection: Any) -> dict[str, list[Any]]:
    """Return by what it is: how many, and the SHA-256 over their texts in order; asked as the owner of the tables."""
    events = {f"events of {name}": f"SELECT pgh_id, pgh_label FROM memories_{name}event" for name in EVENTS}
    queries = {**FACTS, **events}
    found = {}
    for name, query in queries.items():
        rows = connection.execute(f"SELECT to_jsonb(r)::text FROM ({query}) r ORDER BY 1").fetchall()
        found[name] = [len(rows), hashlib.sha256("\n".join(text for (text,) in rows).encode()).hexdigest()]
    return found
