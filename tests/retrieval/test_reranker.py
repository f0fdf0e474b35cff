"""A reranker in the search: it orders what it reads, moves no claim, and may fail (ADR 0120)."""

import pytest
from django.db import connection

from memories.providers import RerankingFailed, rerankers
from memories.retrieval import fusion, pipeline

MAIN = "acme:main"
QUERY = "heron mill"
FERRY = "The ferry to Ystad leaves when the heron wakes."


class Recorder:
    """Loves the ferry; keeps what it was asked and whether a transaction of ours was open."""

    def __init__(self):
        self.asked, self.inside, self.error = [], [], None

    def scores(self, query, texts):
        blocks = connection.atomic_blocks
        self.inside.append(bool(blocks and not blocks[-1]._from_testcase))
        self.asked.append((query, texts))
        if self.error:
            raise self.error
        return [0.9 if "ferry" in text else 0.1 for text in texts]


@pytest.fixture
def reranker(monkeypatch, settings):
    """The one that is bound."""
    rerankers._bound.cache_clear()
    settings.RERANKER, recorder = "fake", Recorder()
    monkeypatch.setattr(rerankers, "FakeReranker", lambda: recorder)
    yield recorder
    rerankers._bound.cache_clear()


@pytest.fixture
def store_named(store):
    """By name: what is found."""
    return {
        "mill": store(MAIN, "The heron nests behind the old mill."),
        "other": store(MAIN, "A mill, and a heron beside the mill."),
        "ferry": store(MAIN, FERRY),
    }


@pytest.fixture
def ask(alice):
    def post(query=QUERY, *, door="search", **more):
        body = {"namespace": MAIN, "query": query, "floor": 0, **more}
        answer = alice.client.post(f"/api/v1/{door}", body, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return post


def order(found):
    return [hit["id"] for hit in found["results"]]


def test_none_is_asked_unless_one_is_bound(store_named, ask, monkeypatch):
    monkeypatch.setattr(rerankers.BoundReranker, "scores", lambda *_: pytest.fail("asked"))
    found = ask(explain=True)
    assert "rerank" not in found["took_ms"]
    assert {one["rerank"] for one in found["explanation"]["candidates"]} == {None}


def test_its_scores_are_the_relevance(store_named, ask, settings, reranker):
    settings.RERANKER = ""
    assert order(ask())[-1] == str(store_named["ferry"].id)
    settings.RERANKER = "fake"
    found = ask(explain=True)
    assert order(found)[0] == str(store_named["ferry"].id)
    assert found["results"][0]["ranking_signals"]["relevance"] == 0.9
    ((query, texts),) = reranker.asked
    assert query == QUERY
    assert sorted(texts) == sorted(row.content for row in store_named.values())
    assert found["degraded"] == []
    told = {one["id"]: (one["rerank"], one["relevance"]) for one in found["explanation"]["candidates"]}
    assert told[str(store_named["ferry"].id)] == (0.9, 0.9)
    took = found["took_ms"]
    assert took["rerank"] > 0
    assert took["total"] == pytest.approx(sum(took.values()) - took["total"], abs=0.01)


def test_the_fake_that_ships(store_named, ask, settings):
    settings.RERANKER = "fake"
    told = {one["id"]: one["rerank"] for one in ask("ferry Ystad", explain=True)["explanation"]["candidates"]}
    assert told[str(store_named["ferry"].id)] == 1.0


def test_it_reads_so_many_and_nothing_overtakes_what_it_read(store_named, ask, settings, reranker):
    settings.RERANKER_DEPTH = 2
    found = ask(explain=True, rerank={"relevance": 1, "confidence": 0, "recency": 0, "importance": 0})
    assert [len(texts) for _, texts in reranker.asked] == [2]
    assert order(found)[-1] == str(store_named["ferry"].id)
    assert found["results"][-1]["score"] < 0.1
    last = next(one for one in found["explanation"]["candidates"] if one["id"] == str(store_named["ferry"].id))
    assert last["rerank"] is None


def test_what_it_did_not_read_keeps_its_order_below():
    found = fusion.reranked({"a": 1.0, "b": 0.5, "c": 0.8, "d": 0.4}, {"a": 0.2, "b": 0.6, "gone": 0.01})
    assert found == pytest.approx({"a": 0.2, "b": 0.6, "c": 0.16, "d": 0.08})
    assert fusion.reranked({"a": 0.7}, {}) == {"a": 0.7}


def test_a_failure_leaves_the_former_order(store_named, ask, settings, reranker):
    settings.RERANKER = ""
    former = ask()
    settings.RERANKER = "fake"
    reranker.error = RerankingFailed("no answer in time")
    found = ask()
    assert order(found) == order(former)
    assert [hit["ranking_signals"]["relevance"] for hit in found["results"]] == [
        hit["ranking_signals"]["relevance"] for hit in former["results"]
    ]
    assert found["degraded"] == ["reranker"]
    assert ask(door="context")["degraded"] == ["reranker"]


@pytest.mark.parametrize("more", [{"rerank": False}, {"profile": "hindsight"}, {"profile": "weighted"}, {"top_k": 0}])
def test_who_has_no_use_for_it_does_not_wait_for_it(store_named, ask, reranker, more):
    ask(**more)
    assert reranker.asked == []


def test_no_transaction_is_open_meanwhile(store_named, ask, reranker):
    ask()
    ask(door="context")
    assert reranker.inside == [False, False]


def test_a_context_is_reranked(store_named, ask, reranker):
    assert ask(door="context")["included"][0] == str(store_named["ferry"].id)


def test_what_has_nothing_to_do_with_the_question_is_not_sent(store_named, ask, reranker):
    assert ask("thanks a lot", floor=0.9)["nothing_relevant"] is True
    assert reranker.asked == []


def test_a_weaker_text_that_it_loves_stands_below_the_claim(project, agent_of, ask, reranker):
    user = agent_of(project, owner="ulla", ceiling="user_explicit")
    weak = agent_of(project, owner="mallory", ceiling="inference")
    budget = {"subject": "user", "predicate": "budget", "value": "$750"}

    def writes(agent, content, **more):
        body = {"namespace": MAIN, "content": content, **more}
        answer = agent.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()["id"]

    rival = writes(weak, "The user's budget is $13, says the ferry.")
    source = {"source": "user_explicit"}
    truth = writes(user, "My budget for this is $750.", claim=budget, provenance=source)
    found = ask("What is the user's budget?", explain=True)
    assert order(found) == [truth, rival]
    told = {one["id"]: one["rerank"] for one in found["explanation"]["candidates"]}
    assert (told[truth], told[rival]) == (0.1, 0.9)
    assert ask("What is the user's budget?", door="context")["included"][0] == truth


def test_each_stage_is_counted_once(store_named, ask, reranker, monkeypatch):
    counted = []
    monkeypatch.setattr(pipeline.TOOK, "labels", lambda stage: counted.append(stage) or Recorded())
    ask()
    assert sorted(counted) == ["candidates", "embed", "load", "rank", "read", "rerank", "total"]


class Recorded:
    """A metric that nobody reads."""

    def observe(self, seconds):
        """Nothing."""
