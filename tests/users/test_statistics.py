"""What words weigh in a user's search: by all the texts that it reads, and by no others."""

import pytest
from django.utils import timezone

from memories import access
from memories.models import DocumentFrequency, KeywordStatistics
from memories.retrieval import maintain_indexes, refresh_statistics, statistics
from tests.users.test_scopes import SEARCH, keep

BATCH = "/api/v1/fragments/batch"


def scores(agent, query, **more):
    """(score, BM25, its parts by term) by memory."""
    body = {"namespace": "acme:main", "query": query, "explain": True, "top_k": 50, **more}
    answer = agent.client.post(SEARCH, body, format="json").json()
    found = {row["id"]: row["score"] for row in answer["results"]}
    told = {row["id"]: row for row in answer["explanation"]["candidates"]}
    return {
        i: (score, told[i]["bm25"], {term["term"]: term["bm25"] for term in told[i]["terms"]})
        for i, score in found.items()
    }


def fill(agent, texts, **place):
    for start in range(0, len(texts), 100):
        rows = [{"namespace": "acme:main", "content": text, **place} for text in texts[start : start + 100]]
        assert agent.client.post(BATCH, {"fragments": rows}, format="json").status_code == 201


def herons(who, count):
    return [f"{who} saw heron number {n} by the mill, gate {n * 7}." for n in range(count)]


def test_the_same_text_in_a_users_scope_and_above_it_scores_the_same(alice):
    fill(alice, herons("Everybody", 30))
    hers = keep(alice, "ann", "The heron eats eels.")
    shared = keep(alice, None, "The heron eats eels.", namespace="acme:shared")
    wide = keep(alice, None, "The heron eats eels.")
    found = scores(alice, "heron eels", user="ann")
    words = {found[row["id"]][1] for row in (hers, shared, wide)}
    assert len(words) == 1
    parts = [found[row["id"]][2] for row in (hers, shared, wide)]
    assert parts[0] == parts[1] == parts[2]
    # Eels are rare among all that is read, herons are not.
    assert parts[0]["eel"] > 5 * parts[0]["heron"]


def test_a_counted_namespace_weighs_in_a_users_search(alice, principal, monkeypatch):
    monkeypatch.setattr(statistics, "LARGE", 40)
    fill(alice, herons("Everybody", 60))
    hers = keep(alice, "ann", "The heron eats eels.")
    uncounted = scores(alice, "heron eels", user="ann")[hers["id"]]
    assert refresh_statistics(principal, now=timezone.now()) >= 1
    counted = scores(alice, "heron eels", user="ann")[hers["id"]]
    assert counted[1] == pytest.approx(uncounted[1], rel=0.02)
    assert counted[2] == pytest.approx(uncounted[2], rel=0.05)


@pytest.mark.long
def test_another_users_thousand_texts_change_no_score_of_mine(alice, principal):
    fill(alice, herons("Ann", 3), user="ann")
    keep(alice, None, "Herons nest behind the mill.")
    keep(alice, None, "The mill opens at nine.", namespace="acme:shared")
    before = {query: scores(alice, query, user="ann") for query in ("heron by the gate", "when does the mill open?")}
    assert before["heron by the gate"]
    fill(alice, herons("Ben", 1_000), user="ben")
    refresh_statistics(principal, now=timezone.now())
    maintain_indexes(principal)
    assert {query: scores(alice, query, user="ann") for query in before} == before
    # Nothing is counted of ann's few texts; ben's many are, by themselves and with all of the namespace.
    with access.enter(principal, why="test"):
        counted = KeywordStatistics.objects.within(principal.project_id).values_list("namespace__user", "all_users")
        assert set(counted) == {("ben", False), (None, True)}
        assert DocumentFrequency.objects.within(principal.project_id).filter(lexeme="heron").count() == 2
