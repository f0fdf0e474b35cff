"""Context within a budget, promise by promise, over HTTP."""

import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.retrieval import Question
from memories.retrieval.context import Request, build_context
from memories.retrieval.context.markup import estimate_tokens

QUERY = "project status"


@pytest.fixture
def ten(store):
    """Ten memories of varying length: short facts and long paragraphs."""
    for n in range(5):
        store("acme:main", f"Project status {n}: green.")
        store("acme:main", f"Project status {n}:" + " a long story of what was done and why." * (5 + 5 * n))


def context(agent, **more):
    body = {"namespace": "acme:main", "query": QUERY, **more}
    answer = agent.client.post("/api/v1/context", body, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize("budget", [200, 500])
def test_a_budget_gives_fewer_memories_than_no_budget(alice, ten, budget):
    assert 0 < context(alice, max_tokens=budget)["memories_used"] < context(alice, max_tokens=None)["memories_used"]


def test_high_value_short_memories_are_preferred_over_low_value_long_ones(alice, store):
    short = [store("acme:main", f"Project status: {n}.", importance=1.0) for n in range(3)]
    long = [store("acme:main", f"Project status {n}." + " And so on." * 50, importance=0.1) for n in range(3)]
    body = context(alice, max_tokens=200)
    assert {str(one.id) for one in short} <= set(body["included"])
    assert {str(one.id) for one in long} <= {item["id"] for item in body["excluded"]}


def test_excluded_reasons_are_populated(alice, ten):
    """Departs: `excluded` for excludedReasons."""
    body = context(alice, max_tokens=200)
    assert body["excluded"]
    for item in body["excluded"]:
        assert set(item) == {"id", "reason", "value"}
        assert item["reason"] == "budget"
        assert item["value"] > 0
    assert len(body["excluded"]) + body["memories_used"] == 10


@pytest.mark.parametrize("budget", [100, 200, 500, 1200, None])
def test_the_estimate_is_a_quarter_of_the_length(alice, ten, budget):
    """Departs: `tokens_used` for tokenEstimate, exact over the finished block, and always answered."""
    body = context(alice, max_tokens=budget)
    assert body["tokens_used"] == math.ceil(len(body["prompt_prefix"]) / 4)
    assert budget is None or body["tokens_used"] <= budget


def test_without_a_budget_the_best_fifteen(alice, store):
    """As v0.7: the first fifteen of the search, however long."""
    for n in range(20):
        store("acme:main", f"Project status {n}:" + " going on." * n, importance=n / 20)
    search = {"namespace": "acme:main", "query": QUERY, "top_k": 15}
    best = [row["id"] for row in alice.client.post("/api/v1/search", search, format="json").json()["results"]]
    assert context(alice, max_tokens=None)["included"] == best
    assert context(alice, max_tokens=500)["tokens_used"] <= 500


def test_hello_world_is_three_tokens():
    assert estimate_tokens("hello world") == 3
    assert estimate_tokens("") == 0


def test_one_transaction_reads_the_scopes_once(alice, store):
    store("acme:main", "The heron nests by the mill.")
    asked = Request(Question("Where does the heron nest?", ["acme:main"]))
    with CaptureQueriesContext(connection) as made:
        assert build_context(alice.principal, asked, now=timezone.now()).included
    begun = [
        query["sql"] for query in made if f"SET LOCAL nova.project = '{alice.principal.project_id}'" in query["sql"]
    ]
    assert len(begun) == 1
    assert sum("n.forked_from_id IS NOT NULL" in query["sql"] for query in made) == 1
