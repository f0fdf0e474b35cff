"""Eviction: what it promises, and what a team may rely on besides."""

import datetime
import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, jobs, operations, upkeep
from memories.models import Archive, Fragment, Operation, Tombstone
from memories.models.scoring import Rates
from memories.operations import BadOptions
from memories.upkeep.lifecycle.capacity import Capacity


@pytest.fixture
def ranked(principal):
    """Who would go first: (id, priority)."""

    def rank(**more):
        with access.enter(principal, why="test"):
            found = upkeep.lifecycle.candidates(principal, now=timezone.now(), most=100, **more)
        return [(each.id, each.priority) for each in found]

    return rank


@pytest.mark.parametrize(
    ("fragments", "status", "excess"),
    [
        (0, "normal", (0, "low_weight")),
        (69, "normal", (0, "low_weight")),
        (70, "warning", (0, "low_weight")),
        (79, "warning", (0, "low_weight")),
        (80, "eviction_needed", (5, "low_weight")),
        (94, "eviction_needed", (19, "low_weight")),
        (95, "aggressive_eviction_needed", (25, "storage_pressure")),
        (130, "aggressive_eviction_needed", (60, "storage_pressure")),
    ],
)
def test_capacity_has_its_thresholds(fragments, status, excess):
    capacity = Capacity("all", fragments, 100)
    assert (capacity.status, capacity.excess()) == (status, excess)


def test_without_a_limit_nothing_is_too_much():
    capacity = Capacity("hot", 10**9, 0)
    assert (capacity.ratio, capacity.status, capacity.excess(target=0)) == (0, "normal", (0, "low_weight"))


def test_priority_is_weight_recency_and_association(old, link, read_at, ranked, principal):
    row = old(10, importance=0.6, emotional_valence=-0.5)
    for n in range(3):
        link(row, old(20, f"Something else, number {n}."))
    read_at(row, 4, times=7)
    given = {"importance": 0.6, "access_count": 7, "age_days": 10, "valence": -0.5, "pinned_or_anchor": False}
    weight = Rates().effective_weight(**given)
    expected = weight + 0.3 / (1 + 4 * 24 / 24) + 0.05 * math.log(4)
    assert dict(ranked())[row.id] == pytest.approx(expected, rel=1e-9)


def test_what_was_used_weighs_more_and_is_read_more_often_stays_longer(old, read_at, ranked):
    plain, weighty = old(10, "Plain."), old(10, "Weighty.", importance=0.65)
    used, used_often = old(10, "Used."), old(10, "Used often.")
    read_at(used, 3)
    read_at(used_often, 3, times=20)
    order = [row for row, _ in ranked()]
    assert order[0] == plain.id
    assert order.index(plain.id) < order.index(weighty.id)
    assert order.index(plain.id) < order.index(used.id) < order.index(used_often.id)


def test_the_protected_are_no_candidates(old, read_at, ranked, store):
    old(10, "Heavy.", importance=0.7)
    old(10, "Pinned.", is_pinned=True)
    old(10, "An anchor.", is_anchor=True)
    read_at(old(10, "Read an hour ago."), 1 / 24)
    old(0.5, "Half a day old.")
    free = old(2, "Two days old.")
    assert [row for row, _ in ranked()] == [free.id]


def test_who_waits_for_a_decision_and_whom_it_is_about_are_no_candidates(old, ranked):
    old(10, "Ada is seven.", source="tool_output", claim=ClaimDraft("Ada", "age", "7"))
    old(9, "Ada is eight.", claim=ClaimDraft("Ada", "age", "8"))
    free = old(8, "The otter swims.")
    assert [row for row, _ in ranked()] == [free.id]


@pytest.mark.parametrize("number", [0, 7])
def test_below_the_threshold_nothing_leaves(fill, run, capacity, picture, number):
    capacity(all=10)
    fill(number, 10)
    before = picture()
    assert run("evict").report == {"evicted": 0, "short": 0, "places": []}
    assert picture() == before


def test_the_lowest_priority_leaves_down_to_the_target(fill, run, capacity, fresh, count, principal):
    old, young = fill(4, 20), fill(4, 2)
    capacity(all=10)
    ended = run("evict")
    assert ended.report["evicted"] == 1
    assert ended.report["places"][0] | {"found": 1} == {
        "place": "all",
        "ratio": 0.8,
        "status": "eviction_needed",
        "reason": "low_weight",
        "to_evict": 1,
        "found": 1,
    }
    assert count(Fragment) == 7
    assert fresh(min(old)) is None
    assert all(fresh(row) for row in young)
    with access.enter(principal, why="test"):
        (stone,) = Tombstone.objects.within(principal.project_id)
        (copy,) = Archive.objects.within(principal.project_id)
    assert (stone.original_id, stone.reason, copy.fragment_id) == (min(old), "low_weight", min(old))
    assert stone.reason_details == {"operation": str(ended.id), "ratio": 0.8}
    assert copy.operation_id == ended.id


def test_under_pressure_more_leaves(fill, run, capacity, count, principal):
    fill(10, 20)
    capacity(all=10)
    assert run("evict").report["evicted"] == 3
    with access.enter(principal, why="test"):
        reasons = set(Tombstone.objects.within(principal.project_id).values_list("reason", flat=True))
    assert reasons == {"storage_pressure"}


def test_what_protection_keeps_is_told_as_short(fill, run, capacity, count):
    fill(9, 20, importance=0.8)
    fill(1, 20, namespace="acme:side")
    capacity(all=10)
    report = run("evict").report
    assert (report["evicted"], report["short"], count(Fragment)) == (1, 2, 9)


def test_a_tier_has_a_limit_of_its_own(fill, run, capacity, change, fresh):
    hot, cold = fill(3, 20), fill(10, 20, namespace="acme:side")
    change(cold, tier="cold")
    capacity(all=1000, cold=10)
    report = run("evict").report
    assert (report["evicted"], [place["place"] for place in report["places"]]) == (3, ["cold"])
    assert all(fresh(row) for row in hot)


def test_what_leaves_for_the_project_is_not_counted_twice(fill, run, capacity, change, count):
    change(fill(10, 20), tier="cold")
    capacity(all=10, cold=10)
    assert run("evict").report["evicted"] == 3
    assert count(Fragment) == 7


def test_a_target_on_request(fill, run, capacity, count):
    fill(10, 20)
    capacity(all=100)
    assert run("evict", target=0.04).report["evicted"] == 6
    assert count(Fragment) == 4


def test_a_dry_run_tells_whom_the_run_takes(fill, run, capacity, picture, fresh):
    rows = fill(10, 20)
    capacity(all=10)
    before = picture()
    told = run("evict", dry_run=True).report
    assert picture() == before
    assert told["would_evict"] == len(told["ids"]) == 3
    assert run("evict").report["places"] == told["places"]
    assert {str(row) for row in rows if fresh(row) is None} == set(told["ids"])


def test_run_again_it_changes_nothing(fill, run, capacity, picture):
    fill(10, 20)
    capacity(all=10)
    run("evict")
    after = picture()
    assert run("evict").report["evicted"] == 0
    assert picture() == after


def test_who_is_used_meanwhile_stays(fill, run, capacity, monkeypatch, principal, at, count):
    """Between the plan and its batch."""
    from memories.models import Access
    from memories.upkeep.lifecycle import eviction

    rows = fill(10, 20)
    capacity(all=10)
    plain = eviction._planned

    def read_then(*args, **kwargs):
        plan = list(plain(*args, **kwargs))
        first = plan[0][1][0].id
        Access.objects.count_up(principal.project_id, {first: 1}, {first: timezone.now()})
        return plan

    monkeypatch.setattr(eviction, "_planned", read_then)
    assert run("evict").report["evicted"] == 2
    assert count(Fragment) == len(rows) - 2


def test_undo_brings_all_back(fill, run, undo, capacity, picture, count, old, link, read_at):
    row = old(15, "Ada Lovelace met the otter.", claim=ClaimDraft("Ada", "met", "the otter"))
    link(row, old(14, "The otter swims."))
    read_at(row, 5, times=3)
    fill(8, 20)
    capacity(all=10)
    before = picture()
    ended = run("evict", target=0.0)
    assert count(Fragment) == 0
    assert undo(ended) == {"restored": 10, "through_the_gate": 0, "blocked_by_erasure": 0}
    assert picture() == before
    assert (count(Tombstone), count(Archive)) == (0, 0)
    assert undo(ended) == {"restored": 0, "through_the_gate": 0, "blocked_by_erasure": 0}


@pytest.mark.long
def test_thousands_leave_in_few_queries(fill, run, undo, capacity, count, principal):
    """Each batch of 500 in as many queries as any other."""
    fill(3000, 20)
    capacity(all=3000)
    spent = []
    for target in (0.5, 0.0):
        with CaptureQueriesContext(connection) as queries:
            run("evict", target=target)
        spent.append(len(queries))
    assert count(Fragment) == 0
    assert spent[0] == spent[1]
    with access.enter(principal, why="test"):
        last = Operation.objects.filter(kind="evict").latest("created_at")
    assert undo(last)["restored"] == 1500


def test_one_at_a_time(fill, principal, capacity, count):
    fill(10, 20)
    capacity(all=10)
    wish = {"kind": "evict", "namespace": None, "options": {}, "dry_run": False, "now": timezone.now()}
    first, second = (operations.start(principal, **wish) for _ in range(2))
    operations.claim(principal, first.id, now=timezone.now() - datetime.timedelta(seconds=1))
    ended = jobs.run(principal, second.id)
    assert (ended.state, ended.error["code"], count(Fragment)) == ("failed", "already_running", 10)


@pytest.mark.parametrize(
    "options",
    [{"tier": "lukewarm"}, {"tier": 3}, {"target": -0.1}, {"target": 1.5}, {"target": True}, {"target": "x"}, {"a": 1}],
)
def test_bad_options_are_refused(options):
    with pytest.raises(BadOptions):
        jobs.check_options("evict", options)
