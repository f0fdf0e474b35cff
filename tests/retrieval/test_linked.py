"""Memories one link away from a hit ride along."""

import pytest

from conflicts.public import ClaimDraft
from memories import access
from memories.models import Fragment
from memories.retrieval.context import assembly
from tests.retrieval.blocks import read

# One of many: the link leads to a memory that the question itself does not find among the best.
QUESTION = "where does the heron nest"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Only two hits are drawn for each memory that is asked for."""
    monkeypatch.setattr(assembly, "LEAST_CONSIDERED", 2)


@pytest.fixture
def crowd(store):
    """So many better answers that nothing else is a hit."""
    for n in range(8):
        store("acme:main", f"Where does the heron nest? Guess {n}.", importance=1.0)


def ask(agent, **more):
    wide = {"namespace": "acme:main", "project_wide": True}
    body = {**wide, "query": QUESTION, "max_tokens": None, "max_memories": 3, **more}
    answer = agent.client.post("/api/v1/context", body, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def considered(body):
    return {*body["included"], *(item["id"] for item in body["excluded"])}


def first_hit(agent):
    return ask(agent, max_memories=1)["included"][0]


@pytest.fixture
def best(alice, crowd, principal):
    """The best hit of the crowd."""
    with access.enter(principal, why="test"):
        return Fragment.objects.get(id=first_hit(alice))


def test_it_is_worth_half_of_its_hit_times_the_similarity(alice, store, best, link):
    far = store("acme:main", "Otters sleep.", importance=0.0)
    link(best, far, similarity=0.6)
    body = ask(alice)
    hit = {row["id"]: row["score"] for row in search(alice)}[str(best.id)]
    value = {item["id"]: item["value"] for item in body["excluded"]}[str(far.id)]
    assert value == pytest.approx(0.5 * 0.6 * hit, abs=1e-4)


@pytest.mark.parametrize("form", ["markdown", "xml"])
def test_it_is_handed_out_in_the_same_line_as_if_it_was_found(alice, store, link, form):
    """The hits are long and the budget is short, so that the linked memory is worth its few characters."""
    tail = "Ask the mill. " * 40 + "Or the otter?"
    long = [store("acme:main", f"Where does the heron nest? {n} {tail}") for n in range(4)]
    far = store("acme:main", "Otters sleep.")
    for one in long:
        link(one, far, similarity=1.0)
    body = ask(alice, max_memories=2, max_tokens=340, format=form)
    lines = {line.text: line for line in read(body["prompt_prefix"], form).lines}
    assert len(lines) == 2
    found = ask(alice, query="Otters sleep.", max_memories=1, format=form)
    assert read(found["prompt_prefix"], form).lines == [lines["Otters sleep."]]


@pytest.mark.parametrize("status", ["superseded", "quarantined", "disputed", "archived"])
def test_what_search_would_not_show_does_not_ride_along(alice, store, best, link, principal, status):
    far = store("acme:main", "Otters sleep.")
    link(best, far)
    assert str(far.id) in considered(ask(alice))
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=far.id).update(status=status)
    assert str(far.id) not in considered(ask(alice))
    assert str(far.id) in considered(ask(alice, filters={"include_all": True}))


@pytest.mark.parametrize(
    "more",
    [
        {"filters": {"type": "episodic"}},
        {"filters": {"tags": "bird"}},
        {"min_similarity": 0.2},
        {"project_wide": False},
    ],
)
def test_every_condition_of_the_question_holds(alice, store, link, more):
    near = store("acme:main", "Where does the heron nest?", type="episodic", tags=["bird"])
    far = store("acme:other", "Otters sleep.", type="semantic")
    for n in range(4):
        store("acme:main", f"Where does the heron nest? {n}", type="episodic", tags=["bird"])
    link(near, far)
    assert str(far.id) in considered(ask(alice, max_memories=2))
    assert str(far.id) not in considered(ask(alice, max_memories=2, **more))


def test_a_stale_memory_of_another_agent_stays_away(alice, store, best, link, principal):
    far = store("acme:other", "Otters sleep.")
    link(best, far)
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=far.id).update(base_relevance=0.7)
    assert str(far.id) not in considered(ask(alice))


def test_another_sessions_claim_stays_away(alice, store, best, link):
    claim = ClaimDraft("otter", "sleeps", "until noon", scope="session", session_id="s1")
    far = store("acme:main", "Otters sleep.", claim=claim)
    link(best, far)
    assert str(far.id) not in considered(ask(alice))
    assert str(far.id) not in considered(ask(alice, session_id="s2"))
    assert str(far.id) in considered(ask(alice, session_id="s1"))


def test_of_rivals_only_one_is_handed_out(alice, store, link):
    """A hit of another namespace gives way to a linked memory of one's own that search itself did not consider."""
    told = [{"namespace": "acme:main", "content": f"Where does the heron nest? Guess {n}."} for n in range(110)]
    alice.client.post("/api/v1/fragments/batch", {"fragments": told}, format="json")
    weak = ClaimDraft("heron", "nests_in", "reeds")
    strong = ClaimDraft("heron", "nests_in", "willow")
    hits = [
        store("acme:other", f"Where does the heron nest? {place}", importance=1.0, claim=claim)
        for place, claim in (("Reeds.", weak), ("Who knows.", None))
    ]
    far = store("acme:main", "Otters sleep.", claim=strong, importance=0.0)
    before = considered(ask(alice, max_memories=2))
    assert str(hits[0].id) in before
    assert str(far.id) not in before
    link(hits[0], far)
    body = ask(alice, max_memories=2)
    assert {item["id"]: item["reason"] for item in body["excluded"]}[str(hits[0].id)] == "rival"
    assert str(far.id) in considered(body)


def search(agent):
    body = {"namespace": "acme:main", "project_wide": True, "query": QUESTION, "top_k": 50}
    return agent.client.post("/api/v1/search", body, format="json").json()["results"]
