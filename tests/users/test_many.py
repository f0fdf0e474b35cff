"""A request of one user among many: it walks nobody else's scope."""

import pytest
from django.db import connection, connections, transaction

from memories import access
from memories.models import Namespace
from memories.models.bulk import insert
from tests.users.test_scopes import FRAGMENTS, HOME, keep

pytestmark = pytest.mark.examples

USERS, FEW = 1_500, 120
PLACE = {"namespace": "{place}", "user": "ann"}
TURNS = [{"role": "user", "content": "I moved to Rome in May. I work at the mill."}]
REQUESTS = {
    "store": ("post", FRAGMENTS, {**PLACE, "content": "I live in Rome.", "claim": {**HOME, "value": "Rome"}}),
    "batch": ("post", f"{FRAGMENTS}/batch", {"fragments": [{**PLACE, "content": f"Heron {n}."} for n in range(20)]}),
    "ingest": ("post", "/api/v1/ingest", {**PLACE, "messages": TURNS, "conversation_id": "c1"}),
    "search": ("post", "/api/v1/search", {**PLACE, "query": "where do I live?", "explain": True}),
    "context": ("post", "/api/v1/context", {**PLACE, "query": "where do I live?"}),
    "list": ("get", FRAGMENTS + "?namespace={place}&user=ann", None),
    "read": ("get", FRAGMENTS + "/{id}?user=ann", None),
    "change": ("patch", FRAGMENTS + "/{id}?user=ann", {"content": "I live in Lisbon by the sea.", "revision": 1}),
    "archive": ("post", FRAGMENTS + "/{id}/archive?user=ann", {}),
    "forget": ("delete", FRAGMENTS + "/{id}?user=ann", None),
    "forget by filter": ("post", "/api/v1/forget", {**PLACE, "ids": ["{id}"], "expected_count": 1}),
    "claims": ("get", "/api/v1/claims?namespace={place}&user=ann", None),
    "conflicts": ("get", "/api/v1/conflicts?namespace={place}&user=ann", None),
    "export": ("get", "/api/v1/users/YW5u/export?namespace={place}", None),
    "erase": ("delete", "/api/v1/users/YW5u?namespace={place}", None),
}


def walked():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
            " WHERE relname = 'memories_namespace'"
        )
        return cursor.fetchone()[0]


@pytest.fixture
def one_of_many(committed, agent_of):
    """An agent with a memory of ann's, beside many users whom the planner knows of; and that memory's id."""
    agent = agent_of(committed, ceiling="user_explicit", verbs=["read", "write", "review", "admin"])
    place = f"{committed.name}:main"
    kept = keep(agent, "ann", "I live in Lisbon.", namespace=place, claim={**HOME, "value": "Lisbon"})
    with access.enter(access.system_principal(committed), why="test"):
        mine = {"project_id": committed.id, "parent": Namespace.objects.get(name=place)}
        insert([Namespace(**mine, name=f"{place}/u{n}", user=f"u{n}") for n in range(USERS)])
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE memories_namespace")
    connections["owner"].close()
    return agent, place, kept["id"]


def filled(value, place, memory):
    """A request with the place and the memory put in."""
    if isinstance(value, str):
        return value.replace("{place}", place).replace("{id}", memory)
    if isinstance(value, dict):
        return {name: filled(inner, place, memory) for name, inner in value.items()}
    return [filled(inner, place, memory) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_for_a_user_walks_no_other_users_scopes(one_of_many, what):
    agent, *names = one_of_many
    method, path, body = filled(list(REQUESTS[what]), *names)
    with transaction.atomic():
        with connection.cursor() as cursor:  # a plan that an earlier test left was made for an empty table
            cursor.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        before = walked()
        answer = getattr(agent.client, method)(path, body, **({"format": "json"} if body is not None else {}))
        assert answer.status_code < 300, answer.content
        assert walked() - before <= FEW
