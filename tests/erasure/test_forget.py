"""Forgetting by filter: all that fits and every copy of it, or nothing."""

import datetime

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, erasure, governance, ingest, jobs, operations, upkeep
from memories.models import Erasure, Fragment, Operation, Tombstone
from memories.upkeep.lifecycle.snapshots import copy_fragments as take_copies

URL = "/api/v1/forget"
SECRET = "xyzzyplugh"


def post(agent, body, status=200):
    answer = agent.client.post(URL, {"namespace": "acme:main", **body}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture
def three(store):
    """Two memories of a project that ended, and one that has to stay."""
    return [
        store("acme:main", "The otter plan is secret.", tags=["otter"]),
        store("acme:main", "Otters swim at night.", tags=["otter"]),
        store("acme:main", "The heron nests by the mill.", tags=["heron"]),
    ]


def test_a_dry_run_counts_and_names(alice, three, count):
    told = post(alice, {"tags": ["otter"], "dry_run": True})
    assert (told["count"], told["dry_run"], told["operation"]) == (2, True, None)
    assert told["ids"] == [str(row.id) for row in three[:2]]
    assert count(Fragment) == 3


@pytest.mark.parametrize("nested", [True, False])
def test_what_fits_is_forgotten(alice, three, count, nested):
    told = post(alice, {**({"filters": {"tags": ["otter"]}} if nested else {"tags": ["otter"]}), "expected_count": 2})
    assert (told["count"], told["backups"]) == (2, [])
    assert (count(Fragment), count(Erasure)) == (1, 2)
    again = alice.client.post(
        "/api/v1/fragments", {"namespace": "acme:main", "content": "Otters swim at NIGHT."}, format="json"
    )
    assert (again.status_code, again.json()["code"]) == (409, "blocked_by_erasure")


def test_another_count_forgets_nothing_and_says_how_many(alice, three, count):
    told = post(alice, {"tags": ["otter"], "expected_count": 3}, 409)
    assert told["code"] == "count_differs"
    assert told["errors"] == [{"field": "expected_count", "message": "2", "code": "count_differs"}]
    assert (count(Fragment), count(Erasure)) == (3, 0)


def test_by_id_whatever_the_status_and_what_was_evicted(alice, three, principal, count, now, settings):
    ingest.updates.archive(principal, three[0].id, now=now)
    settings.CAPACITY = {"all": 3, "hot": 0, "warm": 0, "cold": 0}
    with access.enter(principal, why="test"):
        old = now - datetime.timedelta(days=2)
        Fragment.objects.exclude(id=three[1].id).update(is_pinned=True)
        Fragment.objects.filter(id=three[1].id).update(importance=0.1, updated_at=old)
        take_copies(principal.project_id, [three[1].id], reason="evicted", operation_id=None, now=now)
        Tombstone.objects.create(
            project_id=principal.project_id,
            namespace_id=three[1].namespace_id,
            original_id=three[1].id,
            reason="low_weight",
            topics=["otters"],
        )
        Fragment.objects.filter(id=three[1].id).delete()
    ids = [str(row.id) for row in three[:2]]
    told = post(alice, {"ids": ids, "expected_count": 2})
    assert sorted(told["ids"]) == sorted(ids)
    assert (count(Fragment), count(Tombstone)) == (1, 0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"expected_count": 0}, "filters"),
        ({"expected_count": 3, "tags": []}, "filters"),
        ({"expected_count": 3, "filters": {"include_all": False, "tags": []}}, "filters"),
        ({"expected_count": 3, "min_relevance": 0}, "filters"),
        ({"dry_run": True, "status_filter": ["active"]}, "filters"),
        ({"tags": ["otter"]}, "expected_count"),
        ({"tags": ["otter"], "expected_count": -1}, "expected_count"),
        ({"tags": ["otter"], "expected_count": 2, "query": "otter"}, "query"),
        ({"ids": ["no id"], "expected_count": 1}, "ids[0]"),
        ({"since": "2024-01-01", "expected_count": 1}, "since"),
    ],
)
def test_bad_wishes_are_refused(alice, three, count, body, field):
    assert post(alice, body, 400)["errors"][0]["field"].startswith(field)
    assert count(Fragment) == 3


def test_it_needs_the_verb_the_namespace_and_the_ceiling(alice, bob, charlie, agent_of, project, three, store, count):
    body = {"tags": ["otter"], "expected_count": 2}
    assert post(bob, body, 403)["code"] == "not_permitted"
    assert post(charlie, body, 404)["code"] == "not_found"
    elsewhere = agent_of(project, owner="e", namespaces=["acme:other"], verbs=["read", "admin"])
    assert post(elsewhere, body, 404)["code"] == "not_found"
    weak = agent_of(project, owner="w", verbs=["read", "write", "admin"], ceiling="document")
    store("acme:main", "Alice loves otters.", by=alice.principal, source="user_explicit", tags=["otter"])
    assert post(weak, {**body, "expected_count": 3}, 403)["code"] == "not_permitted"
    assert count(Fragment) == 4
    assert count(Erasure) == 0


def test_many_are_an_operation(alice, three, count, principal, monkeypatch):
    monkeypatch.setattr(erasure, "FEW", 1)
    assert post(alice, {"tags": ["otter"], "expected_count": 1}, 409)["code"] == "count_differs"
    told = post(alice, {"tags": ["otter"], "expected_count": 2}, 202)
    assert count(Fragment) == 3
    ended = jobs.run(principal, told["operation"]["id"])
    assert (ended.state, ended.report["count"], ended.report["backups"]) == ("succeeded", 2, [])
    assert (count(Fragment), count(Erasure)) == (1, 2)


def test_an_operation_that_finds_another_count_forgets_nothing(alice, three, store, count, principal, monkeypatch):
    monkeypatch.setattr(erasure, "FEW", 1)
    told = post(alice, {"tags": ["otter"], "expected_count": 2}, 202)
    store("acme:main", "A third otter.", tags=["otter"])
    ended = jobs.run(principal, told["operation"]["id"])
    assert (ended.state, ended.error["code"]) == ("failed", "count_differs")
    assert (count(Fragment), count(Erasure)) == (4, 0)


def test_operations_of_this_kind_have_a_door_of_their_own(alice, three):
    body = {"kind": "forget", "namespace": "acme:main", "options": {"authority": 6}}
    answer = alice.client.post("/api/v1/operations", body, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "kind")


def test_relevance_and_times_filter_as_in_a_search(alice, three, principal, now):
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=three[0].id).update(base_relevance=0.2)
    assert post(alice, {"min_relevance": 0.9, "dry_run": True})["count"] == 2
    after = timezone.now().isoformat()
    assert post(alice, {"since": after, "dry_run": True})["count"] == 0
    assert post(alice, {"until": after, "dry_run": True})["count"] == 3


def test_nothing_is_left_of_what_was_forgotten(alice, bob, principal, sweep, store, now):
    told = {"subject": "Ada", "predicate": "code", "value": SECRET}
    kept = alice.client.post(
        "/api/v1/fragments",
        {
            "namespace": "acme:main",
            "content": f"Ada's code is {SECRET} indeed.",
            "claim": told,
            "tags": [SECRET],
            "entities": [{"text": SECRET, "label": "person"}],
            "extra": {"code": SECRET},
            "provenance": {"source": "tool_output"},
        },
        format="json",
        headers={"Idempotency-Key": "once"},
    ).json()
    # A newcomer of another owner waits against it; a dispute, a revision, a copy, links, a receipt, a digest.
    store("acme:main", "Ada's code is 12.", by=bob.principal, source="inference", claim=ClaimDraft("Ada", "code", "12"))
    bob.client.post(f"/api/v1/fragments/{kept['id']}/dispute", {"reason": f"not {SECRET}"}, format="json")
    alice.client.patch(f"/api/v1/fragments/{kept['id']}", {"content": f"Ada has {SECRET} as code."}, format="json")
    alice.client.post(f"/api/v1/fragments/{kept['id']}/compact", {"level": "keywords"}, format="json")
    alice.client.post("/api/v1/context", {"namespace": "acme:main", "query": SECRET}, format="json")
    upkeep.graph.refresh_graph(principal, now=now)
    parts = [store("acme:main", f"{word} knows {SECRET} well.", type="episodic") for word in ("Bo", "Cy", "Di")]
    made = alice.client.post("/api/v1/digests", {"ids": [str(row.id) for row in parts]}, format="json")
    assert made.status_code == 201
    assert len(sweep(SECRET)) > 6
    ids = [kept["id"], *(str(row.id) for row in parts)]
    assert post(alice, {"ids": ids, "expected_count": 4})["digests"] == 1
    assert sweep(SECRET) == []


def test_nothing_is_left_in_what_models_and_tasks_keep(alice, principal, sweep, store, now, model_server):
    row = store("acme:main", f"The {SECRET}'s nest is {SECRET}.", by=alice.principal, extract_claim=True)
    governance.read_pending(principal, now=now + datetime.timedelta(minutes=1))
    task = {"namespace": "acme:main", "id": "t1", "title": f"Find {SECRET}", "summary": SECRET, "status": "failed"}
    told = [alice.client.post("/api/v1/tasks", task, format="json").json() for _ in range(3)][-1]
    assert told["proposing"]
    with access.enter(principal, why="test"):
        waiting = Operation.objects.get(kind="propose")
    jobs.run(principal, waiting.id)
    body = {"namespace": "acme:main", "task_id": "t2", "context": f"About {SECRET}."}
    made = alice.client.post("/api/v1/proposals", body, format="json", headers={"Idempotency-Key": "p"}).json()
    assert {"memories_task.title", "memories_proposal.proposal", "memories_claim.value"} <= {*sweep(SECRET)}
    ids = [str(row.id), told["fragment_id"], made["fragment_id"]]
    assert post(alice, {"ids": ids, "expected_count": 3})["count"] == 3
    assert sweep(SECRET) == []


def test_a_digest_goes_and_its_other_originals_stand_again(alice, store, principal, count):
    parts = [store("acme:main", f"{word} swims in the river.", type="episodic") for word in ("Bo", "Cy", "Di")]
    made = alice.client.post("/api/v1/digests", {"ids": [str(row.id) for row in parts]}, format="json")
    assert made.status_code == 201
    with access.enter(principal, why="test"):
        assert Fragment.objects.filter(status="active").count() == 1
    assert alice.client.delete(f"/api/v1/fragments/{parts[0].id}").status_code == 204
    with access.enter(principal, why="test"):
        rows = list(Fragment.objects.order_by("created_at").values_list("id", "status"))
    assert rows == [(parts[1].id, "active"), (parts[2].id, "active")]


def test_an_interrupted_operation_is_not_done_twice(principal, three, count):
    wish = erasure.ErasureRequest(ids=[three[0].id])
    options = erasure.erasure_options(wish, expected=1, authority=6, purge_backups=False)
    operation = operations.start(
        principal,
        kind="forget",
        namespace=three[0].namespace,
        options=options,
        dry_run=False,
        now=timezone.now(),
    )
    ended = jobs.run(principal, operation.id)
    assert ended.report["count"] == 1
    with access.enter(principal, why="test"):
        ended.refresh_from_db()
    assert erasure.run(principal, ended, None)["count"] == 1
    assert count(Fragment) == 2
