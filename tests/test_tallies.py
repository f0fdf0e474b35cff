"""Counts that are collected in memory and written in batches."""

import datetime
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from django.db import DatabaseError, connections, transaction

from memories import access, usage_counters
from memories.models import Access, SearchDay


@pytest.fixture(autouse=True)
def _empty():
    """No counts of other tests."""
    usage_counters._tallies.clear()
    yield
    usage_counters._tallies.clear()


def counts(principal):
    with access.enter(principal, why="test"):
        return {row.fragment_id: (row.access_count, row.last_accessed_at) for row in Access.objects.all()}


def test_reads_add_up_and_the_latest_time_stays(principal, store, now):
    row, earlier = store("acme:main", "The heron nests behind the old mill."), now - datetime.timedelta(hours=1)
    usage_counters.count_reads(principal.project_id, [row.id, row.id], at=now)
    usage_counters.count_reads(principal.project_id, [row.id], at=earlier)
    usage_counters.flush()
    usage_counters.count_reads(principal.project_id, [row.id], at=earlier)
    usage_counters.flush()
    assert counts(principal) == {row.id: (4, now)}


def test_what_is_gone_by_now_is_passed_over(principal, store, now):
    row = store("acme:main", "The heron nests behind the old mill.")
    usage_counters.count_reads(principal.project_id, [row.id, uuid.uuid4()], at=now)
    usage_counters.count_reads(uuid.uuid4(), [uuid.uuid4()], at=now)
    usage_counters.flush()
    assert counts(principal) == {row.id: (1, now)}


def test_nothing_read_is_nothing_noted(principal, now):
    usage_counters.count_reads(principal.project_id, [], at=now)
    assert not usage_counters._tallies


def test_what_could_not_be_written_waits(principal, store, now, monkeypatch):
    row = store("acme:main", "The heron nests behind the old mill.")
    usage_counters.count_reads(principal.project_id, [row.id], at=now)
    with monkeypatch.context() as patch:
        patch.setattr(usage_counters, "_write", lambda *_: (_ for _ in ()).throw(DatabaseError("away")))
        with pytest.raises(DatabaseError):
            usage_counters.flush()
    usage_counters.count_reads(principal.project_id, [row.id], at=now)
    usage_counters.flush()
    assert counts(principal) == {row.id: (2, now)}


def test_a_project_that_is_deleted_meanwhile_stops_no_other(committed, neighbour, now):
    for project in (committed, neighbour):
        usage_counters.count_search(project.id, took=5.0, found=True, at=now)
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
            cursor.execute("DELETE FROM memories_project WHERE id = %s", [committed.id])
            written = threads.submit(usage_counters.finish)
            until, waits = time.monotonic() + 20, False
            while not waits and not written.done() and time.monotonic() < until:
                cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
                waits = cursor.fetchone()[0]
            assert waits
        written.result(20)
    usage_counters.flush()
    assert not usage_counters._tallies
    with access.enter(access.system_principal(neighbour), why="test"):
        assert SearchDay.objects.count() == 1


def test_who_writes_last_waits_for_who_writes_still(committed, now, monkeypatch):
    begun, go, order = threading.Event(), threading.Event(), []

    def write(*_):
        begun.set()
        assert go.wait(60)
        order.append("written")

    monkeypatch.setattr(usage_counters, "_write", write)
    usage_counters.count_reads(committed.id, [uuid.uuid4()], at=now)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(usage_counters.finish)
        assert begun.wait(60)
        last = threads.submit(usage_counters.finish)
        last.add_done_callback(lambda _: order.append("finished"))
        assert last in wait([last], timeout=1).not_done
        go.set()
        first.result(60)
        last.result(60)
    assert order == ["written", "finished"]
