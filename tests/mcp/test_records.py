"""Tools that list, change and tell the history of memories, and those that connectors of chat programs ask for."""

import json

import pytest

from memories.retrieval.context import estimate_tokens
from tests.mcp.conftest import Refused, over_http

HERON = "The heron nests behind the old mill."
BUDGET = {"subject": "user", "predicate": "budget", "value": "$750"}


@pytest.fixture
def herons(session):
    """Ten memories, in the order in which they were stored."""
    return [session.call("retain", content=f"The heron number {n} nests behind mill {n}.")["id"] for n in range(10)]


def test_a_list_goes_on_page_by_page(session, herons):
    found, cursor = [], None
    for size in (4, 4, 2):
        page = session.call("list_memories", limit=4, **({"cursor": cursor} if cursor else {}))
        assert len(page["results"]) == size
        found += [row["id"] for row in page["results"]]
        cursor = page["next"]
    assert (cursor, found) == (None, herons[::-1])
    with pytest.raises(Refused, match="no cursor"):
        session.call("list_memories", cursor="x")


def test_a_list_is_of_what_is_asked_for(session, herons, web, committed, agent_of, own_namespace):
    session.call("retain", content="The otter sleeps under the bridge.", tags=["otters"])
    assert len(session.call("list_memories", tag="otters")["results"]) == 1
    session.call("archive", id=herons[0])
    assert [row["id"] for row in session.call("list_memories", status="archived")["results"]] == [herons[0]]
    assert len(session.call("list_memories", status="all")["results"]) == 11
    other = over_http(web, agent_of(committed, owner="bob", namespaces=[f"{committed.name}:other"]).key)
    with pytest.raises(Refused, match="not_found"):
        other.call("list_memories", namespace=own_namespace)


@pytest.mark.parametrize("tool", ["recall", "list_memories"])
def test_an_answer_is_as_long_as_it_may_be(tool, session, herons):
    arguments = {"query": "Where do the herons nest?", "top_k": 10} if tool == "recall" else {"limit": 10}
    whole = session.call(tool, **arguments)
    assert (len(whole["results"]), "left_out" in whole) == (10, False)
    with pytest.raises(Refused, match="The first result alone takes 1"):
        session.call(tool, **arguments, max_tokens=100)
    for most in (200, 500, 1000, 100_000):
        some = session.call(tool, **arguments, max_tokens=most)
        assert estimate_tokens(json.dumps(some)) <= most
        assert some["results"] == whole["results"][: len(some["results"])]
        assert len(some["results"]) + some["left_out"] == 10
    assert some["left_out"] == 0
    assert 0 < len(session.call(tool, **arguments, max_tokens=500)["results"]) < 10


def test_a_shortened_list_goes_on_where_it_ended(session, herons):
    found, arguments = [], {}
    while True:
        page = session.call("list_memories", max_tokens=600, **arguments)
        found += [row["id"] for row in page["results"]]
        if page["next"] is None:
            break
        arguments = {"cursor": page["next"]}
    assert found == herons[::-1]


def test_a_memory_is_changed_and_its_history_told(session):
    kept = session.call("retain", content=HERON, claim={"subject": "heron", "predicate": "nests", "value": "mill"})
    changed = session.call("update_memory", id=kept["id"], content="The heron nests in the reeds.", tags=["birds"])
    assert (changed["content"], changed["revision"]) == ("The heron nests in the reeds.", 2)
    assert "birds" in changed["tags"]
    with pytest.raises(Refused, match="stale"):
        session.call("update_memory", id=kept["id"], content="The heron left.", revision=1)
    with pytest.raises(Refused, match="at least one field"):
        session.call("update_memory", id=kept["id"])
    told = session.call("memory_history", id=kept["id"])
    assert [(row["revision"], row["content"]) for row in told["revisions"]] == [(1, HERON)]
    assert [event["kind"] for event in told["events"]][:1] == ["insert"]
    assert {event["revision"] for event in told["events"]} == {1, 2}


def test_a_new_text_is_read_anew(session):
    kept = session.call("retain", content="My budget is $650.", extract_claim=True)
    changed = session.call("update_memory", id=kept["id"], content="By the way: my budget is $700.")
    assert [(one["value"], one["span"]) for one in changed["claims"]] == [("$700", [12, 29])]
    session.call("update_memory", id=kept["id"], content="Thank you for all of it.")
    assert session.call("list_claims", subject="user")["claims"] == []


def test_a_change_tells_what_it_replaced_and_what_it_waits_against(session, web, committed, agent_of, own_namespace):
    former = session.call("retain", content="My budget is $650.", extract_claim=True, source="tool_output")
    note = session.call("retain", content="Thank you for all of it.", source="tool_output")
    changed = session.call("update_memory", id=note["id"], content="My budget is $700.")
    assert (changed["superseded"], changed["pending_conflicts"]) == ([former["id"]], [])
    bob = over_http(web, agent_of(committed, owner="bob").key, **{"X-NovaMem-Namespace": own_namespace})
    said = bob.call("retain", content="The user called.", source="document")
    claim = {"subject": "user", "predicate": "budget", "value": "$900"}
    waits = bob.call("update_memory", id=said["id"], content="The user's budget is $900.", claim=claim)
    assert (waits["status"], waits["superseded"]) == ("quarantined", [])
    assert [one["existing_id"] for one in waits["pending_conflicts"]] == [note["id"]]


def test_nobody_else_changes_a_text(session, web, committed, agent_of, own_namespace):
    kept = session.call("retain", content=HERON)
    bob = over_http(web, agent_of(committed, owner="bob").key, **{"X-NovaMem-Namespace": own_namespace})
    with pytest.raises(Refused, match="not_permitted"):
        bob.call("update_memory", id=kept["id"], content="The heron left.")
    reads = over_http(web, agent_of(committed, owner="alice", verbs=["read"]).key)
    with pytest.raises(Refused, match="verb write"):
        reads.call("update_memory", id=kept["id"], content="The heron left.")
    assert session.call("read_memory", id=kept["id"])["content"] == HERON


def test_what_was_believed_when(session):
    for value in ("$750", "$900"):
        session.call("retain", content=f"My budget is {value}.", claim={**BUDGET, "value": value}, source="tool_output")
    told = session.call("claim_timeline", subject="user", predicate="budget")
    assert [(row["value"], row["status"]) for row in told["results"]] == [("$750", "superseded"), ("$900", "active")]
    assert told["more"] is False
    assert session.call("claim_timeline", subject="user", predicate="budget", limit=1)["more"] is True
    assert session.call("claim_timeline", subject="user", predicate="height")["results"] == []


def test_a_connector_searches_and_fetches(session, web):
    kept = session.call("retain", content=HERON, claim={"subject": "heron", "predicate": "nests", "value": "mill"})
    (hit,) = session.call("search", query="Where does the heron nest?")["results"]
    assert hit == {"id": kept["id"], "title": HERON, "url": f"{web}/memories/{kept['id']}/"}
    document = session.call("fetch", id=kept["id"])
    assert {name: document[name] for name in hit} == hit
    assert (document["text"], document["metadata"]["source"]) == (HERON, "inference")
    assert document["metadata"]["claim"]["value"] == "mill"
    with pytest.raises(Refused, match="not_found"):
        session.call("fetch", id="heron")


def test_a_long_text_has_a_short_title(session):
    kept = session.call("retain", content="The heron " * 40)
    assert len(session.call("fetch", id=kept["id"])["title"]) <= 80


def test_users_are_apart(session):
    kept = session.call("retain", content="My budget is $750.", claim=BUDGET, user="ann")
    named = {"subject": "user", "predicate": "budget"}
    for user, found in (("ann", 1), ("bob", 0)):
        assert len(session.call("list_memories", user=user)["results"]) == found
        assert len(session.call("search", query="What is my budget?", user=user)["results"]) == found
        assert len(session.call("claim_timeline", **named, user=user)["results"]) == found
    for tool, more in (("fetch", {}), ("memory_history", {}), ("update_memory", {"content": "My budget is $13."})):
        with pytest.raises(Refused, match="not_found"):
            session.call(tool, id=kept["id"], user="bob", **more)
