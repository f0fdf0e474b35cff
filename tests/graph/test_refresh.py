"""Keeping connected beside everybody else's work: through an index, in nobody's way."""

import threading

import numpy as np
import pytest
from django.db import connections
from django.utils import timezone

from memories import access, erasure, ingest
from memories.models import Entity, Fragment, PendingConnection
from memories.providers import active_model
from memories.retrieval import indexed, indexes, maintain_indexes, scopes_of
from memories.upkeep.graph import refresh
from tests.graph.conftest import at


@pytest.fixture
def principal(service):
    """The service in a project whose rows others see."""
    return service


@pytest.fixture
def no_index_left(principal):
    """Drops the vector indexes that a test has built."""
    yield
    with connections["owner"].cursor() as cursor:
        cursor.execute(r"SELECT relname FROM pg_class WHERE relname LIKE 'vectors\_%'")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX IF EXISTS {name}")


def pending(principal):
    with access.enter(principal, why="test"):
        return PendingConnection.objects.within(principal.project_id).count()


def test_through_an_index_the_same_links_are_found(
    plant, connect, linked, rebuild, principal, monkeypatch, no_index_left
):
    monkeypatch.setattr(indexes, "CROSSOVER", 100)
    noise = np.random.default_rng(7).normal(size=(200, 384)) / np.sqrt(384)
    rows = plant(*[vector / np.linalg.norm(vector) for vector in at(0) + 0.3 * noise])
    connect()
    exact = linked()
    assert maintain_indexes(principal) == (1, 0)
    with access.enter(principal, why="test"):
        assert indexed(scopes_of([rows[0].namespace]), active_model())
    rebuild("links")
    assert len(linked().keys() & exact.keys()) > 0.9 * len(exact)  # it is approximate
    (near,) = plant(at(1))
    connect()
    assert {other for one, other in linked() if one == near.id}


def test_what_waits_for_its_vector_is_linked_when_it_has_one(principal, store, connect, linked, now):
    place = f"{principal.project}:main"
    one = store(place, "The heron nests behind the old mill.")
    draft = ingest.Draft(namespace=place, content="The heron nests behind the old mill today.")
    (late,) = ingest.store(principal, ingest.prepare([draft], embed_now=False), now=now)
    connect()
    assert linked() == {}
    ingest.embedding_queue.embed_pending(principal, now=timezone.now())
    connect()
    assert linked().keys() == {(one.id, late.fragment.id), (late.fragment.id, one.id)}


def test_who_stands_in_the_way_is_waited_for_later(plant, connect, linked, principal):
    one, other = plant(at(0), at(1))
    ready, done = threading.Event(), threading.Event()

    def hold():
        with access.enter(principal, why="test"):
            list(Fragment.objects.filter(id=one.id).select_for_update())
            ready.set()
            done.wait(timeout=60)
        connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    ready.wait(timeout=60)
    try:
        assert connect() == 0
        assert (linked(), pending(principal)) == ({}, 2)
    finally:
        done.set()
        holder.join()
    assert connect() == 2
    assert len(linked()) == 2


def test_what_is_forgotten_meanwhile_is_left_out(plant, connect, linked, principal, monkeypatch):
    rows = plant(at(0), at(1), at(2))
    held = refresh.lock_fragments

    def slow(project_id, ids):
        forget = threading.Thread(target=_forget, args=(principal, rows[1].id))
        forget.start()
        forget.join()
        monkeypatch.setattr(refresh, "lock_fragments", held)
        return held(project_id, ids)

    monkeypatch.setattr(refresh, "lock_fragments", slow)
    assert connect() == 3
    assert {end for pair in linked() for end in pair} == {rows[0].id, rows[2].id}
    assert pending(principal) == 0


def _forget(principal, fragment_id):
    erasure.forget(principal, fragment_id, now=timezone.now())
    connections.close_all()


def test_two_that_forget_the_last_mentions_at_once_leave_no_name(store, connect, principal, monkeypatch):
    rows = [store(f"{principal.project}:main", f"Carl went to Samarkand, {n}.") for n in range(2)]
    connect()
    ready = threading.Barrier(2)

    def erase(row):
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id=row.id).delete()

    def race(row):
        ready.wait(timeout=60)
        access.retry_on_contention(lambda: erase(row))  # the two are linked: their deletes may meet in a deadlock
        connections.close_all()

    workers = [threading.Thread(target=race, args=(row,)) for row in rows]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with access.enter(principal, why="test"):
        assert not Entity.objects.exists()
