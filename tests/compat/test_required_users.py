"""A key that has to name users names one beside an id, too."""

import pytest


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
