"""Task history: reported, short, in a stable order, with where it comes from; impasses."""

import datetime

import pytest
from cachetools import TTLCache
from django.db import connections, transaction

from memories import access, agent_tasks, governance, jobs
from memories.models import Fragment, Operation, Task
from tests.governed import Judge

URL = "/api/v1/tasks"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The cache's time, which stands still."""
    at = [0.0]
    monkeypatch.setattr(agent_tasks, "_cache", TTLCache(10, agent_tasks.FRESH, timer=lambda: at[0]))
    return at


def report(agent, status="active", code=201, **more):
    body = {"namespace": "acme:main", "id": "t1", "title": "Build the mill", "status": status, **more}
    answer = agent.client.post(URL, body, format="json")
    assert answer.status_code == code, answer.content
    return answer.json()


def recent(agent, code=200, **query):
    answer = agent.client.get(f"{URL}/recent", query)
    assert answer.status_code == code, answer.content
    return answer.json()


def test_an_active_task_is_no_memory_yet(bob, count):
    told = report(bob, summary="Half done.")
    assert (told["status"], told["fragment_id"], told["proposing"]) == ("active", None, False)
    assert (count(Task), count(Fragment)) == (1, 0)


@pytest.mark.parametrize(("status", "outcome"), [("completed", "positive"), ("failed", "negative")])
def test_an_end_is_remembered(bob, status, outcome, count):
    report(bob)
    told = report(bob, status, 200, summary="The wheel broke." * 30)
    kept = bob.client.get(f"/api/v1/fragments/{told['fragment_id']}").json()
    assert (kept["type"], kept["source_type"], kept["source_id"], kept["outcome"]) == (
        "episodic",
        "task",
        "t1",
        outcome,
    )
    assert kept["content"].startswith(f"Build the mill ({status}): The wheel broke.")
    assert kept["provenance"]["source"] == "inference"
    again = report(bob, status, 200, summary="The wheel broke twice.")
    assert (again["fragment_id"], count(Fragment)) == (told["fragment_id"], 1)


def test_task_hist_1_provenance_is_always_told(bob, alice, clock):
    empty = recent(bob)["provenance"]
    assert (empty["source"], empty["cache_hit"]) == ("none", False)
    report(bob)
    first, second = recent(bob)["provenance"], recent(bob)["provenance"]
    assert (first["source"], first["cache_hit"], second["cache_hit"]) == ("database", False, True)
    assert first["fetched_at"] == second["fetched_at"]
    assert first["latency_ms"] >= 0
    clock[0] += agent_tasks.FRESH
    assert recent(bob)["provenance"]["cache_hit"] is False


def test_task_hist_2_titles_and_summaries_are_short(bob):
    report(bob, title="x" * 500, summary="y" * 5_000)
    (task,) = recent(bob)["tasks"]
    assert (len(task["title"]), len(task["summary"])) == (120, 200)
    assert set(task) == {"id", "namespace", "title", "status", "summary", "updated_at"}


def test_task_hist_3_the_order_is_stable(bob, now):
    for number in (2, 3, 1):
        report(bob, id=f"t{number}", updated_at=now.isoformat())
    report(bob, id="older", updated_at=(now - datetime.timedelta(hours=1)).isoformat())
    for _ in range(2):
        assert [task["id"] for task in recent(bob, limit=10)["tasks"]] == ["t3", "t2", "t1", "older"]
    assert [task["id"] for task in recent(bob, limit=2)["tasks"]] == ["t3", "t2"]


def test_a_report_is_seen_at_once_and_an_older_one_changes_nothing(bob, now):
    report(bob, updated_at=now.isoformat())
    assert recent(bob)["tasks"][0]["status"] == "active"
    report(bob, "completed", 200, updated_at=now.isoformat())
    assert recent(bob)["tasks"][0]["status"] == "completed"
    late = report(bob, "failed", 200, updated_at=(now - datetime.timedelta(seconds=1)).isoformat())
    assert (late["status"], recent(bob)["tasks"][0]["status"]) == ("completed", "completed")


def test_a_forgotten_task_is_gone_from_the_cache_too(bob, count, monkeypatch):
    told = report(bob, "completed")
    assert len(recent(bob)["tasks"]) == 1
    assert bob.client.delete(f"/api/v1/fragments/{told['fragment_id']}").status_code == 204
    assert (recent(bob)["tasks"], count(Task)) == ([], 0)


def test_a_slow_database_is_no_history(committed, agent_of, monkeypatch):
    agent = agent_of(committed, owner="bob")
    report(agent, namespace=f"{committed.name}:main")
    monkeypatch.setattr(agent_tasks, "PATIENCE", datetime.timedelta(milliseconds=200))
    with transaction.atomic(using="owner"), connections["owner"].cursor() as other:
        other.execute("LOCK TABLE memories_task IN ACCESS EXCLUSIVE MODE")
        assert recent(agent)["provenance"]["source"] == "none"
    assert recent(agent, limit=2)["provenance"]["source"] == "database"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": "paused"}, "status"),
        ({"title": ""}, "title"),
        ({"id": "x" * 256}, "id"),
        ({"updated_at": "2026-01-01T00:00:00"}, "updated_at"),
        ({"updated_at": "2126-01-01T00:00:00Z"}, "updated_at"),
        ({"log": "all of it"}, "log"),
        ({"namespace": None}, "namespace"),
    ],
)
def test_bad_reports_are_refused(bob, count, change, field):
    assert report(bob, code=400, **change)["errors"][0]["field"] == field
    assert count(Task) == 0


def test_limits_of_the_list(bob):
    for limit in ("0", "51", "many"):
        assert recent(bob, 400, limit=limit)["errors"][0]["field"] == "limit"


def test_a_key_of_one_namespace_need_not_name_it(project, agent_of, bob):
    narrow = agent_of(project, owner="narrow", namespaces=["acme:main"])
    body = {"id": "t9", "title": "Mine", "status": "active"}
    assert narrow.client.post(URL, body, format="json").json()["namespace"] == "acme:main"
    assert bob.client.post(URL, body, format="json").status_code == 400


def test_others_see_nothing(bob, charlie, reader, agent_of, project, count):
    report(bob)
    assert recent(charlie)["tasks"] == []
    assert recent(charlie, 404, namespace="acme:main")["code"] == "not_found"
    assert [task["id"] for task in recent(reader)["tasks"]] == ["t1"]
    assert report(reader, code=403, id="t2")["code"] == "not_permitted"
    elsewhere = agent_of(project, owner="e", namespaces=["acme:other"])
    assert recent(elsewhere)["tasks"] == []
    assert report(elsewhere, code=404, id="t2")["code"] == "not_found"
    assert count(Task) == 1


def test_three_failures_in_half_an_hour_queue_one_proposal(
    bob, model_server, bind_judge, principal, proposal_history, count
):
    bind_judge(Judge())
    said = [
        report(bob, "failed", code, summary=f"Try {n}.")["proposing"] for n, code in enumerate((201, 200, 200, 200))
    ]
    assert said == [False, False, True, False]
    with access.enter(principal, why="test"):
        (queued,) = Operation.objects.within(principal.project_id).filter(kind="propose")
    assert "mill" not in str(queued.options)
    ended = jobs.run(principal, queued.id)
    assert (ended.state, ended.report["outcome"]) == ("succeeded", "allowed")
    (entry,) = proposal_history()
    assert (entry.task_id, entry.fragment.type) == ("t1", "procedural")
    assert governance.propose_way_out(principal, ended, None)["proposal"] == str(entry.id)
    assert len(proposal_history()) == 1


def failing(principal, *minutes, now):
    """What three reports at these minutes before now lead to."""
    told = []
    for minute in minutes:
        at = now - datetime.timedelta(minutes=minute)
        given = agent_tasks.TaskReport("acme:main", "t1", "Build", "failed", "", at)
        told.append(jobs.report_task(principal, given, agent_tasks.prepare_report(given), now=at).impasse)
    return told


def test_failures_far_apart_are_no_impasse(principal, now):
    assert failing(principal, 31, 20, 0, now=now) == [False, False, False]


def test_i_llm_route_8_skips_count_for_the_pause(principal, now, bind_judge, proposal_history):
    bind_judge(None)
    assert failing(principal, 12, 11, 10, now=now)[-1]
    with access.enter(principal, why="test"):
        queued = Operation.objects.within(principal.project_id).get(kind="propose")
    jobs.run(principal, queued.id)
    assert [row.outcome for row in proposal_history()] == ["skipped_no_reduction_client"]
    assert failing(principal, 9, 6, now=now) == [False, False]
    with access.enter(principal, why="test"):
        Task.objects.within(principal.project_id).update(proposed_at=None)
    assert failing(principal, 5.5, now=now) == [False]  # the entry alone keeps others off
    assert failing(principal, 4, now=now) == [True]
