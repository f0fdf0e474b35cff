"""/api/v1/bridges/atlas."""

import pytest

from memories.bridges.atlas import TAGS, map_tags
from memories.models import EmbeddingModel, Fragment, Revision

URL = "/api/v1/bridges/atlas"
LOG = {
    "id": "b-17",
    "summary": "The nest counter compiles again",
    "status": "success",
    "agent": "MARS",
    "tags": ["code:unit-tests", "auth/login"],
    "at": "2026-05-01T09:00:00Z",
}
BUILD = {"namespace": "acme:main", "project": "herons", "phase": 2, "log": LOG}


def post(agent, path, body, status=201):
    answer = agent.client.post(f"{URL}/{path}", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_build_is_remembered_and_found(alice):
    kept = post(alice, "builds", BUILD)
    assert kept["content"] == "Build b-17 of herons, phase 2: The nest counter compiles again (success)"
    assert (kept["type"], kept["source_type"], kept["source_id"]) == ("episodic", "atlas", "b-17")
    assert (kept["agent_id"], kept["outcome"], kept["event_at"]) == ("MARS", "positive", "2026-05-01T09:00:00Z")
    assert kept["tags"] == ["security", "testing", "MARS"]
    assert kept["extra"]["atlas_tags"] == LOG["tags"]
    assert kept["provenance"]["source"] == "inference"
    (hit,) = post(alice, "enrich", {"namespace": "acme:main", "query": "does the nest counter compile?"}, 200)[
        "results"
    ]
    assert hit["id"] == kept["id"]


@pytest.mark.parametrize(
    ("status", "outcome"), [("Success", "positive"), ("FAILED", "negative"), ("running", "neutral"), ("?!", "neutral")]
)
def test_the_status_tells_the_outcome(alice, status, outcome):
    assert post(alice, "builds", {**BUILD, "log": {**LOG, "status": status}})["outcome"] == outcome


def test_the_same_build_again_adds_nothing(alice, count):
    first = post(alice, "builds", BUILD)
    again = post(alice, "builds", BUILD, 200)
    assert (again["id"], again["deduplicated"]) == (first["id"], True)
    assert count(Fragment) == 1


def test_a_build_that_went_on_changes_what_was_told(alice, count):
    first = post(alice, "builds", {**BUILD, "log": {**LOG, "status": "running"}})
    after = post(alice, "builds", BUILD)
    assert (after["id"], after["revision"], after["outcome"]) == (first["id"], 2, "positive")
    assert "(success)" in after["content"]
    assert (count(Fragment), count(Revision)) == (1, 1)
    (hit,) = post(alice, "enrich", {"namespace": "acme:main", "query": "success"}, 200)["results"]
    assert hit["content"] == after["content"]


def test_nobody_changes_what_somebody_else_told(alice, bob, count):
    first = post(alice, "builds", BUILD)
    other = post(bob, "builds", {**BUILD, "log": {**LOG, "summary": "It never compiled"}})
    assert other["id"] != first["id"]
    assert count(Fragment) == 2
    assert alice.client.get(f"/api/v1/fragments/{first['id']}").json()["content"] == first["content"]


def test_insights_are_remembered_each(alice, count):
    body = {"namespace": "acme:main", "insights": ["Count at dawn.", "Small steps.", "Count at dawn."]}
    kept = post(alice, "retrospectives", body)["results"]
    assert [row["content"] for row in kept] == ["Count at dawn.", "Small steps."]
    assert {(row["type"], row["source_type"]) for row in kept} == {("semantic", "retrospective")}
    assert all(row["deduplicated"] for row in post(alice, "retrospectives", body, 200)["results"])
    assert count(Fragment) == 2


def test_an_idempotency_key_replays(alice, count):
    answers = [
        alice.client.post(f"{URL}/builds", BUILD, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert count(Fragment) == 1


def test_a_source_above_the_ceiling_is_refused(bob, count):
    answer = bob.client.post(f"{URL}/builds", {**BUILD, "provenance": {"source": "system"}}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "authority_ceiling")
    assert count(Fragment) == 0
    assert post(bob, "builds", {**BUILD, "provenance": {"source": "tool_output"}})["provenance"]["authority"] == 4


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("builds", {**BUILD, "log": {**LOG, "id": ""}}, "log.id"),
        ("builds", {**BUILD, "log": {**LOG, "summary": "x" * 1501}}, "log.summary"),
        ("builds", {**BUILD, "log": {**LOG, "colour": "red"}}, "log.colour"),
        ("builds", {**BUILD, "log": {**LOG, "at": "2026-05-01T09:00:00"}}, "log.at"),
        ("builds", {**BUILD, "phase": True}, "phase"),
        ("builds", {**BUILD, "phase": {}}, "phase"),
        ("retrospectives", {"namespace": "acme:main", "insights": []}, "insights"),
        ("retrospectives", {"namespace": "acme:main", "insights": ["Fine.", " "]}, "insights"),
        ("retrospectives", {"namespace": "main", "insights": ["Fine."]}, "namespace"),
        ("tags", {"tags": "testing"}, "tags"),
    ],
)
def test_bad_input_is_named_and_stores_nothing(alice, count, path, body, field):
    problem = post(alice, path, body, 400)
    assert [error["field"].partition("[")[0] for error in problem["errors"]] == [field]
    assert count(Fragment) == 0


def test_tags_lead_to_the_vocabulary(alice):
    assert post(alice, "tags", {"tags": ["Unit-Tests", "REST_API", "nonsense"]}, 200) == {"tags": ["api", "testing"]}
    assert post(alice, "tags", {"tags": []}, 200) == {"tags": ["atlas"]}
    assert {*map_tags(sorted(TAGS)), "atlas"} == TAGS


CAVEAT = "Pin each dependency, so that no upgrade breaks the build."
CHATS = [f"I wonder whether a dependency breaks the build on day {n}?" for n in range(60)]


def test_what_atlas_told_stands_first_among_what_has_to_do_with_the_question(alice):
    EmbeddingModel.objects.update(floor=0.3)
    post(alice, "retrospectives", {"namespace": "acme:main", "insights": [CAVEAT, "Herons nest early."]})
    post(alice, "builds", BUILD)
    turns = [{"role": "user", "content": text} for text in CHATS]
    kept = {"namespace": "acme:main", "messages": turns}
    assert alice.client.post("/api/v1/ingest", kept, format="json").status_code == 201
    asked = {"namespace": "acme:main", "query": "I wonder whether a dependency breaks the build on day 7?"}
    first, second, *_ = post(alice, "enrich", asked, 200)["results"]
    assert (first["content"], first["source_type"]) == (CAVEAT, "retrospective")
    assert first["ranking_signals"]["source"] == 1
    assert (second["content"], "source" in second["ranking_signals"]) == (CHATS[7], False)
    answer = alice.client.post("/api/v1/search", asked, format="json").json()["results"]
    assert answer[0]["content"] == CHATS[7]


def test_nothing_is_told_of_a_question_that_has_to_do_with_nothing(alice):
    EmbeddingModel.objects.update(floor=0.4)
    post(alice, "retrospectives", {"namespace": "acme:main", "insights": [CAVEAT]})
    assert post(alice, "enrich", {"namespace": "acme:main", "query": "thanks!"}, 200)["results"] == []
    asked = {"namespace": "acme:main", "query": "thanks!", "floor": 0}
    assert len(post(alice, "enrich", asked, 200)["results"]) == 1
    assert post(alice, "enrich", {**asked, "top_k": 0}, 200)["results"] == []
    assert post(alice, "enrich", {**asked, "floor": "auto"}, 200)["results"] == []
    post(alice, "enrich", {**asked, "floor": 2}, 400)
