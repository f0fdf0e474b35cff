"""What a batch answers without reading it again is what reading would show."""

import json

import pytest

from memories.rest import fragments

URL = "/api/v1/fragments/batch"
ITEMS = [
    {"content": "The heron nests behind the mill in Leeds."},
    {
        "content": "A great day, wonderful.",
        "importance": 1,
        "emotional_valence": 0,
        "tags": ["a", "b"],
        "outcome": None,
    },
    {
        "content": "Said in March.",
        "event_at": "2025-03-01T10:00:00.120000+02:00",
        "agent_id": "ann",
        "type": "episodic",
    },
    {"content": "Of Bob.", "user": "bob", "key": "k1", "source_id": "s", "sequence": 3, "conversation_id": "c"},
    {
        "content": "Kept.",
        "entities": [{"text": "Kept", "label": "misc", "confidence": 1}],
        "topics": [],
        "category": "x",
    },
    {"content": "With more.", "extra": {"n": 1e2, "steps": ["one"]}, "source_type": "document", "workflow_id": "w"},
    {"content": "Alice lives in Leeds.", "claim": {"subject": "Alice", "predicate": "lives in", "value": "Leeds"}},
    {"content": "Alice lives in York.", "claim": {"subject": "Alice", "predicate": "lives in", "value": "York"}},
    {"content": "Twice.", "key": "k2"},
    {"content": "Twice again.", "key": "k2"},
    {
        "content": "Alice lives in York, says Bo.",
        "claim": {"subject": "Alice", "predicate": "lives in", "value": "York"},
    },
]


@pytest.mark.parametrize("embed", ["now", "later"])
def test_what_is_not_read_again_is_answered_as_if_it_were(alice, monkeypatch, embed):
    read, rows_of = [], fragments._rows
    monkeypatch.setattr(fragments, "_rows", lambda principal, ids: read.extend(ids) or rows_of(principal, ids))
    body = {"fragments": [{"namespace": "acme:main", **each} for each in ITEMS], "embed": embed}
    answer = alice.client.post(URL, body, format="json")
    assert answer.status_code == 201, answer.content
    results = answer.json()["results"]
    assert {str(each) for each in read} == {result["id"] for result in results[5:]}
    for result in results:
        stands = alice.client.get(
            f"/api/v1/fragments/{result['id']}", {"user": result["user"]} if result["user"] else {}
        ).json()
        # As texts: 1 and 1.0 are not the same answer.
        assert _text(result, of=stands) == _text(stands, of=stands)


def _text(answer, *, of):
    return json.dumps({name: answer[name] for name in of if name not in ("relevance_score", "effective_weight")})
