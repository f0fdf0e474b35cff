"""DECAY_SM2: what is read on several days fades more slowly, everywhere alike."""

import datetime
import math

import pytest
from django.db import IntegrityError, transaction

from memories import access
from memories.models import Access
from memories.models.scoring import MOST_STABLE

DAY = datetime.timedelta(days=1)


@pytest.fixture
def born(old):
    """A memory of a hundred days."""
    return old(100, type="episodic")


@pytest.fixture
def read(principal, born):
    """Lets the memory be read so many days after its birth; how stable it is then."""

    def on(days):
        noon = born.created_at.replace(hour=12)
        with access.enter(principal, why="test"):
            Access.objects.count_up(principal.project_id, {born.id: 1}, {born.id: noon + days * DAY})
            return Access.objects.get(fragment=born).stability

    return on


@pytest.fixture
def seen(alice, born, run):
    """Its relevance as it is read and as it is ranked, and whether tiering and consolidation take it for faded."""

    def four():
        row = alice.client.get(f"/api/v1/fragments/{born.id}").json()
        asked = {"query": "heron", "namespace": "acme:main", "profile": "hindsight"}
        (hit,) = alice.client.post("/api/v1/search", asked, format="json").json()["results"]
        moved = run("tier", dry_run=True).report["moved"]
        archived = run("consolidate", namespace=born.namespace, dry_run=True).report["archived"]
        return row["relevance_score"], hit["ranking_signals"]["decay"], moved, archived

    return four


def test_off_nothing_gets_more_stable(read):
    assert [read(day) for day in (0, 1, 2)] == [1, 1, 1]


def test_each_further_day_makes_it_more_stable_once(read, settings):
    settings.DECAY_SM2 = True
    days = (0, 1, 1, 2, 1, 9)
    assert [read(day) for day in days] == pytest.approx([1, 1.3, 1.3, 1.69, 1.69, 2.197])


def test_the_first_read_counts_when_it_is_on_another_day(read, settings):
    settings.DECAY_SM2 = True
    assert read(3) == pytest.approx(1.3)


def test_it_gets_ten_times_as_stable_at_most(read, settings):
    settings.DECAY_SM2 = True
    assert [read(day) for day in range(20)][-1] == MOST_STABLE


@pytest.mark.parametrize("stability", [0.9, 10.1, float("nan")])
def test_the_database_knows_the_limits(read, born, stability, principal):
    read(0)
    with access.enter(principal, why="test"), pytest.raises(IntegrityError), transaction.atomic():
        Access.objects.filter(fragment=born).update(stability=stability)


def test_what_was_gained_stays_when_it_is_turned_off(read, settings):
    settings.DECAY_SM2 = True
    read(1)
    settings.DECAY_SM2 = False
    assert read(2) == pytest.approx(1.3)


def test_all_places_fade_alike(read, seen, settings):
    settings.DECAY_SM2 = True
    fading = math.exp(-0.05 * 100)
    assert seen() == (pytest.approx(fading, abs=1e-4), pytest.approx(fading, abs=1e-4), 1, 1)
    for day in range(1, 9):
        stability = read(day)
    lasting = math.exp(-0.05 * 92 / stability)
    relevance, decay, moved, archived = seen()
    assert relevance == pytest.approx(lasting, abs=0.01)
    assert decay == pytest.approx(relevance, abs=1e-4)
    assert (moved, archived) == (1, 0)


def test_forgetting_by_relevance_when_stable_selects_what_search_shows(alice, read, settings):
    settings.DECAY_SM2 = True
    for day in range(1, 9):
        read(day)
    asked = {"namespace": "acme:main", "filters": {"min_relevance": 0.3}}
    found = alice.client.post("/api/v1/search", {**asked, "query": "heron"}, format="json").json()["results"]
    forgotten = alice.client.post("/api/v1/forget", {**asked, "dry_run": True}, format="json").json()
    assert forgotten["ids"] == [hit["id"] for hit in found]
    assert len(found) == 1
