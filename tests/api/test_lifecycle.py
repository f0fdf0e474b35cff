"""/fragments/{id}/tier and /compact, /tombstones, /evictions/preview, and how full a project is."""

import datetime
import time
import uuid

import pytest
from django.utils import timezone

from memories import access, jobs, operations
from memories.models import Archive, Fragment, Namespace, Tombstone
from memories.models.enums import CopyReason, EvictionReason
from memories.upkeep.lifecycle.removal import Cause, remove_fragments

STONES = "/api/v1/tombstones"
TEXT = "The heron nests behind the mill. It eats. Ada saw it. She told nobody."


@pytest.fixture
def row(store):
    """A memory of the tool's."""
    return store("acme:main", TEXT, importance=0.5, topics=["heron", "mill"], source="tool_output")


@pytest.fixture
def bury(principal):
    """Lets a fragment leave so many days ago."""

    def leave_it(fragment, *, days=0, **details):
        with access.enter(principal, why="test"):
            remove_fragments(
                principal.project_id,
                {fragment.id: Cause(EvictionReason.LOW_WEIGHT, details)},
                copied=CopyReason.EVICTED,
                operation_id=None,
                now=timezone.now() - datetime.timedelta(days=days),
            )
            return str(Tombstone.objects.get(original_id=fragment.id).id)

    return leave_it


@pytest.fixture
def limit(settings):
    """How many fragments the project may hold."""

    def to(number):
        settings.CAPACITY = {**settings.CAPACITY, "all": number}

    return to


def post(agent, path, body=None, status=200, **headers):
    answer = agent.client.post(f"/api/v1/{path}", body or {}, format="json", headers=headers)
    assert answer.status_code == status, answer.content
    return answer.json()


def get(agent, path, status=200, **query):
    answer = agent.client.get(f"/api/v1/{path}", query)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_tier_works(bob, row):
    moved = post(bob, f"fragments/{row.id}/tier", {"from": "hot", "to": "cold"})
    assert (moved["id"], moved["tier"], moved["revision"]) == (str(row.id), "cold", 1)


def test_a_tier_that_it_is_not_in_is_a_conflict(bob, row):
    told = post(bob, f"fragments/{row.id}/tier", {"from": "warm", "to": "cold"}, 409)
    assert (told["code"], told["detail"]) == ("tier_mismatch", "this memory is hot, not warm")
    assert get(bob, f"fragments/{row.id}")["tier"] == "hot"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"from": "hot", "to": "lukewarm"}, "to"),
        ({"to": "cold"}, "from"),
        ({"from": 1, "to": "cold"}, "from"),
        ({"from": "hot", "to": "cold", "why": "x"}, "why"),
    ],
)
def test_an_unknown_tier_is_named(bob, row, body, field):
    told = post(bob, f"fragments/{row.id}/tier", body, 400)
    assert [error["field"] for error in told["errors"]] == [field]
    assert get(bob, f"fragments/{row.id}")["tier"] == "hot"


def test_compact_works_and_gives_back(bob, row):
    told = post(bob, f"fragments/{row.id}/compact", {"level": "summary"})
    assert (told["compacted_count"], told["compacted_ids"]) == (1, [str(row.id)])
    assert (told["skipped_high_weight"], told["already_compressed"]) == (0, 0)
    assert told["fragment"]["content"] == "The heron nests behind the mill. It eats. Ada saw it."
    assert told["fragment"]["compression"] == "summary"
    back = post(bob, f"fragments/{row.id}/compact", {"level": "full"})
    assert (back["fragment"]["content"], back["fragment"]["compression"]) == (TEXT, "full")


def test_compact_refuses_what_it_does_not_know(bob, row):
    told = post(bob, f"fragments/{row.id}/compact", {"level": "dust"}, 400)
    assert [error["field"] for error in told["errors"]] == ["level"]
    assert get(bob, f"fragments/{row.id}")["content"] == TEXT


def test_a_text_whose_copy_is_gone_does_not_come_back(bob, row, principal):
    post(bob, f"fragments/{row.id}/compact", {"level": "hash"})
    with access.enter(principal, why="test"):
        Archive.objects.all().delete()
    assert post(bob, f"fragments/{row.id}/compact", {"level": "full"}, 410)["code"] == "purged"


def test_a_tombstone_tells_what_was(alice, row, bury):
    stone = bury(row, ratio=0.8)
    told = get(alice, f"tombstones/{stone}")
    assert told == get(alice, f"tombstones/{row.id}")
    assert {**told, "evicted_at": None} == {
        "id": stone,
        "namespace": "acme:main",
        "original_id": str(row.id),
        "evicted_at": None,
        "topics": ["heron", "mill"],
        "participants": told["participants"],
        "approximate_date": str(row.created_at.date()),
        "reason": "low_weight",
        "reason_details": {"ratio": 0.8},
        "sentence": told["sentence"],
        "restorable": True,
    }
    assert told["sentence"].startswith("I previously knew about heron and mill with ")
    assert get(alice, f"fragments/{row.id}", 404)["code"] == "not_found"


def test_tombstones_are_found_by_topic_and_time(alice, store, bury):
    heron = bury(store("acme:main", "One.", topics=["heron"]), days=3)
    otter = bury(store("acme:main", "Two.", topics=["otter", "mill"]), days=1)
    side = bury(store("acme:side", "Three.", topics=["heron"]), days=2)

    def ids(**query):
        return [stone["id"] for stone in get(alice, "tombstones", **query)["results"]]

    assert ids() == [otter, side, heron]
    assert ids(topic="Heron") == [side, heron]
    assert ids(topic="mill") == [otter]
    assert ids(topic="moon") == []
    assert ids(namespace="acme:main", topic="heron") == [heron]
    assert ids(since=(timezone.now() - datetime.timedelta(days=2.5)).isoformat()) == [otter, side]


def test_tombstones_come_in_pages(alice, store, bury):
    stones = [bury(store("acme:main", f"Number {n}."), days=n) for n in range(5)]
    page = get(alice, "tombstones", limit=2)
    seen = [stone["id"] for stone in page["results"]]
    while page["next"]:
        page = alice.client.get(page["next"]).json()
        seen += [stone["id"] for stone in page["results"]]
    assert seen == stones


@pytest.mark.parametrize("query", [{"since": "yesterday"}, {"limit": 0}, {"cursor": "x"}, {"moon": "1"}])
def test_a_bad_question_is_named(alice, query):
    assert [error["field"] for error in get(alice, "tombstones", 400, **query)["errors"]] == list(query)


def test_restore_works(bob, row, bury, count):
    before = get(bob, f"fragments/{row.id}")
    stone = bury(row)
    told = post(bob, f"tombstones/{stone}/restore")
    assert (told["id"], told["deduplicated"], told["superseded"], told["pending_conflicts"]) == (
        str(row.id),
        False,
        [],
        [],
    )
    after = get(bob, f"fragments/{row.id}")
    moving = {"relevance_score", "effective_weight", "trust", "confidence", "provenance"}
    assert {k: v for k, v in after.items() if k not in moving} == {k: v for k, v in before.items() if k not in moving}
    assert (count(Tombstone), count(Archive)) == (0, 0)
    assert get(bob, f"tombstones/{stone}", 404)["code"] == "not_found"
    assert post(bob, f"tombstones/{stone}/restore", None, 404)["code"] == "not_found"


def test_restore_twice_with_one_key_is_once(bob, row, bury):
    stone = bury(row)
    first = post(bob, f"tombstones/{stone}/restore", **{"Idempotency-Key": "k"})
    assert post(bob, f"tombstones/{stone}/restore", **{"Idempotency-Key": "k"}) == first


def test_restore_of_a_purged_tombstone_is_gone(bob, row, bury, principal, count):
    stone = bury(row)
    with access.enter(principal, why="test"):
        Archive.objects.all().delete()
    assert get(bob, f"tombstones/{stone}")["restorable"] is False
    told = post(bob, f"tombstones/{stone}/restore", None, 410)
    assert (told["code"], told["detail"]) == ("purged", "the archive holds no copy of this memory any more")
    assert (count(Fragment), count(Tombstone)) == (0, 1)


def test_restore_meets_what_is_believed_by_now(alice, bury, store):
    said = {"namespace": "acme:main", "content": "The budget is $1.", "provenance": {"source": "tool_output"}}
    claim = {"subject": "user", "predicate": "budget"}
    old = post(alice, "fragments", {**said, "claim": {**claim, "value": "$1"}}, 201)
    with access.enter(alice.principal, why="test"):
        fragment = Fragment.objects.get(id=old["id"])
    stone = bury(fragment)
    new = post(alice, "fragments", {**said, "content": "It is $2.", "claim": {**claim, "value": "$2"}}, 201)
    told = post(alice, f"tombstones/{stone}/restore")
    assert (told["id"], told["status"]) == (old["id"], "quarantined")
    assert [conflict["existing_id"] for conflict in told["pending_conflicts"]] == [new["id"]]


def test_others_neither_see_nor_restore(charlie, reader, bury, store, row, count):
    side, main = bury(store("acme:side", "Elsewhere.")), bury(row)
    assert get(charlie, "tombstones")["results"] == []
    assert [stone["id"] for stone in get(reader, "tombstones")["results"]] == [main]
    for who, stone in ((charlie, main), (reader, side)):
        get(who, f"tombstones/{stone}", 404)
    post(charlie, f"tombstones/{main}/restore", None, 404)
    post(reader, f"tombstones/{main}/restore", None, 403)
    get(charlie, "tombstones", 404, namespace="acme:main")
    assert count(Tombstone) == 2


def test_the_deleted_leave_no_tombstone(alice, row, count):
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    assert get(alice, "tombstones")["results"] == []


def test_delete_erases_what_was_evicted(alice, bob, charlie, row, bury, count):
    bury(row)
    assert charlie.client.delete(f"/api/v1/fragments/{row.id}").status_code == 404
    assert count(Archive) == 1
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    assert (count(Archive), count(Tombstone)) == (0, 0)
    again = {"namespace": "acme:main", "content": TEXT, "provenance": {"source": "tool_output"}}
    assert post(bob, "fragments", again, 409)["code"] == "blocked_by_erasure"


def test_the_preview_tells_who_would_leave(alice, reader, time_machine, store, limit):
    start = timezone.now()
    time_machine.move_to(start - datetime.timedelta(days=30), tick=False)
    rows = [store("acme:main", f"Number {n}.", importance=0.1 + n / 100) for n in range(5)]
    side = store("acme:side", "Elsewhere.", importance=0.1)
    time_machine.move_to(start, tick=False)
    limit(6)
    told = get(alice, "evictions/preview", limit=3)
    assert told["would_evict"] == 2
    assert {k: told["capacity"][k] for k in ("ratio", "status", "fragments", "limit")} == {
        "ratio": 1.0,
        "status": "aggressive_eviction_needed",
        "fragments": 6,
        "limit": 6,
    }
    assert {each["id"] for each in told["results"][:2]} == {str(side.id), str(rows[0].id)}
    assert told["results"][2]["id"] == str(rows[1].id)
    assert told["results"][0]["priority"] < told["results"][2]["priority"]
    assert str(side.id) not in {each["id"] for each in get(reader, "evictions/preview")["results"]}
    assert get(alice, "evictions/preview", tier="cold")["results"] == []


@pytest.mark.parametrize("query", [{"tier": "lukewarm"}, {"limit": 0}, {"limit": 201}, {"moon": 1}])
def test_a_bad_preview_is_named(alice, query):
    assert [error["field"] for error in get(alice, "evictions/preview", 400, **query)["errors"]] == list(query)


def test_stats_tell_capacity_and_sizes(alice, store, limit):
    store("acme:main", "The otter swims.")
    limit(1)
    told = get(alice, "stats")
    assert told["capacity"]["status"] == "aggressive_eviction_needed"
    assert told["capacity"]["tiers"]["hot"] == {"ratio": 0.0, "status": "normal", "fragments": 1, "limit": 0}
    assert told["tier_bytes"] == {"hot": 16 + 776, "warm": 0, "cold": 0}
    assert get(alice, "stats", namespace="acme:main")["tier_bytes"]["hot"] == 16 + 776


def test_writes_say_how_full_it_is_and_still_succeed(alice, limit):
    limit(5)

    def store(path, body):
        answer = alice.client.post(f"/api/v1/{path}", body, format="json")
        assert answer.status_code == 201, answer.content
        return answer.headers["X-NovaMem-Capacity"]

    one = {"namespace": "acme:main", "content": "The otter swims."}
    assert store("fragments", one) == "0.2000; normal"
    assert store("fragments/batch", {"fragments": [one, {**one, "content": "The heron nests."}]}) == "0.6000; normal"
    assert store("ingest", {"namespace": "acme:main", "text": "The mill is old indeed."}) == "0.8000; eviction_needed"
    assert store("fragments", {**one, "content": "Four."}) == "1.0000; aggressive_eviction_needed"
    assert store("fragments", {**one, "content": "Five."}) == "1.2000; aggressive_eviction_needed"
    insights = {"namespace": "acme:main", "insights": ["Pin each dependency."]}
    assert store("bridges/atlas/retrospectives", insights) == "1.4000; aggressive_eviction_needed"
    task = {"namespace": "acme:main", "id": "t", "title": "Nest", "status": "completed", "summary": "Built."}
    assert store("tasks", task) == "1.6000; aggressive_eviction_needed"


def test_operations_take_a_dry_run(alice, store, count, principal):
    store("acme:main", "The otter swims.")
    body = {"kind": "compact", "namespace": "acme:main", "dry_run": True}
    told = post(alice, "operations", body, 202)
    assert told["dry_run"] is True
    jobs.run(principal, uuid.UUID(told["id"]))
    assert get(alice, f"operations/{told['id']}")["report"]["would_compact"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "rebuild", "options": {"target": "keywords"}, "dry_run": True}, "dry_run"),
        ({"kind": "evict", "namespace": "acme:main"}, "namespace"),
        ({"kind": "evict", "options": {"tier": "lukewarm"}}, "options"),
        ({"kind": "tier", "options": {"cold_below": 1.5}}, "options"),
        ({"kind": "compact", "options": {"summary_days": 100}}, "options"),
        ({"kind": "archive", "options": {"days": 1}}, "options"),
        ({"kind": "evict", "dry_run": "yes"}, "dry_run"),
    ],
)
def test_what_a_job_can_not_do_is_named(alice, principal, store, body, field):
    store("acme:main", "The otter swims.")
    assert [error["field"] for error in post(alice, "operations", body, 400)["errors"]] == [field]
    with access.enter(principal, why="test"):
        assert Namespace.objects.count() == 1
        assert operations.stranded_operations(principal, now=timezone.now() + datetime.timedelta(days=1)) == []


def test_what_leaves_is_not_told_as_erased(service, committed, agent_of, settings, time_machine):
    """Events show what is committed."""
    agent = agent_of(committed, ceiling="user_explicit")
    start = timezone.now()
    time_machine.move_to(start - datetime.timedelta(days=9), tick=False)
    body = {"namespace": f"{committed.name}:main", "importance": 0.1}
    kept, erased = (post(agent, "fragments", {**body, "content": f"The {word}."}, 201)["id"] for word in ("one", "two"))
    time_machine.move_to(start, tick=False)
    assert agent.client.delete(f"/api/v1/fragments/{erased}").status_code == 204
    settings.CAPACITY = {**settings.CAPACITY, "all": 1}
    wish = {"kind": "evict", "namespace": None, "options": {}, "dry_run": False, "now": timezone.now()}
    assert jobs.run(service, operations.start(service, **wish).id).report["evicted"] == 1
    post(agent, f"tombstones/{kept}/restore")
    end = time.monotonic() + 60  # an event shows when older transactions are over
    while not (events := get(agent, "events")["results"]):
        assert time.monotonic() < end, "an old transaction stays open"
        time.sleep(0.1)
    assert [(event["kind"], event["fragment_id"]) for event in events] == [("erase", erased)]


def test_what_was_believed_is_told_as_before_when_it_is_back(alice, bury):
    said = {"namespace": "acme:main", "content": "The budget is $1.", "provenance": {"source": "tool_output"}}
    claim = {"subject": "user", "predicate": "budget", "value": "$1"}
    stored = post(alice, "fragments", {**said, "claim": claim}, 201)
    asked = {"namespace": "acme:main", "subject": "user", "predicate": "budget"}
    before, timeline = get(alice, "claims", **asked), get(alice, "claims/timeline", **asked)
    with access.enter(alice.principal, why="test"):
        fragment = Fragment.objects.get(id=stored["id"])
    stone = bury(fragment)
    assert get(alice, "claims", **asked)["results"] == []
    post(alice, f"tombstones/{stone}/restore")
    assert get(alice, "claims", **asked) == before
    assert len(get(alice, "claims/timeline", **asked)["results"]) == len(timeline["results"])
