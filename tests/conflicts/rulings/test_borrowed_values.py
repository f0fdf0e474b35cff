"""What claims the very value that a person chose, and says otherwise or hides it: nobody weaker gets by that way."""

import pytest

from tests.conflicts.rulings.conftest import decide, get, only, status

OFFICE = {"subject": "office", "predicate": "city"}


@pytest.fixture
def say(project, agent_of):
    """Stores a text with claims, by an owner of that name for each source."""
    agents = {}

    def post(source, content, *values, owner=None, code=(200, 201), **more):
        name = owner or source
        agents[name] = agents.get(name) or agent_of(project, owner=name, ceiling=source)
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}, **more}
        body |= {"claim": {**OFFICE, "value": values[0]}} if values else {}
        answer = agents[name].client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code in code, answer.json()
        return answer.json()

    return post


@pytest.fixture
def bern(say, carol):
    """What a document says, kept by a person against a model's word."""
    kept = say("document", "The office is in Bern.", "Bern")
    doubt = say("inference", "The office is in Rome.", "Rome")
    decide(carol, only(doubt["pending_conflicts"])["id"], "reject", protect=True)
    return kept


def test_who_repeats_what_was_ruled_replaces_nothing(carol, say, bern):
    said = say("tool_output", "The office is in Oslo now.", "Bern")
    assert (said["id"], said.get("superseded", [])) == (bern["id"], [])
    assert status(carol, bern) == "active"


BUDGET = {"subject": "user", "predicate": "budget", "value": "$750"}
PHONE = {"subject": "user", "predicate": "phone", "value": "555"}


def test_a_text_that_says_otherwise_than_it_claims_waits(say, carol):
    """With a key of its caller's, or with another claim beside, it would stand for itself."""
    kept = say("document", "The user budget is $750.", claim=BUDGET)
    doubt = say("inference", "The user budget is $20.", claim=BUDGET | {"value": "$20"})
    decide(carol, only(doubt["pending_conflicts"])["id"], "reject", protect=True)
    keyed = say("tool_output", "The user budget is $900.", claim=BUDGET, key="k1")
    several = say("inference", "The user budget is $900 now.", claims=[BUDGET, PHONE])
    assert (keyed["status"], several["status"]) == ("quarantined", "quarantined")
    assert [each["id"] for each in get(carol, "fragments", status="active")["results"]] == [kept["id"]]


def test_a_text_that_says_otherwise_than_it_claims_waits_where_nobody_ruled(say):
    say("user_explicit", "The user budget is $750.", claim=BUDGET)
    assert say("tool_output", "The user budget is $900.", claims=[BUDGET, PHONE])["status"] == "quarantined"


def test_what_says_as_it_claims_stands_beside(say):
    say("user_explicit", "The user budget is $750.", claim=BUDGET)
    assert say("tool_output", "The user budget is $750; call 555.", claims=[BUDGET, PHONE])["status"] == "active"


def test_a_value_of_its_own_is_for_the_gate(say):
    say("document", "The user budget is $750.", claim=BUDGET)
    higher = say("tool_output", "The user budget is $900.", claims=[BUDGET | {"value": "$900"}, PHONE])
    assert higher["status"] == "active"


def test_only_what_was_chosen_is_protected(project, agent_of, say, carol, bern):
    """A text that borrows the value is corrected by whoever may correct its writer."""
    borrowed = say("inference", "The office is on floor 3.", claims=[OFFICE | {"value": "Bern"}, PHONE])
    wrench = agent_of(project, owner="wrench", ceiling="tool_output")
    archived = [
        wrench.client.post(f"/api/v1/fragments/{one['id']}/archive", {}, format="json") for one in (borrowed, bern)
    ]
    assert [answer.status_code for answer in archived] == [200, 403]


def test_changing_ones_own_text_under_the_claim_replaces_nothing(project, agent_of, carol, bern):
    tool = agent_of(project, owner="wrench", ceiling="tool_output")
    body = {"namespace": "acme:main", "content": "The office has a garden.", "provenance": {"source": "tool_output"}}
    own = tool.client.post("/api/v1/fragments", body, format="json").json()
    change = {
        "content": "The office is in Oslo now.",
        "claim": {**OFFICE, "value": "Bern"},
        "revision": own["revision"],
    }
    answer = tool.client.patch(f"/api/v1/fragments/{own['id']}", change, format="json")
    assert answer.status_code in (200, 409), answer.json()
    assert status(carol, bern) == "active"


@pytest.mark.parametrize("value", ["Rome", "Oslo"])
def test_what_a_person_typed_for_all_is_hidden_by_nobody_weaker_in_a_users_scope(say, carol, value):
    say("tool_output", "The office is in Bern.", "Bern")
    doubt = say("document", "The office is in Rome.", "Rome")
    conflict = only(doubt["pending_conflicts"])["id"]
    typed = {"content": "The office is in Geneva.", "value": "Geneva"}
    decide(carol, conflict, "supersede", correction=typed)
    say("tool_output", f"The office is in {value}.", value, user="ann")
    body = {"query": "where is the office city?", "namespace": "acme:main", "user": "ann"}
    found = carol.client.post("/api/v1/search", body, format="json").json()["results"]
    assert [each["content"] for each in found] == ["The office is in Geneva."]


def test_a_claim_of_another_time_excuses_no_text(say):
    """The gate never holds it against what stands."""
    since = {"scope": "temporal", "valid_from": "2020-01-01T00:00:00Z"}
    say("user_explicit", "The user budget is $750.", claim=BUDGET | since)
    past = {"scope": "temporal", "valid_from": "1970-01-01T00:00:00Z", "valid_until": "1971-01-01T00:00:00Z"}
    claims = [BUDGET | {"value": "$5"} | past, PHONE]
    assert say("tool_output", "The user budget is $900.", claims=claims)["status"] == "quarantined"


def test_what_was_kept_stays_protected_when_what_stood_beside_it_falls(project, agent_of, say, carol):
    kept = say("document", "The office is in Bern.", "Bern")
    other = say("inference", "The office is in Rome.", "Rome")
    decide(carol, only(other["pending_conflicts"])["id"], "keep_both")
    doubter = agent_of(project, owner="doubter", ceiling="inference")
    doubter.client.post(f"/api/v1/fragments/{other['id']}/dispute", {"reason": "no"}, format="json")
    decide(carol, only(get(carol, "conflicts", kind="dispute")["results"])["id"], "supersede")
    wrench = agent_of(project, owner="wrench", ceiling="tool_output")
    assert wrench.client.post(f"/api/v1/fragments/{kept['id']}/archive", {}, format="json").status_code == 403
