"""When what was restored is found by what it means: measured meanwhile, told in the report and by the command."""

import io

import pytest
from django.core.management import call_command

from memories import access, tasks
from memories.models import PendingEmbedding
from memories.providers import EmbeddingFailed
from memories.providers.fake import FakeEmbedder

MANY = 40


@pytest.fixture
def backup(store, back_up, wipe):
    """Of memories that are gone."""
    for n in range(MANY):
        store("acme:main", f"Heron {n} nests by mill {n * 7}.")
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
    assert "Searchable by words now; by meaning in about 0:0" in err.getvalue()
    assert f"{MANY} memories wait for their vectors" in err.getvalue()


@pytest.mark.usefixtures("refusing")
def test_or_until_when_nobody_knows(backup):
    err = io.StringIO()
    call_command("restore", str(backup.id), stdout=io.StringIO(), stderr=err)
    assert "by meaning once the embedder answers: 40 memories wait" in err.getvalue()


def test_no_text_leaves_for_it(backup, restore, monkeypatch):
    seen = []
    embed = FakeEmbedder.embed
    monkeypatch.setattr(FakeEmbedder, "embed", lambda self, texts: seen.extend(texts) or embed(self, texts))
    restore(backup)
    assert {word for text in seen for word in text.split()} == {"the"}
