"""When what was restored is found by what it means: measured meanwhile, told in the report and by the command."""

import io
import threading
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.db import OperationalError

from memories import access, tasks
from memories.backups.restoration import pipeline
from memories.models import PendingEmbedding
from memories.providers import EmbeddingFailed
from memories.providers.fake import FakeEmbedder

MANY = 70


@pytest.fixture
def backup(store_all, back_up, wipe):
    """Of memories that are gone."""
    store_all("acme:main", (f"Heron {n} nests by mill {n * 7}." for n in range(MANY)))
    made = back_up()
    wipe()
    return made


@pytest.fixture
def refusing(monkeypatch):
    """The embedder is away."""

    def away(*_):
        raise EmbeddingFailed("away")

    monkeypatch.setattr(FakeEmbedder, "embed", away)


def waiting(principal):
    with access.enter(principal, why="test"):
        return PendingEmbedding.objects.within(principal.project_id).count()


def test_how_long_they_wait_is_told(backup, restore, principal):
    report = restore(backup)
    assert report["waiting_for_vectors"] == MANY == waiting(principal)
    assert 0 < report["searchable_in_seconds"] < 60


def test_what_was_there_is_searchable_at_once(backup, restore):
    restore(backup)
    tasks.embed_pending()
    report = restore(backup)
    assert (report["waiting_for_vectors"], report["searchable_in_seconds"]) == (0, 0.0)


@pytest.mark.usefixtures("refusing")
def test_nothing_is_promised_where_the_embedder_is_away(backup, restore, principal):
    report = restore(backup)
    assert (report["waiting_for_vectors"], report["searchable_in_seconds"]) == (MANY, None)
    assert report["insert"] == MANY == waiting(principal)


def test_a_plan_tells_nothing_of_it(backup, restore):
    assert "waiting_for_vectors" not in restore(backup, dry_run=True)


def test_the_command_says_when(backup):
    err = io.StringIO()
    call_command("restore", str(backup.id), stdout=io.StringIO(), stderr=err)
    assert "Searchable by words now; by meaning once 70 memories have their vectors, about 0:00:0" in err.getvalue()


@pytest.mark.usefixtures("refusing")
def test_or_nothing_of_it_where_nobody_knows(backup):
    err = io.StringIO()
    call_command("restore", str(backup.id), stdout=io.StringIO(), stderr=err)
    assert "by meaning once 70 memories have their vectors.\n" in err.getvalue()


def test_no_text_leaves_for_it(backup, restore, monkeypatch):
    seen = []
    embed = FakeEmbedder.embed
    monkeypatch.setattr(FakeEmbedder, "embed", lambda self, texts: seen.extend(texts) or embed(self, texts))
    restore(backup)
    assert {word for text in seen for word in text.split()} == {"the"}


def test_of_a_few_it_is_not_worth_it(store, back_up, wipe, restore, monkeypatch):
    store("acme:main", "The heron nests by the mill.")
    made = back_up()
    wipe()
    monkeypatch.setattr(FakeEmbedder, "embed", lambda *_: pytest.fail("asked"))
    report = restore(made)
    assert (report["waiting_for_vectors"], report["searchable_in_seconds"]) == (1, None)


@pytest.fixture
def endless(monkeypatch):
    """The embedder answers only when the test is over; says whether it has."""
    over, answered = threading.Event(), threading.Event()

    def measure(*_, **__):
        over.wait(60)
        answered.set()

    monkeypatch.setattr(pipeline, "PATIENCE", 0.1)
    monkeypatch.setattr(pipeline, "seconds_for_text", measure)
    yield answered.is_set
    over.set()


def test_a_restore_does_not_wait_for_a_slow_embedder(backup, restore, endless):
    report = restore(backup)
    assert not endless()
    assert (report["insert"], report["searchable_in_seconds"]) == (MANY, None)


def test_a_restore_that_fails_does_not_wait_for_it_either(backup, job, monkeypatch, endless):
    monkeypatch.setattr(pipeline, "apply", Mock(side_effect=pipeline.BrokenBundle(1, "it broke")))
    assert job("restore", backup_id=str(backup.id)).state == "failed"
    assert not endless()


def test_a_restore_is_done_when_its_measurement_fails(backup, restore, monkeypatch):
    """Else another worker would do it all again."""
    monkeypatch.setattr(pipeline, "seconds_for_text", Mock(side_effect=OperationalError("all in use")))
    report = restore(backup)
    assert (report["insert"], report["searchable_in_seconds"]) == (MANY, None)
