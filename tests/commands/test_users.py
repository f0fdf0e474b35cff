"""Users at the command line: `--user`, scopes as they are written, and manage.py users."""

import gzip
import io
import json

import pytest
from django.core.management import CommandError, call_command

from memories.models import Fragment, Namespace

ZOE = "zoë/1"
LISBON, OSLO, SHOP = "I live in Lisbon by the river.", "I live in Oslo by the fjord.", "The shop opens at nine."


def run(*words):
    out = io.StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def run_json(*words):
    return json.loads(run(*words, "--json"))


def contents(*words):
    return {row["content"] for row in run_json(*words)}


@pytest.fixture
def homes(project):
    """Where two users live, and what all of them may know: ids by text."""
    kept = {}
    for text, where in (
        (LISBON, ("acme:main", "--user", ZOE)),
        (OSLO, ("acme:main/ben",)),
        (SHOP, ("acme:main",)),
    ):
        kept[text] = run_json("memory", "add", text, "--namespace", *where)["id"]
    return kept


def test_memories_are_listed_and_found_by_user(homes):
    assert contents("memory", "list", "--namespace", "acme:main", "--user", ZOE) == {LISBON}
    assert contents("memory", "list", "--namespace", "acme:main/zo%C3%AB%2F1") == {LISBON}
    assert contents("memory", "list", "--user", "ben") == {OSLO}
    assert contents("memory", "list", "--namespace", "acme:main") == {SHOP}
    asked = ("memory", "search", "where do I live?", "--namespace", "acme:main", "--limit", 10)
    assert LISBON in contents(*asked, "--user", ZOE)
    assert OSLO not in contents(*asked, "--user", ZOE)
    assert contents(*asked).isdisjoint({LISBON, OSLO})


def test_a_memory_is_shown_and_deleted_as_its_users(homes, count):
    for action in ("show", "delete"):
        with pytest.raises(CommandError, match="no memory"):
            run("memory", action, homes[LISBON], "--user", "ben")
    assert run_json("memory", "show", homes[LISBON], "--user", ZOE)["user"] == ZOE
    run("memory", "delete", homes[LISBON], "--user", ZOE, "--yes")
    assert count(Fragment) == 2


def test_files_forgetting_and_consolidation_stay_with_the_user(homes, tmp_path, count):
    notes = tmp_path / "notes.txt"
    notes.write_text("The heron nests behind the old mill.")
    for user in (ZOE, "ben"):
        assert run_json("ingest", notes, "--namespace", "acme:main", "--user", user)[0]["stored"] == 1
    export = tmp_path / "mem0.json"
    export.write_text(json.dumps([{"id": "m1", "memory": "The otter swims in the mill pond."}]))
    assert run_json("import", "mem0", export, "--namespace", "acme:main", "--user", ZOE)["stored"] == 1
    (run_of_zoe,) = run_json("consolidate", "--namespace", "acme:main", "--user", ZOE)
    assert run_of_zoe["state"] == "succeeded"
    gone = run_json("forget", "--namespace", "acme:main", "--user", ZOE, "--status", "all", "--yes")
    assert gone["count"] == 3
    assert contents("memory", "list") == {OSLO, SHOP, "The heron nests behind the old mill."}


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "add", "Tea.", "--namespace", "acme:main", "--user", "a\nb"),
        ("memory", "add", "Tea.", "--namespace", "acme:main/ann", "--user", "ben"),
        ("memory", "list", "--namespace", "acme:main/a/b"),
        ("consolidate", "--user", "ann"),
        ("forget", "--namespace", "acme:main", "--user", "nobody", "--status", "all", "--yes"),
        ("users", "list"),
        ("users", "list", "--namespace", "acme:main/ann"),
        ("users", "export", "nobody", "--project", "acme"),
        ("users", "erase", "nobody", "--project", "acme", "--yes"),
    ],
)
def test_what_names_no_user_is_refused(project, count, words):
    with pytest.raises(CommandError):
        run(*words)
    assert count(Namespace) == 0


def test_users_are_listed_exported_and_erased(homes, count):
    for place in (("--project", "acme"), ("--namespace", "acme:main")):
        assert [(row["user"], row["memories"]) for row in run_json("users", "list", *place)] == [("ben", 1), (ZOE, 1)]
    assert ZOE in run("users", "list", "--project", "acme")
    whole = json.loads(run("users", "export", ZOE, "--project", "acme"))
    assert [row["content"] for row in whole["memories"]] == [LISBON]
    assert run_json("users", "erase", ZOE, "--project", "acme", "--dry-run")["count"] == 1
    for more, why in (((), "--expect"), (("--expect", 2), "1 memories are kept")):
        with pytest.raises(CommandError, match=why):
            run("users", "erase", ZOE, "--project", "acme", *more)
    assert count(Fragment) == 3
    assert "1 memories" in run("users", "erase", ZOE, "--namespace", "acme:main", "--expect", 1)
    assert [row["user"] for row in run_json("users", "list", "--project", "acme")] == ["ben"]
    assert contents("memory", "list") == {OSLO, SHOP}


def test_a_pack_of_a_user_holds_only_that_users_memories(homes, tmp_path):
    path = tmp_path / "zoe.sqlite"
    made = run_json("pack", "write", "acme:main", path, "--user", ZOE)
    assert (made["namespace"], made["memories"]) == ("acme:main/zo%C3%AB%2F1", 1)
    found = run_json("pack", "search", path, "where does one live?")
    assert [row["content"] for row in found] == [LISBON]
    with pytest.raises(CommandError):
        run("pack", "write", "acme:main", path, "--user", "nobody")


def test_an_export_of_a_user_holds_only_that_users_memories(homes, tmp_path):
    path = tmp_path / "zoe.ndjson.gz"
    run("export", path, "--project", "acme", "--namespace", "acme:main", "--user", ZOE)
    text = gzip.decompress(path.read_bytes()).decode()
    assert (LISBON in text, OSLO in text, SHOP in text) == (True, False, False)
    with pytest.raises(CommandError, match="--namespace"):
        run("export", path, "--project", "acme", "--user", ZOE)
