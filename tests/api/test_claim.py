"""Claims over HTTP: what is admitted, what waits, what is refused (SPEC §4)."""

import pytest


def claim(value, *, subject="user", predicate="budget_is", **more):
    return {"subject": subject, "predicate": predicate, "value": value, **more}


@pytest.fixture
def say(alice):
    """Stores a claim through the API."""

    def post(value, *, by=alice, source=None, content=None, status=201, **more):
        body = {"namespace": "acme:main", "content": content or f"It is {value}.", "claim": claim(value, **more)}
        if source:
            body["provenance"] = {"source": source}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


def test_a_claim_is_stored_with_its_fragment(say):
    told = say("$750", source="user_explicit")
    assert told["claim"]["subject"] == "user"
    assert (told["claim"]["value"], told["claim"]["authority"], told["status"]) == ("$750", 6, "active")


def test_a_stronger_source_replaces_and_a_weaker_one_waits(say, bob):
    first = say("$750", source="user_explicit")
    lost = say("$0", by=bob, source="tool_output")
    assert (lost["status"], lost["superseded"]) == ("quarantined", [])
    (pending,) = lost["pending_conflicts"]
    assert (pending["existing_id"], pending["reason"]) == (first["id"], "authority_insufficient")
    assert (pending["new_authority"], pending["existing_authority"]) == (4, 6)
    won = say("$900", source="user_explicit")
    assert won["superseded"] == [first["id"]]


def test_the_same_value_is_one_memory(say, bob):
    first = say("$750", source="tool_output")
    again = say("750 USD", by=bob, source="tool_output", status=200)
    assert (again["id"], again["deduplicated"]) == (first["id"], True)
    assert again["provenance"]["corroboration"] == 2
