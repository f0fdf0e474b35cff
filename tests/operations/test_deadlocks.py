"""Transactions that stand in each other's way: one is begun anew, and nobody hears of it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import OperationalError, connection, connections
from django.utils import timezone

from memories import access, erasure, jobs, tasks, upkeep, usage_counters
from memories.access import keys, retry_on_contention
from memories.models import Access, ApiKey, Namespace, PendingEmbedding
from memories.upkeep import vector_backfill
from novamem import database
from tests.conftest import TEST_DATABASE, stored


@pytest.fixture
def other_hand(service):
    """Another transaction of the project, which is open until it is ended."""
    url = database.url_for(django_settings.ENV["DATABASE_URL"], TEST_DATABASE)
    with psycopg.connect(url) as opened:
        opened.execute(f"SET LOCAL nova.project = '{service.project_id}'; SET LOCAL nova.users = '*'")
        yield opened
        opened.rollback()


@pytest.fixture
def further(service, small_endpoint):
    """A second model, and two memories that have no vector of it."""
    rows = [stored(service, f"{service.project}:main", f"The heron nests by mill {n}.") for n in range(2)]
    model = upkeep.model_registry.add_model(name="small", provider="openai", dim=64, now=timezone.now())
    yield model, sorted(rows, key=lambda row: row.id)
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM memories_embedding WHERE model_id = %s", [model.id])
        cursor.execute("DELETE FROM memories_embeddingmodel WHERE id = %s", [model.id])


AFTER_IT_WAITS = """DO $$ BEGIN
    WHILE NOT EXISTS (SELECT FROM pg_locks w JOIN pg_locks h USING (pid) WHERE NOT w.granted AND h.database =
        (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) LOOP PERFORM pg_sleep(0.01); END LOOP;
    {}
END $$"""


# In Postgres: of two in a circle that one is ended which finds it, each looking once, a second after it began to wait.
# Half of that second after the other, neither a late timer nor a late question turns them round.
LATER = "PERFORM pg_sleep(0.5);"


def meet(other, work, first, second):
    """Holds `first`, lets `work` wait for it with the second held, and asks for the second: `work` gives way."""
    change = "UPDATE memories_fragment SET importance = importance + 0.001 WHERE id = '{}';"
    with ThreadPoolExecutor(1) as pool:
        other.execute(change.format(first))

        def alone():
            try:
                return work()
            finally:
                connection.close()

        done = pool.submit(alone)
        other.execute(AFTER_IT_WAITS.format(LATER + change.format(second)))
        other.commit()
        return done.result(120)


def test_a_backfill_that_meets_a_writer_goes_on(service, further, other_hand, monkeypatch):
    monkeypatch.setattr(vector_backfill, "PATIENCE", 0.0)  # for writers from before: the other hand is one
    model, (low, high) = further
    operation = jobs.start_for_model(service, kind="backfill", model=model, now=timezone.now(), wake_up=False)
    ended = meet(other_hand, lambda: jobs.run(service, operation.id), high.id, low.id)
    assert (ended.state, ended.error) == ("succeeded", None)
    assert ended.report == {"model": "small", "embedded": 2, "missing": 0}


def test_the_erasure_of_a_user_that_meets_a_writer_goes_on(service, other_hand, now):
    ann = service.of_user("ann")
    rows = [stored(ann, f"{service.project}:main", f"The heron nests by mill {n}.") for n in range(2)]
    low, high = sorted(row.id for row in rows)
    erase = partial(erasure.erase_user, service, "ann", None, expected=2, now=now)
    assert meet(other_hand, erase, high, low).count == 2
    with access.enter(service.of_everybody(), why="test"):
        assert not Namespace.objects.filter(user="ann").exists()


def test_a_task_that_meets_a_writer_goes_on(service, further, other_hand):
    model, (low, high) = further
    with access.enter(service, why="test"):
        PendingEmbedding.objects.bulk_create(
            PendingEmbedding(project_id=service.project_id, fragment=row, model=model) for row in (low, high)
        )
    meet(other_hand, tasks.embed_pending, high.id, low.id)
    assert upkeep.vector_backfill.missing(service, model) == 0


def test_keys_that_two_processes_count_are_written_in_one_order(service, committed, now):
    wish = keys.KeyRequest(namespaces=[f"{committed.name}:*"], verbs=["read"], ceiling="inference")
    rows = [keys.issue(committed, wish, owner=None).row for _ in range(40)]
    ids = [row.id for row in rows]
    both = threading.Barrier(2)

    def write(order):
        try:
            for _ in range(15):
                both.wait(60)
                usage_counters._write(committed, usage_counters.Tally(keys=dict.fromkeys(order, now)))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write, ids), pool.submit(write, ids[::-1])]:
            done.result(240)
    with access.enter(service, why="test"):
        assert not ApiKey.objects.filter(id__in=ids).exclude(last_used_at=now).exists()


def test_a_memory_that_goes_meanwhile_costs_no_others_count(service, other_hand, now):
    gone, kept = (stored(service, f"{service.project}:main", f"The heron nests by mill {n}.") for n in range(2))
    other_hand.execute("DELETE FROM memories_fragment WHERE id = %s", [gone.id])
    usage_counters._tallies.clear()
    usage_counters.count_reads(service.project_id, [gone.id, kept.id], at=now)

    def flush():
        try:
            usage_counters.flush()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(flush)
        other_hand.execute(AFTER_IT_WAITS.format(""))
        other_hand.commit()
        done.result(60)
    with access.enter(service, why="test"):
        assert dict(Access.objects.values_list("fragment_id", "access_count")) == {kept.id: 1}


def failing(sqlstate, times):
    """Something that another transaction disturbs so many times; and how often it was begun."""
    begun = []

    def work():
        begun.append(sqlstate)
        if len(begun) <= times:
            raise OperationalError from psycopg.errors.lookup(sqlstate)()
        return "done"

    return work, begun


@pytest.mark.parametrize("sqlstate", ["40P01", "40001"])
def test_what_was_disturbed_is_begun_anew(sqlstate, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    work, begun = failing(sqlstate, 5)
    assert (retry_on_contention(work), len(begun)) == ("done", 6)
    assert len(set(pauses)) == 5  # by chance, so that those who met do not meet again
    with pytest.raises(OperationalError):
        retry_on_contention(failing(sqlstate, 6)[0])


def test_what_fails_otherwise_is_not(monkeypatch):
    work, begun = failing("53300", 1)
    with pytest.raises(OperationalError):
        retry_on_contention(work)
    assert len(begun) == 1


def test_inside_a_transaction_nothing_is_begun_anew(db, principal):
    work, begun = failing("40P01", 1)
    with access.enter(principal, why="test"), pytest.raises(OperationalError):
        retry_on_contention(work)
    assert len(begun) == 1
