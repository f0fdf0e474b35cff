"""A request of one user among many: it walks nobody else's scope."""

import pytest
from django.db import connection

from memories import access
from memories.models import Namespace
from memories.models.bulk import insert
from tests.users.test_scopes import FRAGMENTS, HOME, keep

USERS, FEW = 1_500, 60
PLACE = {"namespace": "acme:main", "user": "ann"}
TURNS = [{"role": "user", "content": "I moved to Rome in May. I work at the mill."}]
REQUESTS = {
    "store": ("post", FRAGMENTS, {**PLACE, "content": "I live in Rome.", "claim": {**HOME, "value": "Rome"}}),
    "batch": ("post", f"{FRAGMENTS}/batch", {"fragments": [{**PLACE, "content": f"Heron {n}."} for n in range(60)]}),
    "ingest": ("post", "/api/v1/ingest", {**PLACE, "messages": TURNS, "conversation_id": "c1"}),
    "search": ("post", "/api/v1/search", {**PLACE, "query": "where do I live?", "explain": True}),
    "context": ("post", "/api/v1/context", {**PLACE, "query": "where do I live?"}),
    "list": ("get", f"{FRAGMENTS}?namespace=acme:main&user=ann", None),
    "read": ("get", f"{FRAGMENTS}/{{id}}?user=ann", None),
    "change": ("patch", f"{FRAGMENTS}/{{id}}?user=ann", {"content": "I live in Lisbon by the sea.", "revision": 1}),
    "archive": ("post", f"{FRAGMENTS}/{{id}}/archive?user=ann", {}),
    "forget": ("delete", f"{FRAGMENTS}/{{id}}?user=ann", None),
    "forget by filter": ("post", "/api/v1/forget", {**PLACE, "ids": ["{id}"], "expected_count": 1}),
    "claims": ("get", "/api/v1/claims?namespace=acme:main&user=ann", None),
    "conflicts": ("get", "/api/v1/conflicts?namespace=acme:main&user=ann", None),
    "export": ("get", "/api/v1/users/YW5u/export?namespace=acme:main", None),
    "erase": ("delete", "/api/v1/users/YW5u?namespace=acme:main", None),
}


def walked():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
            " WHERE relname = 'memories_namespace'"
        )
        return cursor.fetchone()[0]


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_for_a_user_walks_no_other_users_scopes(alice, principal, what):
    kept = keep(alice, "ann", "I live in Lisbon.", claim={**HOME, "value": "Lisbon"})
    with access.enter(principal, why="test"):
        root = Namespace.objects.get(name="acme:main")
        mine = {"project_id": principal.project_id, "parent": root}
        insert([Namespace(**mine, name=f"acme:main/u{n}", user=f"u{n}") for n in range(USERS)])
    method, path, body = REQUESTS[what]
    if body and "ids" in body:
        body = {**body, "ids": [kept["id"]]}
    before = walked()
    answer = getattr(alice.client, method)(
        path.format(id=kept["id"]), body, **({"format": "json"} if body is not None else {})
    )
    assert answer.status_code < 300, answer.content
    assert walked() - before <= FEW
