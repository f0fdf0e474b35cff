"""manage.py memory."""

import io
import json
import uuid

import pytest
from django.core.management import CommandError, call_command

from memories.models import Erasure, Fragment, Project, Tombstone

HERON = "The heron nests behind the old mill."


def run(*words):
    out = io.StringIO()
    call_command("memory", *map(str, words), stdout=out)
    return out.getvalue()


def run_json(*words):
    return json.loads(run("--json", *words))


@pytest.fixture
def heron(store):
    """A memory in Alice's project."""
    return store("acme:main", HERON)


def test_add_stores_with_a_vector(project, count):
    kept = run_json("add", HERON, "--namespace", "acme:main", "--type", "episodic", "--source", "tool_output")
    assert (kept["content"], kept["type"], kept["namespace"]) == (HERON, "episodic", "acme:main")
    assert (kept["embedding"]["state"], kept["provenance"]["source"]) == ("ready", "tool_output")
    assert "is active in orchard:main" in run("add", HERON, "--namespace", "orchard:main")
    assert count(Fragment) == 1


def test_list_shows_the_newest_first(heron, store):
    store("acme:side", "The otter swims.", type="episodic")
    assert [row["content"] for row in run_json("list")] == ["The otter swims.", HERON]
    assert [row["content"] for row in run_json("list", "--limit", 1)] == ["The otter swims."]
    assert [row["content"] for row in run_json("list", "--namespace", "acme:main")] == [HERON]
    assert [row["content"] for row in run_json("list", "--type", "semantic")] == [HERON]
    assert run_json("list", "--status", "archived") == []
    assert str(heron.id) in run("list")


def test_show_begins_with_the_printed_memory(heron):
    assert run_json("show", heron.id)["content"] == HERON
    assert json.loads(run("show", heron.id, "--json"))["id"] == str(heron.id)
    printed = " ".join(run("show", heron.id).split())
    assert f"[semantic] {HERON} (main, acme)" in printed


def test_what_a_memory_says_is_no_markup(store):
    row = store("acme:main", "[bold]The heron[/bold] nests.")
    assert "[bold]The heron[/bold]" in run("show", row.id)


def test_search_finds(heron):
    (hit,) = run_json("search", "where does the heron nest?", "--namespace", "acme:main")
    assert (hit["id"], hit["score"] > 0) == (str(heron.id), True)
    assert "heron" in run("search", "heron", "--namespace", "acme:main")


def test_delete_erases_without_a_tombstone(heron, count):
    assert run_json("delete", heron.id, "--yes") == {"id": str(heron.id), "deleted": True}
    assert (count(Fragment), count(Tombstone), count(Erasure)) == (0, 0, 1)
    with pytest.raises(CommandError, match="There is no memory"):
        run("delete", heron.id, "--yes")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("show", uuid.uuid4()), "There is no memory"),
        (("add", " ", "--namespace", "acme:main"), "1 to 2000"),
        (("add", "x" * 2001, "--namespace", "acme:main"), "1 to 2000"),
        (("add", "bad \udcff bytes", "--namespace", "acme:main"), "UTF-8"),
        (("add", "Fine.", "--namespace", "acme"), "no namespace"),
        (("add", "Fine.", "--namespace", "new:main", "--type", "odd"), "Unknown 'odd'"),
        (("add", "Fine.", "--namespace", "acme:main", "--source", "user_explicit"), "ceiling"),
        (("search", "heron", "--namespace", "nowhere:main"), "There is no namespace"),
        (("list", "--status", "odd"), "Unknown 'odd'"),
    ],
)
def test_what_can_not_be_is_named_and_changes_nothing(heron, count, words, why):
    with pytest.raises(CommandError, match=why):
        run(*words)
    assert count(Fragment) == 1
    assert not Project.objects.filter(name="new").exists()


def test_search_stays_in_its_namespace_unless_it_is_told_to_leave(heron, store):
    store("acme:side", "The otter nests under the bridge.")
    question = ("search", "Who nests where?", "--namespace", "acme:main")
    assert [row["content"] for row in run_json(*question)] == [HERON]
    assert len(run_json(*question, "--project-wide")) == 2
