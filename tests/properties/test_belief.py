"""Properties of storing, reinforcing, reaching and isolating: 1, 15, 16, 17."""

import datetime
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memories import access
from memories.models import Fragment
from tests.properties.ground import agents, contents, examples, kinds, names, post, undone

pytestmark = pytest.mark.long

URL = "/api/v1/fragments"
# What is at the threshold falls below it within the moments that an example takes.
relevances = st.floats(0, 1).filter(lambda base: abs(base - 0.8) > 1e-3)


def search(agent, query, namespace, **more):
    body = {"query": query, "namespace": namespace, "top_k": 200, **more}
    return {row["id"]: row for row in post(agent, "search", body, 200)["results"]}


def set_relevance(principal, bases):
    """Gives fragments the relevance that a long life would have given them."""
    with access.enter(principal, why="test"):
        for fragment_id, base in bases.items():
            Fragment.objects.within(principal.project_id).filter(id=fragment_id).update(base_relevance=base)


@examples
@given(agent=agents, content=contents, kind=kinds, tags=st.lists(agents, max_size=3))
@example(agent="MARS", content="\u200b", kind="semantic", tags=["mars", "MARS"])
@example(agent="a" * 63, content="\U0001f600" * 2000, kind="episodic", tags=[])
def test_property_01_fragment_creation_completeness(alice, agent, content, kind, tags):
    """Feature: hindsight-persistent-memory, Property 1: Fragment creation completeness"""
    body = {"project_id": "acme", "agent_id": agent, "content": content, "type": kind, "source_type": "task"}
    with undone():
        stored = post(alice, "fragments", {**body, "tags": tags}, 201)
        kept = alice.client.get(f"{URL}/{stored['id']}", {"include": "embedding"}).json()
    assert kept["content"] == content.strip() != ""
    assert (kept["agent_id"], kept["project"], kept["type"]) == (agent, "acme", kind)
    assert kept["namespace"] == f"acme:{agent.lower()}"
    assert agent in kept["tags"]
    assert set(tags) <= set(kept["tags"])
    assert datetime.datetime.fromisoformat(kept["created_at"]).tzinfo is not None
    vector = kept["embedding"]["vector"]
    assert (len(vector), kept["embedding"]["state"]) == (kept["embedding"]["dim"], "ready")
    assert math.sqrt(sum(part * part for part in vector)) == pytest.approx(1, abs=1e-2)


@examples
@given(content=contents, base=st.floats(0, 1))
@example(content="Prefer small modules.", base=1.0)
@example(content="Prefer small modules.", base=0.0)
def test_property_15_taste_vault_reinforcement_boosts_relevance(alice, content, base):
    """Feature: hindsight-persistent-memory, Property 15: Taste Vault reinforcement boosts relevance"""
    node = {"id": "node", "content": content, "confidence": 0.5}
    with undone():
        stored = post(alice, "bridges/taste-vault/patterns", {"namespace": "acme:main", "node": node}, 201)
        set_relevance(alice.principal, {stored["id"]: base})
        body = {"namespace": "acme:main", "node_id": "node"}
        after = post(alice, "bridges/taste-vault/reinforcements", body, 200)
    assert after["base_relevance"] == pytest.approx(base + 0.1 * (1 - base))
    assert base < after["base_relevance"] <= 1 or (after["base_relevance"] == base and base > 1 - 1e-9)
    assert after["relevance_score"] == pytest.approx(after["base_relevance"], abs=1e-4)


@examples
@given(team=st.lists(st.tuples(st.sampled_from(["main", "mars", "venus", "shared"]), relevances), max_size=8))
@example(team=[("mars", 1.0), ("venus", 0.79), ("mars", 0.81), ("main", 0.0), ("shared", 0.0)])
def test_property_16_cross_agent_retrieval_inclusion(alice, team):
    """Feature: hindsight-persistent-memory, Property 16: Cross-agent retrieval inclusion"""
    told = [{"namespace": f"acme:{agent}", "content": f"{agent} saw heron {n}."} for n, (agent, _) in enumerate(team)]
    with undone():
        stored = post(alice, "fragments/batch", {"fragments": told}, 201)["results"] if told else []
        set_relevance(alice.principal, {row["id"]: base for row, (_, base) in zip(stored, team, strict=True)})
        wide = search(alice, "who saw a heron?", "acme:main", project_wide=True)
        narrow = search(alice, "who saw a heron?", "acme:main")
    rows = [(row["id"], agent, base) for row, (agent, base) in zip(stored, team, strict=True)]
    own = {i for i, agent, _ in rows if agent in ("main", "shared")}
    assert set(narrow) == own
    assert set(wide) == own | {i for i, _, base in rows if base >= 0.8}
    assert all(row["relevance_score"] >= 0.8 for i, row in wide.items() if i not in own)


@examples
@given(
    pair=st.lists(names, min_size=2, max_size=2, unique=True), content=contents, others=st.lists(contents, max_size=2)
)
@example(pair=["a", "a.a"], content="The heron.", others=["The heron."])
@example(pair=["a-b", "a_b"], content="The heron.", others=[])
def test_property_17_namespace_isolation(alice, charlie, pair, content, others):
    """Feature: hindsight-persistent-memory, Property 17: Namespace isolation

    Its second half, forks, is tested with branches.
    """
    here, there = (f"acme:{name}" for name in pair)
    told = [(here, content), *((there, other) for other in others)]
    everything = {"project_wide": False, "filters": {"include_all": True}}
    with undone():
        bodies = [{"namespace": place, "content": text} for place, text in told]
        mine, *theirs = [row["id"] for row in post(alice, "fragments/batch", {"fragments": bodies}, 201)["results"]]
        assert set(search(alice, content, here, **everything)) == {mine}
        assert set(search(alice, content, there, **everything)) <= set(theirs)
        assert search(charlie, content, f"elsewhere:{pair[0]}", filters={"include_all": True}) == {}
        assert charlie.client.get(f"{URL}/{mine}").status_code == 404
