"""manage.py proposals and sidecar."""

import json
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories import access, ingest
from memories.models import Fragment, LlmCall, Proposal


def run(capsys, *words, code=0):
    if code:
        with pytest.raises(SystemExit):
            call_command(*words)
    else:
        call_command(*words)
    return capsys.readouterr().out


def test_the_sidecar_is_checked(project, model_server, capsys, count):
    told = json.loads(run(capsys, "sidecar", "check", "--json"))
    assert (told["works"], told["model"], told["reduction_client"]) == (True, "llama3.1", "local_checks")
    assert count(LlmCall) == 1
    model_server.mode = "broken"
    told = json.loads(run(capsys, "sidecar", "check", "--project", "acme", "--json", code=1))
    assert (told["works"], told["why"]) == (False, "http_500")
    assert "http_500" in run(capsys, "sidecar", "check", code=1)
    calls = json.loads(run(capsys, "sidecar", "calls", "--json"))
    assert [call["outcome"] for call in calls] == ["http_500", "http_500", "answered"]
    assert "answered" in run(capsys, "sidecar", "calls", "--project", "acme")


def test_without_a_sidecar_it_says_so(project, settings, capsys, count):
    settings.SIDECAR_URL = ""
    assert json.loads(run(capsys, "sidecar", "check", "--json", code=1))["why"] == "no_sidecar"
    assert count(LlmCall) == 0


def test_a_proposal_is_asked_for_and_listed(project, model_server, capsys):
    words = ["proposals", "propose", "It fails.", "--namespace", "acme:main", "--task", "t1"]
    (made,) = json.loads(run(capsys, *words, "--json"))
    assert (made["outcome"], made["task_id"]) == ("allowed", "t1")
    assert json.loads(run(capsys, "proposals", "list", "--project", "acme", "--json")) == [made]
    assert "allowed" in run(capsys, "proposals", "list", "--task", "t1")
    assert json.loads(run(capsys, "proposals", "list", "--outcome", "blocked", "--json")) == []
    model_server.mode = "declining"
    assert "llm_returned_null" in run(capsys, *words, code=1)


def test_unknown_places_are_refused(project, model_server, count):
    for name in ("nowhere:main", "acme"):
        with pytest.raises(CommandError):
            call_command("proposals", "propose", "It fails.", "--namespace", name, "--task", "t1")
    assert (model_server.requests, count(Proposal)) == ([], 0)


@pytest.fixture
def waits(store, alice, contradict):
    """A supersession that waits, of what a person wrote."""
    texts = ("The gate is open.", "The gate is not open.")
    return contradict(*(store("acme:main", text, by=alice.principal, source="user_explicit") for text in texts))


def statuses(principal, row):
    with access.enter(principal, why="test"):
        found = Fragment.objects.within(principal.project_id).in_bulk(row.about)
    return [found[side].status for side in row.about]


def test_what_waits_is_listed_and_told_apart(waits, model_server, capsys):
    call_command("proposals", "propose", "It fails.", "--namespace", "acme:main", "--task", "t1")
    capsys.readouterr()
    (told,) = json.loads(run(capsys, "proposals", "list", "--waiting", "--json"))
    assert (told["id"], told["about"], told["waiting"]) == (str(waits.id), [str(side) for side in waits.about], True)
    table = run(capsys, "proposals", "list")
    assert str(waits.id) in table
    assert "waiting" in table


@pytest.mark.parametrize(
    ("word", "said", "after"),
    [("accept", "replaces", ["superseded", "active"]), ("dismiss", "not proposed again", ["active", "active"])],
)
def test_a_decision_and_its_undo(principal, waits, capsys, word, said, after):
    assert said in run(capsys, "proposals", word, str(waits.id))
    assert statuses(principal, waits) == after
    with pytest.raises(CommandError, match="does not wait"):
        call_command("proposals", word, str(waits.id))
    told = json.loads(run(capsys, "proposals", "undo", str(waits.id), "--json"))
    assert (told["id"], told["waiting"], told["decision"]) == (str(waits.id), True, "")
    assert statuses(principal, waits) == ["active", "active"]
    with pytest.raises(CommandError, match="no decision of a person"):
        call_command("proposals", "undo", str(waits.id))
    told = json.loads(run(capsys, "proposals", word, str(waits.id), "--json"))
    assert (told["waiting"], told["decision"]) == (False, f"{word}ed")


def test_what_can_not_be_done_is_said_and_changes_nothing(principal, alice, waits, capsys):
    ingest.updates.archive(alice.principal, waits.about[1], now=timezone.now())
    with pytest.raises(CommandError, match="does not stand any more"):
        call_command("proposals", "accept", str(waits.id))
    for word in ("accept", "dismiss", "undo"):
        with pytest.raises(CommandError, match="There is no proposal"):
            call_command("proposals", word, str(uuid.uuid4()))
    assert statuses(principal, waits) == ["active", "archived"]
    assert run(capsys, "proposals", "list", "--waiting").count(str(waits.id)) == 1
