"""Rerankers: an endpoint in both forms over real HTTP, right, wrong and slow; a cross-encoder; the fake."""

import json
import time
from typing import Any

import pytest
from django.db import transaction

from memories.providers import InsideTransaction, RerankingFailed, bound_models, circuit, current_reranker, rerankers
from memories.providers.fake_servers import FakeHandler, FakeServer, running

QUERY = "Where does the heron nest?"
TEXTS = ["The ferry leaves at seven.", "The heron nests behind the mill.", "A heron."]
SCORES = [0.25, 1.0, 0.5]


class RerankHandler(FakeHandler):
    """Answers with the scores that it is told, the best first."""

    def do_POST(self) -> None:
        server: Any = self.server
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.requests.append((self.path, asked, self.headers["Authorization"]))
        if server.pause:
            server.stopping.wait(server.pause)
        name = "relevance_score" if "documents" in asked else "score"
        texts = asked.get("documents") or asked["texts"]
        rows: Any = [{"index": n, name: server.score(text)} for n, text in enumerate(texts)]
        rows = server.wrong(sorted(rows, key=lambda row: -row[name]))
        body = json.dumps({"id": "1", "results": rows} if "documents" in asked else rows)
        body = server.body or body
        self._head(server.status, {"Content-Length": str(len(body))})
        self.wfile.write(body.encode())


@pytest.fixture(params=["rerank-1", ""], ids=["cohere", "tei"])
def server(request, settings):
    """The endpoint that the settings name, in both forms."""
    rerankers._bound.cache_clear()
    with running(FakeServer(0, RerankHandler)) as served:
        told: Any = served
        told.requests, told.pause, told.status, told.body = [], 0.0, 200, ""
        told.wrong, told.score = list, lambda text: dict(zip(TEXTS, SCORES, strict=True)).get(text, 0.125)
        settings.RERANKER = f"http://127.0.0.1:{served.server_port}/v2/rerank"
        settings.RERANKER_MODEL, settings.RERANKER_API_KEY, settings.RERANKER_TIMEOUT = request.param, "", 5.0
        yield told


def test_an_endpoint_is_asked_in_its_form_and_answers_in_any_order(server):
    assert current_reranker().scores(QUERY, TEXTS) == SCORES
    ((path, asked, key),) = server.requests
    assert (path, key) == ("/v2/rerank", None)
    if "model" in asked:
        assert asked == {"model": "rerank-1", "query": QUERY, "documents": TEXTS, "top_n": 3}
    else:
        assert asked == {"query": QUERY, "texts": TEXTS, "truncate": True}


def test_the_key_is_sent_and_shown_to_nobody(server, settings):
    settings.RERANKER_API_KEY = "secret"
    current_reranker().scores(QUERY, TEXTS)
    assert server.requests[0][2] == "Bearer secret"
    assert "secret" not in repr(current_reranker())


def test_many_texts_go_in_requests_of_32(server):
    many = [f"text {n}" for n in range(40)] + [TEXTS[1]]
    assert current_reranker().scores(QUERY, many) == [0.125] * 40 + [1.0]
    assert [len(asked.get("documents") or asked["texts"]) for _, asked, _ in server.requests] == [32, 9]


def changed(value):
    return lambda rows: [{key: value if key != "index" else n for key, n in row.items()} for row in rows]


WRONG = {
    "too_few": lambda rows: rows[:-1],
    "too_many": lambda rows: [*rows, {**rows[0], "index": 3}],
    "twice": lambda rows: [*rows[:-1], rows[0]],
    "no_rows": lambda rows: None,
    "strings": lambda rows: ["a", "b", "c"],
    "nan": changed(float("nan")),
    "infinite": changed(float("inf")),
    "logits": changed(7.3),
    "negative": changed(-0.1),
    "words": changed("0.5"),
    "nothing": changed(None),
    "truth": changed(True),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_scores_are_a_failure(server, wrong):
    server.wrong = WRONG[wrong]
    with pytest.raises(RerankingFailed):
        current_reranker().scores(QUERY, TEXTS)


@pytest.mark.parametrize("body", ["<html>", "7", "{}", '{"results": {}}'])
def test_what_is_no_list_of_scores_is_a_failure(server, body):
    server.body = body
    with pytest.raises(RerankingFailed):
        current_reranker().scores(QUERY, TEXTS)


def test_an_error_is_a_failure_that_tells_nothing(server):
    server.status, server.body = 500, f"secret detail of {TEXTS}"
    with pytest.raises(RerankingFailed, match="500") as raised:
        current_reranker().scores(QUERY, TEXTS)
    assert "secret" not in str(raised.value)


def test_who_is_slow_is_left_alone(server, settings):
    server.pause, settings.RERANKER_TIMEOUT = 60.0, 0.2
    with pytest.raises(RerankingFailed):
        current_reranker().scores(QUERY, TEXTS)


def test_all_requests_together_have_the_timeout(server, settings):
    server.pause, settings.RERANKER_TIMEOUT = 0.4, 1.0
    start = time.monotonic()
    with pytest.raises(RerankingFailed):
        current_reranker().scores(QUERY, [f"text {n}" for n in range(320)])
    assert len(server.requests) < 10
    assert time.monotonic() - start < 4.0


def test_who_fails_often_rests_and_is_told_of_once(server, monkeypatch):
    told = []
    monkeypatch.setattr(bound_models.log, "warning", lambda event, **more: told.append(event))
    server.status = 503
    for _ in range(circuit.FAILURES + 3):
        with pytest.raises(RerankingFailed):
            current_reranker().scores(QUERY, TEXTS)
    assert len(server.requests) == circuit.FAILURES
    assert told == ["reranking_failed"]


def test_nobody_is_asked_inside_a_transaction(server, db):
    with transaction.atomic(), pytest.raises(InsideTransaction):
        current_reranker().scores(QUERY, TEXTS)
    assert server.requests == []


def test_there_is_none_unless_one_is_named(settings):
    assert settings.RERANKER == ""
    assert current_reranker() is None


def test_the_fake_counts_the_words_of_the_question():
    fake = rerankers.FakeReranker()
    assert fake.scores("heron mill", ["The heron, the mill.", "HERON", "Otter."]) == [1.0, 0.5, 0.0]
    assert fake.scores("?", TEXTS) == [0.0, 0.0, 0.0]


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """The folder of a tiny cross-encoder with random weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("cross-encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "heron", "nest", "ferry", "where", ".", "?"]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(words), num_labels=1, initializer_range=0.3, **sizes)
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.long
def test_a_cross_encoder_in_a_folder(cross_encoder, settings):
    settings.RERANKER, settings.RERANKER_TIMEOUT = cross_encoder, 300.0
    query, texts = "where the heron nest ?", ["the heron .", "the ferry .", "nest heron ?"]
    assert current_reranker().scores(query, texts) == pytest.approx(sigmoids(cross_encoder, query, texts), abs=1e-5)


def sigmoids(folder, query, texts):
    """What the model says without sentence-transformers."""
    import torch
    from transformers import BertForSequenceClassification, BertTokenizerFast

    model, tokenizer = BertForSequenceClassification.from_pretrained(folder), BertTokenizerFast.from_pretrained(folder)
    pairs = tokenizer([query] * len(texts), texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        return torch.sigmoid(model.eval()(**pairs).logits[:, 0]).tolist()


def test_a_slow_cross_encoder_is_not_waited_for(cross_encoder, monkeypatch):
    slow = rerankers.CrossEncoderReranker(cross_encoder, timeout=0.05)
    monkeypatch.setattr(slow, "_predicted", lambda query, texts: time.sleep(0.5))
    for _ in range(2):
        with pytest.raises(RerankingFailed, match="in time"):
            slow.scores(QUERY, TEXTS)


@pytest.mark.long
@pytest.mark.parametrize("name", ["nobody/has-this", "/nowhere/at/all"])
def test_a_cross_encoder_that_is_not_here_is_not_fetched(name, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(RerankingFailed):
        rerankers.CrossEncoderReranker(name, timeout=300.0).scores(QUERY, TEXTS)
