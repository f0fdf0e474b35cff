"""What /metrics tells of the whole installation."""

import datetime
import re

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from conflicts.public import ClaimDraft
from memories import access, readings, tasks
from memories.models import Backup, Heartbeat, Operation, PendingEmbedding, Project, Seal, Task
from memories.providers import active_model


@pytest.fixture
def told(client):
    """The values of a metric by its label, as /metrics tells them now."""

    def ask(name):
        # Only its lines are taken apart: a process that served many tests tells thousands.
        lines = client.get("/metrics").content.decode().splitlines()
        mine = [line for line in lines if re.match(rf"novamem_{name}[{{ ]", line)]
        families = text_string_to_metric_families("\n".join([*mine, ""]))
        samples = [sample for family in families for sample in family.samples]
        return {next(iter(one.labels.values()), ""): one.value for one in samples} or None

    return ask


def operation(principal, state, **values):
    with access.enter(principal, why="test"):
        return Operation.objects.create(project_id=principal.project_id, kind="tier", state=state, **values)


def test_operations_by_state_and_how_long_they_wait(told, principal, now):
    operation(principal, "queued", created_at=now - datetime.timedelta(minutes=5))
    operation(principal, "running")
    operation(principal, "failed", finished_at=now)
    operation(principal, "failed", finished_at=now - datetime.timedelta(days=2))
    assert told("operations") == {"queued": 1, "running": 1}
    assert told("operations_ended_day") == {"succeeded": 0, "failed": 1, "cancelled": 0}
    assert 300 <= told("operation_wait_seconds")[""] < 400


def test_what_waits_is_counted_over_all_projects(told, principal, store, charlie, alice, bob):
    other = store("elsewhere:main", "The otter swims.", by=charlie.principal)
    row = store("acme:main", "The heron nests.")
    before = told("vectors_pending")[""]
    for each in (row, other):
        by = principal if each is row else charlie.principal
        with access.enter(by, why="test"):
            PendingEmbedding.objects.create(project_id=each.project_id, fragment=each, model=active_model())
    assert told("vectors_pending")[""] == before + 2
    for by, source, value in ((alice, "user_explicit", "$750"), (bob, "document", "$0")):
        claim = ClaimDraft("lisbon", "budget", value)
        store("acme:main", f"The budget is {value}.", by=by.principal, source=source, claim=claim)
    assert told("conflicts_waiting") == {"": 1}
    assert told("connections_pending")[""] >= 2


def test_backups_are_as_old_as_where_that_is_longest_ago(told, principal, charlie, now):
    assert told("backup_age_seconds") is None
    Project.objects.update(created_at=now - datetime.timedelta(days=2))
    assert told("projects_without_backup") == told("projects_without_drill") == {"": 2}
    for by, hours in ((principal, 1), (charlie.principal, 5)):
        at = now - datetime.timedelta(hours=hours)
        with access.enter(by, why="test"):
            Backup.objects.create(
                project_id=by.project_id, policy="full", policy_version=1, origin="scheduled", file=f"{hours}", size=7,
                exported_at=at, drilled_at=at, drill_verdict="sound" if hours == 1 else "broken",
            )  # fmt: skip
    assert 5 * 3600 <= told("backup_age_seconds")[""] < 5 * 3600 + 60
    assert 3600 <= told("drill_age_seconds")[""] < 3660
    assert told("projects_without_backup") == {"": 0}
    assert told("projects_without_drill") == {"": 1}
    assert told("backup_bytes") == {"": 14}


def test_heartbeat_and_seal_have_an_age(told, principal, now):
    Heartbeat.objects.update_or_create(part="worker", defaults={"at": now - datetime.timedelta(seconds=90)})
    with access.enter(principal, why="test"):
        Seal.objects.create(
            project_id=principal.project_id, number=1, upto=1, events=1, digest=b"", signature=b"", signer="",
            sealed_at=now - datetime.timedelta(minutes=2),
        )  # fmt: skip
    assert 90 <= told("heartbeat_age_seconds")["worker"] < 120
    assert 120 <= told("seal_age_seconds")[""] < 180


def test_sizes_of_tables_hold_their_partitions(told, db):
    octets, rows = told("table_bytes"), told("table_rows")
    assert octets.keys() == rows.keys() >= {"memories_fragment", "memories_embedding", "memories_receipt"}
    assert octets["memories_embedding"] > octets["memories_receipt"]
    assert not any("_p0" in name for name in octets)
    assert told("database_bytes")[""] > octets["memories_embedding"]
    assert told("wal_bytes_total")[""] > 0
    assert 0 < told("database_connections")[""] < told("database_connections_most")[""]
    assert told("disk_free_bytes").keys() == {"data", "backups"}


def test_all_that_is_declared_is_told_and_names_nobody(client, principal, store, told, now):
    """But for ages of what never was; and the queue, which another broker has elsewhere."""
    store("acme:main", "The heron nests.")
    test_heartbeat_and_seal_have_an_age(told, principal, now)
    body = client.get("/metrics").content.decode()
    names = {line.split()[2] for line in body.splitlines() if line.startswith("# TYPE novamem_")}
    never = {"backup_age_seconds", "drill_age_seconds"}
    wanted = {f"novamem_{name}" for name in readings.NAMES.keys() - never - readings.COUNTERS}
    assert wanted <= names
    assert "acme" not in body


def test_another_brokers_queue_is_not_told(told, settings, db):
    assert told("queue_messages") is not None
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:6379/0"
    assert told("queue_messages") is None


def test_without_a_database_the_rest_is_told(client, db, monkeypatch):
    def away():
        raise DatabaseError

    monkeypatch.setattr(readings, "readings", away)
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert b"novamem_disk_free_bytes" in answer.content
    assert b"django_http_requests" in answer.content


def test_the_pool_of_a_process_is_told(client, django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        readings.read_pool()
        assert readings.POOL["connections"]._value.get() >= readings.POOL["used"]._value.get() >= 1
        connection.close()


def test_tasks_nobody_reports_of_go(principal, store, count):
    home = store("acme:main", "The heron nests.").namespace
    now = timezone.now()
    for days in (89, 91):
        at = now - datetime.timedelta(days=days)
        values = {"task_id": f"t{days}", "title": "Mill", "status": "active", "updated_at": at, "reported_at": at}
        with access.enter(principal, why="test"):
            Task.objects.create(project_id=principal.project_id, namespace=home, **values)
    tasks.expire_operations()
    assert count(Task) == 1
