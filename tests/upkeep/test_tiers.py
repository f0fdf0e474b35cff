"""Tiers: docs/spec.md §7."""

import datetime
import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import access, jobs, upkeep
from memories.access import NotFound, NotPermitted
from memories.models import Access, Fragment
from memories.models.scoring import COLD, Rates
from memories.operations import BadOptions
from memories.upkeep.lifecycle.tiers import TierMismatch


@pytest.fixture
def tiers(principal):
    """The tier of each fragment."""

    def read(*rows):
        with access.enter(principal, why="test"):
            found = dict(Fragment.objects.values_list("id", "tier"))
        return [found[getattr(row, "id", row)] for row in rows]

    return read


@pytest.fixture
def move(principal):
    """Moves one fragment by hand."""

    def to(row, here, there, by=principal):
        return upkeep.lifecycle.move_one(by, row.id, here=here, there=there)

    return to


@pytest.mark.parametrize(
    ("days", "read", "tier"),
    [
        (0, None, "hot"),
        (29.9, None, "hot"),
        (30.1, None, "warm"),
        (37.8, None, "warm"),
        (38.1, None, "cold"),
        (400, 29.9, "hot"),
        (400, 31, "warm"),
        (400, 39, "cold"),
    ],
)
def test_age_without_an_access_takes_it_down(old, read_at, run, tiers, days, read, tier):
    row = old(days)
    if read is not None:
        read_at(row, read)
    run("tier")
    assert tiers(row) == [tier]


def test_nothing_else_of_it_changes(old, run, picture):
    row = old(100)
    before = picture()
    run("tier")
    after = picture()
    ((_, was),), ((_, now)) = before["memories_fragment"], after["memories_fragment"][0]
    assert row.tier == "hot"
    assert was.replace('"hot"', '"cold"') == now
    # The search tables follow the tier, and hold nothing else of it.
    told = {"memories_fragment": None, "memories_keywords": None, "memories_embedding": None}
    assert {**after, **told} == {**before, **told}
    ((_, words),), ((_, vector),) = after["memories_keywords"], after["memories_embedding"]
    ((_, said),), ((_, warm),) = before["memories_keywords"], before["memories_embedding"]
    assert said.replace("tier hot", "tier cold") == words
    assert warm.replace('"cold": false', '"cold": true') == vector


@pytest.mark.parametrize("kept", [{"is_pinned": True}, {"is_anchor": True}])
def test_what_is_pinned_or_an_anchor_stays(old, run, tiers, change, kept):
    row = old(400, **kept)
    change(row, base_relevance=0.1)
    run("tier")
    assert tiers(row) == ["hot"]


def test_five_accesses_take_it_up_one_tier(old, read_at, run, tiers, change):
    row = old(20)
    change(row, tier="cold")
    read_at(row, 1, times=4)
    run("tier")
    assert tiers(row) == ["cold"]
    read_at(row, 1)
    assert run("tier").report["moves"] == {"cold_to_warm": 1}
    run("tier")
    assert tiers(row) == ["warm"]
    read_at(row, 0, times=5)
    assert run("tier").report["moves"] == {"warm_to_hot": 1}
    assert tiers(row) == ["hot"]


def test_accesses_before_it_came_down_do_not_take_it_up_again(old, read_at, run, tiers):
    row = old(60)
    read_at(row, 31, times=50)
    run("tier")
    assert tiers(row) == ["warm"]
    assert run("tier").report["moved"] == 0
    read_at(row, 0, times=5)
    run("tier")
    assert tiers(row) == ["hot"]


def test_run_again_it_changes_nothing(old, run, picture):
    for days in (1, 31, 50):
        old(days, f"Of {days} days ago.")
    run("tier")
    after = picture()
    assert run("tier").report == {"moved": 0, "moves": {}, "too_large": {}}
    assert picture() == after


def test_a_dry_run_tells_the_moves_of_the_run(old, run, picture):
    old(31), old(50, "Another.")
    before = picture()
    told = run("tier", dry_run=True).report
    assert picture() == before
    assert told == run("tier").report == {"moved": 2, "moves": {"hot_to_warm": 1, "hot_to_cold": 1}, "too_large": {}}


def test_the_curve_is_that_of_the_record(fill, run, change, principal, at, tiers):
    """Property 9, where tiers are decided: base · e^(−.05·days since the last access)."""
    chance = random.Random(9)
    ids = fill(200, 300)
    expected = []
    with access.enter(principal, why="test"):
        now = timezone.now()
        for each in ids:
            base, days = chance.random(), chance.uniform(0, 60)
            Fragment.objects.filter(id=each).update(base_relevance=base)
            Access.objects.count_up(principal.project_id, {each: 1}, {each: now - datetime.timedelta(days=days)})
            expected.append(Rates().decayed(base, days=days, kept=False) < COLD)
    run("tier")
    assert [tier == "cold" for tier in tiers(*ids)] == expected
    assert 20 < sum(expected) < 180


@pytest.mark.parametrize(("days", "base"), [(20_000, 1.0), (2, 5e-324), (20_000, 5e-324), (2, 0.0)])
def test_no_age_and_no_relevance_is_too_small(old, run, tiers, change, capacity, days, base):
    row = old(days, emotional_valence=5e-324)
    change(row, base_relevance=base, importance=base / 2)
    run("tier")
    assert tiers(row) == ["cold"]
    capacity(all=1)
    assert run("evict", target=0.0, dry_run=True).report["would_evict"] == 1


def test_a_tier_too_large_hands_down_its_oldest(fill, run, tiers, settings):
    old, young = fill(5, 20), fill(5, 2)
    settings.TIER_GB = {"hot": 7.5 * (776 + 22) / 1e9, "warm": 1.5 * (776 + 22) / 1e9}
    report = run("tier").report
    assert report["too_large"] == {"hot": 3, "warm": 2}
    assert tiers(*young) == ["hot"] * 5
    assert sorted(tiers(*old)) == ["cold"] * 2 + ["hot"] * 2 + ["warm"]


def test_what_is_pinned_is_not_handed_down(fill, run, tiers, settings, change):
    ids = fill(3, 20)
    change(ids[:2], is_pinned=True)
    settings.TIER_GB = {"hot": 1 / 1e9, "warm": 1 / 1e9}
    run("tier")
    assert tiers(*ids) == ["hot", "hot", "cold"]


def test_sizes_are_of_texts_and_vectors(store, principal, change):
    store("acme:main", "The otter swims.")
    change(store("acme:main", "The z\u00fcrich heron nests."), tier="cold")
    with access.enter(principal, why="test"):
        assert upkeep.lifecycle.sizes(principal.project_id) == {"hot": 16 + 776, "warm": 0, "cold": 24 + 776}


@pytest.mark.long
def test_thousands_move_in_few_queries(fill, run):
    spent = []
    for number in (1000, 2000):
        fill(number, 50)
        with CaptureQueriesContext(connection) as queries:
            assert run("tier").report["moved"] == number
        spent.append(len(queries))
    assert spent[0] == spent[1]


def test_one_namespace_alone(old, run, tiers):
    here, side = old(50), old(50, namespace="acme:side")
    run("tier", namespace=here.namespace)
    assert tiers(here, side) == ["cold", "hot"]


def test_by_hand(old, move, tiers):
    row = old(1)
    for here, there in (("hot", "warm"), ("warm", "cold"), ("cold", "hot"), ("hot", "hot")):
        assert move(row, here, there).tier == there
        assert tiers(row) == [there]


def test_by_hand_only_from_where_it_is(old, move, tiers):
    row = old(1)
    with pytest.raises(TierMismatch, match="hot"):
        move(row, "warm", "cold")
    assert tiers(row) == ["hot"]


def test_the_weaker_and_those_elsewhere_move_nothing(old, move, tiers, bob, charlie):
    row = old(1, source="system")
    for who, error in ((bob, NotPermitted), (charlie, NotFound)):
        with pytest.raises(error):
            move(row, "hot", "cold", by=who.principal)
    assert tiers(row) == ["hot"]


def test_thresholds_on_request(old, run, tiers, read_at):
    row = old(3)
    run("tier", warm_days=2)
    assert tiers(row) == ["warm"]
    read_at(row, 0)
    run("tier", promote_at=1)
    assert tiers(row) == ["hot"]
    run("tier", cold_below=1.0)
    assert tiers(row) == ["hot"]


@pytest.mark.parametrize(
    "options",
    [
        {"warm_days": 0},
        {"warm_days": 1.5},
        {"warm_days": True},
        {"promote_at": -5},
        {"cold_below": 1.5},
        {"cold_below": -0.1},
        {"cold_below": "x"},
        {"moon": 1},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(BadOptions):
        jobs.check_options("tier", options)
