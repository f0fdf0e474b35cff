"""Forgetting that is committed: backups and packs go once it is, and what is said of them is so."""

import io
import os
import uuid

import pytest
from django.utils import timezone

from memories import access, backups, erasure, ingest, jobs
from memories.models import Backup, Namespace

pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def run(service, run_as):
    """Runs an operation here and now; its report."""
    return run_as(service)


@pytest.fixture
def store_secret(service, committed):
    """Stores a memory; the room and the id."""

    def keep(content, *, room="main"):
        draft = ingest.Draft(namespace=f"{committed.name}:{room}", content=content)
        (kept,) = ingest.store(service, ingest.prepare([draft]), now=timezone.now())
        return kept.fragment.namespace, kept.fragment.id

    return keep


def left(service):
    with access.enter(service, why="test"):
        return {str(row.id) for row in Backup.objects.within(service.project_id)}


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_backups_are_purged_once_it_is_committed(service, store_secret, run, storage, many):
    place, which = store_secret("The heron nests by the mill.")
    held = run("backup")["backup_id"]
    pack = run("pack", place)
    if many:
        wish = erasure.ErasureRequest(ids=[which])
        wanted = {"expected": 1, "authority": 6, "purge_backups": True, "now": timezone.now()}
        told = erasure.forget_all(service, place, wish, **wanted)
    else:
        told = erasure.forget(service, which, purge_backups=True, now=timezone.now())
    assert [(row["id"], row["purged"]) for row in told.backups] == [(held, True)]
    assert left(service) == set()
    assert pack
    assert list(storage.iterdir()) == []


@pytest.mark.long
def test_what_stays_is_not_told_as_purged(service, store_secret, run):
    _, which = store_secret("The heron nests by the mill.")
    first = run("backup")["backup_id"]
    second = run("backup", base=first)["backup_id"]
    third = run("backup")["backup_id"]
    backups.protect(service, uuid.UUID(second), protected=True)
    told = erasure.forget(service, which, purge_backups=True, now=timezone.now())
    assert {row["id"]: row["purged"] for row in told.backups} == {first: False, second: False, third: True}
    assert left(service) == {first, second}


def test_a_backup_that_began_before_the_memory_is_named(service, store_secret, run, monkeypatch):
    began = timezone.now()
    place, which = store_secret("The heron nests by the mill.")
    operation = jobs.start(service, kind="backup", namespace=None, options={}, now=began, wake_up=False)
    with access.enter(service, why="test"):
        type(operation).objects.filter(id=operation.id).update(started_at=began, created_at=began)
    made = jobs.run(service, operation.id).report["backup_id"]
    assert [row["id"] for row in erasure.forget(service, which, now=timezone.now()).backups] == [made]


def test_a_killed_upload_is_swept_after_a_day(service, run, store_secret, storage):
    store_secret("The heron nests by the mill.")
    run("backup")
    kept = {path.name for path in storage.iterdir()}
    names = [f"{service.project}{of}-upload-{uuid.uuid4()}.ndjson.gz" for of in ("", "-else")]

    for name in names:
        (storage / name).write_bytes(b"left")
        os.utime(storage / name, (1, 1))
    for name in kept:
        os.utime(storage / name, (1, 1))
    backups.expire(service, now=timezone.now())
    assert {path.name for path in storage.iterdir()} == kept | {names[1]}


def test_safety_backups_push_out_none_that_is_proven(service, store_secret, run, settings):
    settings.BACKUP_KEEP = 2
    store_secret("The heron nests by the mill.")
    daily = [run("backup", origin="scheduled")["backup_id"] for _ in range(2)]
    for _ in range(3):
        run("restore", backup_id=daily[0])
    backups.expire(service, now=timezone.now())
    assert set(daily) <= left(service)


def test_nothing_of_an_upload_that_is_none_is_left(service, storage, now):
    with pytest.raises(backups.bundle.BrokenBundle):
        backups.import_bundle(service, io.BytesIO(b"hello"), now=now)
    assert not storage.exists() or list(storage.iterdir()) == []


def test_a_namespace_takes_its_packs_along(service, store_secret, run, storage):
    place, _ = store_secret("The heron nests by the mill.", room="side")
    run("pack", place)
    run("delete", namespace=place.name)
    assert list(storage.iterdir()) == []
    with access.enter(service, why="test"):
        assert not Namespace.objects.filter(name=place.name).exists()
