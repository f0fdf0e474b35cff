"""OpenAI-compatible endpoints over real HTTP: right, slow, wrong and dead."""

import threading
import time

import numpy as np
import pytest

from memories.models import EmbeddingModel
from memories.providers import embed, embed_queries, embed_query
from memories.providers import endpoint as endpoint_module
from memories.providers.embedders import EmbeddingFailed, TextsRefused
from memories.providers.endpoint import Endpoint
from memories.providers.fake import FakeEmbedder
from memories.providers.fake_endpoint import MODES, POISON, serving

TEXTS = [f"Memory {n} about the heron." for n in range(5)]
FINE = {"right", "shuffled", "long", "picky"}


@pytest.fixture
def server(settings, monkeypatch):
    """The endpoint that the settings name; nobody waits long for it."""
    monkeypatch.setattr(endpoint_module, "PAUSE", 0.0)
    with serving() as running:
        settings.EMBEDDINGS_URL = running.url
        settings.EMBEDDINGS_API_KEY = ""
        settings.EMBEDDINGS_TIMEOUT = 5.0
        yield running


@pytest.fixture
def model():
    """A model of that endpoint; not stored."""
    return EmbeddingModel(name="nomic", provider="openai", dim=384)


@pytest.mark.parametrize("mode", sorted(FINE))
def test_it_works(server, mode):
    server.mode = mode
    embedder = Endpoint("nomic", 384)
    assert embedder.readiness() == "loading"
    assert embedder.embed(TEXTS) == pytest.approx(FakeEmbedder().embed(TEXTS), abs=1e-6)
    assert embedder.readiness() == "ready"
    assert server.requests == [{"model": "nomic", "input": TEXTS, "encoding_format": "float"}]


@pytest.mark.examples
@pytest.mark.parametrize("mode", sorted(set(MODES) - FINE))
@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS], ids=["one", "many"])
def test_whatever_is_wrong_is_a_failure_in_time(server, mode, texts, settings, monkeypatch):
    settings.EMBEDDINGS_TIMEOUT = 0.4
    monkeypatch.setattr("memories.providers.http.LARGEST", 1_000_000)
    server.mode = mode
    embedder = Endpoint("nomic", 384)
    start = time.monotonic()
    with pytest.raises(EmbeddingFailed) as raised:
        embedder.embed(texts)
    assert time.monotonic() - start < 3
    assert "secret" not in str(raised.value)
    assert "heron" not in str(raised.value)
    assert embedder.readiness() == ("loading" if isinstance(raised.value, TextsRefused) else "failed")
    assert len(server.requests) == 1  # no redirect was followed, nothing tried again


def test_an_answer_without_end_is_cut_off(server, monkeypatch):
    monkeypatch.setattr("memories.providers.http.LARGEST", 1_000_000)
    server.mode = "huge"
    embedder = Endpoint("nomic", 384)
    with pytest.raises(EmbeddingFailed, match="over"):
        embedder.embed(TEXTS)


def test_nobody_there(server, settings):
    settings.EMBEDDINGS_URL = "http://127.0.0.1:9/v1"
    with pytest.raises(EmbeddingFailed, match="ConnectError"):
        Endpoint("nomic", 384).embed(TEXTS)


def test_no_url(settings):
    settings.EMBEDDINGS_URL = ""
    with pytest.raises(EmbeddingFailed, match="EMBEDDINGS_URL"):
        Endpoint("nomic", 384).embed(TEXTS)


def test_after_a_failure_nobody_waits_for_a_while(server, monkeypatch):
    monkeypatch.setattr(endpoint_module, "PAUSE", 60.0)
    server.mode = "unavailable"
    embedder = Endpoint("nomic", 384)
    for _ in range(3):
        with pytest.raises(EmbeddingFailed):
            embedder.embed(TEXTS)
    assert len(server.requests) == 1


def test_it_recovers(server):
    embedder = Endpoint("nomic", 384)
    server.mode = "broken"
    with pytest.raises(EmbeddingFailed):
        embedder.embed(TEXTS)
    server.mode = "right"
    assert embedder.embed(TEXTS).shape == (5, 384)
    assert embedder.readiness() == "ready"


def test_the_key_goes_to_the_endpoint(server, settings):
    settings.EMBEDDINGS_API_KEY = "sk-1"
    Endpoint("nomic", 384).embed(TEXTS)
    assert server.keys == ["Bearer sk-1"]


def test_a_proxy_of_the_environment_is_not_for_loopback(server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert Endpoint("nomic", 384).embed(TEXTS).shape == (5, 384)


def test_many_texts_go_in_requests_of_64(server):
    many = [f"text {n}" for n in range(150)]
    assert Endpoint("nomic", 384).embed(many) == pytest.approx(FakeEmbedder().embed(many), abs=1e-6)
    assert [len(asked["input"]) for asked in server.requests] == [64, 64, 22]


def test_threads_share_it(server):
    embedder, results = Endpoint("nomic", 384), {}
    threads = [
        threading.Thread(target=lambda n=n: results.update({n: embedder.embed([f"text {n}"])})) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(8):
        assert results[n] == pytest.approx(FakeEmbedder().embed([f"text {n}"]), abs=1e-6)


def test_one_refused_text_does_not_hold_up_the_others(server, model, db):
    server.mode = "picky"
    texts = [*TEXTS, POISON, *TEXTS]
    vectors = embed(texts, model=model)
    assert [vector is None for vector in vectors] == [text == POISON for text in texts]
    assert np.stack(vectors[:5]) == pytest.approx(FakeEmbedder().embed(TEXTS), abs=1e-6)


def test_what_is_down_for_some_is_down_for_the_rest(server, model, db):
    server.mode = "unavailable"
    assert embed([f"text {n}" for n in range(150)], model=model) == [None] * 150
    assert len(server.requests) == 1


def test_what_came_before_a_failure_is_kept(server, model, db, monkeypatch):
    right = Endpoint._ask

    def ask(self, texts, patience):
        if len(server.requests) == 1:
            server.mode = "broken"
        return right(self, texts, patience)

    monkeypatch.setattr(Endpoint, "_ask", ask)
    vectors = embed([f"text {n}" for n in range(150)], model=model)
    assert [vector is None for vector in vectors] == [False] * 64 + [True] * 86


def test_a_question_is_embedded_once(server, model, db):
    first = embed_query("Where does the heron nest?", model=model)
    again = embed_query("Where does the heron nest?", model=model)
    assert again is first
    assert len(server.requests) == 1
    assert embed_query("Where does the otter live?", model=model) is not first


def test_questions_are_embedded_in_one_call_without_those_that_are_known(server, model, db):
    known = embed_query("Where does the heron nest?", model=model)
    asked = ["Where does the otter live?", "Where does the heron nest?", "Where is the mill?"]
    found = embed_queries(asked, model=model)
    assert [request["input"] for request in server.requests][1:] == [[asked[0], asked[2]]]
    assert found[1] is known
    assert embed_query(asked[2], model=model) is found[2]


def test_a_question_does_not_wait_as_long_as_a_text(server, model, db, settings, monkeypatch):
    settings.EMBEDDINGS_TIMEOUT = 30.0
    monkeypatch.setattr(endpoint_module, "QUESTION_PATIENCE", 0.3)
    for server.mode in ("slow", "dripping"):
        start = time.monotonic()
        assert embed_query("Where does the heron nest?", model=model) is None
        assert time.monotonic() - start < 3
    server.mode, server.pause = "slow", 0.6
    assert embed(["The heron nests here."], model=model)[0] is not None


def test_a_failed_question_is_not_remembered(server, model, db):
    server.mode = "unavailable"
    assert embed_query("Where does the heron nest?", model=model) is None
    server.mode = "right"
    assert embed_query("Where does the heron nest?", model=model) is not None


def test_two_models_do_not_share_answers(server, model, db):
    other = EmbeddingModel(name="other", provider="openai", dim=384)
    embed_query("Where?", model=model)
    embed_query("Where?", model=other)
    assert [asked["model"] for asked in server.requests] == ["nomic", "other"]
