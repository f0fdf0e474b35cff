"""/api/v1/operations: starting, watching and cancelling long jobs."""

import contextlib
import uuid

import pytest
from django.db import connections
from django.utils import timezone

from memories import access, jobs, operations
from memories.models import Namespace, Operation

URL = "/api/v1/operations"
REBUILD = {"kind": "rebuild", "options": {"target": "keywords"}}


@pytest.fixture
def narrow(project, agent_of):
    """Administers one namespace only."""
    return agent_of(project, owner="narrow", namespaces=["acme:main"], verbs=["read", "admin"])


@pytest.fixture
def queued(alice):
    """Alice's queued rebuild."""
    return start(alice)["id"]


@pytest.fixture
def elsewhere(alice, store):
    """A rebuild of a namespace that not everybody covers."""
    store("acme:secret", "Only some may know of this.")
    return start(alice, namespace="acme:secret")["id"]


def start(agent, **more):
    answer = agent.client.post(URL, {**REBUILD, **more}, format="json")
    assert answer.status_code == 202, answer.content
    return answer.json()


def cancel(agent, operation_id):
    return agent.client.post(f"{URL}/{operation_id}/cancel")


def state(principal, operation_id):
    with access.enter(principal, why="test"):
        row = Operation.objects.get(id=operation_id)
    return row.state, row.cancel_requested


def in_the_queue():
    """What the workers are told: (task, arguments) of each message."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT message -> 'headers' ->> 'task', message -> 'headers' ->> 'argsrepr' FROM pgmq.q_celery")
        return cursor.fetchall()


def test_start_works(alice, store):
    store("acme:main", "The heron nests behind the old mill.")
    body = start(alice, namespace="acme:main")
    assert {name: body[name] for name in ("kind", "namespace", "options", "dry_run", "state", "done", "progress")} == {
        "kind": "rebuild",
        "namespace": "acme:main",
        "options": {"target": "keywords"},
        "dry_run": False,
        "state": "queued",
        "done": 0,
        "progress": None,
    }
    assert body["report"] is body["error"] is body["started_at"] is body["finished_at"] is None
    assert alice.client.get(f"{URL}/{body['id']}").json() == body


def test_a_worker_is_woken_when_the_row_is_committed_and_not_before(service):
    with access.enter(service, why="test"):
        row = jobs.start(service, kind="rebuild", namespace=None, options={"target": "keywords"}, now=timezone.now())
        assert not [said for said in in_the_queue() if str(row.id) in said[1]]
    (said,) = [said for said in in_the_queue() if str(row.id) in said[1]]
    assert said == ("memories.tasks.run_operation", f"['{service.project_id}', '{row.id}']")


def test_what_is_rolled_back_wakes_nobody(service):
    before = in_the_queue()
    with contextlib.suppress(ZeroDivisionError), access.enter(service, why="test"):
        jobs.start(service, kind="rebuild", namespace=None, options={"target": "keywords"}, now=timezone.now())
        raise ZeroDivisionError
    assert in_the_queue() == before


def test_without_a_broker_the_row_waits(committed, agent_of, monkeypatch):
    def away(*_, **__):
        raise jobs.BrokerAway

    monkeypatch.setattr(jobs.current_app, "send_task", away)
    admin = agent_of(committed, verbs=["read", "admin"])
    assert start(admin)["state"] == "queued"


def test_trouble_in_the_broker_does_not_undo_the_answer(committed, agent_of, monkeypatch):
    monkeypatch.setattr(jobs.current_app, "send_task", lambda *_, **__: 1 / 0)
    admin = agent_of(committed, verbs=["read", "admin"])
    assert start(admin)["state"] == "queued"


def test_detail_shows_progress_and_report(alice, principal, queued, store):
    store("acme:main", "The heron nests behind the old mill.")
    jobs.run(principal, uuid.UUID(queued))
    body = alice.client.get(f"{URL}/{queued}").json()
    assert (body["state"], body["stage"], body["done"], body["total"]) == ("succeeded", "keywords", 1, 1)
    assert body["progress"] == 1.0
    assert body["report"] == {"target": "keywords", "rebuilt": 1}
    assert body["created_at"] <= body["started_at"] <= body["finished_at"]


def test_list_filters_and_pages(alice, principal):
    ids = [start(alice)["id"] for _ in range(3)]
    jobs.run(principal, uuid.UUID(ids[0]))
    listed = alice.client.get(URL).json()
    assert [row["id"] for row in listed["results"]] == ids[::-1]
    assert [row["id"] for row in alice.client.get(URL, {"state": "succeeded"}).json()["results"]] == ids[:1]
    assert alice.client.get(URL, {"kind": "backup"}).json()["results"] == []
    first = alice.client.get(URL, {"limit": 2}).json()
    assert [row["id"] for row in first["results"]] == ids[:0:-1]
    assert alice.client.get(URL, {"state": "asleep"}).status_code == 400


def test_foreign_and_missing_operations_look_the_same(charlie, alice, queued):
    theirs, missing = charlie.client.get(f"{URL}/{queued}"), alice.client.get(f"{URL}/{uuid.uuid4()}")
    assert theirs.status_code == missing.status_code == 404
    assert theirs.json()["code"] == missing.json()["code"] == "not_found"
    assert charlie.client.get(URL).json()["results"] == []


def test_operations_of_uncovered_namespaces_look_missing(narrow, elsewhere, principal):
    assert narrow.client.get(f"{URL}/{elsewhere}").status_code == 404
    assert narrow.client.get(URL).json()["results"] == []
    assert cancel(narrow, elsewhere).status_code == 404
    assert state(principal, elsewhere) == ("queued", False)


def test_a_part_of_the_project_can_be_worked_on_by_whoever_covers_it(narrow, store):
    store("acme:main", "The heron nests behind the old mill.")
    body = start(narrow, namespace="acme:main")
    assert cancel(narrow, body["id"]).json()["state"] == "cancelled"


def test_the_whole_project_needs_a_key_that_covers_it(narrow, queued, principal, count):
    answer = narrow.client.post(URL, REBUILD, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert cancel(narrow, queued).status_code == 404
    assert count(Operation) == 1
    assert state(principal, queued) == ("queued", False)


def test_a_key_that_only_reads_the_shared_namespace_works_on_nothing_there(narrow, store, count):
    store("acme:shared", "Everybody reads this.")
    assert narrow.client.post(URL, {**REBUILD, "namespace": "acme:shared"}, format="json").status_code == 404
    assert count(Operation) == 0


def test_cancelling_a_queued_operation_ends_it(alice, queued, principal):
    body = cancel(alice, queued).json()
    assert (body["state"], body["cancel_requested"]) == ("cancelled", True)
    assert body["finished_at"]
    assert operations.claim(principal, uuid.UUID(queued), now=timezone.now()) is None


def test_cancelling_a_running_operation_asks_it_to_end(alice, queued, principal):
    operations.claim(principal, uuid.UUID(queued), now=timezone.now())
    body = cancel(alice, queued).json()
    assert (body["state"], body["cancel_requested"], body["finished_at"]) == ("running", True, None)


@pytest.mark.parametrize("how", ["finished", "cancelled"])
def test_what_has_ended_can_not_be_cancelled(how, alice, queued, principal):
    if how == "finished":
        jobs.run(principal, uuid.UUID(queued))
    else:
        cancel(alice, queued)
    before = alice.client.get(f"{URL}/{queued}").json()
    answer = cancel(alice, queued)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_open")
    assert alice.client.get(f"{URL}/{queued}").json() == before


def test_foreign_and_missing_operations_can_not_be_cancelled(charlie, alice, queued, principal):
    for agent, operation_id in [(charlie, queued), (alice, uuid.uuid4())]:
        answer = cancel(agent, operation_id)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert state(principal, queued) == ("queued", False)


def test_starting_and_cancelling_need_admin(bob, queued, principal, count):
    for answer in (bob.client.post(URL, REBUILD, format="json"), cancel(bob, queued)):
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert count(Operation) == 1
    assert state(principal, queued) == ("queued", False)


BAD = {
    "no kind": ({"options": {"target": "keywords"}}, "kind"),
    "unknown kind": ({**REBUILD, "kind": "dream"}, "kind"),
    "no options": ({"kind": "rebuild"}, "options"),
    "no target": ({"kind": "rebuild", "options": {}}, "options"),
    "unknown target": ({"kind": "rebuild", "options": {"target": "moon"}}, "options"),
    "target is a list": ({"kind": "rebuild", "options": {"target": ["keywords"]}}, "options"),
    "target is an object": ({"kind": "rebuild", "options": {"target": {}}}, "options"),
    "unknown option": ({"kind": "rebuild", "options": {"target": "keywords", "fast": True}}, "options"),
    "options are a list": ({"kind": "rebuild", "options": ["keywords"]}, "options"),
    "bad namespace": ({**REBUILD, "namespace": "Acme Main"}, "namespace"),
    "unknown field": ({**REBUILD, "state": "succeeded"}, "state"),
}


@pytest.mark.parametrize("why", BAD)
def test_bad_input_starts_nothing(why, alice, count):
    body, field = BAD[why]
    answer = alice.client.post(URL, body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert count(Operation) == 0


def test_missing_and_foreign_namespaces_look_the_same(alice, charlie, count):
    for name in ("acme:nowhere", "elsewhere:main"):
        answer = alice.client.post(URL, {**REBUILD, "namespace": name}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert count(Operation) == count(Namespace) == 0


def test_a_repeated_request_starts_one_operation(alice, count):
    first, second = (
        alice.client.post(URL, REBUILD, format="json", headers={"Idempotency-Key": "once"}) for _ in range(2)
    )
    assert first.status_code == second.status_code == 202
    assert first.json() == second.json()
    assert count(Operation) == 1
