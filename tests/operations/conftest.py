"""Operations of a committed project, and several workers at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.utils import timezone

from memories import access, ingest, operations
from memories.models import Operation


@pytest.fixture
def begin():
    """A queued operation."""

    def queued(principal, **more):
        wish = {"kind": "rebuild", "namespace": None, "options": {"target": "keywords"}, "dry_run": False}
        return operations.start(principal, **{**wish, "now": timezone.now(), **more})

    return queued


@pytest.fixture
def row_of():
    """The operation as the database has it."""

    def read(principal, operation):
        with access.enter(principal, why="test"):
            return Operation.objects.get(id=operation.id)

    return read


@pytest.fixture
def fill():
    """Stores fragments with words of their own; without vectors when they shall wait for them."""

    def store(principal, number, *, embed_now=True):
        texts = [f"Memory {n} is about the {word}." for n, word in zip(range(number), words(), strict=False)]
        drafts = [ingest.Draft(namespace=f"{principal.project}:main", content=text) for text in texts]
        kept = ingest.store(principal, ingest.prepare(drafts, embed_now=embed_now), now=timezone.now())
        return [admission.fragment for admission in kept]

    return store


def words():
    """heron0, otter1, … without end."""
    number = 0
    while True:
        yield f"{('heron', 'otter', 'mill', 'river')[number % 4]}{number}"
        number += 1


@pytest.fixture
def at_once():
    """Runs functions at the same time, each with a connection of its own; their results in order."""

    def run(*works):
        barrier = threading.Barrier(len(works))

        def one(work):
            try:
                barrier.wait(timeout=60)
                return work()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(len(works)) as pool:
            return [future.result() for future in [pool.submit(one, work) for work in works]]

    return run
