"""What is believed for a user: their own claims, and those of the namespace, which hold for all its users."""

import pytest

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
    assert [one["value"] for one in get(alice, "claims", **asked)["results"]] == ["Bergen"]
    every = get(alice, "claims", **asked, status="all")["results"]
    found = {one["value"]: one["ruling"] for one in every if one["user"] == "ann" or one["status"] == "active"}
    assert sorted(found) == ["Bergen", "Oslo"]
    assert [name for name, ruling in found.items() if ruling] == ["Bergen"]
    lives = get(alice, "claims/timeline", **asked, predicate="city")["results"]
    assert {one["value"] for one in lives} == {"Bergen", "Oslo"}
    other = {**asked, "user": "ben"}
    assert [one["value"] for one in get(alice, "claims", **other)["results"]] == ["Bergen"]
    nobody = {"namespace": "acme:main", "subject": "office"}
    assert [one["value"] for one in get(alice, "claims", **nobody)["results"]] == ["Bergen"]


TOLD, TOOL, PAPER = "user_explicit", "tool_output", "document"


@pytest.mark.parametrize(
    ("ann", "main", "shared", "for_ann", "for_all"),
    [
        (TOOL, TOOL, TOOL, "Rome", "Oslo"),
        (TOOL, TOOL, TOLD, "Rome", "Turin"),
        (TOLD, TOLD, TOLD, "Rome", "Oslo"),
        (PAPER, TOOL, PAPER, "Oslo", "Oslo"),
        (PAPER, PAPER, TOOL, "Turin", "Turin"),
    ],
)
def test_of_values_that_exclude_each_other_what_a_search_shows_is_believed(
    project, agent_of, ann, main, shared, for_ann, for_all
):
    teller = agent_of(project, owner="teller", ceiling=TOLD)
    say(teller, "Oslo", main)
    say(teller, "Turin", shared, namespace="acme:shared")
    say(teller, "Rome", ann, user="ann")
    say(teller, "Bonn", TOOL, user="ben")
    asked = {"namespace": "acme:main"}
    for whose, value in (({"user": "ann"}, for_ann), ({}, for_all), ({"user": "zoe"}, for_all)):
        body = {**asked, **whose, "query": "Which city is the office in?", "floor": 0}
        hits = teller.client.post("/api/v1/search", body, format="json").json()["results"]
        assert [hit["claim"]["value"] for hit in hits] == [value]
        for narrowed in ({}, CLAIM, {"subject": "office"}):
            assert [one["value"] for one in get(teller, "claims", **asked, **whose, **narrowed)["results"]] == [value]
        every = {one["value"] for one in get(teller, "claims", **asked, **whose, status="all")["results"]}
        assert every == {"Oslo", "Turin"} | ({"Rome"} if whose.get("user") == "ann" else set())
    everybody = {one["value"] for one in get(teller, "claims", **asked, all_users="true")["results"]}
    assert everybody == {for_all, "Rome", "Bonn"}


def test_what_is_shared_is_believed_beside(bob, alice):
    say(bob, "Oslo", "tool_output")
    floor = {**CLAIM, "predicate": "floor", "value": "3"}
    say(bob, "3", "tool_output", namespace="acme:shared", claim=floor)
    for whose in ({}, {"user": "ann"}):
        found = get(alice, "claims", namespace="acme:main", **whose)["results"]
        assert {(one["namespace"], one["value"]) for one in found} == {("acme:main", "Oslo"), ("acme:shared", "3")}
        (life,) = get(alice, "claims/timeline", namespace="acme:main", subject="office", predicate="floor", **whose)[
            "results"
        ]
        assert life["namespace"] == "acme:shared"
    alone = get(alice, "claims", namespace="acme:shared")["results"]
    assert [one["value"] for one in alone] == ["3"]
