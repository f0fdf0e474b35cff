"""The same messages, sent several times at once: each is stored once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.utils import timezone
from prometheus_client import REGISTRY

from memories import access, ingest
from memories.ingest import captures
from memories.ingest.files import Message
from memories.ingest.messages import prepare_messages, store_messages
from memories.models import Fragment


def turn(n, *, conversation="c1", text=""):
    return Message(
        role="user", content=text or f"Heron {n} was counted at dawn.", at=None, source_id=f"m{n}",
        conversation_id=conversation, sequence=None, kind="message", speaker=None,
    )  # fmt: skip


def turns(*numbers, conversation="c1"):
    return [turn(n, conversation=conversation) for n in numbers]


def document():
    text = "\n\n".join(f"Paragraph {n}. " + "The river rises in spring. " * 40 for n in range(4))
    return [
        Message(
            role="user", content=text, at=None, source_id="h.md", conversation_id="", sequence=None, kind="text",
            speaker=None,
        )
    ]  # fmt: skip


@pytest.fixture
def work_on(alice, now):
    """Prepares messages to be stored."""
    return lambda messages: prepare_messages(alice.principal, messages, namespace="acme:main", now=now)


@pytest.fixture
def store_work(alice, now):
    """Stores what was prepared."""
    return lambda work: store_messages(alice.principal, work, now=now)


@pytest.mark.parametrize("messages", [turns(0, 1), turns(0, 1, conversation=""), document()])
def test_what_was_stored_since_it_was_prepared_is_known(work_on, store_work, count, messages):
    early, late = work_on(messages), work_on(messages)
    stored = len(store_work(early).stored)
    report = store_work(late)
    assert (report.stored, {skip.reason for skip in report.skipped}) == ([], {"already_known"})
    assert len(report.skipped) == stored == count(Fragment)
    again = store_work(work_on(messages))
    assert (again.stored, again.skipped) == ([], report.skipped)


def test_what_others_began_since_goes_on_behind_it(work_on, store_work):
    early, late = work_on(turns(0, 1)), work_on(turns(0, 1, 2))
    store_work(early)
    report = store_work(late)
    assert [(one.fragment.source_id, one.fragment.sequence) for one in report.stored] == [("m2", 2)]
    assert [(skip.index, skip.reason) for skip in report.skipped] == [(0, "already_known"), (1, "already_known")]


def test_another_text_of_the_same_source_is_stored(work_on, store_work):
    early, late = work_on(turns(0)), work_on([turn(0, text="No heron was seen.")])
    store_work(early)
    assert [one.fragment.content for one in store_work(late).stored] == ["No heron was seen."]


@pytest.mark.parametrize("messages", [turns(0, 1), turns(0, 1, conversation=""), document()])
def test_requests_at_one_time_store_it_once(committed, service, messages):
    barrier = threading.Barrier(4)
    where = {"namespace": f"{committed.name}:main", "now": timezone.now()}

    def deliver(_):
        try:
            work = prepare_messages(service, messages, **where)
            barrier.wait(timeout=60)
            return store_messages(service, work, now=where["now"])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(deliver, range(4)))
    assert sorted(map(bool, (report.stored for report in reports))) == [False, False, False, True]
    with access.enter(service, why="test"):
        sources = list(Fragment.objects.within(service.project_id).values_list("source_id", flat=True))
    assert len(sources) == len(set(sources)) > 1


def test_a_captured_turn_that_was_stored_since_counts_as_known(bob, principal, now, monkeypatch, count):
    said = captures.CapturedTurn("user", "My budget for the kitchen is $750.", "turn-1", 0)
    where = {"namespace": "acme:main", "conversation_id": "chat", "receipt_id": None, "now": now}
    ingest.captures.capture(bob.principal, [said], **where)

    def prepare_both(speaker, messages, **more):
        early, late = (prepare_messages(speaker, messages, **more) for _ in range(2))
        store_messages(speaker, early, now=now)
        return late

    def counted():
        known = REGISTRY.get_sample_value("nova_proxy_skipped_total", {"reason": "already_known"})
        return REGISTRY.get_sample_value("nova_proxy_captured_total", {"role": "user"}) or 0, known or 0

    captured, known = counted()
    monkeypatch.setattr(captures, "prepare_messages", prepare_both)
    ingest.captures.ingest_exchanges(principal, now=now)
    assert counted() == (captured, known + 1)
    assert count(Fragment) == 1
