"""A predicate's policy: what a value of equal authority, of another owner, does to the one that stands."""

import pytest

URL = "/api/v1/predicates"
MAIN = "acme:main"


@pytest.fixture
def dan(agent_of, project):
    """Another owner of equal authority."""
    return agent_of(project, owner="dan", ceiling="user_explicit", verbs=["read", "write", "admin"])


def register(agent, status=201, **rule):
    answer = agent.client.post(URL, {"namespace": MAIN, "name": "mascot", **rule}, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def store_claim(agent, value, source="tool_output"):
    claim = {"subject": "team", "predicate": "mascot", "value": value}
    body = {"namespace": MAIN, "content": f"{value}.", "claim": claim, "provenance": {"source": source}}
    answer = agent.client.post("/api/v1/fragments", body, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


def believed(agent):
    rows = agent.client.get("/api/v1/claims", {"subject": "team", "predicate": "mascot"}).json()["results"]
    return sorted(row["value"] for row in rows)


@pytest.mark.parametrize(
    ("policy", "stand"), [("review", ["heron"]), ("newest", ["otter"]), ("keep_both", ["heron", "otter"])]
)
def test_equals_of_two_owners_follow_the_policy(alice, dan, policy, stand):
    assert register(dan, policy=policy)["policy"] == policy
    store_claim(alice, "heron")
    store_claim(dan, "otter")
    assert believed(alice) == stand


def test_who_keeps_both_still_yields_to_the_stronger_and_to_the_owner(alice, dan):
    register(dan, policy="keep_both")
    store_claim(alice, "heron")
    store_claim(dan, "otter")
    store_claim(alice, "crane")
    assert believed(alice) == ["crane", "otter"]
    assert store_claim(alice, "badger", source="inference")["status"] == "quarantined"
    store_claim(dan, "stork", source="user_explicit")
    assert believed(alice) == ["stork"]


def test_the_former_flag_is_taken_and_told(dan):
    made = register(dan, newer_wins=True)
    assert (made["policy"], made["newer_wins"]) == ("newest", True)
    changed = dan.client.patch(f"{URL}/{made['id']}", {"newer_wins": False}, format="json").json()
    assert (changed["policy"], changed["newer_wins"]) == ("review", False)


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"policy": "oldest"}, "policy"),
        ({"policy": None}, "policy"),
        ({"policy": "review", "newer_wins": True}, "newer_wins"),
    ],
)
def test_a_bad_policy_changes_nothing(dan, rule, field):
    problem = register(dan, status=400, **rule)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert dan.client.get(URL, {"namespace": MAIN}).json()["results"] == []
