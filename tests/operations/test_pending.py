"""Embedding what waits: pauses after failures, many at once, two workers."""

import datetime
import threading

import pytest
from django.db import connection
from django.utils import timezone

from memories import access, erasure, ingest, tasks
from memories.models import Embedding, PendingEmbedding
from memories.providers import embeddings
from memories.providers.fake import FakeEmbedder


class Away(FakeEmbedder):
    """An embedder whose model is away."""

    def embed(self, texts):
        raise embeddings.EmbeddingFailed("away")


@pytest.fixture
def away(monkeypatch):
    """No embedder answers."""
    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Away())


def waiting(principal):
    with access.enter(principal, why="test"):
        return list(PendingEmbedding.objects.within(principal.project_id).values_list("attempts", "not_before"))


def test_success_takes_the_mark_away(principal, fill, count, now):
    fill(principal, 3, embed_now=False)
    assert ingest.embedding_queue.embed_pending(principal, now=later(now)) == (3, 0)
    assert (count(PendingEmbedding), embedded(principal)) == (0, 3)
    assert ingest.embedding_queue.embed_pending(principal, now=later(now)) == (0, 0)


def later(now):
    return now + datetime.timedelta(minutes=1)


def embedded(principal):
    with access.enter(principal, why="test"):
        return Embedding.objects.filter(project_id=principal.project_id).count()


def test_failures_are_tried_again_after_growing_pauses(principal, fill, now, away):
    fill(principal, 1, embed_now=False)
    at, pauses = later(now), []
    for attempt in range(1, 14):
        assert ingest.embedding_queue.embed_pending(principal, now=at) == (0, 1)
        ((attempts, not_before),) = waiting(principal)
        assert attempts == attempt
        assert ingest.embedding_queue.embed_pending(principal, now=not_before - datetime.timedelta(seconds=1)) == (0, 0)
        pauses.append((not_before - at).total_seconds())
        at = not_before
    assert pauses[:4] == [20, 40, 80, 160]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 3600
    assert embedded(principal) == 0


def test_a_text_that_is_never_embedded_holds_up_no_others(principal, fill, now, monkeypatch):
    """It takes its batch along at first; each further try is with fewer others."""
    fragments = fill(principal, 70, embed_now=False)

    class Stumbling(FakeEmbedder):
        def embed(self, texts):
            if fragments[20].content in texts:
                raise embeddings.EmbeddingFailed("took over 30 s")
            return super().embed(texts)

    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Stumbling())
    at, rounds = later(now), 0
    while embedded(principal) < 69:
        at, rounds = at + datetime.timedelta(hours=2), rounds + 1
        for _ in range(70):  # what a worker does: on while something succeeds; here also after failures
            if ingest.embedding_queue.embed_pending(principal, now=at) == (0, 0):
                break
    assert rounds < 10
    ((attempts, _),) = waiting(principal)
    assert attempts >= rounds


def test_after_a_failure_it_succeeds(principal, fill, count, now, away, monkeypatch):
    fill(principal, 2, embed_now=False)
    ingest.embedding_queue.embed_pending(principal, now=later(now))
    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", FakeEmbedder())
    assert ingest.embedding_queue.embed_pending(principal, now=later(later(now))) == (2, 0)
    assert (count(PendingEmbedding), embedded(principal)) == (0, 2)


def test_many_are_embedded_in_batches(principal, fill, count, monkeypatch):
    sizes = []

    class Counting(FakeEmbedder):
        def embed(self, texts):
            sizes.append(len(texts))
            return super().embed(texts)

    fill(principal, 150, embed_now=False)
    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Counting())
    tasks.embed_pending()
    assert (count(PendingEmbedding), embedded(principal)) == (0, 150)
    assert [size for size in sizes if size] == [64, 64, 22]


def test_two_workers_at_once_embed_each_text_once(service, fill, at_once, monkeypatch, now):
    begun, passed = threading.Event(), threading.Event()

    class Slow(FakeEmbedder):
        def embed(self, texts):
            begun.set()
            assert passed.wait(timeout=60)
            return super().embed(texts)

    def meanwhile():
        assert begun.wait(timeout=60)
        found = ingest.embedding_queue.embed_pending(service, now=later(now))
        passed.set()
        return found

    fill(service, 10, embed_now=False)
    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Slow())
    assert at_once(lambda: ingest.embedding_queue.embed_pending(service, now=later(now)), meanwhile) == [
        (10, 0),
        (0, 0),
    ]
    assert embedded(service) == 10
    assert waiting(service) == []


def test_a_fragment_forgotten_meanwhile_gets_no_vector(principal, fill, count, now, monkeypatch):
    fragment, *_ = fill(principal, 3, embed_now=False)

    class Slow(FakeEmbedder):
        def embed(self, texts):
            erasure.forget(principal, fragment.id, now=timezone.now())
            return super().embed(texts)

    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Slow())
    assert ingest.embedding_queue.embed_pending(principal, now=later(now)) == (2, 0)
    assert (count(PendingEmbedding), embedded(principal)) == (0, 2)


def test_a_slow_embedder_keeps_no_connection(service, fill, monkeypatch, now):
    held = []

    class Slow(FakeEmbedder):
        def embed(self, texts):
            held.append(connection.connection)
            return super().embed(texts)

    fill(service, 1, embed_now=False)
    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Slow())
    assert ingest.embedding_queue.embed_pending(service, now=later(now)) == (1, 0)
    assert held == [None]
