"""/api/v1/bridges/taste-vault."""

import pytest

from memories.models import EmbeddingModel, Fragment

URL = "/api/v1/bridges/taste-vault"
NODE = {"id": "n-1", "content": "Prefer small modules over clever ones.", "confidence": 0.8, "tags": ["style"]}
PATTERN = {"namespace": "acme:main", "node": NODE}
RESOLUTION = {
    "id": "r-1",
    "content": "Split a module before it reaches 300 lines.",
    "steps": ["Find the seam.", "Move it."],
    "confidence": 0.6,
}


def post(agent, path, body, status=201):
    answer = agent.client.post(f"{URL}/{path}", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_pattern_is_remembered_and_supplements(alice):
    kept = post(alice, "patterns", PATTERN)
    assert (kept["content"], kept["type"], kept["extra"]) == (NODE["content"], "semantic", {"confidence": 0.8})
    assert (kept["source_type"], kept["source_id"], kept["tags"]) == ("taste-vault", "n-1", ["style", "main"])
    asked = {"namespace": "acme:main", "context": "how large should modules be?", "limit": 3}
    (hit,) = post(alice, "supplement", asked, 200)["results"]
    assert hit["id"] == kept["id"]
    assert post(alice, "supplement", {**asked, "limit": 0}, 200)["results"] == []


def test_a_pattern_learnt_anew_changes_its_memory(alice, count):
    first = post(alice, "patterns", PATTERN)
    assert post(alice, "patterns", PATTERN, 200)["deduplicated"] is True
    after = post(alice, "patterns", {**PATTERN, "node": {**NODE, "confidence": 0.9}})
    assert (after["id"], after["extra"]) == (first["id"], {"confidence": 0.9})
    assert count(Fragment) == 1


def test_a_resolution_is_a_procedure(alice):
    kept = post(alice, "resolutions", {"namespace": "acme:main", "resolution": RESOLUTION})
    assert (kept["type"], kept["content"]) == ("procedural", RESOLUTION["content"])
    assert kept["extra"] == {"confidence": 0.6, "steps": RESOLUTION["steps"]}


def test_a_reinforcement_is_a_vote(alice, bob):
    kept = post(alice, "patterns", PATTERN)
    told = post(bob, "reinforcements", {"namespace": "acme:main", "node_id": "n-1"}, 200)
    assert (told["id"], told["reinforcements"]) == (kept["id"], 1)
    assert told["importance"] > kept["importance"]


@pytest.mark.parametrize("body", [{"node_id": "n-2"}, {"namespace": "acme:side"}, {"namespace": "elsewhere:main"}])
def test_an_unknown_pattern_is_missing(alice, body):
    post(alice, "patterns", PATTERN)
    asked = {"namespace": "acme:main", "node_id": "n-1", **body}
    assert post(alice, "reinforcements", asked, 404)["code"] == "not_found"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("patterns", {**PATTERN, "node": {**NODE, "confidence": 1.1}}, "node.confidence"),
        ("patterns", {**PATTERN, "node": {**NODE, "content": " "}}, "node.content"),
        ("patterns", {"namespace": "acme:main"}, "node"),
        ("resolutions", {"namespace": "acme:main", "resolution": {**RESOLUTION, "steps": [1]}}, "resolution.steps"),
        ("supplement", {"namespace": "acme:main", "context": "x", "limit": -1}, "limit"),
    ],
)
def test_bad_input_is_named_and_stores_nothing(alice, count, path, body, field):
    problem = post(alice, path, body, 400)
    assert [error["field"].partition("[")[0] for error in problem["errors"]] == [field]
    assert count(Fragment) == 0


def test_a_pattern_told_again_by_a_weaker_source_changes_nothing(alice):
    strong, weak = ({**PATTERN, "provenance": {"source": source}} for source in ("user_explicit", "inference"))
    first = post(alice, "patterns", strong)
    post(alice, "patterns", {**weak, "node": {**NODE, "content": "Prefer emacs."}}, 403)
    kept = alice.client.get(f"/api/v1/fragments/{first['id']}").json()
    assert (kept["content"], kept["provenance"]["source"]) == (NODE["content"], "user_explicit")


def test_patterns_stand_first_among_what_fits_the_context(alice):
    EmbeddingModel.objects.update(floor=0.1)
    post(alice, "patterns", PATTERN)
    post(alice, "patterns", {**PATTERN, "node": {**NODE, "id": "n-2", "content": "Herons nest early in wet years."}})
    chats = [f"How large should modules be, and how small, on day {n}?" for n in range(60)]
    kept = {"namespace": "acme:main", "messages": [{"role": "user", "content": text} for text in chats]}
    assert alice.client.post("/api/v1/ingest", kept, format="json").status_code == 201
    asked = {"namespace": "acme:main", "context": chats[7], "limit": 3}
    found = post(alice, "supplement", asked, 200)["results"]
    assert [row["content"] for row in found[:2]] == [NODE["content"], chats[7]]
    assert len(found) == 3
    for floor, number in ((1, 0), (0, 3), ("auto", 3)):
        assert len(post(alice, "supplement", {**asked, "floor": floor}, 200)["results"]) == number
