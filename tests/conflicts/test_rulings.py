"""Rulings: what a person decided holds, until the same person or another reviewer changes it (SPEC §18.2)."""

from typing import Any

import pytest

CLAIM = {"subject": "acme", "predicate": "contract value"}


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def paper(project, agent_of):
    """What is read out of documents."""
    return agent_of(project, owner="paper", ceiling="document")


@pytest.fixture
def say(alice):
    """Stores a claim, by default as Alice's user says it."""

    def post(value, *, by=alice, source="user_explicit", claim=CLAIM, **more):
        body = {"namespace": "acme:main", "content": f"It is worth {value}.", "provenance": {"source": source}}
        body["claim"] = {**claim, "value": value, **more}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def read_out(say, paper):
    """What a document says."""
    return lambda value, **more: say(value, by=paper, source="document", **more)


@pytest.fixture
def tell(say, bob):
    """What a tool says."""
    return lambda value, **more: say(value, by=bob, source="tool_output", **more)


def get(agent, path, **query) -> Any:
    answer = agent.client.get(f"/api/v1/{path}", query)
    assert answer.status_code == 200, answer.json()
    return answer.json()


def status(agent, fragment) -> str:
    return get(agent, f"fragments/{fragment['id']}")["status"]


def decide(agent, conflict_id, action, *, code=200, **more) -> Any:
    revision = get(agent, f"conflicts/{conflict_id}")["revision"]
    body = {"action": action, "revision": revision, **more}
    answer = agent.client.post(f"/api/v1/conflicts/{conflict_id}/resolve", body, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def take_back(agent, conflict_id, *, code=200) -> Any:
    answer = agent.client.post(f"/api/v1/conflicts/{conflict_id}/undo", {}, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def only(rows: list[Any]) -> Any:
    (row,) = rows
    return row


def pending(agent) -> list[Any]:
    return get(agent, "conflicts")["results"]


def rulings(agent, **query) -> list[Any]:
    return get(agent, "rulings", **query)["results"]


@pytest.fixture
def ruled(say, read_out, carol):
    """The document's $84,000 was accepted over the user's $48,000."""
    user, paper = say("$48,000"), read_out("$84,000")
    conflict = only(paper["pending_conflicts"])["id"]
    decide(carol, conflict, "supersede", note="signed on Monday")
    return {"user": user, "paper": paper, "conflict": conflict}


class TestBinding:
    """What a decision protects, and what it opens again."""

    def test_a_later_write_waits_and_opens_the_ruling_again(self, ruled, tell, carol):
        late = tell("$99,999")
        assert (late["status"], late["superseded"]) == ("quarantined", [])
        assert status(carol, ruled["paper"]) == "active"
        opened = only(pending(carol))
        assert opened["new_claim"]["value"] == "$99,999"
        told = opened["ruling"]
        assert (told["by"], told["note"], told["authority"]) == ("carol", "signed on Monday", 6)
        assert [one["value"] for one in told["chosen"]] == ["$84,000"]
        assert [one["value"] for one in told["ruled_out"]] == ["$48,000"]
        assert told["at"] == get(carol, f"conflicts/{ruled['conflict']}")["resolved_at"]

    def test_fragments_keep_their_own_authority(self, ruled, carol):
        row = get(carol, f"fragments/{ruled['paper']['id']}")
        assert (row["provenance"]["source"], row["claim"]["authority"]) == ("document", 2)

    def test_undo_brings_back_what_stood_although_writes_wait(self, ruled, tell, carol):
        late = tell("$99,999")
        take_back(carol, ruled["conflict"])
        assert status(carol, ruled["user"]) == "active"
        assert [status(carol, each) for each in (ruled["paper"], late)] == ["quarantined", "quarantined"]
        assert {row["existing_id"] for row in pending(carol)} == {ruled["user"]["id"]}
        assert rulings(carol) == []
        assert tell("$77,777")["status"] == "quarantined"

    def test_the_writer_itself_may_not_replace_what_was_ruled(self, ruled, read_out, carol):
        assert read_out("$85,000")["status"] == "quarantined"
        assert status(carol, ruled["paper"]) == "active"

    def test_a_rejection_protects_nothing(self, read_out, tell, carol, say, bob):
        held, late = tell("$10"), read_out("$20")
        decide(carol, only(late["pending_conflicts"])["id"], "reject")
        assert tell("$30")["superseded"] == [held["id"]]
        assert only(rulings(carol))["chosen"] == []

    @pytest.mark.parametrize("keep", ["pair", "period", "predicate"])
    def test_keeping_both_protects_both(self, say, tell, carol, paper, keep):
        held = say("$10", by=paper, source="document")
        other = say("$20", by=carol, source="document")
        decide(carol, only(other["pending_conflicts"])["id"], "keep_both", keep=keep, code=403)
        admin = held["id"]
        assert admin
