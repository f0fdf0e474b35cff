"""/compat/mem0/, asked as mem0's MemoryClient 2.2 asks."""

import pytest
from rest_framework.test import APIClient

from memories import access
from memories.models import Claim, Fragment

HERON = "My heron nests behind the old mill."
ALICE = {"user_id": "alice"}


@pytest.fixture
def mem0(alice):
    """Alice's client, with the header that mem0's sends."""
    client = APIClient(headers={"Authorization": f"Token {alice.key}"})

    def ask(method, path, body=None, status=200, **query):
        extra = {"format": "json", "query_params": query} if body is not None else {"query_params": query}
        answer = getattr(client, method)(f"/compat/mem0/{path}", body, **extra)
        assert answer.status_code == status, answer.content
        return answer.json()

    return ask


def add_body(content, **whose):
    return {"messages": [{"role": "user", "content": content}], **whose}


@pytest.fixture
def heron(mem0):
    """A memory of the user alice."""
    body = add_body(HERON, user_id="alice", agent_id="MARS", run_id="r1", app_id="app", metadata={"mood": "good"})
    (added,) = mem0("post", "v3/memories/add/", body)["results"]
    assert (added["memory"], added["event"]) == (HERON, "ADD")
    return added["id"]


def test_a_ping_needs_a_key(mem0, anonymous):
    assert mem0("get", "v1/ping/") == {"status": "ok", "user_email": None, "project_id": "acme", "org_id": "acme"}
    answer = anonymous.get("/compat/mem0/v1/ping/", headers={"Authorization": "Token nova_nothing"})
    assert (answer.status_code, "not valid" in answer.json()["detail"]) == (401, True)


def test_what_was_added_is_read_back(mem0, heron):
    found = mem0("get", f"v1/memories/{heron}/")
    assert (found["memory"], found["user_id"], found["agent_id"]) == (HERON, "alice", "MARS")
    assert (found["run_id"], found["app_id"], found["metadata"]) == ("r1", "app", {"mood": "good"})


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (ALICE, True),
        ({"user_id": "*", "run_id": "r1"}, True),
        ({"AND": [ALICE, {"agent_id": "MARS"}, {"app_id": "app"}]}, True),
        ({"user_id": "bob"}, False),
        ({"AND": [ALICE, {"run_id": "r2"}]}, False),
        ({**ALICE, "agent_id": "VENUS"}, False),
        ({**ALICE, "app_id": "other"}, False),
    ],
)
def test_filters_hold_in_lists_and_searches(mem0, heron, filters, found):
    page = mem0("post", "v3/memories/", {"filters": filters})
    hits = mem0("post", "v3/memories/search/", {"query": "where does the heron nest?", "filters": filters})["results"]
    assert [row["id"] for row in page["results"]] == [row["id"] for row in hits] == ([heron] if found else [])
    assert page["count"] == int(found)
    assert all(hit["score"] > 0 for hit in hits)


def test_pages_follow_each_other(mem0):
    for text in ("The heron nests here.", "The otter swims here.", "The owl sleeps here."):
        mem0("post", "v3/memories/add/", add_body(text, **ALICE))
    first = mem0("post", "v3/memories/", {"filters": ALICE}, page=1, page_size=2)
    second = mem0("post", "v3/memories/", {"filters": ALICE}, page=2, page_size=2)
    assert (first["count"], first["previous"], second["next"]) == (3, None, None)
    assert "page=2" in first["next"]
    assert len({row["id"] for row in first["results"] + second["results"]}) == 3


def test_an_update_keeps_the_former_text(mem0, heron):
    after = mem0("put", f"v1/memories/{heron}/", {"text": "My heron moved away.", "metadata": {}})
    assert (after["memory"], after["metadata"]) == ("My heron moved away.", None)
    told = [(e["event"], e["old_memory"], e["new_memory"]) for e in mem0("get", f"v1/memories/{heron}/history/")]
    assert told == [("ADD", None, HERON), ("UPDATE", HERON, "My heron moved away.")]


def test_an_updated_text_is_read_anew(mem0, principal):
    def claimed():
        with access.enter(principal, why="test"):
            return list(Claim.objects.values_list("predicate", "value", "status"))

    (added,) = mem0("post", "v3/memories/add/", add_body("My budget is $650.", **ALICE))["results"]
    assert claimed() == [("budget", "$650", "active")]
    mem0("put", f"v1/memories/{added['id']}/", {"text": "By the way: my budget is $700."})
    assert claimed() == [("budget", "$700", "active")]
    mem0("put", "v1/batch/", {"memories": [{"memory_id": added["id"], "text": "My budget is $800."}]})
    assert claimed() == [("budget", "$800", "active")]
    mem0("put", f"v1/memories/{added['id']}/", {"text": "Thank you for all of it."})
    assert claimed() == []


def test_added_again_it_keeps_its_metadata(mem0):
    def metadata(**more):
        (told,) = mem0("post", "v3/memories/add/", add_body(HERON, **ALICE, **more))["results"]
        return mem0("get", f"v1/memories/{told['id']}/")["metadata"]

    assert metadata(metadata={"k": "v", "n": 5}) == {"k": "v", "n": 5}
    assert metadata() == {"k": "v", "n": 5}
    assert metadata(metadata={"k": "w"}) == {"k": "w", "n": 5}
    mem0("post", "v3/memories/add/", add_body(HERON, **ALICE, metadata={"a": "x" * 60_000}))
    mem0("post", "v3/memories/add/", add_body(HERON, **ALICE, metadata={"b": "x" * 60_000}), status=400)


def test_deleting_forgets(mem0, heron, count):
    mem0("delete", f"v1/memories/{heron}/")
    mem0("get", f"v1/memories/{heron}/", status=404)
    (told,) = mem0("post", "v3/memories/add/", add_body(HERON, **ALICE, agent_id="MARS"))["results"]
    assert told == {"id": None, "memory": HERON, "event": "NONE", "status": "blocked_by_erasure"}
    assert count(Fragment) == 0


def test_deleting_all_concerns_only_those_named(mem0, heron, count):
    mem0("post", "v3/memories/add/", add_body("Bob likes the otter.", user_id="bob"))
    assert mem0("delete", "v1/memories/", status=400)["errors"][0]["field"] == "user_id"
    mem0("delete", "v1/memories/", user_id="alice")
    left = mem0("post", "v3/memories/", {"filters": {"user_id": "*"}})["results"]
    assert [row["user_id"] for row in left] == ["bob"]


def test_what_is_not_worth_it_is_not_kept(mem0, count):
    body = {"messages": [{"role": "user", "content": "ok"}, {"role": "assistant", "content": "I'm sorry, I can't."}]}
    assert mem0("post", "v3/memories/add/", {**body, **ALICE, "infer": True}) == {"results": []}
    assert count(Fragment) == 0


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("v3/memories/add/", {"messages": []}, "messages"),
        ("v3/memories/add/", add_body(HERON, colour="red"), "colour"),
        ("v3/memories/add/", add_body(HERON, agent_id="not a name"), "agent_id"),
        ("v3/memories/add/", add_body(HERON, expiration_date="2030-01-01"), "expiration_date"),
        ("v3/memories/search/", {"query": " "}, "query"),
        ("v3/memories/search/", {"query": "x", "fields": ["colour"]}, "fields[0]"),
        ("v3/memories/", {"filters": {"AND": [ALICE, {"user_id": "bob"}]}}, "user_id"),
        ("v3/memories/add/", add_body(HERON, filters={"user_id": {"in": ["alice", "bob"]}}), "filters"),
        ("v3/memories/add/", add_body(HERON, filters={"OR": [ALICE, {"user_id": "bob"}]}), "filters"),
        ("v3/memories/add/", add_body(HERON, filters={**ALICE, "categories": "food"}), "filters"),
        ("v3/memories/add/", add_body(HERON, timestamp="yesterday"), "timestamp"),
    ],
)
def test_bad_input_is_named_and_stores_nothing(mem0, count, path, body, field):
    assert field in [error["field"] for error in mem0("post", path, body, status=400)["errors"]]
    assert count(Fragment) == 0


def test_another_project_sees_nothing(mem0, heron, charlie, count):
    for method, path in (("get", ""), ("get", "history/"), ("delete", "")):
        assert getattr(charlie.client, method)(f"/compat/mem0/v1/memories/{heron}/{path}").status_code == 404
    assert charlie.client.put(f"/compat/mem0/v1/memories/{heron}/", {"text": "Mine."}, format="json").status_code == 404
    assert charlie.client.post("/compat/mem0/v3/memories/", {}, format="json").json()["count"] == 0
    assert count(Fragment) == 1


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("post", "v3/memories/add/", "write"),
        ("post", "v3/memories/search/", "read"),
        ("post", "v3/memories/", "read"),
        ("delete", "v1/memories/", "write"),
        ("get", "v1/memories/{id}/", "read"),
        ("put", "v1/memories/{id}/", "write"),
        ("delete", "v1/memories/{id}/", "write"),
        ("get", "v1/memories/{id}/history/", "read"),
        ("get", "v1/ping/", "read"),
        ("get", "v1/entities/", "read"),
        ("delete", "v2/entities/user/alice/", "admin"),
        ("put", "v1/batch/", "write"),
        ("delete", "v1/batch/", "write"),
        ("post", "v1/feedback/", "write"),
        ("post", "v1/exports/", "read"),
        ("post", "v1/exports/get/", "read"),
    ],
)
def test_each_call_needs_its_verb(agent_of, project, heron, count, method, path, verb):
    other = agent_of(project, verbs=["write" if verb == "read" else "read"], ceiling="user_explicit")
    answer = getattr(other.client, method)(f"/compat/mem0/{path.format(id=heron)}")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert count(Fragment) == 1


def test_a_user_of_before_keeps_their_tagged_memories(mem0, store, count):
    """Users were tags before they had scopes."""
    store("acme:mem0", HERON, tags=["user:alice"])
    store("acme:mem0", "The otter swims in the mill pond.", tags=["user:bob"])
    for user, text in (("alice", HERON), ("bob", "The otter swims in the mill pond.")):
        mine = {"filters": {"user_id": user}}
        assert [row["memory"] for row in mem0("post", "v3/memories/", mine)["results"]] == [text]
        hits = mem0("post", "v3/memories/search/", {"query": "where at the mill is it?", **mine})["results"]
        assert [(row["memory"], row["user_id"]) for row in hits] == [(text, user)]
    mem0("delete", "v1/memories/", user_id="alice")
    assert count(Fragment) == 1


def test_all_users_are_for_keys_that_reach_them(agent_of, project, heron):
    some = agent_of(project, user_patterns=["team-*"])
    url = "/compat/mem0/v3/memories/"
    answer = some.client.post(url, {"filters": {"user_id": "*"}}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert some.client.post(url, {"filters": ALICE}, format="json").status_code == 404
    assert some.client.get(f"/compat/mem0/v1/memories/{heron}/").status_code == 404
    assert some.client.post(f"{url}add/", add_body(HERON, user_id="*"), format="json").status_code == 400


def test_by_id_the_header_names_the_user_for_a_key_that_reaches_some(agent_of, project):
    some = agent_of(project, user_patterns=["team-*"])
    body = add_body(HERON, user_id="team-7")
    (added,) = some.client.post("/compat/mem0/v3/memories/add/", body, format="json").json()["results"]
    url = f"/compat/mem0/v1/memories/{added['id']}/"
    assert some.client.get(url).status_code == 404
    assert some.client.get(url, headers={"X-NovaMem-User": "team-8"}).status_code == 404
    assert some.client.get(url, headers={"X-NovaMem-User": "team-7"}).json()["memory"] == HERON


def test_a_key_that_requires_users_is_refused_without_one(agent_of, project, count):
    required = agent_of(project, users="required")
    for path, body in (
        ("add/", add_body(HERON)),
        ("search/", {"query": "heron?"}),
        ("", {"filters": {"agent_id": "a"}}),
    ):
        answer = required.client.post(f"/compat/mem0/v3/memories/{path}", body, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, "user_required")
    assert count(Fragment) == 0


@pytest.mark.parametrize(
    ("method", "path"), [("post", "v1/summary/"), ("get", "v2/profiles/settings/"), ("get", "nope")]
)
def test_calls_that_are_not_there_are_problems(mem0, method, path):
    assert mem0(method, path, status=404)["code"] == "not_supported"
