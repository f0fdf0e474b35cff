"""An erasure is lifted by an admin who is as strong as who forgot; history keeps who."""

import pytest
from django.core.management import CommandError, call_command

from memories import access
from memories.models import Erasure
from memories.models.history import events_of

TEXT = "The heron nests by the mill."


def post(agent, content):
    return agent.client.post("/api/v1/erasures/lift", {"content": content}, format="json")


@pytest.fixture
def forgotten(alice, store):
    """Forgotten by Alice, who may speak for the user."""
    row = store("acme:main", TEXT, by=alice.principal, source="tool_output")
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    return row


def test_what_is_lifted_may_be_said_again(alice, principal, forgotten):
    body = {"namespace": "acme:main", "content": TEXT}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 409
    answer = post(alice, "  the HERON nests by  the mill. ")
    assert (answer.status_code, answer.json()) == (200, {"lifted": 1})
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    with access.enter(principal, why="test"):
        event = events_of(Erasure).objects.filter(pgh_label="delete").get()
        assert (event.fragment_id, event.pgh_context["why"]) == (forgotten.id, "lift erasure")
        assert event.pgh_context["key"] == str(alice.principal.key_id)
    assert post(alice, TEXT).status_code == 404


def test_nobody_weaker_lifts_it(agent_of, project, principal, forgotten):
    weak = agent_of(project, ceiling="inference", verbs=["read", "write", "admin"])
    assert post(weak, TEXT).status_code == 403
    narrow = agent_of(project, ceiling="user_explicit", verbs=["admin"], namespaces=["acme:main"])
    assert post(narrow, TEXT).status_code == 404
    with access.enter(principal, why="test"):
        assert Erasure.objects.count() == 1


def test_another_project_forgot_nothing(charlie, forgotten):
    assert post(charlie, TEXT).status_code == 404


def test_by_command(principal, forgotten, capsys):
    with pytest.raises(CommandError, match="was not forgotten"):
        call_command("lift", "Otters swim.", "--project", "acme")
    call_command("lift", TEXT, "--project", "acme", "--json")
    assert capsys.readouterr().out.strip() == '{"lifted": 1}'
