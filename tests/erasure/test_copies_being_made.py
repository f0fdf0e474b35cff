"""Copies that are being made while something is forgotten, and those that other ways of forgetting leave behind."""

import gzip
import io
import json
import threading
import time
import uuid

import pytest
from django.db import connection
from django.utils import timezone

from memories import access, backups, erasure, failpoints, ingest, jobs, packs
from memories.models import Backup, Erasure, Fragment

TEXT = "The safe opens with xyzzyplugh."
pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def run(service, run_as):
    """Runs an operation here and now; its report."""
    return run_as(service)


@pytest.fixture
def secret(service, committed):
    """The namespace and the id of a memory that is to be forgotten; another one stays."""
    drafts = [ingest.Draft(namespace=f"{committed.name}:main", content=text) for text in (TEXT, "Otters swim.")]
    kept = ingest.store(service, ingest.prepare(drafts), now=timezone.now())[0].fragment
    return kept.namespace, kept.id


@pytest.fixture
def at(monkeypatch):
    """Does something once, in another connection, when a failpoint is reached."""
    real = failpoints.reach

    def once(point, do):
        waiting = [do]

        def work():
            waiting.pop()()
            connection.close()

        def reach(name):
            if name == point and waiting:
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
            real(name)

        monkeypatch.setattr(failpoints, "reach", reach)

    return once


def forgotten(service, which, *, purge=False):
    return erasure.forget(service, which, purge_backups=purge, now=timezone.now())


def holding(service, storage, word=b"xyzzyplugh"):
    """The backups with the word in them, by id."""
    with access.enter(service, why="test"):
        rows = list(Backup.objects.within(service.project_id))
    return {str(row.id) for row in rows if word in gzip.decompress((storage / row.file).read_bytes())}


@pytest.mark.parametrize("point", ["backup.half", "backup.written", "backup.published"])
def test_a_purge_reaches_a_backup_that_is_being_written(service, secret, run, storage, at, monkeypatch, point):
    monkeypatch.setattr("memories.backups.bundle.records.BATCH", 1)
    at(point, lambda: forgotten(service, secret[1], purge=True))
    made = run("backup")["backup_id"]
    assert holding(service, storage) == set()
    assert [path.name for path in storage.iterdir()] == [backups.get_backup(service, uuid.UUID(made)).file]
    assert run("verify", backup_id=made)


def test_without_a_purge_later_answers_name_it(service, secret, run, storage, at):
    place, which = secret
    at("backup.written", lambda: forgotten(service, which))
    made = run("backup")["backup_id"]
    assert holding(service, storage) == {made}
    wish = {"expected": 0, "authority": 6, "now": timezone.now()}
    told = erasure.forget_all(service, place, erasure.ErasureRequest(ids=[which]), **wish, purge_backups=True)
    assert [(row["id"], row["purged"]) for row in told.backups] == [(made, True)]
    assert holding(service, storage) == set()


def test_a_purge_waits_for_a_backup_that_is_just_being_noted(service, secret, run, storage, monkeypatch):
    save, done = Backup.save, []

    def purge():
        done.extend(forgotten(service, secret[1], purge=True).backups)
        connection.close()

    def slowly(row, **kwargs):
        save(row, **kwargs)
        threads.append(threading.Thread(target=purge))
        threads[-1].start()
        time.sleep(0.3)
        assert not done

    threads = []
    monkeypatch.setattr(Backup, "save", slowly)
    made = run("backup")["backup_id"]
    threads[0].join()
    assert [(row["id"], row["purged"]) for row in done] == [(made, True)]
    assert holding(service, storage) == set()


def test_an_increment_whose_base_is_purged_meanwhile_says_so(service, secret, run, at, storage):
    base = run("backup")["backup_id"]
    at("backup.written", lambda: forgotten(service, secret[1], purge=True))
    wish = {"kind": "backup", "namespace": None, "options": {"base": base}, "now": timezone.now()}
    ended = jobs.run(service, jobs.start(service, **wish, wake_up=False).id)
    assert (ended.state, ended.error["code"]) == ("failed", "not_found")
    assert list(storage.iterdir()) == []


def test_a_memory_from_a_clock_that_is_ahead_is_found_in_its_backups(service, secret, run, storage):
    place, ahead = secret[0], int((time.time() + 200) * 1000)
    chunk = {"id": str(uuid.uuid4()), "content": "The heron nests by the mill.", "createdAt": ahead}
    chunk |= {"updatedAt": ahead, "metadata": {"namespace": place.name}}
    told = {"schemaVersion": 1, "exportedAtMs": int(time.time() * 1000), "selection": {}, "counts": []}
    file = io.BytesIO(json.dumps({**told, "chunks": [chunk]}).encode())
    taken = backups.import_bundle(service, file, now=timezone.now())
    assert run("restore", backup_id=str(taken.id))["insert"] == 1
    made = run("backup")["backup_id"]
    told = {row["id"]: row["purged"] for row in forgotten(service, uuid.UUID(chunk["id"]), purge=True).backups}
    assert (told[str(taken.id)], told[made]) == (True, True)
    assert holding(service, storage, b"heron") == set()


@pytest.fixture
def packed(service, secret):
    """Packs the namespace; gives the operation."""

    def make():
        wish = {"kind": "pack", "namespace": secret[0], "options": {}, "now": timezone.now()}
        ended = jobs.run(service, jobs.start(service, **wish, wake_up=False).id)
        assert ended.state == "succeeded", ended.error
        return ended

    return make


def kept(service, operation):
    """Whether a pack can still be read."""
    try:
        with packs.stored(service, operation) as file:
            assert file.read(16).startswith(b"SQLite")
    except backups.storage.FileMissing:
        return False
    return True


def readable_pack(service, packed):
    """A pack that can be read: while another transaction of the cluster is older than an erasure, one is refused."""
    return next(pack for _ in range(60) if kept(service, pack := packed()) or time.sleep(0.5))


@pytest.mark.parametrize("point", ["backup.written", "backup.published", "pack.filled"])
@pytest.mark.parametrize("evicted", [False, True])
def test_a_pack_that_was_being_made_is_not_handed_out(service, secret, packed, storage, at, evict_of, evicted, point):
    if evicted:
        evict_of(service)(secret[1])
    at(point, lambda: forgotten(service, secret[1]))
    assert not kept(service, packed())
    assert list(storage.iterdir()) == []
    assert readable_pack(service, packed)


def test_a_merge_that_forgets_takes_packs_along(service, secret, run, packed, storage):
    place, which = secret
    pack = packed()
    branch = f"{service.project}:side"
    run("fork", place, target=branch)
    with access.enter(service, why="test"):
        copy = Fragment.objects.within(service.project_id).get(namespace__name=branch, content=TEXT)
    forgotten(service, copy.id)
    assert kept(service, pack)
    assert run("merge", place, source=branch)["counts"]["forgotten"] == 1
    assert not kept(service, pack)


def test_a_restore_that_forgets_takes_packs_along(service, secret, run, packed, storage):
    place, which = secret
    before = run("backup")["backup_id"]
    forgotten(service, which)
    after = run("backup")["backup_id"]
    with access.enter(service, why="test"):  # as on another machine, to which both files are brought
        Erasure.objects.within(service.project_id).delete()
    assert run("restore", backup_id=before)["insert"] == 1
    pack = readable_pack(service, packed)
    assert run("restore", backup_id=after)["forgotten"] == 1
    assert not kept(service, pack)


def test_what_is_evicted_and_stored_spoils_no_pack(service, secret, packed, evict_of):
    pack = packed()
    evict_of(service)(secret[1])
    draft = ingest.Draft(namespace=secret[0].name, content="Badgers dig.")
    ingest.store(service, ingest.prepare([draft]), now=timezone.now())
    assert kept(service, pack)


def test_spoiled_packs_are_cleared_away(service, secret, packed, storage, at):
    at("pack.filled", lambda: forgotten(service, secret[1]))
    packed()
    assert len(list(storage.iterdir())) == 1
    backups.expire(service, now=timezone.now())
    assert list(storage.iterdir()) == []
