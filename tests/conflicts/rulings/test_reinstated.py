"""Undo of what the rules replaced without a person: it stands again by a decision, which binds and can be undone."""

import uuid

import pytest

from tests.conflicts.rulings.conftest import decide, get, only, pending, rulings, status, take_back

BESIDE = {"subject": "lisbon", "predicate": "budget"}


@pytest.fixture
def replaced(store_claim, read_out):
    """A document's value that the user's replaced by authority alone."""
    former = read_out("$84,000")
    return {"former": former, "standing": store_claim("$48,000")}


def reinstate(agent, fragment, *, code=200, **body):
    answer = agent.client.post(f"/api/v1/fragments/{fragment['id']}/reinstate", body, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def test_it_stands_again_and_the_other_yields(carol, replaced):
    assert status(carol, replaced["former"]) == "superseded"
    decision = only(reinstate(carol, replaced["former"], note="signed")["conflicts"])
    assert (status(carol, replaced["former"]), status(carol, replaced["standing"])) == ("active", "superseded")
    assert get(carol, f"fragments/{replaced['standing']['id']}")["superseded_by"] == replaced["former"]["id"]
    assert get(carol, f"fragments/{replaced['former']['id']}")["superseded_by"] is None
    ruling = only(rulings(carol))
    assert (ruling["conflict_id"], ruling["note"]) == (decision["id"], "signed")
    assert only(ruling["chosen"])["value"] == "$84,000"


def test_what_the_next_tool_says_does_not_replace_it(carol, replaced, store_tool_claim):
    reinstate(carol, replaced["former"])
    store_tool_claim("$48,000")
    assert status(carol, replaced["former"]) == "active"


def test_the_decision_can_be_undone_and_waits_then(carol, replaced):
    decision = only(reinstate(carol, replaced["former"])["conflicts"])
    take_back(carol, decision["id"])
    assert (status(carol, replaced["former"]), status(carol, replaced["standing"])) == ("quarantined", "active")
    assert only(pending(carol))["id"] == decision["id"]
    assert rulings(carol) == []


def test_of_a_chain_whatever_stands_now_yields(carol, replaced, store_claim):
    last = store_claim("$50,000")
    assert status(carol, replaced["standing"]) == "superseded"
    reinstate(carol, replaced["former"])
    assert (status(carol, replaced["former"]), status(carol, last)) == ("active", "superseded")


def test_each_claim_of_a_memory_stands_again(carol, store_claim, paper):
    claims = [{"subject": "acme", "predicate": "contract value", "value": "$84,000"}, {**BESIDE, "value": "$10"}]
    body = {"namespace": "acme:main", "content": "$84,000, and Lisbon $10.", "claims": claims}
    answer = paper.client.post("/api/v1/fragments", body | {"provenance": {"source": "document"}}, format="json")
    assert answer.status_code == 201, answer.json()
    store_claim("$48,000")
    store_claim("$20", claim=BESIDE)
    former = answer.json()
    assert status(carol, former) == "superseded"
    assert len(reinstate(carol, former)["conflicts"]) == 2
    assert status(carol, former) == "active"
    assert {claim["status"] for claim in get(carol, f"fragments/{former['id']}")["claims"]} == {"active"}


@pytest.fixture
def of_two_claims(alice, store_claim):
    """What Alice read out of a document and took back later, claim by claim."""
    claims = [{"subject": "acme", "predicate": "contract value", "value": "$84,000"}, {**BESIDE, "value": "$10"}]
    body = {"namespace": "acme:main", "content": "$84,000, and Lisbon $10.", "claims": claims}
    answer = alice.client.post("/api/v1/fragments", body | {"provenance": {"source": "document"}}, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json(), store_claim("$48,000"), store_claim("$20", claim=BESIDE)


def test_what_its_own_owner_took_back_stands_again_claim_by_claim(carol, of_two_claims):
    former, *others = of_two_claims
    assert len(reinstate(carol, former)["conflicts"]) == 2
    assert {claim["status"] for claim in get(carol, f"fragments/{former['id']}")["claims"]} == {"active"}
    assert [status(carol, row) for row in others] == ["superseded", "superseded"]


def test_a_claim_that_nothing_stands_against_stays_as_it_is(alice, carol, of_two_claims):
    former, _, other = of_two_claims
    assert alice.client.post(f"/api/v1/fragments/{other['id']}/archive", {}, format="json").status_code == 200
    assert len(reinstate(carol, former)["conflicts"]) == 1
    assert [claim["status"] for claim in get(carol, f"fragments/{former['id']}")["claims"]] == ["active", "superseded"]


def test_only_what_was_replaced_is_reinstated(carol, replaced):
    assert reinstate(carol, replaced["standing"], code=409)["code"] == "not_applicable"
    assert reinstate(carol, {"id": uuid.uuid4()}, code=404)["code"] == "not_found"


def test_where_nothing_stands_against_it_there_is_nothing_to_take_back(carol, alice, replaced):
    answer = alice.client.post(f"/api/v1/fragments/{replaced['standing']['id']}/archive", {}, format="json")
    assert answer.status_code == 200, answer.json()
    assert reinstate(carol, replaced["former"], code=409)["code"] == "not_applicable"
    assert status(carol, replaced["former"]) == "superseded"


def test_a_key_takes_back_nothing_that_its_owner_wrote(alice, paper, replaced):
    assert reinstate(paper, replaced["former"], code=403)
    assert reinstate(alice, replaced["former"], code=403)
    assert status(alice, replaced["former"]) == "superseded"


def test_who_is_believed_less_takes_nothing_back(project, agent_of, replaced, carol):
    low = agent_of(project, owner="dora", ceiling="tool_output", verbs=["read", "write", "review"])
    assert reinstate(low, replaced["former"], code=403)
    assert status(carol, replaced["former"]) == "superseded"


@pytest.mark.parametrize("action", ["typed for a conflict", "typed for a case", "chosen"])
@pytest.mark.parametrize("predicate", ["contract value", "temperature"])
def test_what_a_person_decided_is_undone_and_not_reinstated(carol, store_claim, read_out, action, predicate):
    claim = {"subject": "acme", "predicate": predicate}
    held, challenger = store_claim("$48,000", claim=claim), read_out("$84,000", claim=claim)
    typed = {} if action == "chosen" else {"correction": {"content": "It is worth $52,000.", "value": "$52,000"}}
    if action == "typed for a case":
        case = only(get(carol, "cases")["results"])
        body = {"revision": case["revision"], **typed}
        answer = carol.client.post(f"/api/v1/cases/{case['id']}/resolve", body, format="json")
        assert answer.status_code == 200, answer.json()
    else:
        decide(carol, only(challenger["pending_conflicts"])["id"], "supersede", **typed)
    assert status(carol, held) == "superseded"
    found = get(carol, "health-report")
    assert (found["superseded"], found["supersessions"]) == (0, [])
    before = rulings(carol)
    told = reinstate(carol, held, code=409)
    assert (told["code"], "undo that decision" in told["detail"]) == ("not_applicable", True)
    assert (status(carol, held), rulings(carol)) == ("superseded", before)
