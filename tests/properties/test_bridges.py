"""Properties of the bridges: 12, 13, 14. Property 15 stands with those of belief."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memories.bridges.atlas import TAGS
from tests.properties.ground import agents, contents, examples, post, undone

pytestmark = pytest.mark.long

ids = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=100).filter(str.strip)
confidences = st.floats(0, 1)


@examples
@given(
    log_id=ids,
    summary=contents,
    status=st.sampled_from(["success", "failed", "running"]),
    agent=agents,
    tags=st.lists(ids, max_size=4),
    insights=st.lists(contents, min_size=1, max_size=3),
)
@example(log_id="b", summary="\u200b", status="success", agent="MARS", tags=[], insights=["\u200b"])
def test_property_12_bridge_fragment_creation_correctness(alice, log_id, summary, status, agent, tags, insights):
    """Feature: hindsight-persistent-memory, Property 12: Bridge fragment creation correctness"""
    log = {"id": log_id, "summary": summary, "status": status, "agent": agent, "tags": tags}
    with undone():
        body = {"namespace": "acme:main", "project": "herons", "phase": 3, "log": log}
        build = post(alice, "bridges/atlas/builds", body, 201)
        body = {"namespace": "acme:main", "insights": insights}
        learnt = post(alice, "bridges/atlas/retrospectives", body, 201)["results"]
    for part in (log_id.strip(), summary.strip(), status, "herons", "3"):
        assert part in build["content"]
    assert (build["source_type"], build["source_id"], build["agent_id"]) == ("atlas", log_id.strip(), agent)
    assert set(build["tags"]) <= TAGS | {agent}
    assert [row["content"] for row in learnt] == list(dict.fromkeys(insight.strip() for insight in insights))
    assert {(row["source_type"], row["type"]) for row in learnt} == {("retrospective", "semantic")}


@examples
@given(tags=st.lists(st.one_of(ids, st.sampled_from(["Unit-Test", "auth", "REST API", "ui"])), max_size=8))
@example(tags=[])
@example(tags=["\u200b", "…"])
def test_property_13_atlas_tag_mapping_determinism(alice, tags):
    """Feature: hindsight-persistent-memory, Property 13: ATLAS tag mapping determinism"""
    shuffled = random.Random(len(tags)).sample(tags, len(tags))
    answers = [post(alice, "bridges/atlas/tags", {"tags": asked}, 200)["tags"] for asked in (tags, tags, shuffled)]
    assert answers[0] == answers[1] == answers[2]
    assert set() < set(answers[0]) <= TAGS


@examples
@given(node_id=ids, content=contents, confidence=confidences, steps=st.lists(contents, max_size=3))
@example(node_id="n", content="\u200b", confidence=0.0, steps=[])
@example(node_id="n", content="x" * 2000, confidence=1.0, steps=["Do it."])
def test_property_14_taste_vault_bridge_fragment_creation(alice, node_id, content, confidence, steps):
    """Feature: hindsight-persistent-memory, Property 14: Taste Vault bridge fragment creation"""
    node = {"id": node_id, "content": content, "confidence": confidence}
    resolution = {**node, "id": f"r{node_id}", "steps": steps}
    with undone():
        pattern = post(alice, "bridges/taste-vault/patterns", {"namespace": "acme:main", "node": node}, 201)
        body = {"namespace": "acme:main", "resolution": resolution}
        resolved = post(alice, "bridges/taste-vault/resolutions", body, 201)
    assert pattern["content"] == resolved["content"] == content.strip()
    assert pattern["extra"]["confidence"] == resolved["extra"]["confidence"] == confidence
    assert (pattern["type"], resolved["type"]) == ("semantic", "procedural")
    assert resolved["extra"]["steps"] == [step.strip() for step in steps]
    assert {pattern["source_type"], resolved["source_type"]} == {"taste-vault"}
