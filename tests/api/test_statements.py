"""How many statements a request sends, beside those that begin, end and place its transactions."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conflicts.public import ClaimDraft
from memories.retrieval.candidates import FEW_CLAIMS
from tests.conflicts.rulings.conftest import decide, get, only

AROUND = ("SAVEPOINT", "RELEASE", "SET LOCAL", "BEGIN", "COMMIT")
ASKED = {"namespace": "acme:main", "query": "Where do herons nest?"}


@pytest.fixture
def statements(alice):
    """Posts twice; the statements of the second."""

    def post(path, body):
        alice.client.post(f"/api/v1/{path}", body, format="json")
        with CaptureQueriesContext(connection) as queries:
            assert alice.client.post(f"/api/v1/{path}", body, format="json").status_code in (200, 201)
        return [query["sql"] for query in queries if not query["sql"].startswith(AROUND)]

    return post


@pytest.fixture
def talk(store):
    for n in range(12):
        store("acme:main", f"Ann: the heron {n} nests behind the old mill.", source_type="conversation")
    store("acme:other", "Herons nest by the weir.")


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"query": "Where does Ann see herons?"},
        {"namespace": None, "namespaces": ["acme:main", "acme:other"]},
        {"query": "zebra"},
        {"top_k": 200},
    ],
)
def test_a_search_takes_four(statements, more):
    body = {name: value for name, value in {**ASKED, **more}.items() if value is not None}
    assert len(statements("search", body)) == 4


@pytest.fixture
def dialogue(store):
    for n in range(12):
        where = {"source_type": "conversation", "conversation_id": "c1", "sequence": n}
        store("acme:main", f"Ann: the heron {n} nests behind the old mill.", **where)
    store("acme:main", "Herons have an eyrie.", claim=ClaimDraft("herons", "home", "an eyrie"))


@pytest.mark.usefixtures("dialogue")
def test_a_search_takes_four_in_a_conversation_in_which_something_is_claimed(statements):
    assert len(statements("search", {**ASKED, "query": "What is the home of the herons?"})) == 4


@pytest.mark.parametrize(("claims", "taken"), [(FEW_CLAIMS, 4), (FEW_CLAIMS + 1, 5)])
def test_a_search_takes_one_more_for_the_claims_of_a_topic_where_these_are_many(statements, store, claims, taken):
    for n in range(claims):
        store("acme:main", f"Heron {n} weighs {n}.", claim=ClaimDraft(f"heron {n}", "weight", str(n)))
    assert len(statements("search", {**ASKED, "query": "What is the weight of heron 7?"})) == taken


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize("query", [ASKED["query"], "zebra"])
def test_a_context_takes_six(statements, query):
    assert len(statements("context", {**ASKED, "query": query})) == 6


@pytest.mark.usefixtures("talk")
def test_a_store_takes_five(statements):
    body = {"namespace": "acme:main", "content": "Otters swim by the weir."}
    assert len(statements("fragments", body)) == 5


def test_a_store_takes_one_more_where_texts_were_forgotten(alice, statements, store):
    alice.client.delete(f"/api/v1/fragments/{store('acme:main', 'A pike was seen.').id}")
    body = {"namespace": "acme:main", "content": "Otters swim by the weir."}
    assert len(statements("fragments", body)) == 6


@pytest.mark.parametrize("decision", ["", "reject"])
def test_a_store_takes_one_more_where_something_was_ruled_out(statements, store, agent_of, project, decision):
    store("acme:main", "The user's budget is $750.", source="document", claim=ClaimDraft("user", "budget", "$750"))
    store("acme:main", "The user's budget is $13.", claim=ClaimDraft("user", "budget", "$13"))
    carol = agent_of(project, owner="carol", verbs=["read", "review"], ceiling="user_explicit")
    if decision:
        decide(carol, only(get(carol, "conflicts")["results"])["id"], decision)
    body = {"namespace": "acme:main", "content": "Otters swim by the weir."}
    assert len(statements("fragments", body)) == (7 if decision else 6)


@pytest.mark.usefixtures("talk")
def test_a_context_takes_four_more_with_tasks(statements, alice):
    task = {"namespace": "acme:main", "id": "t1", "title": "Count herons", "status": "active"}
    assert alice.client.post("/api/v1/tasks", task, format="json").status_code in (200, 201)
    assert len(statements("context", {**ASKED, "include_tasks": 5})) == 10


def test_a_refused_key_costs_one_and_no_token(alice, agent_of, project, anonymous):
    slow = agent_of(project, requests_per_minute=2)
    forged = slow.key[:-20] + "x" * 20
    with CaptureQueriesContext(connection) as queries:
        assert {
            anonymous.get("/api/v1/namespaces", headers={"Authorization": f"Bearer {forged}"}).status_code
            for _ in range(3)
        } == {401}
    assert len([query for query in queries if "nova_find_key" in query["sql"]]) <= 3
    assert [slow.client.get("/api/v1/namespaces").status_code for _ in range(3)] == [200, 200, 429]
