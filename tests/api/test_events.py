"""GET /api/v1/events: polled, and as a stream from a real ASGI server."""

import contextlib
import datetime
import http.client
import json
import threading
import time
import uuid

import pytest
import uvicorn
from django.db import connections, transaction
from django.utils import timezone

from conflicts.events import Bookmark
from conflicts.models import PendingConflict
from memories import access, erasure, ingest, jobs, upkeep
from memories.access import keys
from memories.api import events as door
from memories.models import Fragment, Namespace, Receipt, Seat
from memories.models.enums import EvictionReason
from memories.upkeep.consolidation import plan_execution
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from novamem.request_limits import Bounded

URL = "/api/v1/events"
TIMEOUT = 20


class Deeds:
    """What may happen in a committed project; each call is a transaction."""

    def __init__(self, principal):
        self.principal = principal

    def do(self, change):
        with access.enter(self.principal, why="test"):
            return change()

    def store(self, room="main"):
        draft = ingest.Draft(namespace=f"{self.principal.project}:{room}", content=f"Note {uuid.uuid4()}.")
        return ingest.store(self.principal, ingest.prepare([draft]), now=timezone.now())[0].fragment

    def change(self, row, **values):
        self.do(lambda: Fragment.objects.filter(id=row.id).update(**values))

    def supersede(self, row, by):
        self.change(row, status="superseded", superseded_by=by)

    def quarrel(self, newcomer, existing):
        made = PendingConflict(
            project_id=newcomer.project_id,
            namespace_id=newcomer.namespace_id,
            kind="claim",
            reason="equal_authority_other_owner",
            newcomer=newcomer,
            existing=existing,
        )
        self.do(made.save)
        return made

    def settle(self, conflict, **values):
        self.do(lambda: PendingConflict.objects.filter(id=conflict.id).update(**values))

    def erase(self, row):
        self.do(lambda: Fragment.objects.get(id=row.id).delete())


@pytest.fixture
def deeds(service):
    """Deeds of the service itself."""
    return Deeds(service)


@pytest.fixture
def agent(committed, agent_of):
    """Reads everything in the committed project."""
    return agent_of(committed, owner="ada", ceiling="system")


@pytest.fixture
def poll(agent, settle):
    """Asks for everything that is committed by now."""

    def ask(**query):
        settle()
        answer = agent.client.get(URL, query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return ask


@pytest.fixture
def news(poll):
    """The announcements alone."""
    return lambda **query: poll(**query)["results"]


def kinds(found):
    return [each["kind"] for each in found]


def test_every_kind_from_the_row_history(deeds, news):
    old, new = deeds.store(), deeds.store()
    deeds.supersede(old, new)
    deeds.change(new, corroboration=2)
    deeds.change(new, disputes=1)
    deeds.change(new, status="disputed")
    conflict = deeds.quarrel(old, new)
    deeds.settle(conflict, resolution="reject", resolved_at=timezone.now())
    deeds.settle(conflict, resolution="", resolved_at=None)
    deeds.erase(new)
    found = news()
    assert [(each["kind"], each["fragment_id"], each["conflict_id"], each["other_id"]) for each in found] == [
        ("supersede", str(old.id), None, str(new.id)),
        ("corroborate", str(new.id), None, None),
        ("dispute", str(new.id), None, None),
        ("dispute", str(new.id), None, None),
        ("conflict_pending", str(old.id), str(conflict.id), str(new.id)),
        ("conflict_resolved", str(old.id), str(conflict.id), str(new.id)),
        ("conflict_pending", str(old.id), str(conflict.id), str(new.id)),
        ("erase", str(new.id), None, None),
    ]
    assert news(kind="consolidate") == []
    for kind in ("supersede", "dispute", "corroborate", "conflict_pending", "conflict_resolved", "erase"):
        assert news(kind=kind) == [each for each in found if each["kind"] == kind]


def test_a_recall_notice_names_the_receipt_what_superseded_and_the_reason(deeds, poll, news):
    old, new = deeds.store(), deeds.store()
    receipt = Receipt(project_id=old.project_id, namespace_id=old.namespace_id, fragment_ids=[old.id], tokens=1)
    deeds.do(receipt.save)
    deeds.supersede(old, new)
    deeds.change(old, status="active", superseded_by=None)
    found = news(kind="recall_notice")
    assert [(each["fragment_id"], each["other_id"], each["receipt_id"], each["why"]) for each in found] == [
        (str(old.id), str(new.id), str(receipt.id), "superseded"),
        (str(old.id), None, str(receipt.id), "restored"),
    ]
    assert poll(kind="recall_notice", since=found[0]["id"])["results"] == found[1:]
    assert poll(since=found[1]["id"])["results"] == []


def test_a_stream_tells_of_recall_notices(listen, deeds):
    row = deeds.store()
    receipt = Receipt(project_id=row.project_id, namespace_id=row.namespace_id, fragment_ids=[row.id], tokens=1)
    deeds.do(receipt.save)
    stream = listen(query="?kind=recall_notice")
    assert stream.frame()["retry"]
    deeds.change(row, status="disputed")
    heard = stream.heard()
    told = json.loads(heard["data"])
    assert (heard["event"], told["fragment_id"], told["receipt_id"]) == (
        "recall_notice", str(row.id), str(receipt.id),
    )  # fmt: skip


def test_forgetting_what_was_evicted_erases_and_its_return_does_not(deeds, news, service, now):
    for gone in (True, False):
        row = deeds.store()
        with access.enter(service, why="evict"):
            cause = Cause(EvictionReason.LOW_WEIGHT, {})
            remove_fragments(service.project_id, {row.id: cause}, copied="evicted", operation_id=None, now=now)
        if gone:
            erasure.forget(service, row.id, now=now)
        else:
            upkeep.lifecycle.restore(service, row.id, now=now)
        assert [each["fragment_id"] for each in news(kind="erase")].count(str(row.id)) == gone


def test_other_changes_are_no_news(deeds, news):
    row = deeds.store()
    deeds.change(row, corroboration=3, disputes=2)
    seen = len(news())
    deeds.change(row, importance=0.9)
    deeds.change(row, corroboration=1, disputes=0)
    deeds.change(row, status="archived")
    deeds.change(row, status="active")
    assert len(news()) == seen == 2


def test_one_change_may_be_several_news(deeds, news):
    row = deeds.store()
    deeds.change(row, corroboration=2, disputes=1, status="disputed")
    assert kinds(news()) == ["corroborate", "dispute"]
    first, second = news(limit=1), news(limit=1, since=news(limit=1)[0]["id"])
    assert kinds(first + second) == ["corroborate", "dispute"]


def test_it_says_when_where_who_and_why(committed, agent, news, deeds):
    row = Deeds(agent.principal).store()
    Deeds(agent.principal).erase(row)
    (found,) = news()
    assert abs(datetime.datetime.fromisoformat(found.pop("at")) - timezone.now()) < datetime.timedelta(minutes=5)
    assert found == {
        "id": found["id"],
        "kind": "erase",
        "namespace": f"{committed.name}:main",
        "fragment_id": str(row.id),
        "conflict_id": None,
        "other_id": None,
        "operation_id": None,
        "receipt_id": None,
        "who": {"kind": "key", "owner": str(agent.principal.owner_id), "key": str(agent.row.id), "user": None},
        "why": "test",
    }


def test_reading_on_misses_and_repeats_nothing(deeds, poll):
    since, seen = poll(since="now")["next"], []
    for n in range(3):
        rows = [deeds.store() for _ in range(n + 1)]
        for row in rows:
            deeds.erase(row)
        while True:
            answer = poll(since=since, limit=2)
            since = answer["next"]
            seen += [each["fragment_id"] for each in answer["results"]]
            if not answer["results"]:
                break
    assert len(seen) == len(set(seen)) == 6
    assert answer["previous"] is None
    assert [each["fragment_id"] for each in poll()["results"]] == seen


def test_a_late_commit_is_not_missed(deeds, agent, poll):
    """A transaction that began first and ends last holds back what came after it."""
    early, late = deeds.store(), deeds.store()
    since = poll(since="now")["next"]
    with transaction.atomic(using="owner"), connections["owner"].cursor() as slow:
        slow.execute("UPDATE memories_fragment SET disputes = 1 WHERE id = %s", [early.id])
        deeds.change(late, disputes=1)
        answer = agent.client.get(URL, {"since": since}).json()
        assert answer["results"] == []
    answer = poll(since=answer["next"])
    assert [each["fragment_id"] for each in answer["results"]] == [str(early.id), str(late.id)]
    assert poll(since=answer["next"])["results"] == []


def test_only_covered_namespaces(committed, neighbour, deeds, agent_of, settle):
    for room in ("main", "side", "shared"):
        deeds.erase(deeds.store(room))
    settle()
    narrow = agent_of(committed, namespaces=[f"{committed.name}:main"], verbs=["read"]).client
    rooms = [each["namespace"].partition(":")[2] for each in narrow.get(URL).json()["results"]]
    assert rooms == ["main", "shared"]
    assert narrow.get(URL, {"namespace": f"{committed.name}:side"}).status_code == 404
    assert len(narrow.get(URL, {"namespace": f"{committed.name}:main"}).json()["results"]) == 1
    stranger = agent_of(neighbour).client
    assert stranger.get(URL).json()["results"] == []
    assert stranger.get(URL, {"namespace": f"{committed.name}:main"}).status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"kind": "x"}, "kind"),
        ({"since": "x"}, "since"),
        ({"since": "é"}, "since"),
        ({"since": "MXwwfDA="}, "since"),
        ({"since": "LTF8MHwwfA=="}, "since"),
        ({"since": "MXw5fDB8"}, "since"),
        ({"since": "MXwxfDB8eA=="}, "since"),
        ({"since": "MTg0NDY3NDQwNzM3MDk1NTE2MTZ8MHwwfA=="}, "since"),
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_bad_queries_are_named(accept, query, field, alice):
    answer = alice.client.get(URL, query, headers={"Accept": accept})
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_other_media_types_are_not_served(alice):
    assert alice.client.get(URL, headers={"Accept": "text/html"}).status_code == 406


def test_a_poll_takes_a_fixed_number_of_queries(deeds, agent, news, django_assert_max_num_queries):
    for _ in range(3):
        deeds.erase(deeds.store())
    assert len(news()) == 3
    with django_assert_max_num_queries(10):
        agent.client.get(URL)


@pytest.fixture
def served(committed):
    """The port of a real ASGI server over the test database."""
    server = uvicorn.Server(
        uvicorn.Config(Bounded(), port=0, lifespan="off", ws="none", log_level="error", log_config=None)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = server.force_exit = True
    thread.join(TIMEOUT)


class Stream:
    """A listener: reads frame by frame."""

    def __init__(self, port, key, *, query="", **headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        wanted = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream", **headers}
        self.connection.request("GET", f"{URL}{query}", headers=wanted)
        self.answer = self.connection.getresponse()

    def frame(self):
        """The next frame's fields; None at the end."""
        fields = {}
        for line in iter(lambda: self.answer.readline().decode(), ""):
            name, _, value = line.rstrip("\r\n").partition(":")
            if not line.strip() and fields:
                return fields
            if line.strip():
                fields[name] = value.removeprefix(" ")
        return None

    def heard(self):
        """The next event, comments passed over."""
        while (frame := self.frame()) is not None:
            if "data" in frame:
                return frame
        return None


@pytest.fixture
def listen(served, agent):
    """Opens streams with the agent's key."""
    with contextlib.ExitStack() as stack:

        def to(**wish):
            stream = Stream(served, wish.pop("key", agent.key), **wish)
            stack.callback(stream.connection.close)
            return stream

        yield to


def test_a_stream_tells_what_is_committed_after_it_began(listen, deeds):
    row = deeds.store()
    stream = listen()
    assert stream.answer.headers["Content-Type"] == "text/event-stream"
    assert stream.answer.headers["Cache-Control"] == "no-store"
    first = stream.frame()
    assert (first["retry"], "data" in first) == ("2000", False)
    assert first["id"]
    deeds.change(row, status="disputed")
    heard = stream.heard()
    told = json.loads(heard["data"])
    assert (heard["event"], heard["id"], told["fragment_id"]) == ("dispute", told["id"], str(row.id))
    deeds.erase(row)
    assert stream.heard()["event"] == "erase"


def test_a_stream_goes_on_where_the_last_one_ended(listen, deeds, settle):
    rows = [deeds.store() for _ in range(4)]
    for row in rows:
        deeds.erase(row)
    settle()
    begin = Bookmark(0)
    streams = [listen(query=f"?since={begin}"), listen(**{"Last-Event-ID": str(begin)}), listen(query="?kind=erase")]
    heard = [[stream.heard() for _ in rows] for stream in streams[:2]]
    assert heard[0] == heard[1]
    assert [json.loads(each["data"])["fragment_id"] for each in heard[0]] == [str(row.id) for row in rows]
    again = listen(query=f"?since={begin}", **{"Last-Event-ID": heard[0][1]["id"]})
    assert [again.heard()["id"] for _ in range(2)] == [each["id"] for each in heard[0][2:]]


def test_a_stream_tells_more_than_a_page_at_once(listen, deeds, settle, monkeypatch):
    monkeypatch.setattr(door, "PAGE", 2)
    rows = [deeds.store() for _ in range(5)]
    for row in rows:
        deeds.erase(row)
    settle()
    stream = listen(query=f"?since={Bookmark(0)}")
    begun = time.monotonic()
    assert [json.loads(stream.heard()["data"])["fragment_id"] for _ in rows] == [str(row.id) for row in rows]
    assert time.monotonic() - begun < door.EVERY * 3


def test_a_silent_stream_shows_that_it_lives_and_ends_in_time(listen, monkeypatch):
    monkeypatch.setattr(door, "EVERY", 0.05)
    monkeypatch.setattr(door, "HEARTBEAT", 0.2)
    monkeypatch.setattr(door, "LONGEST", 0.9)
    stream = listen()
    begun = time.monotonic()
    frames = list(iter(stream.frame, None))
    assert 0.5 < time.monotonic() - begun < TIMEOUT / 2
    assert 1 <= frames[1:].count({"": "nothing new"}) == len(frames) - 1 <= 5


def test_streams_hold_no_connections_while_they_sleep(listen, monkeypatch, settings):
    """There are more of them than the pool has connections."""
    looks = threading.Semaphore(0)
    news = door.list_events

    def counted(*who, **asked):
        found = news(*who, **asked)
        looks.release()
        return found

    monkeypatch.setattr(door, "list_events", counted)
    monkeypatch.setattr(door, "EVERY", 0.3)
    settings.EVENT_STREAMS_PER_KEY = 100
    streams = [listen() for _ in range(connections["default"].pool.max_size + 4)]
    for stream in streams:
        assert stream.frame()["retry"]
    for _ in range(len(streams) * 3):
        assert looks.acquire(timeout=TIMEOUT)


def test_a_key_has_so_many_streams_open_at_a_time(listen, committed, agent, agent_of, settings):
    settings.EVENT_STREAMS_PER_KEY = 2
    streams = [listen(), listen()]
    assert all(stream.frame()["retry"] for stream in streams)
    refused = listen().answer
    assert (refused.status, json.loads(refused.read())["code"]) == (429, "rate_limited")
    assert refused.headers["Retry-After"]
    assert listen(key=agent_of(committed).key).frame()["retry"], "another key has its own"
    streams[0].connection.close()
    deadline = time.monotonic() + 60
    while (again := listen()).answer.status != 200 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert again.frame()["retry"]


def test_who_leaves_before_the_stream_began_keeps_no_seat(served, listen, agent, monkeypatch, settings):
    settings.EVENT_STREAMS_PER_KEY = 1
    monkeypatch.setattr(door, "LEASE", datetime.timedelta(seconds=2))
    looks, goes_on = threading.Event(), threading.Event()
    news = door.list_events

    def slow(*who, **asked):
        looks.set()
        goes_on.wait(TIMEOUT)
        return news(*who, **asked)

    monkeypatch.setattr(door, "list_events", slow)
    left = http.client.HTTPConnection("127.0.0.1", served)
    left.request("GET", URL, headers={"Authorization": f"Bearer {agent.key}", "Accept": "text/event-stream"})
    assert looks.wait(TIMEOUT)
    left.close()
    time.sleep(0.5)  # until the server has seen it
    goes_on.set()
    deadline = time.monotonic() + TIMEOUT
    while not Seat.objects.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    while (again := listen()).answer.status != 200 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert again.frame()["retry"]


def test_a_stream_keeps_its_seat(listen, monkeypatch, settings):
    settings.EVENT_STREAMS_PER_KEY = 1
    monkeypatch.setattr(door, "LEASE", datetime.timedelta(seconds=1))
    monkeypatch.setattr(door, "HEARTBEAT", 0.2)
    monkeypatch.setattr(door, "EVERY", 0.1)
    stream = listen()
    assert stream.frame()["retry"]
    time.sleep(2)
    assert listen().answer.status == 429


def test_a_stream_whose_seat_is_gone_ends(listen, monkeypatch):
    monkeypatch.setattr(door, "HEARTBEAT", 0.2)
    monkeypatch.setattr(door, "EVERY", 0.1)
    stream = listen()
    assert stream.frame()["retry"]
    assert Seat.objects.all().delete()[0] == 1
    assert stream.heard() is None


def test_a_stream_takes_nothing_of_its_keys_rate_while_it_listens(listen, committed, agent_of, monkeypatch):
    slow = agent_of(committed, requests_per_minute=5)
    monkeypatch.setattr(door, "EVERY", 0.05)
    monkeypatch.setattr(door, "HEARTBEAT", 0.3)
    stream = listen(key=slow.key)
    assert stream.frame()["retry"]
    assert [stream.frame() for _ in range(3)] == [{"": "nothing new"}] * 3
    assert [slow.client.get(URL).status_code for _ in range(5)] == [200] * 4 + [429]


def test_a_stream_ends_with_its_key(listen, committed, agent, deeds, monkeypatch):
    monkeypatch.setattr(door, "EVERY", 0.05)
    stream = listen()
    assert stream.frame()["retry"]
    keys.revoke(committed, agent.row.key_id, now=timezone.now())
    assert stream.heard() is None


def test_a_stream_hears_only_what_its_key_covers(listen, committed, agent_of, deeds):
    narrow = agent_of(committed, namespaces=[f"{committed.name}:main"], verbs=["read"])
    hidden, open_ = deeds.store("side"), deeds.store("main")
    stream = listen(key=narrow.key)
    assert stream.frame()["retry"]
    deeds.erase(hidden)
    deeds.erase(open_)
    assert json.loads(stream.heard()["data"])["fragment_id"] == str(open_.id)
    refused = listen(key=narrow.key, query=f"?namespace={committed.name}:side")
    assert refused.answer.status == 404


def test_without_a_key_there_is_no_stream(listen):
    assert listen(key="nova_x").answer.status == 401


@pytest.fixture
def consolidated(deeds, service):
    """Consolidates the namespace; the operation at its end."""

    def run(**wish):
        place = deeds.do(lambda: Namespace.objects.get(name=f"{service.project}:main"))
        made = jobs.start(
            service, kind="consolidate", namespace=place, options={}, now=timezone.now(), wake_up=False, **wish
        )
        return jobs.run(service, made.id)

    return run


def test_an_applied_consolidation_and_its_undo_are_told_once_each(deeds, service, consolidated, poll):
    deeds.store()
    consolidated(dry_run=True)
    assert poll(kind="consolidate")["results"] == []
    run = consolidated()
    undo = jobs.run(service, jobs.start_undo(service, run.id, now=timezone.now(), wake_up=False).id)
    told = poll(kind="consolidate")["results"]
    assert [(e["operation_id"], e["other_id"], e["why"]) for e in told] == [
        (str(run.id), None, "consolidate"),
        (str(undo.id), str(run.id), "undo"),
    ]
    assert {(e["namespace"], e["fragment_id"], e["conflict_id"]) for e in told} == {
        (f"{service.project}:main", None, None)
    }
    assert [e["operation_id"] for e in poll(kind="consolidate", since=told[0]["id"])["results"]] == [str(undo.id)]


def test_what_failed_and_other_jobs_are_no_consolidation(deeds, service, consolidated, poll, monkeypatch):
    deeds.store()
    deeds.store()
    monkeypatch.setattr(plan_execution, "run", _broken)
    assert consolidated().state == "failed"
    made = jobs.start(
        service, kind="rebuild", namespace=None, options={"target": "keywords"}, now=timezone.now(), wake_up=False
    )
    assert jobs.run(service, made.id).state == "succeeded"
    assert poll(kind="consolidate")["results"] == []


def _broken(*_):
    raise RuntimeError
