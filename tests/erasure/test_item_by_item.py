"""Of many at once what was forgotten is reported by itself, and the others are stored."""

import uuid

import pytest

from memories.models import Fragment

TEXT = "Yes, please send me the invoice by email."
MAIN = "acme:main"
BLOCKED = {"status": "blocked_by_erasure", "code": "blocked_by_erasure"}


@pytest.fixture(autouse=True)
def forgotten(alice, store):
    """Stored by Alice, and forgotten."""
    row = store(MAIN, TEXT, by=alice.principal)
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204


def test_a_batch(alice, count):
    texts = ["Eve keeps three goats.", TEXT, "The mill stands by the river.", TEXT.upper()]
    body = {"fragments": [{"namespace": MAIN, "content": text} for text in texts]}
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    answer = alice.client.post("/api/v1/fragments/batch", body, format="json", headers=headers)
    assert answer.status_code == 201, answer.content
    results = answer.json()["results"]
    assert [one.get("content") for one in results] == [texts[0], None, texts[2], None]
    assert results[1] == results[3] == BLOCKED
    assert count(Fragment) == 2
    again = alice.client.post("/api/v1/fragments/batch", body, format="json", headers=headers)
    assert again.json() == answer.json()


def test_an_invalid_item_still_refuses_the_batch(alice, count):
    body = {"fragments": [{"namespace": MAIN, "content": text} for text in (TEXT, "Goats.", "  ")]}
    answer = alice.client.post("/api/v1/fragments/batch", body, format="json")
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["fragments[2].content"]
    assert count(Fragment) == 0


def test_a_batch_of_nothing_else(alice, count):
    answer = alice.client.post(
        "/api/v1/fragments/batch", {"fragments": [{"namespace": MAIN, "content": TEXT}]}, format="json"
    )
    assert (answer.status_code, answer.json()["results"], count(Fragment)) == (201, [BLOCKED], 0)


def test_ingesting(alice):
    turns = [{"role": "user", "content": text} for text in (TEXT, "Eve keeps three goats.")]
    told = alice.client.post("/api/v1/ingest", {"namespace": MAIN, "messages": turns}, format="json").json()
    assert [one["content"] for one in told["stored"]] == ["Eve keeps three goats."]
    assert told["skipped"] == [{"index": 0, "reason": "blocked_by_erasure"}]


def test_adding_through_mem0(alice, store):
    row = store(MAIN, TEXT, by=alice.principal.of_user("eve"))
    assert alice.client.delete(f"/api/v1/fragments/{row.id}?user=eve").status_code == 204
    turns = [{"role": "user", "content": text} for text in (TEXT, "Eve keeps three goats.")]
    answer = alice.client.post(
        "/compat/mem0/v3/memories/add/",
        {"messages": turns, "user_id": "eve"},
        format="json",
        headers={"X-NovaMem-Namespace": MAIN},
    )
    assert answer.status_code == 200, answer.content
    first, second = answer.json()["results"]
    assert first == {"id": None, "memory": TEXT, "event": "NONE", "status": "blocked_by_erasure"}
    assert (second["memory"], second["event"]) == ("Eve keeps three goats.", "ADD")


def test_insights_of_a_retrospective(alice):
    body = {"namespace": MAIN, "insights": [TEXT, "Deploy before noon, never on Fridays."]}
    answer = alice.client.post("/api/v1/bridges/atlas/retrospectives", body, format="json")
    assert answer.status_code == 201, answer.content
    first, second = answer.json()["results"]
    assert (first, second["content"]) == (BLOCKED, "Deploy before noon, never on Fridays.")
