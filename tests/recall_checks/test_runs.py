"""What a check finds, and what becomes of it."""

import datetime

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, erasure, usage_counters
from memories.models import Access, Fragment, RecallCheck, RecallRun
from memories.models.recall import MOST_RUNS
from memories.recall_checks import checks
from tests.recall_checks.conftest import MAIN


@pytest.fixture
def heron(store):
    """A memory among others."""
    row = store(MAIN, "The heron nests behind the old mill.")
    for text in ("The otter swims at dawn.", "The baker opens at six.", "Rain fell on the harbour."):
        store(MAIN, text)
    return row


def test_a_memory_is_expected_by_its_id(heron, check, run, states):
    check("Where does the heron nest?", memory=heron.id, name="heron")
    report = run()
    assert (report["checked"], report["passed"], report["failed"], report["lost"]) == (1, 1, [], [])
    assert states() == {"heron": True}


def test_words_are_expected_in_any_case_and_spacing(heron, check, run, states):
    check("Where does the heron nest?", text="BEHIND  the old Mill", name="there")
    check("Where does the heron nest?", text="behind the new mill", name="elsewhere")
    run()
    assert states() == {"there": True, "elsewhere": False}


def test_a_value_is_expected_as_its_predicate_reads_it(store, check, run, states):
    store(MAIN, "Ada is six years old.", claim=ClaimDraft("Ada", "age", "6"), source="tool_output")
    check("How old is Ada?", value=" 6 ", name="six")
    check("How old is Ada?", value="7", name="seven")
    run()
    assert states() == {"six": True, "seven": False}


def test_a_place_beyond_the_first_is_none(store, check, run, states, principal):
    for number in range(3):
        store(MAIN, f"The heron of mill {number}.")
    last = store(MAIN, "A heron, seen far from any mill, and nothing else of note that day.")
    check("heron", memory=last.id, top_k=1, name="first")
    check("heron", memory=last.id, top_k=10, name="ten")
    run()
    assert states() == {"first": False, "ten": True}
    with access.enter(principal, why="test"):
        assert 2 <= RecallCheck.objects.get(name="ten").place <= 4


def test_what_passed_and_fails_is_lost(heron, check, run, runs, principal):
    row = check("Where does the heron nest?", memory=heron.id)
    run()
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=heron.id).update(status="archived")
    assert run()["lost"] == [str(row.id)]
    assert run()["lost"] == []
    assert runs() == [("asked", 1, 0, 0), ("asked", 0, 1, 1), ("asked", 0, 1, 0)]


def test_a_run_of_a_namespace_asks_its_own_and_its_users(heron, store, check, run, states, place_of, principal):
    store("acme:side", "The heron sleeps.")
    store(MAIN, "Mia likes the heron.", by=principal.of_user("mia"))
    check("heron", text="sleeps", namespace="acme:side", name="side")
    check("heron", text="Mia likes", namespace="acme:main/mia", name="mia")
    check("heron", text="nests", name="main")
    run(place_of(MAIN))
    assert states() == {"side": None, "mia": True, "main": True}


def test_a_run_counts_no_read(heron, check, run, principal):
    check("Where does the heron nest?", memory=heron.id)
    run()
    usage_counters.flush()
    with access.enter(principal, why="test"):
        assert not Access.objects.exclude(access_count=0).exists()


def test_a_check_that_asks_something_else_was_never_run(heron, check, run, states):
    check("Where does the heron nest?", memory=heron.id, name="heron")
    run()
    check("Where does the heron nest?", memory=heron.id, name="heron", note="the mill was sold")
    assert states() == {"heron": True}
    check("Where does the heron sleep?", memory=heron.id, name="heron")
    assert states() == {"heron": None}


def test_too_many_checks_are_refused_and_none_is_kept(heron, check, monkeypatch, count):
    monkeypatch.setattr(checks, "MOST_CHECKS", 1)
    check("Where does the heron nest?", memory=heron.id)
    with pytest.raises(checks.TooManyChecks):
        check("Where does the otter swim?", text="dawn")
    assert count(RecallCheck) == 1


def test_who_forgets_a_memory_forgets_the_checks_that_hold_it(heron, store, check, principal, states):
    other = store("acme:side", "The heron nests behind the old mill.")
    check("heron", memory=heron.id, name="by id")
    check("heron", text="the OLD mill", name="by words")
    check("The heron nests behind the old mill.", text="otter", name="its question")
    check("Where does the otter swim?", text="dawn", name="another")
    check("heron", text="old mill", namespace="acme:side", name="elsewhere")
    erasure.forget(principal, heron.id, now=timezone.now())
    assert set(states()) == {"another", "elsewhere"}
    erasure.forget(principal, other.id, now=timezone.now())
    assert set(states()) == {"another"}


def test_the_newest_runs_stay(principal, now):
    with access.enter(principal, why="test"):
        rows = [
            RecallRun(project_id=principal.project_id, cause="asked", took_ms=1, passed=n, created_at=now)
            for n in range(MOST_RUNS)
        ]
        RecallRun.objects.bulk_create(rows)
        later = now + datetime.timedelta(seconds=1)
        kept = RecallRun.objects.keep(principal.project_id, cause="asked", took_ms=1, passed=0, created_at=later)
        assert RecallRun.objects.count() == MOST_RUNS
        assert RecallRun.objects.filter(id=kept.id).exists()
