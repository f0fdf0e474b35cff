"""mem0's own client, as it comes from its package, over real HTTP."""

import warnings

import httpx
import pytest
from django.core.management import call_command

pytestmark = pytest.mark.long

HERON = "My heron nests behind the old mill."


@pytest.fixture
def client(web, committed, agent_of, monkeypatch, tmp_path):
    """mem0's client with a key of the committed project; it tells nobody of its use."""
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mem0 import MemoryClient

        key = agent_of(committed, owner="graph", namespaces=[f"{committed.name}:mem0"], requests_per_minute=0).key
        with httpx.Client(trust_env=False) as http:
            yield MemoryClient(api_key=key, host=f"{web}/compat/mem0", client=http)


@pytest.fixture
def heron(client):
    """The id of a memory of the user alice."""
    (added,) = client.add(HERON, user_id="alice", metadata={"mood": "good"})["results"]
    return added["id"]


def test_what_was_added_is_found_and_listed(client, heron):
    (hit,) = client.search("where does the heron nest?", filters={"user_id": "alice"})["results"]
    assert (hit["id"], hit["memory"], hit["metadata"]) == (heron, HERON, {"mood": "good"})
    (row,) = client.get_all(filters={"user_id": "alice"})["results"]
    assert row["id"] == heron
    assert client.get_all(filters={"user_id": "bob"})["results"] == []
    assert client.get(heron)["memory"] == HERON


def test_an_update_keeps_the_former_text(client, heron):
    client.update(heron, text="My heron has left.")
    assert client.get(heron)["memory"] == "My heron has left."
    assert [row["old_memory"] for row in client.history(heron)][-1] == HERON


def test_deleting_forgets(client, heron):
    client.delete(heron)
    assert client.get_all(filters={"user_id": "alice"})["results"] == []


def test_all_of_a_user_go_together(client, heron):
    client.add("My otter swims in the mill pond.", user_id="bob")
    client.delete_all(user_id="alice")
    assert [row["user_id"] for row in client.get_all(filters={"user_id": "*"})["results"]] == ["bob"]


def test_a_problem_is_an_error_of_the_client(client, heron):
    with pytest.raises(Exception, match="XOR"):
        client.search("heron", filters={"XOR": [{"user_id": "alice"}]})


def test_filters_as_documented(client, heron):
    client.add("My otter swims in the mill pond.", user_id="bob", metadata={"mood": "bad"})
    either = {"OR": [{"user_id": "alice"}, {"metadata": {"mood": "bad"}}]}
    assert client.get_all(filters=either)["count"] == 2
    since = {"AND": [{"user_id": {"in": ["alice", "bob"]}}, {"created_at": {"gte": "2024-01-01"}}]}
    assert len(client.search("who is at the mill?", filters={**since, "NOT": {"user_id": "bob"}})["results"]) == 1
    (row,) = client.get_all(filters={"AND": [{"user_id": "*"}, {"keywords": {"icontains": "HERON"}}]})["results"]
    assert row["id"] == heron


def test_a_batch(client, heron):
    (otter,) = client.add("My otter swims in the mill pond.", user_id="bob")["results"]
    client.batch_update([{"memory_id": heron, "text": "My heron has left."}])
    assert client.get(heron)["memory"] == "My heron has left."
    client.batch_delete([{"memory_id": heron}, {"memory_id": otter["id"]}])
    assert client.get_all(filters={"user_id": "*"})["count"] == 0


def test_feedback(client, heron):
    assert client.feedback(memory_id=heron, feedback="POSITIVE")["feedback"] == "POSITIVE"
    assert client.feedback(memory_id=heron)["feedback"] is None


def test_an_export(client):
    client.add("I live in Vienna.", user_id="alice")
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    asked = client.create_memory_export(schema=schema, filters={"AND": [{"user_id": "alice"}]})
    assert client.get_memory_export(memory_export_id=asked["id"]) == {"city": "Vienna"}
    assert len(client.get_memory_export(filters={"user_id": "alice"})["memories"]) == 1


def test_entities_are_listed(client, heron):
    client.add("The owl sleeps in the barn.", agent_id="barn", run_id="night")
    told = {(one["type"], one["name"]) for one in client.users()["results"]}
    assert told == {("user", "alice"), ("agent", "barn"), ("run", "night")}


def test_equal_texts_of_two_users_are_two_memories(client, committed):
    text = "I like walking my dog in the park."
    (carl,), (dina,) = (client.add(text, user_id=who)["results"] for who in ("carl", "dina"))
    assert carl["id"] != dina["id"]
    call_command("consolidate", "--namespace", f"{committed.name}:mem0")
    client.delete_all(user_id="dina")
    assert [row["id"] for row in client.get_all(filters={"user_id": "carl"})["results"]] == [carl["id"]]
    assert client.get_all(filters={"user_id": "dina"})["results"] == []


def test_added_again_by_the_same_user_it_is_the_same_memory(client, heron):
    (again,) = client.add(HERON, user_id="alice")["results"]
    assert (again["id"], again["event"]) == (heron, "NONE")
    client.update(heron, text="My heron has left.")
    (anew,) = client.add(HERON, user_id="alice")["results"]
    assert (anew["id"] != heron, anew["event"]) == (True, "ADD")
    assert client.get(heron)["memory"] == "My heron has left."


def test_all_of_a_user_go_for_good_with_what_they_said_before(client):
    for city in ("Lisbon", "Oslo"):
        client.add(f"I live in {city}.", user_id="eve")
    client.delete_all(user_id="eve")
    assert client.get_all(filters={"user_id": "eve"})["results"] == []


def test_what_one_user_says_takes_nothing_from_another(client):
    client.add("I live in Lisbon.", user_id="zoë/1:*")
    client.add("I live in Oslo.", user_id="bob")
    for user, text in (("zoë/1:*", "I live in Lisbon."), ("bob", "I live in Oslo.")):
        rows = client.get_all(filters={"user_id": user})["results"]
        assert [(row["memory"], row["user_id"]) for row in rows] == [(text, user)]
        hits = client.search("where do I live?", filters={"user_id": user})["results"]
        assert [hit["memory"] for hit in hits] == [text]
    assert client.get_all(filters={"agent_id": "anyone"})["results"] == []


def test_by_id_each_memory_is_its_users(client):
    (mine,), (theirs,) = (client.add(HERON, user_id=who)["results"] for who in ("carl", "dina"))
    client.update(theirs["id"], text="My heron has left.")
    assert client.get(mine["id"])["memory"] == HERON
    client.delete(theirs["id"])
    assert client.get(mine["id"])["user_id"] == "carl"
    (again,) = client.add("My heron has left.", user_id="carl")["results"]
    assert again["event"] == "ADD"


def test_users_are_listed_and_erased(client, web, committed, agent_of):
    for who in ("carl", "dina/2"):
        client.add(HERON, user_id=who)
    rows = client.users()["results"]
    assert [(row["type"], row["name"], row["total_memories"]) for row in rows] == [
        ("user", "carl", 1),
        ("user", "dina/2", 1),
    ]
    with pytest.raises(Exception, match="not_permitted|verb"):
        client.delete_users(user_id="dina/2")
    admin = agent_of(committed, verbs=["read", "write", "admin"], ceiling="user_explicit", requests_per_minute=0).key
    client.client.headers["Authorization"] = f"Token {admin}"
    client.client.headers["X-NovaMem-Namespace"] = f"{committed.name}:mem0"
    client.delete_users(user_id="dina/2")
    assert [row["name"] for row in client.users()["results"]] == ["carl"]


@pytest.mark.parametrize("entity", ["agent_id", "app_id", "run_id"])
def test_an_entity_is_erased_whoever_its_memories_are(client, web, committed, agent_of, entity):
    for who, name in (("carl", "one.1"), ("dina", "one.1"), ("dina", "two")):
        client.add(f"{HERON} {name}", user_id=who, **{entity: name})
    admin = agent_of(committed, verbs=["read", "write", "admin"], ceiling="user_explicit", requests_per_minute=0).key
    client.client.headers["Authorization"] = f"Token {admin}"
    client.client.headers["X-NovaMem-Namespace"] = f"{committed.name}:mem0"
    client.delete_users(**{entity: "one.1"})
    left = {
        who: [row["memory"] for row in client.get_all(filters={"user_id": who})["results"]] for who in ("carl", "dina")
    }
    assert left == {"carl": [], "dina": [f"{HERON} two"]}
