"""Decisions of people, and what is claimed against them."""

from typing import Any

import pytest

from conflicts.public import PendingConflict
from memories import access
from memories.backups.bundle.forms import FORMS

CLAIM = {"subject": "acme", "predicate": "contract value"}


@pytest.fixture(autouse=True)
def _each_decision_can_be_backed_up(request):
    """What a decision keeps for its undo has the form in which a bundle is read."""
    project = request.getfixturevalue("project") if "db" in request.fixturenames else None
    yield
    if project:
        with access.enter(access.system_principal(project), why="test"):
            kept = list(PendingConflict.objects.within(project.id).values_list("before", flat=True))
        assert [before for before in kept if not FORMS["conflicts.PendingConflict", "before"](before)] == []


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def paper(project, agent_of):
    """What is read out of documents."""
    return agent_of(project, owner="paper", ceiling="document")


@pytest.fixture
def store_claim(alice):
    """Stores a claim, by default as Alice's user says it."""

    def post(value, *, by=alice, source="user_explicit", claim=CLAIM, **more):
        body = {"namespace": "acme:main", "content": f"It is worth {value}.", "provenance": {"source": source}}
        body["claim"] = {**claim, "value": value, **more}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def read_out(store_claim, paper):
    """What a document says."""
    return lambda value, **more: store_claim(value, by=paper, source="document", **more)


@pytest.fixture
def store_tool_claim(store_claim, bob):
    """What a tool says."""
    return lambda value, **more: store_claim(value, by=bob, source="tool_output", **more)


def get(agent, path, **query) -> Any:
    answer = agent.client.get(f"/api/v1/{path}", query)
    assert answer.status_code == 200, answer.json()
    return answer.json()


def status(agent, fragment) -> str:
    return get(agent, f"fragments/{fragment['id']}")["status"]


def decide(agent, conflict_id, action, *, code=200, **more) -> Any:
    revision = get(agent, f"conflicts/{conflict_id}")["revision"]
    body = {"action": action, "revision": revision, **more}
    answer = agent.client.post(f"/api/v1/conflicts/{conflict_id}/resolve", body, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def take_back(agent, conflict_id, *, code=200) -> Any:
    answer = agent.client.post(f"/api/v1/conflicts/{conflict_id}/undo", {}, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def only(rows: list[Any]) -> Any:
    (row,) = rows
    return row


def pending(agent) -> list[Any]:
    return get(agent, "conflicts")["results"]


def rulings(agent, **query) -> list[Any]:
    return get(agent, "rulings", **query)["results"]


def search(agent) -> list[Any]:
    body = {"query": "what is it worth", "namespace": "acme:main"}
    answer = agent.client.post("/api/v1/search", body, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()["results"]


def context(agent) -> str:
    body = {"query": "what is it worth", "namespace": "acme:main"}
    answer = agent.client.post("/api/v1/context", body, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()["prompt_prefix"]


def write(agent, content) -> Any:
    """A free text of the user's."""
    body = {"namespace": "acme:main", "content": content, "provenance": {"source": "user_explicit"}}
    answer = agent.client.post("/api/v1/fragments", body, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


@pytest.fixture
def ruled(store_claim, read_out, carol):
    """The document's $84,000 was accepted over the user's $48,000."""
    user, paper = store_claim("$48,000"), read_out("$84,000")
    conflict = only(paper["pending_conflicts"])["id"]
    decide(carol, conflict, "supersede", note="signed on Monday")
    return {"user": user, "paper": paper, "conflict": conflict}


READING = {"subject": "cellar", "predicate": "temperature"}
