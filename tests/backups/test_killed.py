"""A worker killed while it backs up or restores: before or after, never between."""

import os
import signal
import uuid

import pytest
from django.utils import timezone

from memories import access, ingest, jobs, operations
from memories.backups.bundle import records
from memories.models import Backup, Erasure, Fragment, Namespace, Operation
from tests.consolidation.conftest import DAY

pytestmark = pytest.mark.long


@pytest.fixture
def filled(service, committed):
    """Two namespaces with three memories each."""
    for place in ("a", "b"):
        drafts = [ingest.Draft(namespace=f"{committed.name}:{place}", content=f"Heron {n} nests.") for n in range(3)]
        ingest.store(service, ingest.prepare(drafts), now=timezone.now())


@pytest.fixture
def begin(service):
    def start(kind, **options):
        wish = {"namespace": None, "options": options, "dry_run": False, "now": timezone.now()}
        return operations.start(service, kind=kind, **wish)

    return start


def ended(service, operation):
    """What the next worker makes of it, once the lease has run out."""
    with access.enter(service, why="test"):
        Operation.objects.filter(id=operation.id).update(lease_until=timezone.now() - DAY)
    return jobs.run(service, operation.id)


def counts(service):
    with access.enter(service, why="test"):
        rows = Fragment.objects.within(service.project_id).values_list("namespace__name", flat=True)
        names = [name.partition(":")[2] for name in rows]
    return {name: names.count(name) for name in sorted(set(names))}


@pytest.fixture
def long(service, filled):
    """More records than are written at a time."""
    rows = [
        Erasure(project_id=service.project_id, fingerprint=os.urandom(32), fragment_id=uuid.uuid4(), authority=1)
        for _ in range(records.BATCH)
    ]
    with access.enter(service, why="test"):
        Erasure.objects.bulk_create(rows)


def test_a_backup_is_there_whole_or_not_at_all(service, long, begin, worker, storage):
    for failpoint, files in (("backup.half", 0), ("backup.written", 0), ("backup.published", 1)):
        operation = begin("backup")
        assert worker(operation, failpoint=failpoint) == -signal.SIGKILL
        with access.enter(service, why="test"):
            assert not Backup.objects.within(service.project_id).filter(operation_id=operation.id).exists()
        assert len(list(storage.glob("*.gz"))) - len(made(service)) == files
        again = ended(service, operation)
        assert again.state == "succeeded"
        assert {path.name for path in storage.glob("*.gz")} == made(service)
        proven = jobs.run(service, begin("verify", backup_id=again.report["backup_id"]).id)
        assert proven.state == "succeeded"


def made(service):
    with access.enter(service, why="test"):
        return set(Backup.objects.within(service.project_id).values_list("file", flat=True))


def test_a_restore_is_done_or_not_namespace_by_namespace(service, filled, begin, worker):
    backup = jobs.run(service, begin("backup").id).report["backup_id"]
    for failpoint, between in (
        ("restore.staged", {}),
        ("restore.project", {}),
        ("restore.half", {}),
        ("restore.applied", {}),
        ("restore.committed", {"a": 3}),
    ):
        with access.enter(service, why="test"):
            Namespace.objects.within(service.project_id).delete()
        operation = begin("restore", backup_id=backup)
        assert worker(operation, failpoint=failpoint) == -signal.SIGKILL
        assert counts(service) == between, failpoint
        again = ended(service, operation)
        assert (again.state, counts(service)) == ("succeeded", {"a": 3, "b": 3}), failpoint


def test_a_drill_that_is_killed_leaves_the_memory_alone(service, filled, begin, worker):
    backup = jobs.run(service, begin("backup").id).report["backup_id"]
    operation = begin("drill", backup_id=backup)
    assert worker(operation, failpoint="drill.staged") == -signal.SIGKILL
    assert counts(service) == {"a": 3, "b": 3}
    assert ended(service, operation).state == "succeeded"
