"""A question taken apart by the language model: its parts bring what the whole does not, and may fail (ADR 0137)."""

import json

import pytest
from django.db import connection

from memories.providers import fake_sidecar
from memories.retrieval import decomposition, fusion, pipeline

MAIN = "acme:main"
QUERY = "Where does the ferry leave and who repaired the kiln?"
CHATTER = "Where the ferry leaves is on the board, number {}."


@pytest.fixture
def model(settings):
    """A language model that takes questions apart at "and"."""
    with fake_sidecar.serving() as sidecar:
        settings.SIDECAR_URL, settings.SIDECAR_OPENAI, settings.QUERY_PARTS = sidecar.url, True, True
        yield sidecar


@pytest.fixture
def ask(alice):
    def post(query=QUERY, *, door="search", **more):
        answer = alice.client.post(f"/api/v1/{door}", {"namespace": MAIN, "query": query, **more}, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return post


@pytest.fixture
def kiln(store, store_all):
    """One memory that answers the second part, behind sixty that have words of the first."""
    store_all(MAIN, map(CHATTER.format, range(60)))
    return store(MAIN, "Grace repaired the kiln.")


def orders(model):
    return [json.loads(body["messages"][-1]["content"]) for body in model.requests]


def test_nobody_is_asked_unless_the_operator_wants_it(kiln, ask, model, settings):
    settings.QUERY_PARTS = False
    found = ask(explain=True)
    assert (model.requests, found["explanation"]["parts"]) == ([], [])
    assert "parts" not in found["took_ms"]
    settings.QUERY_PARTS, settings.SIDECAR_URL = True, ""
    assert ask()["degraded"] == []


def test_what_answers_a_part_is_as_relevant_as_it_is_to_the_part(kiln, ask, model, settings):
    found = ask(explain=True, top_k=5)
    assert orders(model) == [{"task": "parts", "question": QUERY}]
    assert found["explanation"]["parts"] == ["Where does the ferry leave?", "who repaired the kiln?"]
    (path,) = [one for one in found["explanation"]["candidates"] if one["id"] == str(kiln.id)]
    assert "part" in path["found_by"]
    alone = ask("who repaired the kiln?", explain=True)["results"][0]
    assert alone["id"] == str(kiln.id)
    (hit,) = [hit for hit in found["results"] if hit["id"] == str(kiln.id)]
    assert hit["ranking_signals"]["relevance"] == alone["ranking_signals"]["relevance"]
    took = found["took_ms"]
    assert took["take_apart"] > 0
    assert took["parts"] > 0
    assert took["total"] == pytest.approx(sum(took.values()) - took["total"], abs=0.01)


def test_a_context_takes_questions_apart_too(kiln, ask, model):
    assert str(kiln.id) in ask(door="context", max_memories=5)["included"]


def test_what_no_word_and_no_vector_of_the_whole_finds_comes_by_a_part(kiln, ask, model, monkeypatch):
    monkeypatch.setattr(pipeline, "parts_of", lambda _: ["who repaired the kiln?"])
    found = ask("Where does the ferry leave, number by number?", explain=True, top_k=5)
    (path,) = [one for one in found["explanation"]["candidates"] if one["id"] == str(kiln.id)]
    assert path["found_by"] == ["part"]
    assert path["stage"] == "answered"


def test_a_part_opens_no_other_namespace(kiln, ask, model, store):
    store("acme:elsewhere", "Linus repaired the kiln.")
    assert "Linus" not in str(ask(top_k=200, explain=True))


@pytest.mark.examples
@pytest.mark.parametrize("mode", ["broken", "malformed", "empty", "schema_invalid", "declining", "unavailable"])
def test_a_failure_leaves_the_question_whole(kiln, ask, model, settings, mode):
    settings.QUERY_PARTS = False
    former = ask()["results"]
    settings.QUERY_PARTS, model.mode = True, mode
    settings.QUERY_PARTS_TIMEOUT = 0.5
    found = ask()
    assert [hit["id"] for hit in found["results"]] == [hit["id"] for hit in former]
    assert found["degraded"] == ["sidecar"]


def test_a_model_that_hangs_is_not_waited_for(kiln, ask, model, settings):
    model.mode, settings.QUERY_PARTS_TIMEOUT = "hang", 0.2
    found = ask()
    assert found["degraded"] == ["sidecar"]
    assert found["took_ms"]["take_apart"] < 5_000


@pytest.mark.parametrize("more", [{"rerank": False}, {"profile": "hindsight"}, {"top_k": 0}])
def test_who_has_no_use_for_parts_does_not_wait_for_them(kiln, ask, model, more):
    ask(**more)
    assert model.requests == []


@pytest.mark.parametrize("query", ["thanks!", "who repaired the kiln?"])
def test_short_questions_stay_whole(kiln, ask, model, query):
    ask(query)
    assert model.requests == []


@pytest.mark.parametrize(
    ("told", "taken"),
    [
        (["A?", "B?", "C?", "D?"], ["A?", "B?", "C?"]),
        (["A?", " A? ", ""], ["A?"]),
        ([QUERY], []),
        (["x" * 301], []),
        ([], []),
    ],
)
def test_few_short_parts_are_taken(model, monkeypatch, told, taken):
    monkeypatch.setitem(fake_sidecar.WORK, "parts", lambda _: {"parts": told})
    assert decomposition.parts_of(QUERY) == taken


def test_no_transaction_is_open_meanwhile(kiln, ask, model, monkeypatch):
    open_blocks, parts_of = [], decomposition.parts_of

    def look(query):
        blocks = connection.atomic_blocks
        open_blocks.append(bool(blocks and not blocks[-1]._from_testcase))
        return parts_of(query)

    monkeypatch.setattr(pipeline, "parts_of", look)
    ask()
    ask(door="context")
    assert open_blocks == [False, False]


def test_the_better_of_both_counts():
    assert fusion.best_of({"a": 0.7, "b": 0.5}, {"b": 0.9, "gone": 1.0}) == {"a": 0.7, "b": 0.9}
