"""A key that has to name users names one beside an id, too."""

import pytest

from memories.models import Fragment


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_an_id_without_a_user_is_refused_and_nothing_changes(project, agent_of, method):
    app = agent_of(project, owner="app", ceiling="user_explicit", users="required")
    body = {"namespace": "acme:mem0", "user": "bob", "content": "The heron nests behind the mill."}
    kept = app.client.post("/api/v1/fragments", body, format="json").json()
    path = f"/compat/mem0/v1/memories/{kept['id']}/"
    answer = getattr(app.client, method)(path, {"text": "pwned"} if method == "put" else None, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "user_required")
    told = app.client.get(f"/api/v1/fragments/{kept['id']}", {"user": "bob"}).json()
    assert told["content"] == "The heron nests behind the mill."


HERON = {"messages": [{"role": "user", "content": "The heron nests behind the mill."}]}
LENGTH = "Give a user of 1 to 255 characters."
TWO = "Two values of one entity fit no memory."
NO_USER = {
    "empty": ({"user_id": ""}, "user_id", LENGTH),
    "empty in filters": ({"filters": {"user_id": ""}}, "filters.user_id", LENGTH),
    "empty in AND": ({"filters": {"AND": [{"user_id": ""}, {"run_id": "r1"}]}}, "filters.user_id", LENGTH),
    "beside AND": ({"filters": {"AND": [{"user_id": "bob"}], "user_id": "alice"}}, "user_id", TWO),
    "two": ({"user_id": "alice", "filters": {"user_id": "bob"}}, "user_id", TWO),
    "two runs": ({"run_id": "r1", "filters": {"user_id": "bob", "run_id": "r2"}}, "run_id", TWO),
}


@pytest.mark.parametrize("path", ["add/", "search/", ""])
@pytest.mark.parametrize("case", NO_USER)
def test_what_names_no_user_or_two_is_refused_where_users_are_optional(alice, count, case, path):
    body, field, message = NO_USER[case]
    asked = {"add/": HERON, "search/": {"query": "heron"}, "": {}}[path]
    answer = alice.client.post(f"/compat/mem0/v3/memories/{path}", {**asked, **body}, format="json")
    told = [(error["field"], error["message"]) for error in answer.json().get("errors", [])]
    assert (answer.status_code, told) == (400, [(field, message)])
    assert count(Fragment) == 0


def test_deleting_a_users_leaves_what_is_the_namespaces_to_it(project, agent_of, alice, store, count):
    """Whoever writes there may tag it with any user."""
    store("acme:mem0", "Said before there were users.", tags=["user:ann"])
    app = agent_of(project, owner="app", ceiling="user_explicit", users="required")
    body = {"namespace": "acme:mem0", "user": "ann", "content": "The heron nests behind the mill."}
    assert app.client.post("/api/v1/fragments", body, format="json").status_code == 201
    answer = app.client.delete("/compat/mem0/v1/memories/?user_id=ann", HTTP_X_NOVAMEM_USER="ann")
    assert answer.status_code == 200, answer.content
    assert count(Fragment) == 1
    (left,) = alice.client.get("/api/v1/fragments", {"namespace": "acme:mem0"}).json()["results"]
    assert left["content"] == "Said before there were users."


def test_deleting_with_an_empty_user_deletes_nothing(alice, count):
    stored = {**HERON, "run_id": "r1"}
    assert alice.client.post("/compat/mem0/v3/memories/add/", stored, format="json").status_code == 200
    answer = alice.client.delete("/compat/mem0/v1/memories/?user_id=&run_id=r1")
    assert (answer.status_code, [(e["field"], e["message"]) for e in answer.json()["errors"]]) == (
        400,
        [("user_id", LENGTH)],
    )
    assert count(Fragment) == 1


@pytest.mark.parametrize("name", ["%01", "u" * 256])
def test_erasing_an_entity_that_is_no_user_is_refused(agent_of, project, name):
    admin = agent_of(project, owner="admin", verbs=["read", "write", "admin"])
    answer = admin.client.delete(f"/compat/mem0/v2/entities/user/{name}/")
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, ["user_id"])


def test_the_same_user_beside_the_filters_and_in_them_is_one(alice, count):
    body = {**HERON, "user_id": "alice", "filters": {"AND": [{"user_id": "alice"}]}}
    assert alice.client.post("/compat/mem0/v3/memories/add/", body, format="json").status_code == 200
    assert count(Fragment) == 1
