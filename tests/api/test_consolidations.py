"""/api/v1/consolidations: starting, looking first, confirming, undoing."""

import uuid

import pytest

from memories import jobs
from memories.models import Operation
from memories.upkeep.consolidation import plan_execution

URL = "/api/v1/consolidations"


@pytest.fixture
def twins(store):
    """Two that say the same."""
    return [
        store("acme:main", "The heron nests behind the mill."),
        store("acme:main", "The heron nests behind the mill."),
    ]


def start(agent, status=202, **more):
    answer = agent.client.post(URL, {"namespace": "acme:main", **more}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def run(principal, body):
    jobs.run(principal, uuid.UUID(body["id"]))


def read(agent, body):
    return agent.client.get(f"/api/v1/operations/{body['id']}").json()


def test_start_works(alice, principal, twins):
    body = start(alice)
    assert (body["kind"], body["namespace"], body["state"], body["dry_run"]) == (
        "consolidate",
        "acme:main",
        "queued",
        False,
    )
    run(principal, body)
    report = read(alice, body)["report"]
    assert (report["merged"], report["deduplicated"]) == (1, 1)
    assert report["before"] == {"total": 2, "active": 2}
    assert report["after"] == {"total": 2, "active": 1}
    (listed,) = alice.client.get(URL, {"namespace": "acme:main", "state": "succeeded"}).json()["results"]
    assert (listed["id"], listed["report"]) == (body["id"], report)


def test_the_same_by_operations(alice, principal, twins):
    body = {"kind": "consolidate", "namespace": "acme:main", "options": {"dedup_threshold": 0.99}, "dry_run": True}
    answer = alice.client.post("/api/v1/operations", body, format="json")
    assert answer.status_code == 202
    run(principal, answer.json())
    told = read(alice, answer.json())
    assert (told["dry_run"], told["report"]["merged"], told["report"]["dry_run"]) == (True, 1, True)


def test_a_plan_is_looked_at_and_applied(alice, principal, twins):
    looked = start(alice, dry_run=True)
    run(principal, looked)
    plan = read(alice, looked)["report"]
    assert (plan["plan_id"], len(plan["plan_hash"]), plan["merged"]) == (looked["id"], 64, 1)
    done = start(alice, plan_id=plan["plan_id"])
    run(principal, done)
    assert read(alice, done)["report"]["merged"] == 1


def test_what_changes_much_is_confirmed(alice, principal, twins, monkeypatch):
    monkeypatch.setattr(plan_execution, "FREE", 0)
    first = start(alice)
    run(principal, first)
    told = read(alice, first)
    assert (told["state"], told["error"]["code"]) == ("failed", "needs_confirmation")
    done = start(alice, plan_id=told["report"]["plan_id"], confirm=True)
    run(principal, done)
    assert (read(alice, done)["state"], read(alice, done)["report"]["merged"]) == ("succeeded", 1)


@pytest.mark.parametrize("path", ["/api/v1/operations/{}/undo", "/api/v1/consolidations/{}/undo"])
def test_undo_works(alice, principal, twins, path):
    done = start(alice)
    run(principal, done)
    answer = alice.client.post(path.format(done["id"]))
    assert (answer.status_code, answer.json()["kind"], answer.json()["options"]) == (
        202,
        "undo",
        {"operation": done["id"]},
    )
    run(principal, answer.json())
    assert read(alice, answer.json())["state"] == "succeeded"
    statuses = {row["status"] for row in alice.client.get("/api/v1/fragments", {"status": "all"}).json()["results"]}
    assert statuses == {"active"}
    again = alice.client.post(path.format(done["id"]))
    assert (again.status_code, again.json()["code"]) == (409, "cannot_undo")


def test_what_can_not_be_undone_says_so(alice, twins, count):
    body = {"kind": "rebuild", "options": {"target": "keywords"}}
    other = alice.client.post("/api/v1/operations", body, format="json").json()
    queued = start(alice)
    before = count(Operation)
    for operation in (other, queued):
        answer = alice.client.post(f"/api/v1/operations/{operation['id']}/undo")
        assert (answer.status_code, answer.json()["code"]) == (409, "cannot_undo")
    foreign = alice.client.post(f"{URL}/{other['id']}/undo")
    assert (foreign.status_code, foreign.json()["code"]) == (404, "not_found")
    assert count(Operation) == before


def test_two_at_once_are_one(alice, twins, count):
    first = start(alice)
    problem = start(alice, status=409)
    assert problem["code"] == "already_running"
    assert first["id"] in problem["detail"]
    assert problem["errors"][0]["message"] == first["id"]
    assert count(Operation) == 1


def test_the_same_request_twice_is_one_run(alice, twins, count):
    send = {"namespace": "acme:main"}
    first, second = (
        alice.client.post(URL, send, format="json", headers={"Idempotency-Key": "hourly"}).json() for _ in range(2)
    )
    assert first == second
    assert count(Operation) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dedup_threshold", 1.5),
        ("dedup_threshold", -0.1),
        ("dedup_threshold", "0.9"),
        ("corroborate_threshold", 0.1),
        ("compress_age_days", -1),
        ("compress_age_days", 1.5),
        ("prune_age_days", "90"),
        ("max_memories", 0),
        ("method", "magic"),
        ("method", "llm"),
        ("plan_id", "no id"),
        ("prune_superseded", "yes"),
        ("confirm", True),
        ("unknown", 1),
    ],
)
def test_bad_input_is_refused(alice, twins, count, field, value):
    problem = start(alice, status=400, **{field: value})
    assert problem["code"] == "validation"
    assert [error["field"] for error in problem["errors"]] == [field]
    options = {"kind": "consolidate", "namespace": "acme:main", "options": {field: value}}
    if field != "confirm":
        answer = alice.client.post("/api/v1/operations", options, format="json")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
    assert count(Operation) == 0


@pytest.mark.parametrize("namespace", ["acme:nowhere", "elsewhere:main"])
def test_what_is_not_there_or_not_covered_is_not_found(alice, twins, count, namespace):
    assert start(alice, status=404, namespace=namespace)["code"] == "not_found"
    assert count(Operation) == 0


def test_it_needs_a_namespace(alice, count):
    answer = alice.client.post("/api/v1/operations", {"kind": "consolidate"}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "namespace")
    assert count(Operation) == 0


def test_other_jobs_have_no_dry_run(alice, count):
    body = {"kind": "rebuild", "options": {"target": "keywords"}, "dry_run": True}
    answer = alice.client.post("/api/v1/operations", body, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "dry_run")
    assert count(Operation) == 0


def test_a_writer_may_not(bob, twins, count):
    assert start(bob, status=403)["code"] == "not_permitted"
    assert count(Operation) == 0


def test_what_a_namespace_archives_is_set(alice, bob, twins):
    body = {"name": "acme:main", "archive_policy": "all"}
    assert bob.client.patch("/api/v1/namespaces", body, format="json").status_code == 403
    answer = alice.client.patch("/api/v1/namespaces", body, format="json")
    assert (answer.status_code, answer.json()["archive_policy"]) == (200, "all")
    (listed,) = alice.client.get("/api/v1/namespaces").json()["results"]
    assert listed["archive_policy"] == "all"
    missing = alice.client.patch("/api/v1/namespaces", {**body, "name": "acme:nowhere"}, format="json")
    assert missing.status_code == 404
    assert (
        alice.client.patch("/api/v1/namespaces", {**body, "archive_policy": "none"}, format="json").status_code == 400
    )


def test_a_plan_that_is_not_there_is_refused_at_once(alice, charlie, principal, store, twins, count):
    store("acme:side", "An otter elsewhere.")
    elsewhere = start(alice, namespace="acme:side", dry_run=True)
    run(principal, elsewhere)
    before = count(Operation)
    for plan in (uuid.uuid4(), elsewhere["id"]):
        assert start(alice, status=404, plan_id=str(plan))["code"] == "no_plan"
        body = {"kind": "consolidate", "namespace": "acme:main", "options": {"plan_id": str(plan)}}
        answer = alice.client.post("/api/v1/operations", body, format="json")
        assert (answer.status_code, answer.json()["code"]) == (404, "no_plan")
    assert count(Operation) == before


def test_a_plan_is_applied_once(alice, principal, twins, count):
    looked = start(alice, dry_run=True)
    run(principal, looked)
    done = start(alice, plan_id=looked["id"])
    run(principal, done)
    own = start(alice)
    run(principal, own)
    before = count(Operation)
    for plan in (looked, own):
        assert start(alice, status=409, plan_id=plan["id"])["code"] == "plan_used"
    run(principal, alice.client.post(f"{URL}/{done['id']}/undo").json())
    assert start(alice, status=409, plan_id=looked["id"])["code"] == "plan_used"
    assert count(Operation) == before + 1
