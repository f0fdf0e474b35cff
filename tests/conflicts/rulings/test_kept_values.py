"""Whoever rejects a newcomer may choose what stands by the same decision: "Keep this one"."""

import pytest

from tests.conflicts.rulings.conftest import decide, only, pending, rulings, search, status, take_back


@pytest.fixture
def waiting(store_tool_claim, read_out):
    """A document's $84,000 waits before a tool's $48,000."""
    held, paper = store_tool_claim("$48,000"), read_out("$84,000")
    return {"held": held, "paper": paper, "id": only(paper["pending_conflicts"])["id"]}


@pytest.mark.parametrize(("protect", "becomes"), [(False, "active"), (True, "quarantined")])
def test_what_is_kept_holds_against_who_is_stronger_than_it_was(waiting, carol, store_claim, protect, becomes):
    decide(carol, waiting["id"], "reject", protect=protect)
    assert (status(carol, waiting["held"]), status(carol, waiting["paper"])) == ("active", "archived")
    ruling = only(rulings(carol))
    assert [one["value"] for one in ruling["chosen"]] == ["$48,000"] * protect
    assert [one["value"] for one in ruling["ruled_out"]] == ["$84,000"]
    assert store_claim("$99,999", source="system")["status"] == becomes
    assert [row["claim"]["value"] for row in search(carol)] == ["$48,000" if protect else "$99,999"]


def test_it_can_be_taken_back(waiting, carol, store_claim):
    decide(carol, waiting["id"], "reject", protect=True)
    take_back(carol, waiting["id"])
    assert rulings(carol) == []
    assert (status(carol, waiting["held"]), status(carol, waiting["paper"])) == ("active", "quarantined")
    assert store_claim("$99,999", source="system")["status"] == "active"


def test_a_text_is_kept_so_too(alice, bob, carol):
    def write(by, text, source, **more):
        body = {"namespace": "acme:main", "content": text, "provenance": {"source": source}, **more}
        return by.client.post("/api/v1/fragments", body, format="json").json()

    held = write(alice, "I live in Oslo.", "user_explicit", extract_claim=True)
    late = write(bob, "The user lives in Madrid.", "tool_output")
    decide(carol, only(pending(carol))["id"], "reject", protect=True)
    assert status(carol, late) == "archived"
    ruling = only(rulings(carol))
    assert [one["fragment_id"] for one in (*ruling["chosen"], *ruling["ruled_out"])] == [held["id"], late["id"]]
    assert write(bob, "Also: the user lives in Madrid.", "tool_output")["status"] == "archived"


def test_it_goes_with_rejecting_alone(waiting, carol):
    assert decide(carol, waiting["id"], "supersede", code=400, protect=True)["code"] == "validation"
    assert len(pending(carol)) == 1
