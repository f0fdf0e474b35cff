"""/thresholds/: a project's own, and what they would do before they are saved."""

import datetime
import re

import pytest
from django.utils import timezone

from memories import access, jobs, upkeep
from memories.models import Fragment, Project
from memories.upkeep.thresholds import NAMES, own_thresholds, thresholds_of
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


@pytest.mark.examples
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
        ({"decay_per_day": "11"}, "decay_per_day has to be from 0 to 10"),
        ({"decay_sm2": "perhaps"}, "decay_sm2 has to be yes or no"),
        ({"weight_kept": "0"}, "weight_kept has to be from 1 to 10"),
    ],
)
def test_what_is_wrong_is_named_and_not_saved(adam, aging, principal, given, named):
    for step in ("preview", "save"):
        answer = post(adam, "/thresholds/", step=step, **given)
        assert (answer.status_code, named in words(answer).replace("A", "a")) == (409, True), words(answer)
    assert own_thresholds(principal.project_id) == {}


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


RATES = {"decay_per_day": "0.2", "weight_decay_per_day": "0.01", "weight_base": "0.2", "decay_sm2": "yes"}


def test_rates_are_previewed_and_change_nothing(adam, aging, principal):
    assert "would archive 0 of 3" in words(adam.get("/thresholds/"))
    told = words(post(adam, "/thresholds/", step="preview", **RATES))
    assert "would archive 2 of 3" in told
    assert "would move 2 of 3 to the cold tier" in told
    assert own_thresholds(principal.project_id) == {}


def numbers(page, said):
    """The number by what was given, and the one that holds."""
    return [
        float(number) for number in re.search(rf"{said}:? ([0-9.]+) .{{0,12}}\(now ([0-9.]+)\)", words(page)).groups()
    ]


def test_the_preview_of_rates_says_what_then_holds(adam, alice, aging, store):
    def averages(name):
        rows = alice.client.get("/api/v1/fragments", {"namespace": "acme:main"}).json()["results"]
        return sum(row[name] for row in rows) / len(rows)

    names = {"relevance": "relevance_score", "weight": "effective_weight"}
    before = {said: averages(name) for said, name in names.items()}
    page = post(adam, "/thresholds/", step="preview", **RATES)
    assert post(adam, "/thresholds/", step="save", **RATES).status_code == 303
    for said, name in names.items():
        assert numbers(page, f"{said} of what is active") == pytest.approx([averages(name), before[said]], abs=0.006), (
            said
        )
        assert averages(name) != pytest.approx(before[said], abs=0.05)
    wanted, former = numbers(page, "importance that memories like these would be given")
    born = alice.client.post(
        "/api/v1/fragments", {"namespace": "acme:main", "content": "Heron 7 nests."}, format="json"
    ).json()
    assert (born["importance"], former) == (pytest.approx(wanted, abs=0.006), pytest.approx(wanted + 0.3, abs=0.02))


def test_what_is_previewed_of_rates_is_what_upkeep_does(adam, aging, principal):
    assert post(adam, "/thresholds/", step="save", **RATES).status_code == 303
    wish = {"namespace": aging[0].namespace, "options": {}, "now": timezone.now(), "wake_up": False}
    moved = jobs.run(principal, jobs.start(principal, kind="tier", dry_run=True, **wish).id).report
    assert moved["moves"] == {"hot_to_cold": 2}
    assert jobs.run(principal, jobs.start(principal, kind="consolidate", **wish).id).report["archived"] == 2


def test_who_would_leave_first_by_other_weights_is_who_is_evicted(adam, alice, principal, store, settings):
    """Ten old ones of importance, ten young ones of none: by the weight of time the first leave, else the others."""
    from memories import ingest

    rows = {}
    for days, importance in ((30, 0.65), (2, 0.4)):
        then = timezone.now() - datetime.timedelta(days=days)
        drafts = [ingest.Draft(namespace="acme:main", content=f"{n} {days}", importance=importance) for n in range(10)]
        rows[days] = [each.fragment.id for each in ingest.store(principal, ingest.prepare(drafts), now=then)]
    assert "of the first 2 to leave here, 0 would be others than now" in words(adam.get("/thresholds/"))
    told = words(post(adam, "/thresholds/", step="preview", weight_decay_per_day="0"))
    assert "of the first 2 to leave here, 2 would be others than now" in told
    assert post(adam, "/thresholds/", step="save", weight_decay_per_day="0", capacity="20").status_code == 303
    wish = {"kind": "evict", "namespace": None, "options": {"target": 0.9}, "dry_run": False}
    made = jobs.start(principal, **wish, now=timezone.now(), wake_up=False)
    assert jobs.run(principal, made.id).report["evicted"] == 2
    with access.enter(principal, why="test"):
        left = set(Fragment.objects.values_list("id", flat=True))
    assert set(rows[30]) <= left
    assert len(left & set(rows[2])) == 8


def test_the_form_has_each_number_once_and_shows_what_is_set(adam, aging):
    post(adam, "/thresholds/", step="save", **RATES)
    page = adam.get("/thresholds/").text
    assert [page.count(f'id="{name}"') for name in NAMES] == [1] * len(NAMES)
    assert "<option selected>yes</option>" in page
    assert 'name="decay_per_day" inputmode="decimal" autocomplete="off" value="0.2" placeholder="0.05"' in page
    assert 'name="capacity" inputmode="decimal" autocomplete="off" value="" placeholder="2000000"' in page


def test_rates_that_were_saved_can_be_taken_back(adam, aging, principal):
    post(adam, "/thresholds/", step="save", decay_sm2="yes", decay_per_day="0.1")
    post(adam, "/thresholds/", step="save", decay_per_day="0.2")
    assert own_thresholds(principal.project_id) == {"decay_per_day": 0.2}
    strip = adam.session["undo"]["fields"]
    post(adam, "/thresholds/", **strip)
    assert own_thresholds(principal.project_id) == {"decay_per_day": 0.1, "decay_sm2": True}
    post(adam, "/thresholds/", step="save")
    assert own_thresholds(principal.project_id) == {}


def test_rates_of_one_project_are_not_another_s(adam, carl, aging, principal):
    post(adam, "/thresholds/", step="save", **RATES)
    assert 'value="0.2"' not in carl.get("/thresholds/").text


def test_a_memory_s_page_draws_decay_and_thresholds_of_the_project(adam, aging):
    there = f"/memories/{aging[0].id}/?tab=trust"
    assert "cold below 0.15, archived below 0.10" in words(adam.get(there))
    post(adam, "/thresholds/", step="save", cold_below="0.5", archive_below="0.25", decay_per_day="0.1")
    page = adam.get(there)
    assert "cold below 0.50, archived below 0.25" in words(page)
    assert [f'y1="{height}"' in page.text for height in ("50.00", "75.00", "85.00")] == [True, True, False]
    assert " 10,63.2 " in page.text
