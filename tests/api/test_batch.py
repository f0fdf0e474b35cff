"""POST /api/v1/fragments/batch."""

import pytest

from memories.models import Embedding, Fragment, PendingEmbedding

URL = "/api/v1/fragments/batch"


def item(n):
    return {"namespace": "acme:main", "content": f"Reading number {n} of the river gauge.", "source_id": f"r{n}"}


def test_works_by_copy_for_many(alice, count):
    answer = alice.client.post(URL, {"fragments": [item(n) for n in range(120)]}, format="json")
    assert answer.status_code == 201, answer.content
    results = answer.json()["results"]
    assert [result["source_id"] for result in results] == [f"r{n}" for n in range(120)]
    assert all(result["embedding"]["state"] == "ready" for result in results)
    assert count(Fragment) == 120


def test_what_is_copied_equals_what_is_stored_alone(alice, count):
    wish = {
        **item(1),
        "tags": ["a", 'quo"te', "com,ma", "back\\slash"],
        "extra": {"quote": 'it\'s "here"', "tab": "a\tb", "none": None},
        "topics": ["é", "日本"],
        "event_at": "2025-03-01T10:00:00.123456Z",
        "outcome": None,
    }
    alone = alice.client.post("/api/v1/fragments", wish, format="json").json()
    copied = alice.client.post(URL, {"fragments": [wish] + [item(n) for n in range(60)]}, format="json").json()[
        "results"
    ][0]
    own = {"id", "created_at", "updated_at"}
    fading = {"relevance_score", "effective_weight"}
    assert {k: v for k, v in copied.items() if k not in own | fading} == {
        k: v for k, v in alone.items() if k not in own | fading
    }
    assert {k: copied[k] for k in fading} == pytest.approx({k: alone[k] for k in fading}, abs=1e-3)


def test_many_that_say_the_same_are_stored_with_their_vectors(alice, count):
    """All columns but a few are alike in all of them, and so are the vectors."""
    same = {"namespace": "acme:main", "content": "The river gauge was read.", "tags": ["gauge"]}
    answer = alice.client.post(URL, {"fragments": [same] * 60}, format="json")
    assert answer.status_code == 201, answer.content
    assert all(result["embedding"]["state"] == "ready" for result in answer.json()["results"])
    assert count(Fragment) == count(Embedding) == 60


EVERYTHING = {
    "namespace": "acme:main",
    "content": "The otter Ada sleeps by the weir.",
    "type": "episodic",
    "category": "animals",
    "tags": ["otter"],
    "topics": ["sleep"],
    "entities": [{"text": "Ada", "label": "person", "confidence": 0.5}],
    "outcome": "positive",
    "importance": 0.25,
    "emotional_valence": -0.5,
    "is_pinned": True,
    "is_anchor": True,
    "workflow_id": "w1",
    "event_at": "2025-03-01T10:00:00.123456Z",
    "extra": {"steps": ["Look.", "Wait."], "number": 1.50},
    "source_type": "document",
    "source_id": "d1",
    "conversation_id": "c1",
    "sequence": 7,
    "provenance": {"source": "tool_output", "source_id": "t1"},
}
CLAIMS = [
    {"subject": "Ada", "predicate": "sleeps_by", "value": "the weir", "exclusive": True},
    {"subject": "Ada", "predicate": "kind", "value": "otter", "exclusive": False},
    {"subject": "Ada", "predicate": "age", "value": "3", "valid_from": "2025-01-01T00:00:00Z"},
]


@pytest.mark.parametrize("claims", [[], CLAIMS])
@pytest.mark.parametrize("user", [None, "bo"])
def test_everything_that_is_given_is_copied(alice, claims, user):
    about = {"user": user} if user else {}
    wish = {**EVERYTHING, **about, "claims": claims, "key": "ada"}
    parent = alice.client.post("/api/v1/fragments", {"namespace": "acme:main", "content": "It rained."}, format="json")
    wish["provenance"] = {**wish["provenance"], "parents": [parent.json()["id"]]}

    def kept(namespace, parts):
        moved = [{**part, "namespace": namespace} for part in parts]
        answer = alice.client.post(URL, {"fragments": moved}, format="json")
        assert answer.status_code == 201, answer.content
        first = answer.json()["results"][0]["id"]
        return alice.client.get(f"/api/v1/fragments/{first}", about).json()

    fillers = [{**item(n), **about, "claims": [{**one, "subject": f"g{n}"} for one in claims]} for n in range(60)]
    alone, beside = kept("acme:main", [wish]), kept("acme:other", [wish, *fillers])
    own = {"id", "namespace", "created_at", "updated_at", "relevance_score", "effective_weight", "trust", "confidence"}
    own |= {"claim", "claims", "links", "agent_id", "tags"}
    assert {name: beside[name] for name in beside.keys() - own} == {name: alone[name] for name in alone.keys() - own}
    assert [without_ids(claim) for claim in beside["claims"]] == [without_ids(claim) for claim in alone["claims"]]
    assert (beside["key"], beside["sequence"], beside["workflow_id"]) == ("ada", 7, "w1")


def without_ids(claim):
    return {name: value for name, value in claim.items() if name not in ("id", "key", "last_seen_at")}


def test_a_vector_that_is_copied_equals_one_that_is_stored_alone(alice):
    wish = {"namespace": "acme:main", "content": "A vector of small and of large numbers."}
    alone = alice.client.post("/api/v1/fragments", wish, format="json").json()
    many = [{**wish, "user": "bob"}] + [item(n) for n in range(60)]
    copied = alice.client.post(URL, {"fragments": many}, format="json").json()["results"][0]
    vectors = [
        alice.client.get(f"/api/v1/fragments/{row['id']}", {"include": "embedding", **about}).json()["embedding"][
            "vector"
        ]
        for row, about in ((alone, {}), (copied, {"user": "bob"}))
    ]
    assert any(vectors[0])
    assert vectors[0] == vectors[1]


def test_later_leaves_the_embedding_to_the_worker(alice, count):
    answer = alice.client.post(URL, {"fragments": [item(1), item(2)], "embed": "later"}, format="json")
    assert [result["embedding"]["state"] for result in answer.json()["results"]] == ["pending", "pending"]
    assert count(PendingEmbedding) == 2
    found = alice.client.post(
        "/api/v1/search", {"namespace": "acme:main", "query": "river gauge"}, format="json"
    ).json()
    assert len(found["results"]) == 2


def test_one_bad_item_stores_nothing_and_is_named(alice, count):
    answer = alice.client.post(URL, {"fragments": [item(1), item(2), {**item(3), "content": ""}]}, format="json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "fragments[2].content"
    assert count(Fragment) == 0


def test_one_uncovered_item_stores_nothing(alice, count):
    answer = alice.client.post(URL, {"fragments": [item(1), {**item(2), "namespace": "elsewhere:x"}]}, format="json")
    assert answer.status_code == 404
    assert count(Fragment) == 0


def test_empty_and_oversized_batches_are_refused(alice):
    for fragments in ([], [item(n) for n in range(1001)]):
        assert alice.client.post(URL, {"fragments": fragments}, format="json").status_code == 400
