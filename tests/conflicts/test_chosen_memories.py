"""What a person chose, and what a user said, stays whatever weaker keys do."""

import uuid

import pytest

from memories import access
from memories.models import Fragment

URL = "/api/v1"
CLAIM = {"subject": "trip", "predicate": "budget"}


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def weak(project, agent_of):
    """A model's key."""
    return agent_of(project, owner="model", ceiling="inference")


@pytest.fixture
def paper(project, agent_of):
    """What is read out of documents."""
    return agent_of(project, owner="paper", ceiling="document")


@pytest.fixture
def weak_admin(project, agent_of):
    """An administrator's key that is believed as little as a model."""
    return agent_of(project, owner="caretaker", ceiling="inference", verbs=["read", "write", "admin"])


@pytest.fixture
def store_memory():
    """Stores a memory by an agent."""

    def post(by, content, *, value=None, source="inference", **more):
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}, **more}
        body |= {"claim": {**CLAIM, "value": value}} if value else {}
        answer = by.client.post(f"{URL}/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def chosen(alice, weak, carol, store_memory):
    """What a model said, as a claim or in free text, and a person chose against a tool's claim."""

    def ruled(*, as_claim):
        store_memory(alice, "The budget of the trip is $750.", value="$750", source="tool_output")
        told = store_memory(weak, "The trip budget is $900 now.", value="$900" if as_claim else None)
        (conflict,) = told["pending_conflicts"]
        path = f"{URL}/conflicts/{conflict['id']}"
        revision = carol.client.get(path).json()["revision"]
        answer = carol.client.post(f"{path}/resolve", {"action": "supersede", "revision": revision}, format="json")
        assert answer.status_code == 200
        return told["id"]

    return ruled


def status_of(by, fragment_id):
    return by.client.get(f"{URL}/fragments/{fragment_id}").json()["status"]


def test_what_a_person_chose_when_a_weaker_admin_forgets_by_id_stays(chosen, weak_admin, carol):
    told = chosen(as_claim=True)
    wish = {"namespace": "acme:main", "ids": [told], "expected_count": 1}
    assert weak_admin.client.post(f"{URL}/forget", wish, format="json").status_code == 403
    assert status_of(carol, told) == "active"


@pytest.mark.parametrize(
    ("door", "body"),
    [
        (f"{URL}/users/YW5u", None),
        ("/compat/mem0/v2/entities/user/ann/", None),
    ],
)
def test_a_models_word_that_a_person_chose_when_a_weaker_admin_deletes_all_stays(
    door, body, carol, alice, weak, weak_admin, store_memory
):
    yielded = store_memory(alice, "The budget of the trip is $750.", value="$750", source="tool_output", user="ann")
    told = store_memory(weak, "The trip budget is $900 now.", value="$900", user="ann")
    (conflict,) = told["pending_conflicts"]
    path = f"{URL}/conflicts/{conflict['id']}"
    revision = carol.client.get(f"{path}?user=ann").json()["revision"]
    wish = {"action": "supersede", "revision": revision}
    assert carol.client.post(f"{path}/resolve?user=ann", wish, format="json").status_code == 200
    assert alice.client.delete(f"{URL}/fragments/{yielded['id']}?user=ann").status_code == 204
    answer = weak_admin.client.delete(door, body, format="json", headers={"X-NovaMem-Namespace": "acme:main"})
    assert answer.status_code == 403, answer.content
    assert "believed" in str(answer.content) or "ceiling" in str(answer.content), answer.content
    assert carol.client.get(f"{URL}/fragments/{told['id']}?user=ann").json()["status"] == "active"


def test_a_text_that_a_person_chose_when_a_weaker_key_digests_it_stays(chosen, weak, carol, store_memory):
    told = chosen(as_claim=False)
    others = [
        store_memory(weak, text)["id"] for text in ("The trip goes to Rome by train.", "The hotel is near the station.")
    ]
    answer = weak.client.post(f"{URL}/digests", {"ids": [told, *others], "method": "extractive"}, format="json")
    assert answer.status_code in (403, 409)
    assert status_of(carol, told) == "active"


@pytest.mark.parametrize("value", ["$750", "$1"])
def test_a_document_when_a_person_chose_a_free_text_does_not_stand_above_it(value, chosen, paper, store_memory):
    told = chosen(as_claim=False)
    store_memory(paper, f"trip budget {value}", value=value, source="document")
    question = {"namespace": "acme:main", "query": "What is the budget of the trip?"}
    hits = paper.client.post(f"{URL}/search", question, format="json").json()["results"]
    assert hits[0]["id"] == told
    assert all(hit["contradicts"] for hit in hits[1:] if "budget" in hit["content"])


def test_what_a_user_said_for_all_when_a_model_says_otherwise_in_a_scope_is_not_hidden(alice, weak, store_memory):
    said = store_memory(alice, "The trip budget is $750.", value="$750", source="user_explicit")
    store_memory(weak, "The trip budget is $1.", value="$1", user="ann")
    question = {"namespace": "acme:main", "user": "ann", "query": "What is the budget of the trip?"}
    hits = weak.client.post(f"{URL}/search", question, format="json").json()["results"]
    assert said["id"] in [hit["id"] for hit in hits]


def test_a_text_that_a_person_chose_when_a_weaker_key_accepts_another_in_its_place_stays(
    chosen, weak, project, agent_of, principal, store_memory, contradict
):
    ids = [chosen(as_claim=False), store_memory(weak, "It is said that the walls of the town are red.")["id"]]
    with access.enter(principal, why="test"):
        older, newer = map(Fragment.objects.in_bulk(ids).get, map(uuid.UUID, ids))
    decider = agent_of(project, owner="clerk", ceiling="inference", verbs=["read", "write", "review", "admin"])
    answer = decider.client.post(f"{URL}/proposals/{contradict(older, newer).id}/accept", {}, format="json")
    assert (answer.status_code, status_of(weak, ids[0])) == (403, "active"), answer.json()
