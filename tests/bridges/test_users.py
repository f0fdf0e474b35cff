"""Users at the bridges: what is told of one is told to nobody else (SPEC §18.1)."""

import pytest

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
