"""Sealing: everything that is committed, nothing twice, whatever happens meanwhile."""

import contextlib
import hashlib
import json
import threading
import tracemalloc

import psycopg
import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.db import connections
from django.utils import timezone

from memories import access, audit, tasks
from memories.audit.journal import Journal
from memories.models import AccountEvent, Project, Seal
from novamem import database


def events_of(principal):
    with access.enter(principal, why="test"):
        # Of accounts those of the whole installation: other tests leave some.
        return AccountEvent.objects.count() + sum(
            apps.get_model("memories", f"{name}Event").objects.filter(project_id=principal.project_id).count()
            for name in ("Fragment", "Claim", "Grant", "ApiKey", "Namespace")
        )


def seals(principal):
    with access.enter(principal, why="test"):
        return list(Seal.objects.within(principal.project_id).order_by("number"))


def numbers(journal):
    return [json.loads(line)["number"] for line in journal.path.read_text().splitlines()]


def test_sealing_works(service, keep, seal, journal):
    keep("The heron nests.")
    made = seal()
    assert (made.number, made.events) == (1, events_of(service))
    assert numbers(journal) == [1]
    assert journal.path.stat().st_mode & 0o077 == 0
    assert audit.verify(service) == audit.AuditVerdict(1, made.events, 0, None)


def test_nothing_new_makes_no_seal(service, sealed, seal, journal):
    before = journal.path.read_bytes()
    assert seal() is None
    assert len(seals(service)) == 3
    assert journal.path.read_bytes() == before


def test_what_is_not_sealed_yet_is_counted(service, sealed, keep):
    before = audit.verify(service)
    keep("The river rises.")
    assert audit.verify(service) == audit.AuditVerdict(3, before.events, 1, None)


def test_the_task_seals_every_project(service, keep, monkeypatch):
    keep("The river rises.")
    sealed = []
    monkeypatch.setattr(audit, "seal", lambda principal, *, now: sealed.append(principal.project_id))
    tasks.seal_events()
    assert sealed == list(Project.objects.order_by("name").values_list("id", flat=True))


def test_each_seal_is_the_hash_that_the_documentation_says(service, sealed, journal):
    former = hashlib.sha256(b"novamem audit" + service.project_id.bytes).digest()
    for line in map(json.loads, journal.path.read_text().splitlines()):
        body = [line["number"], line["upto"], line["sealed_at"], line["leaves"]]
        former = hashlib.sha256(former + json.dumps(body, separators=(",", ":")).encode()).digest()
        assert line["digest"] == former.hex()
        assert line["leaves"] == sorted(line["leaves"])


@pytest.mark.long
def test_many_events_are_sealed_without_holding_them(service, sealed, event, tamper, seal, monkeypatch):
    many = 10_000
    tamper(
        """INSERT INTO memories_fragmentevent SELECT (jsonb_populate_record(e, jsonb_build_object(
            'pgh_id', 10000000 + n, 'recorded_in', pg_current_xact_id()::text))).*
        FROM memories_fragmentevent e, generate_series(1, %(many)s) n WHERE pgh_id = %(event)s""",
        {"event": event, "many": many},
    )
    monkeypatch.setattr("memories.audit.leaves.BATCH", 200)
    tracemalloc.start()
    try:
        made = audit.seal(service, now=timezone.now()) or seal()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert made.events == many
    assert most < many * 100  # bytes; the texts alone are more
    assert audit.verify(service) == audit.AuditVerdict(4, events_of(service), 0, None)


@pytest.fixture
def other_hand(service):
    """Another program's connection, acting as the app role in the project."""
    url = database.url_for(django_settings.ENV["DATABASE_URL"], connections["default"].settings_dict["NAME"])
    with psycopg.connect(database.conninfo(url)) as connection:
        connection.execute(f"SET LOCAL nova.project = '{service.project_id}'")
        yield connection


def test_a_late_commit_is_not_missed(service, keep, sealed, other_hand, seal):
    other_hand.execute("UPDATE memories_fragment SET importance = 0.5 WHERE id = %s", [sealed[0].id])
    newer = keep("Committed before the older transaction.")
    assert audit.seal(service, now=timezone.now()) is None  # the newer one waits for the older
    other_hand.commit()
    made = seal()
    assert made.events == 2
    with access.enter(service, why="test"):
        events = list(apps.get_model("memories", "FragmentEvent").objects.order_by("recorded_in")[3:])
    assert [event.pgh_obj_id for event in events] == [sealed[0].id, newer.id]
    assert audit.verify(service) == audit.AuditVerdict(4, events_of(service), 0, None)


def test_events_before_an_open_transaction_are_sealed_meanwhile(service, sealed, keep, other_hand):
    other_hand.execute("UPDATE memories_fragment SET importance = 0.5 WHERE id = %s", [sealed[0].id])
    other_hand.rollback()
    keep("Nothing is open any more.")
    assert audit.verify(service).finding is None


def test_two_sealers_at_once_make_one_seal(service, keep, seal, journal):
    keep("The heron nests.")
    seal()
    keep("The otter swims.")
    start, made = threading.Barrier(4), []

    def work():
        try:
            start.wait(timeout=60)
            made.append(audit.seal(service, now=timezone.now()))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seal()
    assert len(made) == 4
    assert numbers(journal) == [row.number for row in seals(service)] == [1, 2]
    assert audit.verify(service).finding is None


def test_a_crash_between_commit_and_file_is_repaired(service, sealed, keep, seal, journal, monkeypatch):
    keep("The river rises.")

    def crash(*_):
        raise OSError("the power is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", crash)
        with pytest.raises(OSError, match="power"):
            seal()
    assert len(seals(service)) == 4
    assert audit.verify(service).finding == audit.AuditFinding("not_in_file", "seal 4 does not stand in the file", 4)
    assert seal() is None
    assert numbers(journal) == [1, 2, 3, 4]
    assert audit.verify(service) == audit.AuditVerdict(4, events_of(service), 0, None)


def test_a_half_written_last_line_is_written_anew(service, sealed, keep, seal, journal):
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-40])
    keep("The river rises.")
    seal()
    assert journal.path.read_bytes().startswith(whole)
    assert numbers(journal) == [1, 2, 3, 4]
    assert audit.verify(service).finding is None


def test_the_last_number_is_found_behind_a_long_line(service, sealed, journal, monkeypatch):
    monkeypatch.setattr("memories.audit.journal.BLOCK", 7)
    assert journal.last_number() == 3
    journal.path.write_bytes(journal.path.read_bytes() + b'{"number": 4, "half')
    assert journal.last_number() == 3
    journal.path.write_bytes(b"")
    assert journal.last_number() == 0


def test_a_rolled_back_change_leaves_no_event(service, sealed, keep):
    before = events_of(service)
    with contextlib.suppress(ZeroDivisionError), access.enter(service, why="test"):
        keep("Never said.")
        raise ZeroDivisionError
    assert events_of(service) == before
