"""Several models side by side: new and old memories get their vectors, a switch loses nothing."""

import threading

import pytest
from django.db import connections
from django.utils import timezone

from memories import access, ingest, jobs, operations, tasks, upkeep
from memories.models import Embedding, EmbeddingModel, PendingEmbedding
from memories.providers import active_model, live_models
from memories.providers.fake_endpoint import POISON
from memories.upkeep import vector_backfill


@pytest.fixture
def added(small_endpoint, db):
    """A second model, building."""
    return upkeep.model_registry.add_model(name="small", provider="openai", dim=64, now=timezone.now())


def backfill(principal, model, **more):
    options = {"model": model.name}
    operation = jobs.start(principal, kind="backfill", namespace=None, options=options, now=timezone.now())
    return jobs.run(principal, operation.id, **more)


def vectors(principal, model):
    with access.enter(principal, why="test"):
        return Embedding.objects.filter(project_id=principal.project_id, model=model).count()


def waiting(principal, model):
    with access.enter(principal, why="test"):
        return PendingEmbedding.objects.filter(project_id=principal.project_id, model=model).count()


def state(model):
    return EmbeddingModel.objects.get(id=model.id).state


def test_a_backfill_fills_what_is_there(principal, fill, added):
    EmbeddingModel.objects.filter(id=added.id).update(state="retired")  # so that nobody waits for it meanwhile
    fill(principal, 150)
    EmbeddingModel.objects.filter(id=added.id).update(state="building")
    seen = []
    ended = backfill(principal, added, watcher=lambda stage, done, total: seen.append((stage, done, total)))
    assert (ended.state, ended.report) == ("succeeded", {"model": "small", "embedded": 150, "missing": 0})
    assert seen == [("embeddings", 64, 150), ("embeddings", 128, 150), ("embeddings", 150, 150)]
    assert (vectors(principal, added), vectors(principal, active_model())) == (150, 150)
    assert state(added) == "ready"


def test_new_memories_wait_for_every_live_model(principal, fill, added, small_endpoint):
    fill(principal, 3)
    assert (vectors(principal, active_model()), waiting(principal, active_model())) == (3, 0)
    assert (vectors(principal, added), waiting(principal, added)) == (0, 3)
    tasks.embed_pending()
    assert (vectors(principal, added), waiting(principal, added)) == (3, 0)


def test_many_at_once_wait_too(principal, fill, added):
    fill(principal, 120, embed_now=False)
    assert (waiting(principal, active_model()), waiting(principal, added)) == (120, 120)


def test_a_new_text_waits_anew(principal, fill, added, store):
    fragment = store("acme:main", "The heron nests behind the old mill.")
    tasks.embed_pending()
    ingest.updates.revise(
        principal, fragment.id, changes={"content": "The otter lives here."}, revision=None, now=timezone.now()
    )
    assert (vectors(principal, added), waiting(principal, added)) == (0, 1)
    tasks.embed_pending()
    assert (vectors(principal, added), waiting(principal, added)) == (1, 0)


def test_a_switch_between_embedding_and_storing_loses_nothing(principal, added, project):
    draft = ingest.Draft(namespace="acme:main", content="The heron nests behind the old mill.")
    former = active_model()
    prepared = ingest.prepare([draft])
    upkeep.model_registry.activate(added.id)
    ingest.store(principal, prepared, now=timezone.now())
    assert (vectors(principal, former), waiting(principal, former)) == (1, 0)
    assert (vectors(principal, added), waiting(principal, added)) == (0, 1)


def test_a_retired_model_gets_nothing_more(principal, fill, added):
    upkeep.model_registry.retire(added.id)
    fill(principal, 2)
    assert (vectors(principal, added), waiting(principal, added)) == (0, 0)
    assert added not in live_models()


def test_the_active_model_is_served_first(principal, fill, added, small_endpoint):
    assert live_models() == [active_model(), added]
    upkeep.model_registry.activate(added.id)
    assert [model.name for model in live_models()] == ["small", "fake"]


def test_switch_and_switch_back(principal, fill, added):
    former = active_model()
    fill(principal, 3)
    backfill(principal, added)
    upkeep.model_registry.check_complete(added)
    upkeep.model_registry.activate(added.id)
    assert (active_model(), state(former), state(added)) == (added, "ready", "active")
    fill(principal, 5)
    tasks.embed_pending()
    upkeep.model_registry.check_complete(former)
    upkeep.model_registry.activate(former.id)
    assert (active_model(), state(former), state(added)) == (former, "active", "ready")


def test_a_dead_embedder_ends_it_and_the_next_goes_on(principal, fill, added, small_endpoint, monkeypatch):
    EmbeddingModel.objects.filter(id=added.id).update(state="retired")
    fill(principal, 200)
    EmbeddingModel.objects.filter(id=added.id).update(state="building")
    small_endpoint.mode = "unavailable"
    monkeypatch.setattr(vector_backfill, "BATCH", 16)
    ended = backfill(principal, added)
    assert (ended.state, ended.error["code"]) == ("failed", "embedder_unavailable")
    assert (vectors(principal, added), waiting(principal, added), state(added)) == (0, 32, "building")
    small_endpoint.mode = "right"
    assert backfill(principal, added).report == {"model": "small", "embedded": 200, "missing": 0}
    assert (vectors(principal, added), waiting(principal, added), state(added)) == (200, 0, "ready")


def test_a_text_that_is_refused_waits_and_holds_up_nobody(principal, fill, added, small_endpoint, store):
    fill(principal, 5)
    store("acme:main", f"A {POISON} of a text.")
    small_endpoint.mode = "picky"
    assert backfill(principal, added).report == {"model": "small", "embedded": 5, "missing": 1}
    assert (vectors(principal, added), waiting(principal, added), state(added)) == (5, 1, "ready")


def test_it_goes_on_where_it_was(principal, fill, added, monkeypatch, row_of):
    monkeypatch.setattr(vector_backfill, "BATCH", 10)
    fill(principal, 35)

    class Killed(BaseException):
        pass

    def watcher(_, done, total):
        if done == 20:
            raise Killed

    options = {"model": added.name}
    operation = jobs.start(principal, kind="backfill", namespace=None, options=options, now=timezone.now())
    with pytest.raises(Killed):
        jobs.run(principal, operation.id, watcher=watcher)
    assert row_of(principal, operation).state == "running"
    later = timezone.now() + operations.leases.lease() * 2
    monkeypatch.setattr(operations.runner.timezone, "now", lambda: later)
    seen = []
    ended = jobs.run(principal, operation.id, watcher=lambda _, done, total: seen.append((done, total)))
    assert ended.state == "succeeded"
    assert seen[0] == (20, 35)  # the batch of the kill was not kept
    assert vectors(principal, added) == 35


def test_it_can_be_cancelled(principal, fill, added, monkeypatch):
    monkeypatch.setattr(vector_backfill, "BATCH", 10)
    fill(principal, 35)
    options = {"model": added.name}
    operation = jobs.start(principal, kind="backfill", namespace=None, options=options, now=timezone.now())

    def watcher(_, done, total):
        if done == 10:
            operations.cancel(principal, operation.id, now=timezone.now())

    assert jobs.run(principal, operation.id, watcher=watcher).state == "cancelled"
    assert (vectors(principal, added), state(added)) == (10, "building")


def test_retiring_drops_the_vectors_in_batches(principal, fill, added, monkeypatch):
    monkeypatch.setattr(vector_backfill, "DROP_BATCH", 10)
    fill(principal, 25)
    backfill(principal, added)
    upkeep.model_registry.retire(added.id)
    options = {"model": added.name}
    operation = jobs.start(principal, kind="retire", namespace=None, options=options, now=timezone.now())
    assert jobs.run(principal, operation.id).report == {"model": "small", "fragments": 25}
    assert (vectors(principal, added), waiting(principal, added), vectors(principal, active_model())) == (0, 0, 25)


def test_a_model_taken_up_again_keeps_its_vectors(principal, fill, added):
    fill(principal, 5)
    backfill(principal, added)
    upkeep.model_registry.retire(added.id)
    operation = jobs.start(principal, kind="retire", namespace=None, options={"model": added.name}, now=timezone.now())
    upkeep.model_registry.begin_backfill(added.id)
    jobs.run(principal, operation.id)
    assert vectors(principal, added) == 5


def test_the_active_model_is_not_retired(principal, db):
    with pytest.raises(upkeep.model_registry.UnfitState):
        upkeep.model_registry.retire(active_model().id)


@pytest.fixture
def everywhere(service, small_endpoint, django_db_blocker):
    """A second model that other threads see, gone afterwards."""
    model = upkeep.model_registry.add_model(name="small", provider="openai", dim=64, now=timezone.now())
    yield model
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM memories_embedding WHERE model_id = %s", [model.id])
        cursor.execute("DELETE FROM memories_embeddingmodel WHERE id = %s", [model.id])


def test_writers_backfill_and_worker_at_once(service, fill, everywhere, at_once):
    """However they interleave, each memory has one vector of each model in the end."""
    fill(service, 60)
    stop = threading.Event()

    def write():
        for _ in range(10):
            fill(service, 7)

    def work():
        while not stop.is_set():
            ingest.embedding_queue.embed_pending(service, now=timezone.now(), model=everywhere)

    def fill_up():
        try:
            return backfill(service, everywhere)
        finally:
            stop.set()

    *_, ended = at_once(write, work, fill_up)
    assert ended.state == "succeeded"
    while ingest.embedding_queue.embed_pending(service, now=timezone.now(), model=everywhere)[0]:
        pass
    assert upkeep.vector_backfill.missing(service, everywhere) == 0
    assert vectors(service, everywhere) == vectors(service, active_model()) == 130


def test_a_store_that_began_before_the_model_is_not_overlooked(service, fill, everywhere, at_once):
    """The backfill waits for transactions that were open when it began."""
    upkeep.model_registry.retire(everywhere.id)
    stored, begun = threading.Event(), threading.Event()

    def slow_store():
        with access.enter(service, why="test"):
            fill(service, 3)  # does not know of the model
            stored.set()
            begun.wait(timeout=60)

    def fill_up():
        assert stored.wait(timeout=60)
        upkeep.model_registry.begin_backfill(everywhere.id)
        threading.Timer(0.3, begun.set).start()
        return backfill(service, everywhere)

    _, ended = at_once(slow_store, fill_up)
    assert ended.report == {"model": "small", "embedded": 3, "missing": 0}
