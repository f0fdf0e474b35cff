"""What lay archived for a year leaves for the archive; copies expire."""

import datetime

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, ingest, jobs, upkeep
from memories.models import Archive, Fragment, Tombstone
from memories.models.enums import EvictionReason
from memories.operations import BadOptions
from memories.upkeep.lifecycle import archival
from memories.upkeep.lifecycle.removal import Cause
from memories.upkeep.lifecycle.snapshots import copy_fragments as take_copies

PERIOD = ClaimDraft(
    "Ada", "lives in", "Seattle", scope="temporal", valid_from=datetime.datetime(2019, 1, 1, tzinfo=datetime.UTC)
)


@pytest.fixture
def archived(old, at, principal):
    """A memory that was archived by hand so many days ago."""

    def put(days, content="The heron nests behind the old mill.", **more):
        row = old(days + 10, content, **more)
        now = at(days)
        ingest.updates.archive(principal, row.id, now=now)
        at(0)
        return row

    return put


@pytest.fixture
def stones(principal):
    """The tombstones: reason and details by fragment."""

    def read():
        with access.enter(principal, why="test"):
            rows = Tombstone.objects.within(principal.project_id)
            return {row.original_id: (row.reason, row.reason_details) for row in rows}

    return read


def test_after_a_year_a_tombstone_is_left(archived, run, stones, fresh):
    late, early = archived(366), archived(364, "The otter swims.")
    assert run("archive").report == {"put_away": 1}
    assert stones() == {late.id: ("manual_deletion", {"archived": "by_hand"})}
    assert fresh(late) is None
    assert fresh(early).status == "archived"


def test_who_took_its_place_is_told(archived, run, stones, change, old):
    row, other, third = archived(400), archived(400, "The otter swims."), old(1, "The mill is new.")
    change(row, superseded_by=third.id, archived_reason="superseded")
    change(other, archived_reason="decayed")
    run("archive")
    assert stones() == {
        row.id: ("superseded", {"by": str(third.id), "archived": "superseded"}),
        other.id: ("low_weight", {"archived": "decayed"}),
    }


@pytest.mark.parametrize("kept", [{"is_pinned": True}, {"is_anchor": True}, {"claim": PERIOD}])
def test_history_and_what_is_kept_on_purpose_stay(archived, run, fresh, kept):
    row = archived(400, **kept)
    assert run("archive").report == {"put_away": 0}
    assert fresh(row).status == "archived"


def test_what_is_not_archived_stays(old, run, fresh):
    row = old(1000)
    assert run("archive").report == {"put_away": 0}
    assert fresh(row).status == "active"


def test_a_dry_run_changes_nothing(archived, run, picture):
    row = archived(400)
    before = picture()
    assert run("archive", dry_run=True).report == {"would_put_away": 1, "ids": [str(row.id)]}
    assert picture() == before


def test_undo_brings_them_back(archived, run, undo, picture, count):
    archived(400), archived(500, "The otter swims.")
    before = picture()
    ended = run("archive")
    assert (count(Fragment), count(Tombstone), count(Archive)) == (0, 2, 2)
    assert undo(ended)["restored"] == 2
    assert picture() == before


def test_copies_expire_and_tombstones_stay(archived, run, undo, principal, count, settings):
    archived(400)
    ended = run("archive")
    later = timezone.now() + datetime.timedelta(days=settings.ARCHIVE_DAYS)
    assert upkeep.lifecycle.expire_copies(principal, now=later - datetime.timedelta(minutes=1)) == 0
    assert upkeep.lifecycle.expire_copies(principal, now=later) == 1
    assert (count(Archive), count(Tombstone)) == (0, 1)
    assert undo(ended)["restored"] == 0


def test_many_expire_at_once(fill, principal, now, count):
    ids = fill(1200)
    with access.enter(principal, why="test"):
        take_copies(principal.project_id, ids, reason="evicted", operation_id=None, now=now)
    assert upkeep.lifecycle.expire_copies(principal, now=now + datetime.timedelta(days=4000)) == 1200
    assert count(Archive) == 0


def test_it_takes_no_options():
    with pytest.raises(BadOptions):
        jobs.check_options("archive", {"days": 3})


@pytest.mark.parametrize("why", ["by_hand", "by_person"])
def test_who_put_it_away_by_hand_is_told(why):
    assert archival._cause(None, why) == Cause(EvictionReason.MANUAL_DELETION, {"archived": why})
