"""/thresholds/: a project's own, and what they would do before they are saved."""

import datetime

import pytest
from django.utils import timezone

from memories import access, jobs, upkeep
from memories.models import Fragment, Project
from memories.upkeep.thresholds import thresholds_of
from tests.console.conftest import post, words

OLD = datetime.timedelta(days=20)  # a relevance of .37


@pytest.fixture
def aging(principal):
    """Three memories, of which two were not used for long."""
    from memories import ingest

    rows = []
    for n in range(3):
        draft = ingest.Draft(namespace="acme:main", content=f"Heron {n} nests.", type="episodic", importance=0.4)
        then = timezone.now() - (OLD if n else datetime.timedelta())
        rows.append(ingest.store(principal, ingest.prepare([draft]), now=then)[0].fragment)
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id__in=[row.id for row in rows]).update(source="inference", authority=1)
    return rows


def test_a_preview_tells_and_changes_nothing(adam, aging, principal):
    assert "would archive 0 of 3" in words(adam.get("/thresholds/"))
    told = words(post(adam, "/thresholds/", step="preview", cold_below="0.5", archive_below="0.4", summary_days="10"))
    assert "would archive 2 of 3" in told
    assert "would move 2 of 3 to the cold tier" in told
    assert "would shorten 2 of 3" in told
    assert Project.objects.get(id=principal.project_id).thresholds == {}


def test_what_is_saved_is_what_upkeep_does(adam, aging, principal):
    saved = post(adam, "/thresholds/", step="save", cold_below="0.5", archive_below="0.4", summary_days="")
    assert saved.status_code == 303
    own = thresholds_of(principal.project_id)
    assert (own.cold_below, own.archive_below, own.summary_days) == (0.5, 0.4, 30)
    wish = {"kind": "consolidate", "namespace": aging[0].namespace, "options": {}, "dry_run": False}
    made = jobs.start(principal, **wish, now=timezone.now(), wake_up=False)
    assert jobs.run(principal, made.id).report["archived"] == 2


def test_what_was_saved_can_be_taken_back(adam, aging, principal):
    post(adam, "/thresholds/", step="save", cold_below="0.3")
    assert "The thresholds are set" in words(adam.get("/thresholds/"))
    post(adam, "/thresholds/", step="save", cold_below="")
    assert Project.objects.get(id=principal.project_id).thresholds == {}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"cold_below": "2"}, "cold_below has to be from 0 to 1"),
        ({"cold_below": "nan"}, "cold_below has to be from 0 to 1"),
        ({"warm_days": "1.5"}, "warm_days has to be a whole number"),
        ({"archive_below": "0.5"}, "archive_below, cold_below have to rise"),
        ({"summary_days": "90"}, "summary_days, keywords_days, hash_days have to rise"),
        ({"capacity": "0"}, "capacity has to be from 1 to 1000000000000"),
        ({"capacity": "1.5"}, "capacity has to be a whole number"),
        ({"eviction_target": "0.9"}, "eviction_target, eviction_start have to rise"),
    ],
)
def test_what_is_wrong_is_named_and_not_saved(adam, aging, principal, given, named):
    for step in ("preview", "save"):
        answer = post(adam, "/thresholds/", step=step, **given)
        assert (answer.status_code, named in words(answer).replace("A", "a")) == (409, True), words(answer)
    assert Project.objects.get(id=principal.project_id).thresholds == {}


def test_a_share_of_its_own_evicts_sooner(principal, aging, settings):
    settings.CAPACITY = {**settings.CAPACITY, "all": 10}
    with access.enter(principal, why="test"):
        assert upkeep.lifecycle.excesses(principal.project_id) == []
        own = {"eviction_start": 0.3, "eviction_target": 0.1}
        Project.objects.filter(id=principal.project_id).update(thresholds=own)
        (excess,) = upkeep.lifecycle.excesses(principal.project_id)
    assert excess.number == 2


def test_viewers_and_strangers_do_not_see_it(vera, adam, aging):
    assert vera.get("/thresholds/").status_code == 403
    assert post(vera, "/thresholds/", step="save", cold_below="0.9").status_code == 403
    assert post(adam, "/thresholds/", step="preview", namespace="other:main").status_code == 404


def test_a_capacity_of_its_own_is_previewed_told_and_evicted_by(adam, aging, principal, alice):
    assert "would evict 1 of the project" in words(post(adam, "/thresholds/", step="preview", capacity="3"))
    assert alice.client.get("/api/v1/stats").json()["capacity"]["limit"] > 3
    assert post(adam, "/thresholds/", step="save", capacity="3").status_code == 303
    told = alice.client.get("/api/v1/stats").json()["capacity"]
    assert (told["limit"], told["status"]) == (3, "aggressive_eviction_needed")
    with access.enter(principal, why="test"):
        (excess,) = upkeep.lifecycle.excesses(principal.project_id)
    assert excess.number == 1
