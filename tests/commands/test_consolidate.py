"""manage.py consolidate and manage.py operations."""

import io
import json
import uuid

import pytest
from django.core.management import CommandError, call_command

from memories.models import Operation
from memories.upkeep.consolidation import plan_execution


@pytest.fixture(autouse=True)
def twins(store):
    """Two that say the same."""
    return [store("acme:main", "The heron nests behind the mill.") for _ in range(2)]


def run(command, *arguments):
    out = io.StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def consolidate(*arguments):
    (told,) = json.loads(run("consolidate", "--namespace", "acme:main", "--json", *arguments))
    return told


def test_it_consolidates_and_shows_a_table(count):
    shown = run("consolidate", "--project", "acme")
    assert "acme:main" in shown
    assert "succeeded" in shown
    assert count(Operation) == 1


def test_it_only_looks_when_asked_to_and_applies_what_was_seen():
    looked = consolidate("--dry-run")
    assert (looked["dry_run"], looked["report"]["merged"], looked["report"]["after"]["active"]) == (True, 1, 1)
    done = consolidate("--plan", looked["id"])
    assert (done["state"], done["report"]["merged"]) == ("succeeded", 1)
    with pytest.raises(CommandError, match="applied already"):
        consolidate("--plan", looked["id"])


def test_a_report_is_printed_line_by_line():
    shown = run("consolidate", "--namespace", "acme:main", "--report")
    lines = [" ".join(line.replace("│", " ").split()) for line in shown.splitlines()]
    for told in ("namespace acme:main", "of these active 2 → 1", "duplicates merged 1", "archived 0"):
        assert told in lines
    done = shown.split("id")[1].split()[1]
    assert run("operations", "show", done) == shown
    assert "rows as before" in run("operations", "undo", done)


def test_it_takes_a_run_back():
    done = consolidate()
    (undone,) = json.loads(run("consolidate", "--undo", done["id"], "--json"))
    assert (undone["kind"], undone["state"]) == ("undo", "succeeded")
    with pytest.raises(CommandError, match="undone already"):
        run("consolidate", "--undo", done["id"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--namespace", "acme:nowhere"),
        ("--project", "nobody"),
        ("--undo", "no id"),
        ("--undo", str(uuid.uuid4())),
        ("--namespace", "acme:main", "--plan", "no id"),
        ("--namespace", "acme:main", "--plan", str(uuid.uuid4())),
    ],
)
def test_what_it_does_not_know_changes_nothing(count, arguments):
    with pytest.raises(CommandError):
        run("consolidate", *arguments)
    assert count(Operation) == 0


def test_a_run_that_fails_ends_with_1(monkeypatch):
    monkeypatch.setattr(plan_execution, "FREE", 0)
    monkeypatch.setattr(plan_execution, "SHARE", 0)
    with pytest.raises(SystemExit):
        run("consolidate", "--namespace", "acme:main")


def test_operations_are_listed_shown_and_taken_back():
    done = consolidate()
    (listed,) = json.loads(run("operations", "list", "--project", "acme", "--json"))
    assert (listed["id"], listed["state"]) == (done["id"], "succeeded")
    assert done["id"][:8] in run("operations", "list", "--state", "succeeded")
    assert json.loads(run("operations", "show", done["id"], "--json"))["report"]["merged"] == 1
    assert "succeeded" in run("operations", "show", done["id"])
    with pytest.raises(CommandError, match="There is no project 'nope'"):
        run("operations", "list", "--project", "nope")
    with pytest.raises(CommandError, match="already"):
        run("operations", "cancel", done["id"])
    assert json.loads(run("operations", "undo", done["id"], "--json"))["state"] == "succeeded"


def test_a_queued_operation_is_cancelled(alice):
    body = {"kind": "rebuild", "options": {"target": "keywords"}}
    queued = alice.client.post("/api/v1/operations", body, format="json").json()["id"]
    assert json.loads(run("operations", "cancel", queued, "--json"))["state"] == "cancelled"
