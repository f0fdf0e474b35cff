"""Properties of ranking, filtering, printing, packing and formatting: 2, 5, 6, 19, 20."""

import datetime
import math
import uuid

import pytest
import time_machine
from django.utils import timezone
from hypothesis import example, given
from hypothesis import strategies as st

from memories import access
from memories.models import Access, Fragment, Project
from memories.providers.fake import FakeEmbedder
from memories.retrieval import PROFILES
from memories.retrieval.context.block import entry, render_block
from tests.properties.ground import agents, contents, examples, kinds, post, undone
from tests.retrieval.blocks import read

pytestmark = pytest.mark.long

QUERY = "where does the heron nest"
words = st.lists(st.sampled_from([*QUERY.split(), "mill", "otter", "reeds"]), min_size=1, max_size=6)


def cosine(text):
    """What the fake embedder makes of a text and the question."""
    one, two = FakeEmbedder().embed([QUERY, text])
    return float(one @ two)


# What has nothing in common with a question is no hit.
texts = st.builds(lambda told, n: f"heron {' '.join(told)} {n}.", words, st.integers(0, 999)).filter(
    lambda text: cosine(text) > 0.05
)
days = st.integers(0, 60)
BIRTH = datetime.datetime(2026, 5, 1, 9, tzinfo=datetime.UTC)
outcomes = st.sampled_from(["positive", "negative", "neutral", ""])


def keep(agent, bodies, namespace="acme:main"):
    told = [{"namespace": namespace, **body} for body in bodies]
    return [row["id"] for row in post(agent, "fragments/batch", {"fragments": told}, 201)["results"]] if told else []


def search(agent, **more):
    body = {"query": QUERY, "namespace": "acme:main", "top_k": 200, "project_wide": False, **more}
    return post(agent, "search", body, 200)["results"]


def live(principal, lives):
    """Lets fragments live sixty days: how often they were read, and how many days before the end last."""
    with access.enter(principal, why="test"):
        for fragment_id, (count, ago) in lives.items():
            at = timezone.now() + datetime.timedelta(days=60 - ago)
            Access.objects.create(
                project_id=principal.project_id, fragment_id=fragment_id, access_count=count, last_accessed_at=at
            )
            Fragment.objects.filter(id=fragment_id).update(updated_at=at)


@examples
@given(
    told=st.lists(
        st.tuples(texts, st.floats(0, 1), st.integers(0, 500), days), max_size=6, unique_by=lambda row: row[0]
    ),
    profile=st.sampled_from(sorted(PROFILES)),
)
@example(told=[("heron", 0.5, 0, 0), ("heron.", 0.5, 0, 0), ("heron!", 0.5, 0, 0)], profile="relevance")
def test_property_02_retrieval_ranking_correctness(alice, told, profile):
    """Feature: hindsight-persistent-memory, Property 2: Retrieval ranking correctness"""
    with undone():
        ids = keep(alice, [{"content": text, "importance": weight} for text, weight, _, _ in told])
        live(alice.principal, {i: row[2:] for i, row in zip(ids, told, strict=True)})
        with time_machine.travel(timezone.now() + datetime.timedelta(days=60)):
            found = search(alice, profile=profile)
    assert {row["id"] for row in found} == set(ids)
    order = [(-row["score"], row["id"]) for row in found]
    assert order == sorted(order)
    if profile == "hindsight":  # similarity × recency × access frequency
        lived = dict(zip(ids, told, strict=True))
        for row in found:
            text, _, count, ago = lived[row["id"]]
            composite = cosine(text) * math.exp(-0.05 * ago) * (1 + math.log1p(count) / 10)
            assert row["score"] == pytest.approx(composite, abs=2e-3)


filters = st.fixed_dictionaries(
    {},
    optional={
        "type": st.lists(kinds, min_size=1, max_size=2),
        "agent": st.lists(st.sampled_from(["main", "other"]), min_size=1, max_size=2),
        "tags": st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2),
        "event_since": days,
        "event_until": days,
        "since": st.sampled_from([-1, 1]),
        "until": st.sampled_from([-1, 1]),
    },
)
rows = st.fixed_dictionaries(
    {
        "content": texts,
        "type": kinds,
        "agent_id": st.sampled_from(["main", "other"]),
        "tags": st.lists(st.sampled_from(["a", "b", "c"]), max_size=2),
        "event_at": days,
    }
)


def satisfies(row, asked, floor):
    tags = {*row["tags"], row["agent_id"]}
    return (
        row["type"] in asked.get("type", [row["type"]])
        and row["agent_id"] in asked.get("agent", [row["agent_id"]])
        and bool(tags & set(asked.get("tags", tags)))
        and asked.get("event_since", 0) <= row["event_at"] < asked.get("event_until", 61)
        and asked.get("since", -1) < 0 < asked.get("until", 1)
        and cosine(row["content"]) >= floor
    )


@examples
@given(
    told=st.lists(rows, max_size=6, unique_by=lambda row: row["content"]),
    asked=filters,
    floor=st.sampled_from([0, 0.5]),
)
def test_property_05_search_filter_correctness(alice, charlie, told, asked, floor):
    """Feature: hindsight-persistent-memory, Property 5: Search filter correctness"""
    if any(asked.get(a, -9) >= asked.get(b, 99) for a, b in (("event_since", "event_until"), ("since", "until"))):
        return  # a period that runs backwards is refused; see the tests of search
    if any(abs(cosine(row["content"]) - 0.5) < 0.01 for row in told):
        return  # vectors are kept in half precision
    with undone():
        ids = keep(alice, [{**row, "event_at": moment(row["event_at"])} for row in told])
        keep(alice, [{"content": row["content"]} for row in told], "acme:elsewhere")
        keep(charlie, [{"content": row["content"]} for row in told], "elsewhere:main")
        conditions = asked | {name: moment(asked[name]) for name in ("event_since", "event_until") if name in asked}
        conditions |= {name: near_now(asked[name]) for name in ("since", "until") if name in asked}
        found = {row["id"] for row in search(alice, filters=conditions, min_similarity=floor)}
    assert found == {i for i, row in zip(ids, told, strict=True) if satisfies(row, asked, floor)}


def moment(day):
    return (BIRTH + datetime.timedelta(days=day)).isoformat()


def near_now(hours):
    return (timezone.now() + datetime.timedelta(hours=hours)).isoformat()


def unstored(**more):
    values = {"id": uuid.uuid4(), "type": "semantic", "agent_id": "main", "created_at": BIRTH, "content": "x"}
    values |= {"source": "inference", "authority": 1, "project": Project(name="acme")}
    return Fragment(**{**values, **more})


@examples
@given(content=contents, agent=agents, kind=kinds, project=st.sampled_from(["acme", "a", "nova.mem-2"]))
@example(content="word " * 399 + "word", agent="MARS", kind="procedural", project="acme")
def test_property_06_pretty_printer_contains_key_fields(content, agent, kind, project):
    """Feature: hindsight-persistent-memory, Property 6: Pretty-printer contains key fields"""
    printed = str(unstored(content=content, agent_id=agent, type=kind, project=Project(name=project)))
    rest = printed
    for part in (kind, content[:100], agent, project):
        assert part in rest
        rest = rest.replace(part, "", 1)


@examples
@given(
    told=st.lists(
        st.tuples(texts, kinds, st.integers(1, 12), st.floats(0, 1)), max_size=8, unique_by=lambda row: row[0]
    ),
    budget=st.integers(0, 500),
    form=st.sampled_from(["markdown", "xml"]),
)
@example(told=[("heron", "semantic", 1, 0.5)], budget=0, form="markdown")
def test_property_19_token_budget_enforcement_and_priority(alice, told, budget, form):
    """Feature: hindsight-persistent-memory, Property 19: Token budget enforcement and priority"""
    with undone():
        bodies = [
            {"content": f"{text} " + "So it was said. " * more, "type": kind, "importance": weight}
            for text, kind, more, weight in told
        ]
        ids = keep(alice, bodies)
        scores = {row["id"]: row["score"] for row in search(alice)}
        body = {"query": QUERY, "namespace": "acme:main", "project_wide": False}
        body |= {"packing": "priority", "max_tokens": budget, "format": form}
        answer = post(alice, "context", body, 200)
    block, kept = answer["prompt_prefix"], set(answer["included"])
    assert answer["tokens_used"] == math.ceil(len(block) / 4) <= budget
    assert answer["memories_used"] == len(kept) == (len(read(block, form).lines) if block else 0)
    left = set(ids) - kept
    assert {item["id"] for item in answer["excluded"]} == left
    assert answer["truncated"] is bool(left)
    assert not kept or not left or min(scores[i] for i in kept) >= max(scores[i] for i in left) - 1e-6


@examples
@given(
    content=contents,
    kind=kinds,
    outcome=outcomes,
    trigger=st.one_of(st.none(), contents),
    steps=st.lists(contents, max_size=3),
    evidence=st.integers(1, 50),
    event=st.one_of(st.none(), days),
    form=st.sampled_from(["markdown", "xml"]),
)
def test_property_20_type_specific_formatting_completeness(
    content, kind, outcome, trigger, steps, evidence, event, form
):
    """Feature: hindsight-persistent-memory, Property 20: Type-specific formatting completeness"""
    at = None if event is None else BIRTH + datetime.timedelta(days=event)
    extra = {"trigger": trigger, "steps": steps}
    row = unstored(content=content, type=kind, outcome=outcome, corroboration=evidence, event_at=at, extra=extra)
    block = render_block([entry(row, form=form)], form=form, salt=b"salt")
    (line,) = read(block, form).lines
    facts = list(line.facts) if form == "markdown" else list(line.facts[1:])
    if kind == "episodic":
        told = [f"outcome {outcome}"] if outcome else []
        assert facts == [f"{at or BIRTH:%Y-%m-%d}", "acme", "main", *told]
    elif kind == "procedural" and (trigger or steps):
        written = " · ".join(facts) if form == "markdown" else "; ".join(facts)
        for said in (trigger or "", *steps):
            assert all(word in written for word in said.split() if word.isalnum())
        assert "trigger: unknown" not in written
        assert "steps: unknown" not in written
    else:
        assert facts == [f"confidence {line.trust}", f"evidence {evidence}"]
    assert (line.kind, line.source) == (kind, "inference")
