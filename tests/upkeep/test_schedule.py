"""Every hour: an operation for each job that has something to do, in each project."""

import pytest
from django.utils import timezone

from memories import access, jobs, tasks
from memories.models import Archive, Operation
from novamem.celery import app


@pytest.fixture
def started(principal):
    """The kinds of operations that wait now."""

    def kinds():
        with access.enter(principal, why="test"):
            return sorted(Operation.objects.filter(state="queued").values_list("kind", flat=True))

    return kinds


def test_where_nothing_is_due_nothing_is_started(old, started, db):
    old(10)
    tasks.keep_small()
    assert started() == []


def test_what_is_due_is_started_once(old, started, capacity, fill):
    old(40)
    fill(4, 2)
    capacity(all=6)
    tasks.keep_small()
    assert started() == ["compact", "evict", "tier"]
    tasks.keep_small()
    assert started() == ["compact", "evict", "tier"]


def test_after_the_run_nothing_is_due(old, started, principal):
    old(40)
    for operation in jobs.start_due(principal, now=timezone.now()):
        jobs.run(principal, operation.id)
    assert jobs.start_due(principal, now=timezone.now()) == []


def test_a_tier_that_is_too_large_is_due(old, started, settings):
    old(1)
    settings.TIER_GB = {"hot": 1e-9, "warm": 10.0}
    tasks.keep_small()
    assert started() == ["tier"]


def test_what_lay_archived_for_a_year_is_due(old, started, change):
    row = old(400, importance=0.9)
    change(row, status="archived", tier="cold", updated_at=row.created_at)
    tasks.keep_small()
    assert started() == ["archive"]


def test_copies_expire(old, run, at, count, settings):
    old(40, "One. Two. Three. Four.")
    run("compact")
    tasks.expire_copies()
    assert count(Archive) == 1
    at(-settings.ARCHIVE_DAYS - 1)
    tasks.expire_copies()
    assert count(Archive) == 0


def test_both_are_on_the_schedule_every_hour():
    entries = {entry["task"]: entry["schedule"] for entry in app.conf.beat_schedule.values()}
    assert (entries["memories.tasks.keep_small"], entries["memories.tasks.expire_copies"]) == (3600.0, 3600.0)
