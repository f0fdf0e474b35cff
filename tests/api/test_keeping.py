"""What keeps a memory from upkeep: importance of .7 and more, pins, anchors; bounded by the ceiling at every door."""

import pytest

from memories import access
from memories.models import Fragment

URL = "/api/v1/fragments"
MANY = "Ada Lovelace, Grace Hopper, Alan Turing and Kurt Gödel met in Oslo, Rome and Lisbon. It was wonderful!"
MOST = 0.69
HEAVY = {"namespace": "acme:main", "content": MANY, "importance": 1.0}


@pytest.fixture
def weak(project, agent_of):
    """Below user_implicit."""
    return agent_of(project, owner="weak", ceiling="document")


@pytest.fixture
def reviewer(project, agent_of):
    """As weak, and may review."""
    return agent_of(project, owner="weak", ceiling="document", verbs=["read", "write", "review"])


@pytest.fixture
def near(project, agent_of):
    """The lowest whose word is enough."""
    return agent_of(project, owner="near", ceiling="user_implicit")


def send(agent, method, path, body, status):
    answer = getattr(agent.client, method)(path, body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def in_a_batch(agent):
    send(agent, "post", f"{URL}/batch", {"fragments": [HEAVY]}, 201)


@pytest.fixture
def weights(principal):
    """The importance of all that is stored."""

    def read():
        with access.enter(principal, why="test"):
            return list(Fragment.objects.within(principal.project_id).values_list("importance", flat=True))

    return read


def by_ingest(agent):
    body = {"namespace": "acme:main", "text": MANY}
    send(agent, "post", "/api/v1/ingest", body, 201)


def by_atlas(agent):
    log = {"id": "b-1", "summary": MANY, "status": "success", "agent": "MARS", "tags": [], "at": "2026-05-01T09:00:00Z"}
    body = {"namespace": "acme:main", "project": "herons", "phase": 2, "log": log}
    send(agent, "post", "/api/v1/bridges/atlas/builds", body, 201)


def by_mem0(agent):
    body = {"messages": [{"role": "user", "content": MANY}], "user_id": "ada", "infer": False}
    send(agent, "post", "/compat/mem0/v3/memories/add/", body, 200)


STORES = {
    "given": lambda agent: send(agent, "post", URL, HEAVY, 201),
    "by default": lambda agent: send(agent, "post", URL, {"namespace": "acme:main", "content": MANY}, 201),
    "batch": in_a_batch,
    "ingest": by_ingest,
    "atlas": by_atlas,
    "mem0": by_mem0,
}


@pytest.mark.parametrize("door", STORES)
def test_a_weak_key_protects_nothing_by_importance(weak, weights, door):
    STORES[door](weak)
    assert weights()
    assert max(weights()) <= MOST


@pytest.mark.parametrize("door", ["given", "by default", "batch"])
def test_a_ceiling_of_user_implicit_is_enough(near, weights, door):
    STORES[door](near)
    assert max(weights()) >= 0.7


def test_a_change_is_bounded_too(alice, weak, near):
    row = send(weak, "post", URL, HEAVY, 201)
    assert send(weak, "patch", f"{URL}/{row['id']}", {"importance": 0.9}, 200)["importance"] == MOST
    assert send(near, "patch", f"{URL}/{row['id']}", {"importance": 0.9}, 200)["importance"] == 0.9
    # What somebody else protected, a weak key neither raises nor has to lower.
    assert send(weak, "patch", f"{URL}/{row['id']}", {"importance": 1.0}, 200)["importance"] == 0.9
    assert send(weak, "patch", f"{URL}/{row['id']}", {"importance": 0.1}, 200)["importance"] == 0.1


def test_votes_of_the_weak_protect_nothing(weak, near, weights):
    row = send(weak, "post", URL, {**HEAVY, "importance": 0.65}, 201)
    for voter, importance in ((weak, MOST), (weak, MOST), (near, MOST + 0.05)):
        send(voter, "post", f"{URL}/{row['id']}/reinforce", {}, 200)
        assert weights() == [pytest.approx(importance)]


@pytest.mark.parametrize("flag", ["is_pinned", "is_anchor"])
class TestPins:
    def test_a_weak_key_sets_none(self, weak, flag):
        for path, body in (
            (URL, {**HEAVY, flag: True}),
            (f"{URL}/batch", {"fragments": [HEAVY, {**HEAVY, "content": "Other.", flag: True}]}),
        ):
            assert send(weak, "post", path, body, 403)["code"] == "not_permitted"
        assert send(weak, "get", f"{URL}?namespace=acme:main", None, 200)["results"] == []
        row = send(weak, "post", URL, HEAVY, 201)
        assert send(weak, "patch", f"{URL}/{row['id']}", {flag: True}, 403)["code"] == "not_permitted"
        assert send(weak, "patch", f"{URL}/{row['id']}", {flag: False}, 200)[flag] is False
        assert send(weak, "get", f"{URL}/{row['id']}", None, 200)[flag] is False

    def test_under_a_key_neither(self, weak, flag):
        send(weak, "post", URL, {**HEAVY, "key": "k"}, 201)
        assert send(weak, "post", URL, {**HEAVY, "key": "k", flag: True}, 403)["code"] == "not_permitted"

    def test_the_ceiling_or_the_verb_review_is_enough(self, near, reviewer, flag):
        assert send(near, "post", URL, {**HEAVY, flag: True}, 201)[flag] is True
        row = send(reviewer, "post", URL, {**HEAVY, "content": "Other.", flag: True}, 201)
        assert send(reviewer, "patch", f"{URL}/{row['id']}", {flag: False}, 200)[flag] is False

    def test_what_others_keep_a_weak_key_does_not_let_go(self, weak, near, flag):
        row = send(weak, "post", URL, HEAVY, 201)
        send(near, "patch", f"{URL}/{row['id']}", {flag: True}, 200)
        assert send(weak, "patch", f"{URL}/{row['id']}", {flag: False}, 403)["code"] == "not_permitted"
