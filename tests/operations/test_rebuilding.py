"""Rebuilding what is derived: the same answers before and after."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories import access, ingest, jobs, upkeep
from memories.models import Embedding, Keywords, PendingEmbedding
from memories.operations import OperationKind
from memories.providers import embeddings
from memories.providers.fake import FakeEmbedder

TABLES = {"keywords": Keywords, "embeddings": Embedding}


@pytest.fixture
def answers(alice):
    """What the search says, apart from how long it took."""

    def ask():
        said = []
        for query in ("heron0", "the river3 and the mill2", "Memory 7"):
            answer = alice.client.post("/api/v1/search", {"query": query, "namespace": "acme:main"}, format="json")
            assert answer.status_code == 200, answer.content
            said.append({**answer.json(), "took_ms": None})
        return said

    return ask


@pytest.fixture(autouse=True)
def still(time_machine):
    """Time stands still: what decays would change the scores."""
    time_machine.move_to(timezone.now(), tick=False)


def rows(principal, model):
    with access.enter(principal, why="test"):
        return sorted(map(repr, model.objects.filter(project_id=principal.project_id).values_list()))


def wipe(principal, model):
    with access.enter(principal, why="test"):
        model.objects.filter(project_id=principal.project_id).delete()


@pytest.mark.parametrize("target", TABLES)
def test_a_rebuild_changes_no_answer(target, principal, begin, fill, answers):
    fill(principal, 12)
    before, stored = answers(), rows(principal, TABLES[target])
    ended = jobs.run(principal, begin(principal, options={"target": target}).id)
    assert (ended.state, ended.report) == ("succeeded", {"target": target, "rebuilt": 12})
    assert answers() == before
    assert rows(principal, TABLES[target]) == stored


@pytest.mark.parametrize("target", TABLES)
def test_what_was_lost_comes_back(target, principal, begin, fill, answers):
    fill(principal, 12)
    before, stored = answers(), rows(principal, TABLES[target])
    wipe(principal, TABLES[target])
    assert answers() != before
    jobs.run(principal, begin(principal, options={"target": target}).id)
    assert answers() == before
    assert rows(principal, TABLES[target]) == stored


def test_a_wrong_vector_is_replaced_and_a_waiting_one_waits_no_more(principal, begin, fill, count):
    first, *_ = fill(principal, 3)
    stored = rows(principal, Embedding)
    fill(principal, 2, embed_now=False)
    with access.enter(principal, why="test"):
        Embedding.objects.filter(fragment=first).update(vector=[1.0] + [0.0] * 383)
    jobs.run(principal, begin(principal, options={"target": "embeddings"}).id)
    assert set(stored) <= set(rows(principal, Embedding))
    assert (len(rows(principal, Embedding)), count(PendingEmbedding)) == (5, 0)


class Away(FakeEmbedder):
    """An embedder whose model is away."""

    def embed(self, texts):
        raise embeddings.EmbeddingFailed("away")


def test_without_an_embedder_old_vectors_stay_and_missing_ones_wait(principal, begin, fill, count, monkeypatch):
    first, *_ = fill(principal, 3)
    with access.enter(principal, why="test"):
        Embedding.objects.filter(fragment=first).delete()
    stored = rows(principal, Embedding)
    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Away())
    ended = jobs.run(principal, begin(principal, options={"target": "embeddings"}).id)
    assert ended.state == "succeeded"
    assert rows(principal, Embedding) == stored
    assert count(PendingEmbedding) == 1


def test_a_text_that_changes_meanwhile_keeps_its_own_vector(principal, begin, fill, now, monkeypatch):
    (fragment,) = fill(principal, 1)

    class Slow(FakeEmbedder):
        def embed(self, texts):
            monkeypatch.setitem(embeddings.EMBEDDERS, "fake", FakeEmbedder())
            ingest.updates.revise(principal, fragment.id, changes={"content": "All new."}, revision=None, now=now)
            return super().embed(texts)

    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Slow())
    jobs.run(principal, begin(principal, options={"target": "embeddings"}).id)
    with access.enter(principal, why="test"):
        vector = Embedding.objects.get(fragment=fragment).vector
    assert vector == pytest.approx(FakeEmbedder().embed(["All new."])[0], abs=1e-3)


def test_one_namespace_is_rebuilt_alone(principal, begin, fill, store, count):
    fill(principal, 3)
    elsewhere = store("acme:side", "The otter swims.")
    wipe(principal, Keywords)
    jobs.run(principal, begin(principal, namespace=elsewhere.namespace).id)
    with access.enter(principal, why="test"):
        assert list(Keywords.objects.values_list("fragment_id", flat=True)) == [elsewhere.id]


def test_the_command_works(principal, fill, answers, capsys):
    fill(principal, 4)
    before = answers()
    wipe(principal, Keywords)
    call_command("rebuild", "keywords", "--project", "acme", "--json")
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["project"], report["state"], report["rebuilt"]) == ("acme", "succeeded", 4)
    assert answers() == before


def test_the_command_takes_one_namespace(principal, fill, store, capsys):
    fill(principal, 4)
    store("acme:side", "The otter swims.")
    call_command("rebuild", "keywords", "--namespace", "acme:side")
    assert "acme: succeeded, 1 rebuilt" in capsys.readouterr().out


def test_the_command_ends_badly_when_the_operation_does(principal, fill, capsys, monkeypatch):
    fill(principal, 1)
    monkeypatch.setitem(jobs.KINDS, "rebuild", OperationKind(lambda *_: 1 / 0, upkeep.reindex.check_target))
    with pytest.raises(SystemExit) as ended:
        call_command("rebuild", "keywords", "--project", "acme")
    assert ended.value.code == 1
    assert "acme: failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["moon"], ["keywords", "--project", "nowhere"], ["keywords", "--namespace", "acme:nowhere"]]
)
def test_the_command_refuses_what_is_not_there(arguments, principal):
    with pytest.raises(CommandError):
        call_command("rebuild", *arguments)
