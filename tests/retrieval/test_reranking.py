"""Re-ranking, promise by promise, over HTTP.

Its line "default behavior improves without breaking existing callers" is what all tests of search are.
"""

import datetime

import pytest

from conflicts.public import ClaimDraft
from memories import access
from memories.models import Fragment

QUERY = "user budget amount"
WEIGHTS = {"relevance": 0.40, "confidence": 0.25, "recency": 0.20, "importance": 0.15}


@pytest.fixture
def budgets(alice, store):
    """The closest is a guess, the next was said by the user; the others are old, weighty, or both."""
    return {
        "guess": store("acme:main", "User budget amount.", importance=0.5),
        "said": store(
            "acme:main", "The user budget amount.", importance=0.5, source="user_explicit", by=alice.principal
        ),
        "weighty": store("acme:main", "User budget is a vague amount.", importance=1.0),
        "light": store("acme:main", "User budget, some other amount.", importance=0.0),
        "tool": store("acme:main", "Budget of some user.", source="tool_output", by=alice.principal),
    }


@pytest.fixture
def age(principal):
    """Moves a fragment's last change into the past."""

    def back(fragment, *, days):
        with access.enter(principal, why="test"):
            row = Fragment.objects.within(principal.project_id).get(id=fragment.id)
            Fragment.objects.filter(id=row.id).update(updated_at=row.updated_at - datetime.timedelta(days=days))

    return back


def search(agent, query=QUERY, **more):
    answer = agent.client.post("/api/v1/search", {"namespace": "acme:main", "query": query, **more}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def names(found, known):
    by_id = {str(fragment.id): name for name, fragment in known.items()}
    return [by_id[row["id"]] for row in found]


def test_reranked_results_differ_from_raw_similarity_order(alice, budgets):
    assert names(search(alice), budgets) != names(search(alice, rerank=False), budgets)


def test_a_high_confidence_memory_outranks_a_more_similar_one_of_low_confidence(alice, budgets):
    order = names(search(alice), budgets)
    assert order.index("said") < order.index("guess")


def test_rerank_false_preserves_the_raw_order(alice, budgets):
    """Departs: raw means relevance, which knows keywords beside similarity."""
    found = search(alice, rerank=False)
    relevances = [row["ranking_signals"]["relevance"] for row in found]
    assert relevances == sorted(relevances, reverse=True)
    assert names(found, budgets)[0] == "guess"


def test_score_and_signals_are_present(alice, budgets):
    """Departs: `score` and `ranking_signals` for compositeScore and rankingSignals."""
    for row in search(alice):
        signals = row["ranking_signals"]
        assert row["score"] == pytest.approx(sum(weight * signals[name] for name, weight in WEIGHTS.items()), abs=1e-4)
        assert all(0 <= signals[name] <= 1 for name in WEIGHTS)


def test_signals_are_independent(alice, budgets, age):
    """Confidence knows nothing of importance or recency."""
    before = {row["id"]: row["ranking_signals"] for row in search(alice)}
    assert before[str(budgets["light"].id)]["confidence"] == before[str(budgets["weighty"].id)]["confidence"]
    age(budgets["said"], days=1)
    after = {row["id"]: row["ranking_signals"] for row in search(alice)}
    assert after[str(budgets["said"].id)]["recency"] < before[str(budgets["said"].id)]["recency"]
    assert after[str(budgets["said"].id)]["importance"] == before[str(budgets["said"].id)]["importance"]


@pytest.mark.parametrize(
    ("weights", "first"),
    [({"importance": 1}, "weighty"), ({"confidence": 1}, "said"), ({"relevance": 1}, "guess")],
)
def test_custom_weights_shift_ranking(alice, budgets, weights, first):
    only = {**dict.fromkeys(WEIGHTS, 0), **weights}
    assert names(search(alice, rerank=only), budgets)[0] == first


def test_all_weight_on_recency(alice, budgets, age):
    for days, name in enumerate(["tool", "guess", "weighty", "light"], start=1):
        age(budgets[name], days=days)
    only = {**dict.fromkeys(WEIGHTS, 0), "recency": 1}
    assert names(search(alice, rerank=only), budgets) == ["said", "tool", "guess", "weighty", "light"]


def test_superseded_memories_are_filtered_by_default_and_include_all_includes_every_status(alice, store):
    said = [
        store(
            "acme:main",
            f"The user budget amount is {value}.",
            claim=ClaimDraft("user", "budget", value),
            source=source,
            by=alice.principal,
        )
        for value, source in (("$500", "user_explicit"), ("$750", "user_explicit"), ("$0", "document"))
    ]
    assert [row["id"] for row in search(alice)] == [str(said[1].id)]
    everything = {row["id"]: row["status"] for row in search(alice, filters={"include_all": True})}
    assert [everything[str(one.id)] for one in said] == ["superseded", "active", "quarantined"]


def test_several_queries_are_ranked_each_by_itself(alice, budgets):
    """Many questions at once are `search/batch`."""
    only = {**dict.fromkeys(WEIGHTS, 0), "importance": 1}
    searches = [{"query": QUERY, "rerank": only}, {"query": "budget of some user", "rerank": False}]
    body = {"searches": [{"namespace": "acme:main", **one} for one in searches]}
    answers = alice.client.post("/api/v1/search/batch", body, format="json").json()["answers"]
    assert [names(one["results"], budgets)[0] for one in answers] == ["weighty", "tool"]
