"""POST /api/v1/fragments."""

import pytest
from rest_framework.exceptions import ValidationError

from memories import erasure
from memories.api import fragments
from memories.models import Fragment, PendingEmbedding
from memories.providers import embeddings
from memories.providers.fake import FakeEmbedder
from memories.rest.fields import validated
from memories.rest.inputs import FragmentInput

URL = "/api/v1/fragments"
HERON = {"namespace": "acme:main", "content": "The heron nests behind the old mill."}


def test_works(alice):
    answer = alice.client.post(URL, HERON, format="json")
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert body["content"] == HERON["content"]
    assert body["namespace"] == "acme:main"
    assert body["project"] == "acme"
    assert body["agent_id"] == "main"
    assert body["tags"] == ["main"]
    assert body["type"] == "semantic"
    assert body["status"] == "active"
    assert body["deduplicated"] is False
    assert body["superseded"] == []
    assert body["pending_conflicts"] == []
    assert body["provenance"]["source"] == "inference"
    assert body["provenance"]["authority"] == 1
    assert body["trust"] == body["confidence"] == 0.5
    assert body["embedding"] == {"model": "fake", "dim": 384, "state": "ready"}
    assert body["relevance_score"] == body["base_relevance"] == 1.0


def test_project_and_agent_name_the_namespace_and_the_agent_keeps_its_spelling(alice):
    body = alice.client.post(
        URL, {"project_id": "acme", "agent_id": "MARS", "content": "Deploys happen on Tuesdays."}, format="json"
    ).json()
    assert (body["namespace"], body["agent_id"], body["tags"]) == ("acme:mars", "MARS", ["MARS"])


def test_every_field_comes_back(alice):
    wish = {
        **HERON,
        "type": "procedural",
        "category": "knowledge",
        "source_type": "task",
        "source_id": "task-1",
        "workflow_id": "w",
        "conversation_id": "c",
        "sequence": 3,
        "tags": ["birds"],
        "topics": ["heron"],
        "entities": [{"text": "Old Mill", "label": "location", "confidence": 0.9}],
        "outcome": "positive",
        "importance": 0.25,
        "emotional_valence": -0.5,
        "is_pinned": True,
        "is_anchor": True,
        "event_at": "2025-03-01T10:00:00+02:00",
        "extra": {"trigger": "spring", "steps": ["look"], "depth": {"n": [1, 2.5, None]}},
    }
    body = alice.client.post(URL, wish, format="json").json()
    expected = {**wish, "tags": ["birds", "main"], "event_at": "2025-03-01T08:00:00Z", "source_ids": ["task-1"]}
    assert {name: body[name] for name in expected} == expected


def test_the_callers_own_class_counts_up_to_the_ceiling(alice, bob):
    said = {**HERON, "provenance": {"source": "user_explicit"}}
    assert alice.client.post(URL, said, format="json").json()["provenance"]["authority"] == 6
    refused = bob.client.post(URL, said, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "authority_ceiling")


def test_a_derived_fragment_is_worth_its_weakest_parent(alice, count):
    weak = alice.client.post(URL, HERON, format="json").json()
    strong = alice.client.post(
        URL, {**HERON, "content": "Said by the user.", "provenance": {"source": "user_explicit"}}, format="json"
    ).json()
    child = {
        **HERON,
        "content": "A digest of both.",
        "provenance": {"source": "user_explicit", "parents": [weak["id"], strong["id"]]},
    }
    body = alice.client.post(URL, child, format="json").json()
    assert body["provenance"]["authority"] == 1
    assert body["provenance"]["parents"] == [weak["id"], strong["id"]]


def test_foreign_parents_look_missing(alice, charlie, count):
    theirs = charlie.client.post(
        URL, {"namespace": "elsewhere:x", "content": "Not yours at all."}, format="json"
    ).json()
    before = count(Fragment)
    answer = alice.client.post(
        URL, {**HERON, "provenance": {"source": "inference", "parents": [theirs["id"]]}}, format="json"
    )
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert [row["field"] for row in answer.json()["errors"]] == ["provenance.parents"]
    assert count(Fragment) == before


class Broken(FakeEmbedder):
    """An embedder whose model is away."""

    def embed(self, texts):
        raise embeddings.EmbeddingFailed("away")


def test_without_an_embedder_it_is_stored_and_marked(alice, monkeypatch, count):
    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Broken())
    body = alice.client.post(URL, HERON, format="json").json()
    assert body["embedding"]["state"] == "pending"
    assert count(PendingEmbedding) == 1


BAD = {
    "empty": {**HERON, "content": ""},
    "white space": {**HERON, "content": " \n\t "},
    "too long": {**HERON, "content": "x" * 2001},
    "no text": {"namespace": "acme:main"},
    "a number for text": {**HERON, "content": 5},
    "wrong type": {**HERON, "type": "emotional"},
    "wrong source type": {**HERON, "source_type": "gossip"},
    "wrong source": {**HERON, "provenance": {"source": "god"}},
    "unknown field": {**HERON, "authority": 6},
    "unknown provenance field": {**HERON, "provenance": {"source": "inference", "authority": 6}},
    "importance above": {**HERON, "importance": 1.5},
    "importance as NaN text": {**HERON, "importance": "NaN"},
    "importance as truth": {**HERON, "importance": True},
    "valence below": {**HERON, "emotional_valence": -1.5},
    "naive time": {**HERON, "event_at": "2025-03-01T10:00:00"},
    "no time": {**HERON, "event_at": "yesterday"},
    "time before time": {**HERON, "event_at": "0001-01-01T00:00:00+14:00"},
    "no namespace": {"content": "Somewhere."},
    "both namespaces": {**HERON, "project_id": "acme", "agent_id": "x"},
    "project without agent": {"project_id": "acme", "content": "Nobody said it."},
    "bad namespace": {**HERON, "namespace": "acme:Main Room"},
    "bad agent": {"project_id": "acme", "agent_id": "a b", "content": "Space in the name."},
    "tag too long": {**HERON, "tags": ["x" * 101]},
    "tag no text": {**HERON, "tags": [1]},
    "source id too long": {**HERON, "source_id": "x" * 256},
    "extra is a list": {**HERON, "extra": [1]},
    "extra too large": {**HERON, "extra": {"x": "y" * 70_000}},
    "sequence too large": {**HERON, "sequence": 2**40},
    "parents no uuid": {**HERON, "provenance": {"source": "inference", "parents": ["x"]}},
    "not an object": [HERON],
}


@pytest.mark.parametrize("why", BAD)
def test_bad_input_stores_nothing(why, alice, count):
    before = count(Fragment)
    answer = alice.client.post(URL, BAD[why], format="json")
    assert answer.status_code == 400, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["code"] == "validation"
    assert body["errors"]
    assert body["status"] == 400
    assert count(Fragment) == before


RAW = {
    "not JSON": (b"{", 400),
    "no UTF-8": (b'{"content": "\xff"}', 400),
    "NUL": (b'{"namespace": "acme:main", "content": "a\\u0000b"}', 400),
    "lone surrogate": (b'{"namespace": "acme:main", "content": "\\ud800"}', 400),
    "NUL in a key": (b'{"namespace": "acme:main", "content": "text", "extra": {"a\\u0000": 1}}', 400),
    "NaN": (b'{"namespace": "acme:main", "content": "text", "importance": NaN}', 400),
    "infinite": (b'{"namespace": "acme:main", "content": "text", "importance": 1e999}', 400),
    "deep": (b'{"a":' * 5000 + b"1" + b"}" * 5000, 400),
    "deep list": (b"[" * 100_000, 400),
    "huge integer": (b'{"namespace": "acme:main", "content": "text", "sequence": ' + b"9" * 5000 + b"}", 400),
    "10 MB": (b'{"content": "' + b"x" * 10_000_000 + b'"}', 413),
}


@pytest.mark.parametrize("why", RAW)
def test_a_broken_body_stores_nothing(why, alice, count):
    body, status = RAW[why]
    before = count(Fragment)
    answer = alice.client.post(URL, body, content_type="application/json")
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert count(Fragment) == before


@pytest.mark.parametrize("text", ["a\ud800b", "a\0b", "\udfff\ud800"])
def test_doors_without_that_parser_refuse_it_too(text):
    with pytest.raises(ValidationError):
        validated(FragmentInput, {"namespace": "acme:main", "content": text})
    assert validated(FragmentInput, {"namespace": "acme:main", "content": "naïve 🦦"})["content"] == "naïve 🦦"


def test_other_media_types_are_refused(alice):
    answer = alice.client.post(URL, b"<x/>", content_type="application/xml")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_uncovered_namespaces_look_missing(alice, bob, charlie, count):
    before = count(Fragment)
    for agent, name in [(charlie, "acme:main"), (alice, "elsewhere:main"), (alice, "nowhere:main")]:
        answer = agent.client.post(URL, {**HERON, "namespace": name}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert count(Fragment) == before


def test_a_reader_may_not_write(reader, count):
    answer = reader.client.post(URL, HERON, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert count(Fragment) == 0


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer nonsense", "Basic abc", "Bearer nova_a_b_c", "Bearer \xff"])
def test_nobody_may_do_anything(header, anonymous, count):
    headers = {"Authorization": header} if header else {}
    answer = anonymous.post(URL, HERON, content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert count(Fragment) == 0


def test_what_is_forgotten_before_the_answer_is_written_was_stored_all_the_same(alice, monkeypatch):
    kept = fragments.store

    def keep(principal, prepared, *, now):
        admissions = kept(principal, prepared, now=now)
        erasure.forget(principal, admissions[0].fragment.id, now=now)
        return admissions

    monkeypatch.setattr(fragments, "store", keep)
    answer = alice.client.post(URL, {"namespace": "acme:main", "content": "The heron nests."}, format="json")
    assert answer.status_code == 201
    assert answer.json()["content"] == "The heron nests."
    assert alice.client.get(f"{URL}/{answer.json()['id']}").status_code == 404
