"""Claims over HTTP: what is admitted, what waits, what is refused (docs/spec.md §4)."""

import pytest


def claim(value, *, subject="user", predicate="budget_is", **more):
    return {"subject": subject, "predicate": predicate, "value": value, **more}


@pytest.fixture
def store_claim(alice):
    """Stores a claim through the API."""

    def post(value, *, by=alice, source=None, content=None, status=201, **more):
        body = {"namespace": "acme:main", "content": content or f"It is {value}.", "claim": claim(value, **more)}
        if source:
            body["provenance"] = {"source": source}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


def test_a_claim_is_stored_with_its_fragment(store_claim):
    told = store_claim("$750", source="user_explicit")
    assert told["claim"]["subject"] == "user"
    assert (told["claim"]["value"], told["claim"]["authority"], told["status"]) == ("$750", 6, "active")


def test_a_stronger_source_replaces_and_a_weaker_one_waits(store_claim, bob):
    first = store_claim("$750", source="user_explicit")
    lost = store_claim("$0", by=bob, source="tool_output")
    assert (lost["status"], lost["superseded"]) == ("quarantined", [])
    (pending,) = lost["pending_conflicts"]
    assert (pending["existing_id"], pending["reason"]) == (first["id"], "authority_insufficient")
    assert (pending["new_authority"], pending["existing_authority"]) == (4, 6)
    won = store_claim("$900", source="user_explicit")
    assert won["superseded"] == [first["id"]]


def test_the_same_value_is_one_memory(store_claim, bob):
    first = store_claim("$750", source="tool_output")
    again = store_claim("750 USD", by=bob, source="tool_output", status=200)
    assert (again["id"], again["deduplicated"]) == (first["id"], True)
    assert again["provenance"]["corroboration"] == 2


def test_a_claim_is_read_out_of_the_text(alice):
    body = {"namespace": "acme:main", "content": "My budget is $750.", "extract_claim": True}
    told = alice.client.post(
        "/api/v1/fragments", {**body, "provenance": {"source": "user_explicit"}}, format="json"
    ).json()
    assert (told["claim"]["predicate"], told["claim"]["value"], told["claim"]["authority"]) == ("budget", "$750", 6)


def test_what_others_say_of_the_user_is_an_inference(bob):
    body = {"namespace": "acme:main", "content": "The user's budget is $750.", "extract_claim": True}
    told = bob.client.post("/api/v1/fragments", {**body, "provenance": {"source": "tool_output"}}, format="json").json()
    assert (told["provenance"]["authority"], told["claim"]["authority"]) == (4, 1)


def test_a_text_that_contradicts_a_stronger_claim_waits(store_claim, bob):
    first = store_claim("Oslo", predicate="lives_in", source="user_explicit")
    body = {"namespace": "acme:main", "content": "The user lives in Rome now."}
    told = bob.client.post("/api/v1/fragments", body, format="json").json()
    assert told["status"] == "quarantined"
    assert [(c["existing_id"], c["reason"]) for c in told["pending_conflicts"]] == [(first["id"], "free_text")]


def test_the_user_takes_back_what_was_said(alice, store_claim):
    first = store_claim("Oslo", predicate="lives_in", source="user_explicit")
    body = {"namespace": "acme:main", "content": "I no longer live in Oslo.", "extract_claim": True}
    told = alice.client.post(
        "/api/v1/fragments", {**body, "provenance": {"source": "user_explicit"}}, format="json"
    ).json()
    assert (told["status"], told["superseded"]) == ("active", [first["id"]])


def test_nobody_weaker_takes_it_back(store_claim, bob):
    first = store_claim("Oslo", predicate="lives_in", source="user_explicit")
    body = {"namespace": "acme:main", "content": "I no longer live in Oslo.", "extract_claim": True}
    told = bob.client.post("/api/v1/fragments", body, format="json").json()
    assert (told["status"], told["superseded"]) == ("quarantined", [])
    assert bob.client.get(f"/api/v1/fragments/{first['id']}").json()["status"] == "active"


def test_statistics_count_what_waits(alice, bob, store_claim):
    store_claim("$750", source="user_explicit")
    store_claim("$0", by=bob, source="tool_output")
    assert alice.client.get("/api/v1/stats?namespace=acme:main").json()["pending_conflicts"] == 1
