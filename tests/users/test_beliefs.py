"""What is believed for a user: their own claims, and those of the namespace, which hold for all its users."""

from tests.conflicts.rulings.conftest import decide, get, only

CLAIM = {"subject": "office", "predicate": "city"}


def say(agent, value, source, **more):
    body = {"namespace": "acme:main", "content": f"The office city is {value}.", "provenance": {"source": source}}
    body |= {"claim": {**CLAIM, "value": value}, **more}
    answer = agent.client.post("/api/v1/fragments", body, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


def test_what_is_ruled_for_all_is_believed_for_each(alice, bob, agent_of, project):
    carol = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])
    say(bob, "Oslo", "tool_output")
    late = say(agent_of(project, owner="paper", ceiling="document"), "Bergen", "document")
    decide(carol, only(late["pending_conflicts"])["id"], "supersede")
    asked = {"namespace": "acme:main", "user": "ann", "subject": "office"}
    assert [one["value"] for one in get(alice, "claims", **asked)["results"]] == ["Bergen"]
    assert [one["value"] for one in only(get(alice, "rulings", **asked)["results"])["chosen"]] == ["Bergen"]
    say(bob, "Oslo", "inference", user="ann")
    found = {one["value"]: one["ruling"] for one in get(alice, "claims", **asked)["results"]}
    assert sorted(found) == ["Bergen", "Oslo"]
    assert [name for name, ruling in found.items() if ruling] == ["Bergen"]
    lives = get(alice, "claims/timeline", **asked, predicate="city")["results"]
    assert {one["value"] for one in lives} == {"Bergen", "Oslo"}
    other = {**asked, "user": "ben"}
    assert [one["value"] for one in get(alice, "claims", **other)["results"]] == ["Bergen"]
    nobody = {"namespace": "acme:main", "subject": "office"}
    assert [one["value"] for one in get(alice, "claims", **nobody)["results"]] == ["Bergen"]
