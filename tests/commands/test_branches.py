"""`manage.py forget` and `namespaces`."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories.models import Fragment, Namespace, Operation, Project


@pytest.fixture
def run_json(capsys):
    """Runs a command with --json; what it prints."""

    def run(*arguments):
        call_command(*arguments, "--json")
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def main(store, alice):
    """Two memories."""
    texts = ("The heron nests.", "Otters swim.")
    return [store("acme:main", text, tags=[text[0]], by=alice.principal, source="user_explicit") for text in texts]


def test_forget_works(main, run_json, count):
    looked = run_json("forget", "--namespace", "acme:main", "--tag", "T", "--dry-run")
    assert (looked["count"], looked["ids"], count(Fragment)) == (1, [str(main[0].id)], 2)
    done = run_json("forget", "--namespace", "acme:main", "--tag", "T", "--expect", "1")
    assert (done["count"], done["backups"], count(Fragment)) == (1, [], 1)
    call_command("forget", "--namespace", "acme:main", "--id", str(main[1].id), "--yes")
    assert count(Fragment) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--namespace", "acme:main"],
        ["--namespace", "acme:main", "--tag", "T"],
        ["--namespace", "acme:main", "--tag", "T", "--expect", "3"],
        ["--namespace", "acme:main", "--type", "novel", "--yes"],
        ["--namespace", "acme:nowhere", "--tag", "T", "--yes"],
    ],
)
def test_forget_refuses(main, count, arguments):
    with pytest.raises(CommandError):
        call_command("forget", *arguments)
    assert count(Fragment) == 2


def test_fork_and_merge_are_commands_of_their_own(main, run_json, store):
    assert run_json("fork", "acme:main", "acme:side")["copied"] == 2
    store("acme:side", "Badgers dig.")
    assert run_json("merge", "acme:side", "acme:main", "--dry-run")["counts"]["added"] == 1
    assert run_json("merge", "acme:side", "acme:main")["state"] == "succeeded"
    with pytest.raises(CommandError):
        call_command("fork", "acme:nowhere", "acme:other")


def test_a_namespace_gets_a_language(main, run_json):
    assert run_json("namespaces", "set", "acme:main", "--language", "german")["state"] == "succeeded"
    told = run_json("namespaces", "set", "acme:main", "--language", "german", "--archive-policy", "all")
    assert told == {"name": "acme:main", "language": "german", "archive_policy": "all"}
    for words in (["--language", "klingon"], ["--archive-policy", "some"]):
        with pytest.raises(CommandError, match="has to be one of"):
            call_command("namespaces", "set", "acme:main", *words)


def test_namespaces_fork_merge_and_delete(main, run_json, store, count, capsys):
    forked = run_json("namespaces", "fork", "acme:main", "acme:side")
    assert (forked["state"], forked["copied"]) == ("succeeded", 2)
    store("acme:side", "Badgers dig.")
    assert run_json("namespaces", "merge", "acme:side", "acme:main", "--dry-run")["counts"]["added"] == 1
    assert count(Fragment) == 5
    merged = run_json("namespaces", "merge", "acme:side", "acme:main")
    assert (merged["counts"]["added"], count(Fragment)) == (1, 6)
    call_command("operations", "undo", merged["operation"])
    assert count(Fragment) == 5
    capsys.readouterr()
    listed = {row["name"]: (row["forked_from"], row["memories"]) for row in run_json("namespaces", "list")}
    assert listed == {"acme:main": (None, 2), "acme:side": ("acme:main", 3)}
    assert run_json("namespaces", "delete", "acme:side", "--dry-run") == {"name": "acme:side", "would_delete": 3}
    assert run_json("namespaces", "delete", "acme:side", "--yes")["deleted"] == 3
    assert (count(Fragment), count(Namespace)) == (2, 1)


def test_a_namespace_is_rolled_back(main, run_json, store):
    now = timezone.now().isoformat()
    planned = run_json("namespaces", "rollback", "acme:main", "--to", now, "--dry-run")
    assert (planned["state"], planned["counts"]["set_aside"]) == ("succeeded", 0)
    assert run_json("namespaces", "rollback", "acme:main", "--to", now)["namespace"] == "acme:main"
    for to in ("2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "2026-01-01T00:00:00", "then"):
        with pytest.raises(CommandError):
            call_command("namespaces", "rollback", "acme:main", "--to", to)


def test_a_project_is_deleted_by_its_name(main, run_json, charlie):
    assert run_json("namespaces", "delete", "acme", "--yes") == {"name": "acme", "deleted": True}
    assert list(Project.objects.filter(name__in=["acme", "elsewhere"]).values_list("name", flat=True)) == ["elsewhere"]


def test_namespaces_refuse(main, count):
    for arguments in (
        ["fork", "acme:main", "acme:main"],
        ["fork", "acme:main", "no name"],
        ["fork", "acme:main", "elsewhere:side"],
        ["merge", "acme:nowhere", "acme:main"],
        ["merge", "acme:main", "acme:nowhere"],
        ["delete", "acme:nowhere", "--yes"],
        ["delete", "nowhere", "--yes"],
        ["delete", "acme:main"],
    ):
        with pytest.raises(CommandError):
            call_command("namespaces", *arguments)
    assert (count(Fragment), count(Operation)) == (2, 0)


def test_tables_for_people(main, capsys):
    call_command("namespaces", "list")
    call_command("namespaces", "fork", "acme:main", "acme:side")
    call_command("forget", "--namespace", "acme:main", "--tag", "T", "--dry-run")
    said = capsys.readouterr().out
    assert "acme:main" in said
    assert "succeeded" in said
    assert str(main[0].id) in said
