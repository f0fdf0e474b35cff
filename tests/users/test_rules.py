"""Rules of predicates are the namespace's, for all its users, whoever changes them without naming any."""

import pytest

from tests.conflicts.rulings.conftest import decide, get, only

RULES = "/api/v1/predicates"
BEN = {"namespace": "acme:main", "user": "ben"}


@pytest.fixture
def admin(agent_of, project):
    return agent_of(project, owner="adam", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def tool(agent_of, project):
    return agent_of(project, owner="tool", ceiling="tool_output")


def say(agent, value, *, predicate="shade", source="user_explicit", user="ben"):
    body = {"namespace": "acme:main", "content": f"The {predicate} of the car is {value}."}
    body |= {"provenance": {"source": source}, **({"user": user} if user else {})}
    body["claim"] = {"subject": "car", "predicate": predicate, "value": value}
    answer = agent.client.post("/api/v1/fragments", body, format="json")
    assert answer.status_code in (200, 201), answer.json()
    return answer.json()


def rule(agent, name, **said):
    answer = agent.client.post(RULES, {"namespace": "acme:main", "name": name, **said}, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()["id"]


def change(agent, rule_id, **said):
    return agent.client.patch(f"{RULES}/{rule_id}", said, format="json")


def values(agent, predicate, **asked):
    return sorted(one["value"] for one in get(agent, "claims", **(asked or BEN), predicate=predicate)["results"])


def test_an_alias_names_what_users_claimed_anew(admin, tool):
    say(admin, "red")
    rule(admin, "hue", aliases=["shade"])
    assert values(admin, "shade") == values(admin, "hue") == ["red"]
    late = say(tool, "black", predicate="hue", source="inference")
    assert late["status"] == "quarantined"
    assert values(admin, "shade") == ["red"]


def test_a_normaliser_compares_what_users_claimed_anew(admin, tool):
    say(admin, "$750", predicate="toll")
    rule_id = rule(admin, "toll", normaliser="text")
    assert change(admin, rule_id, normaliser="money").status_code == 200
    assert say(tool, "750 USD", predicate="toll", source="tool_output")["deduplicated"]


def test_values_of_a_user_that_would_collide_are_named(admin):
    rule_id = rule(admin, "toy", cardinality="many")
    ids = {say(admin, value, predicate="toy")["id"] for value in ("a kite", "a drum")}
    refused = change(admin, rule_id, cardinality="one")
    assert (refused.status_code, refused.json()["code"]) == (409, "claims_collide")
    assert all(one in refused.text for one in ids)
    assert values(admin, "toy") == ["a drum", "a kite"]


def test_a_user_keeps_several_values_once_there_may_be_many(admin):
    rule_id = rule(admin, "pet", cardinality="one")
    say(admin, "cat", predicate="pet")
    assert change(admin, rule_id, cardinality="many").status_code == 200
    say(admin, "dog", predicate="pet")
    assert values(admin, "pet") == ["cat", "dog"]


def test_what_a_decision_says_of_a_predicate_holds_for_users(admin, tool, agent_of, project):
    rule(admin, "helper", policy="review")
    for user in ("ben", None):
        say(tool, "Ada", predicate="helper", source="tool_output", user=user)
    late = say(
        agent_of(project, owner="other", ceiling="tool_output"),
        *("Bo",),
        predicate="helper",
        source="tool_output",
        user=None,
    )
    waiting = only(late["pending_conflicts"])["id"]
    decide(admin, waiting, "keep_both", keep="predicate")
    say(tool, "Cy", predicate="helper", source="tool_output")
    assert {"Ada", "Cy"} <= set(values(admin, "helper"))
    undone = admin.client.post(f"/api/v1/conflicts/{waiting}/undo", {}, format="json")
    assert (undone.status_code, undone.json()["code"]) == (409, "cannot_undo")  # nobody decided between Ada and Cy
