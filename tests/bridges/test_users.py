"""Users at the bridges: what is told of one is told to nobody else (docs/spec.md §2.2)."""

import pytest

from memories import jobs

URL = "/api/v1/bridges"
LOG = {"id": "b-17", "summary": "The nest counter compiles", "status": "success"}
BUILD = {"namespace": "acme:main", "project": "herons", "phase": 2, "log": LOG}
NODE = {"id": "n-1", "content": "Prefer small modules over clever ones.", "confidence": 0.8}
RESOLUTION = {"id": "r-1", "content": "Split a module before it reaches 300 lines.", "confidence": 0.6}
EVENTS = {
    "atlas/builds": BUILD,
    "atlas/retrospectives": {"namespace": "acme:main", "insights": ["Herons nest early in wet years."]},
    "taste-vault/patterns": {"namespace": "acme:main", "node": NODE},
    "taste-vault/resolutions": {"namespace": "acme:main", "resolution": RESOLUTION},
}


def post(agent, path, body, status, **headers):
    answer = agent.client.post(f"{URL}/{path}", body, format="json", headers=headers)
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.parametrize("path", EVENTS)
def test_an_event_of_each_user_is_a_memory_of_its_own(alice, path):
    ann = post(alice, path, {**EVENTS[path], "user": "ann"}, 201)
    ben = post(alice, path, EVENTS[path], 201, **{"X-NovaMem-User": "ben"})
    one, two = (answer.get("results", [answer])[0] for answer in (ann, ben))
    assert (one["user"], two["user"], one["id"] != two["id"]) == ("ann", "ben", True)


def test_questions_and_reinforcements_stay_with_the_user(alice):
    kept = post(alice, "taste-vault/patterns", {"namespace": "acme:main", "node": NODE, "user": "ann"}, 201)
    for path, asked in (
        ("taste-vault/supplement", {"context": "how large should modules be?"}),
        ("atlas/enrich", {"query": "how large should modules be?"}),
    ):
        found = {
            user: [row["id"] for row in post(alice, path, {"namespace": "acme:main", **asked, **more}, 200)["results"]]
            for user, more in {"ann": {"user": "ann"}, "ben": {"user": "ben"}, "": {}}.items()
        }
        assert found == {"ann": [kept["id"]], "ben": [], "": []}
    proved = {"namespace": "acme:main", "node_id": "n-1"}
    post(alice, "taste-vault/reinforcements", {**proved, "user": "ben"}, 404)
    post(alice, "taste-vault/reinforcements", proved, 404)
    assert post(alice, "taste-vault/reinforcements", {**proved, "user": "ann"}, 200)["id"] == kept["id"]


def test_a_key_that_requires_users_tells_nothing_without_one(agent_of, project):
    required = agent_of(project, users="required")
    for path, body in EVENTS.items():
        assert post(required, path, body, 400)["code"] == "user_required"


def test_a_branch_of_a_user_holds_only_that_users_memories_and_merges_back(alice, principal):
    for user in ("ann", "ben"):
        sent = {"namespace": "acme:main", "user": user, "content": f"I am {user}."}
        assert alice.client.post("/api/v1/fragments", sent, format="json").status_code == 201
    branch = {"branch_id": "what-if", "source_namespace": "acme:main", "user": "ann"}
    made = {"namespace": "acme:what-if/ann", "forked_from": "acme:main/ann", "copied": 1}
    assert post(alice, "universes/branches", branch, 201) == made
    assert post(alice, "universes/branches", branch, 201) == made
    post(alice, "universes/branches", {**branch, "user": "nobody"}, 404)
    sent = {"namespace": "acme:what-if", "user": "ann", "content": "I moved to Oslo."}
    assert alice.client.post("/api/v1/fragments", sent, format="json").status_code == 201
    merge = {"branch_id": "what-if", "target_namespace": "acme:main", "user": "ann"}
    told = post(alice, "universes/merges", merge, 202)
    assert jobs.run(principal, told["id"]).state == "succeeded"
    listed = {
        user: {
            row["content"]
            for row in alice.client.get(f"/api/v1/fragments?namespace=acme:main&user={user}").json()["results"]
        }
        for user in ("ann", "ben")
    }
    assert "I moved to Oslo." in listed["ann"]
    assert "I moved to Oslo." not in listed["ben"]


def test_no_branch_carries_one_users_memories_to_another(alice, bob):
    for user in ("ann", "ben"):
        sent = {"namespace": "acme:main", "user": user, "content": f"I am {user}."}
        assert alice.client.post("/api/v1/fragments", sent, format="json").status_code == 201
    for kind, options in (
        ("fork", {"target": "acme:side/ben"}), ("fork", {"target": "acme:side"}),
        ("merge", {"source": "acme:main/ben"}), ("merge", {"source": "acme:main"}),
    ):  # fmt: skip
        wish = {"kind": kind, "namespace": "acme:main", "user": "ann", "options": options}
        answer = alice.client.post("/api/v1/operations", wish, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content
