"""What is kept about the service's own work, and for how long."""

import datetime
import uuid

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from memories import access, jobs, tasks
from memories.models import Operation, RateBudget, RepeatedRequest, SearchDay, Seat
from memories.operations import leases


@pytest.fixture
def ended(principal, store):
    """An operation that ended some days ago."""
    home = store("acme:main", "The mill turns.").namespace

    def make(days, *, kind="tier", **values):
        at = timezone.now() - datetime.timedelta(days=days)
        values = {"state": "succeeded", "finished_at": at, "created_at": at, **values}
        with access.enter(principal, why="test"):
            return Operation.objects.create(project_id=principal.project_id, namespace=home, kind=kind, **values).id

    return make


def left(principal):
    with access.enter(principal, why="test"):
        return set(Operation.objects.within(principal.project_id).values_list("id", flat=True))


def test_operations_that_ended_long_ago_go_in_batches(principal, ended, monkeypatch):
    monkeypatch.setattr(leases, "BATCH", 2)
    kept = {ended(89), ended(1), ended(400, state="queued", finished_at=None)}
    for _ in range(5):
        ended(91, state="failed")
    assert jobs.expire(principal, now=timezone.now()) == 5
    assert left(principal) == kept
    assert jobs.expire(principal, now=timezone.now()) == 0


def test_what_can_still_be_undone_stays(principal, ended, settings):
    settings.OPERATION_DAYS, settings.CONSOLIDATION_UNDO_DAYS, settings.ARCHIVE_DAYS = 30, 60, 100
    kept = {ended(59, kind="consolidate"), ended(59, kind="merge"), ended(99, kind="evict"), ended(29)}
    for kind, days in (("consolidate", 61), ("merge", 61), ("evict", 101), ("compact", 101), ("backup", 31)):
        ended(days, kind=kind)
    tasks.expire_operations()
    assert left(principal) == kept


def test_the_setting_may_keep_operations_for_good(principal, ended, settings):
    kept = ended(10_000)
    settings.OPERATION_DAYS = 0
    tasks.expire_operations()
    assert left(principal) == {kept}


def test_a_namespace_in_which_nothing_changes_is_consolidated_once_a_day(principal, store):
    store("acme:main", "The heron nests behind the mill.")

    def started(at):
        with access.enter(principal, why="test"):
            before = Operation.objects.count()
        jobs.consolidate_everything(principal, now=at)
        with access.enter(principal, why="test"):
            made = Operation.objects.count() - before
            Operation.objects.filter(finished_at=None).update(state="succeeded", finished_at=at)
        return made

    now = timezone.now()
    tasks.keep_connections()
    assert started(now) == 1
    assert [started(now + datetime.timedelta(hours=hour)) for hour in (1, 2, 23)] == [0, 0, 0]
    assert started(now + datetime.timedelta(hours=25)) == 1
    store("acme:main", "The otter swims at night.")
    tasks.keep_connections()
    assert started(now + datetime.timedelta(hours=26)) == 1


def test_answers_of_repeated_requests_stay_as_long_as_is_set(principal, settings):
    def answer(hours):
        at = timezone.now() - datetime.timedelta(hours=hours)
        with access.enter(principal, why="test"):
            return RepeatedRequest.objects.create(
                project_id=principal.project_id, key_id=uuid.uuid4(), idempotency_key=str(hours), body_digest=b"d",
                status=201, answer={}, created_at=at,
            ).id  # fmt: skip

    def kept():
        with access.enter(principal, why="test"):
            return set(RepeatedRequest.objects.within(principal.project_id).values_list("id", flat=True))

    young, middle, _ = answer(1), answer(47), answer(49)
    tasks.expire_requests()
    assert kept() == {young, middle}
    settings.IDEMPOTENCY_HOURS = 24
    tasks.expire_requests()
    assert kept() == {young}


def test_how_searches_went_stays_as_long_as_is_set(principal, settings):
    def days():
        with access.enter(principal, why="test"):
            found = SearchDay.objects.within(principal.project_id).values_list("day", flat=True)
            return {(timezone.now().date() - day).days for day in found}

    for age in (1, 399, 401):
        with access.enter(principal, why="test"):
            day = timezone.now().date() - datetime.timedelta(days=age)
            SearchDay.objects.count_up(principal.project_id, day, {(0, True): 1})
    settings.USAGE_DAYS = 0
    tasks.expire_usage()
    assert days() == {1, 399, 401}
    settings.USAGE_DAYS = 400
    tasks.expire_usage()
    assert days() == {1, 399}


def test_sessions_that_are_over_seats_nobody_gave_back_and_full_buckets_go(db):
    now = timezone.now()
    ago, soon = now - datetime.timedelta(days=2), now + datetime.timedelta(days=1)
    for name, at in (("over", ago), ("open", soon)):
        Session.objects.create(session_key=name, session_data="", expire_date=at)
        Seat.objects.create(kind="stream", holder=name, until=at)
    for at in (ago, now):
        RateBudget.objects.create(key_id=uuid.uuid4(), tokens=1, wait=0, at=at)
    tasks.expire_sessions()
    assert set(Session.objects.values_list("session_key", flat=True)) == {"open"}
    assert set(Seat.objects.values_list("holder", flat=True)) == {"open"}
    assert not RateBudget.objects.filter(at__lt=now - datetime.timedelta(days=1)).exists()
    assert RateBudget.objects.filter(at=now).count() == 1
