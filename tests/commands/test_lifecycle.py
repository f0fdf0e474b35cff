"""`manage.py stats`, `tier`, `compact`, `evict`, `archive` and `evolve`."""

import datetime
import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories import access
from memories.access import keys
from memories.models import Fragment, Operation, Tombstone


@pytest.fixture
def old(store, time_machine):
    """Memories that nobody used for forty days."""
    start = timezone.now()
    time_machine.move_to(start - datetime.timedelta(days=40), tick=False)
    rows = [store("acme:main", f"{word} nests. Two. Three. Four.", importance=0.5) for word in ("Heron", "Otter")]
    time_machine.move_to(start, tick=False)
    return rows


@pytest.fixture
def run_json(capsys):
    """Runs a command with --json; what it prints."""

    def run(*arguments):
        call_command(*arguments, "--json")
        return json.loads(capsys.readouterr().out)

    return run


def test_stats_work(old, run_json, capsys):
    (report,) = run_json("stats", "--project", "acme")
    assert report["by_status"] == {"active": 2, "superseded": 0, "disputed": 0, "quarantined": 0, "archived": 0}
    assert report["by_tier"] == {"hot": 2, "warm": 0, "cold": 0}
    assert report["by_type"]["semantic"] + report["by_type"]["episodic"] + report["by_type"]["procedural"] == 2
    assert report["tier_bytes"]["hot"] == 2 * (776 + len("Heron nests. Two. Three. Four."))
    assert report["capacity"] == {"ratio": 0.0, "status": "normal", "fragments": 2, "limit": 2_000_000}
    call_command("stats", "--project", "acme")
    printed = capsys.readouterr().out
    assert "acme" in printed
    assert "2 of 2,000,000" in printed


def test_compact_works(old, run_json, count):
    (report,) = run_json("compact", "--namespace", "acme:main", "--dry-run")
    assert (report["state"], report["would_compact"]) == ("succeeded", 2)
    (report,) = run_json("compact", "--project", "acme", "--tier", "hot")
    assert (report["compacted_count"], sorted(report["compacted_ids"])) == (2, sorted(str(row.id) for row in old))


def test_compact_prints_a_table(old, capsys):
    call_command("compact", "--project", "acme")
    printed = capsys.readouterr().out
    assert "acme" in printed
    assert "succeeded" in printed


def test_tier_works(old, run_json):
    assert run_json("tier", "--dry-run")[0]["moves"] == {"hot_to_cold": 2}
    assert run_json("tier")[0]["moved"] == 2
    assert run_json("stats")[0]["by_tier"]["cold"] == 2


def test_evict_works(old, run_json, settings, count):
    settings.CAPACITY = {**settings.CAPACITY, "all": 10}
    mine = ("--project", "acme")
    assert run_json("evict", *mine)[0]["evicted"] == 0
    (report,) = run_json("evict", *mine, "--target", "0.1", "--dry-run")
    assert (report["would_evict"], count(Fragment)) == (1, 2)
    (report,) = run_json("evict", *mine, "--target", "0.1")
    assert (report["evicted"], count(Fragment), count(Tombstone)) == (1, 1, 1)


def test_archive_works(old, run_json, principal, count):
    with access.enter(principal, why="test"):
        Fragment.objects.update(status="archived", updated_at=timezone.now() - datetime.timedelta(days=400))
    assert run_json("archive", "--dry-run")[0]["would_put_away"] == 2
    assert run_json("archive")[0]["put_away"] == 2
    assert (count(Fragment), count(Tombstone)) == (0, 2)


def test_evolve_works(old, run_json, store, capsys):
    store("acme:side", "An otter nests.")
    found = {report["namespace"]: report for report in run_json("evolve", "--project", "acme")}
    assert found.keys() == {"acme:main", "acme:side"}
    assert {(one["state"], one["ended_early"]) for one in found.values()} == {("succeeded", "no_sidecar")}
    call_command("evolve", "--namespace", "acme:side")
    assert "acme:side" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["compact", "--tier", "lukewarm"],
        ["compact", "--project", "nowhere"],
        ["compact", "--namespace", "acme:nowhere"],
        ["evict", "--target", "1.5"],
        ["evict", "--target", "-0.5"],
        ["evict", "--tier", "lukewarm"],
        ["tier", "--namespace", "acme:nowhere"],
        ["archive", "--project", "nowhere"],
        ["evolve", "--project", "nowhere"],
        ["evolve", "--namespace", "acme:nowhere"],
        ["stats", "--project", "nowhere"],
    ],
)
def test_what_is_not_there_is_refused(arguments, principal):
    with pytest.raises(CommandError):
        call_command(*arguments)


@pytest.mark.parametrize(
    "command",
    [
        ["archive"],
        ["backup", "make"],
        ["compact"],
        ["consolidate", "--dry-run"],
        ["evolve"],
        ["export", "/nowhere/acme.ndjson.gz"],
        ["lift", "The heron nests."],
        ["models", "compare", "minilm"],
        ["rebuild", "keywords"],
        ["recall", "run"],
        ["tier"],
        ["users", "list"],
    ],
    ids=" ".join,
)
def test_a_namespace_of_another_project_is_refused(command, store, principal, count):
    """Nothing is done in either."""
    keys.ensure_project("elsewhere")
    store("acme:main", "The heron nests.")
    with pytest.raises(CommandError):
        call_command(*command, "--project", "elsewhere", "--namespace", "acme:main")
    assert count(Operation) == 0
