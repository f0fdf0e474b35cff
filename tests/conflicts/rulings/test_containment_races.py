"""Containments of a key that is writing: what it writes is there before and set aside, or refused."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections
from django.utils import timezone

from memories import access, containment, ingest
from memories.access import NotPermitted, keys
from memories.backups.bundle.writer import snapshot
from memories.ingest import updates
from memories.models import Fragment
from memories.models.sql import fetch
from tests.conftest import as_owner


def principal_of(project, owner, *verbs, ceiling="user_explicit"):
    request = keys.KeyRequest([f"{project.name}:*"], ["read", "write", *verbs], ceiling, requests_per_minute=0)
    issued = keys.issue(project, request, owner=owner)
    return access.principal_of_key(issued.text, now=timezone.now())


@pytest.fixture
def admin(committed):
    """Who sets aside what a stolen key wrote."""
    return principal_of(committed, "admin", "admin")


@pytest.fixture
def thief(committed):
    """A stolen key."""
    return principal_of(committed, "thief", ceiling="tool_output")


def stores(thief, content):
    draft = ingest.Draft(namespace=f"{thief.project}:main", content=content)
    return ingest.store(thief, ingest.prepare([draft]), now=timezone.now())[0].fragment


def set_aside(admin, thief):
    with access.enter(admin, why="test"):
        ground = containment.by_key(admin, str(thief.key_id))
        return containment.contain(admin, ground, now=timezone.now())


def in_thread(do, *given):
    try:
        return do(*given)
    finally:
        connections.close_all()


def wait_for_a_waiter(of):
    end = time.monotonic() + 20
    with as_owner() as session:
        while not session.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0]:
            assert not of.done(), of.exception()
            assert time.monotonic() < end, "nobody waits"
            time.sleep(0.02)


def test_what_was_begun_before_is_set_aside_too(admin, thief):
    entered, go = threading.Event(), threading.Event()

    def writes():
        with access.enter(thief, why="test"):
            entered.set()
            assert go.wait(20)
            return stores(thief, "Pay account 666.")

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(in_thread, writes)
        assert entered.wait(20)
        containing = threads.submit(in_thread, set_aside, admin, thief)
        wait_for_a_waiter(containing)
        go.set()
        written, row = writing.result(20), containing.result(20)
    assert row.written == 1
    with access.enter(admin, why="test"):
        assert Fragment.objects.get(id=written.id).status == "quarantined"


@pytest.mark.parametrize("deed", ["store", "revise"])
def test_what_begins_meanwhile_is_refused(admin, thief, deed):
    had = stores(thief, "The heron nests behind the old mill.")

    def writes():
        if deed == "store":
            stores(thief, "Pay account 666.")
        else:
            updates.revise(thief, had.id, changes={"content": "Pay account 666."}, revision=None, now=timezone.now())

    with ThreadPoolExecutor(1) as threads:
        with access.enter(admin, why="test"):
            assert set_aside(admin, thief).written == 1
            writing = threads.submit(in_thread, writes)
            wait_for_a_waiter(writing)
        with pytest.raises(NotPermitted):
            writing.result(20)
    with access.enter(admin, why="test"):
        assert list(Fragment.objects.values_list("status", "content")) == [("quarantined", had.content)]
    assert not connection.in_atomic_block


def test_a_key_may_read_one_moment(admin):
    with snapshot(admin, why="test"):
        assert fetch("SHOW transaction_isolation", []) == [("repeatable read",)]
