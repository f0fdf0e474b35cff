"""POST /api/v1/fragments/batch."""

import pytest

from memories.models import Fragment, PendingEmbedding

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
