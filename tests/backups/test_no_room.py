"""A disk that is full in the middle of a file: told as that, and nothing half-made is visible."""

import errno
import os
import resource
from contextlib import contextmanager

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories import access, jobs
from memories.audit import journal
from memories.backups import storage as backup_storage
from memories.models import Archive, Backup, Operation, Revision
from memories.models.sql import execute

SHORT = (
    '{"fragment": {"content": "A", "compression": "full", "revision": 1},'
    ' "made": {"content": "B", "compression": "hash"}}'
)
LITTLE, HALF = 16 * 1024, 300 * 1024  # nothing fits; the bundle fits, the pack around it does not


@contextmanager
def small_disk(room):
    """No file can grow beyond a few kilobytes: the kernel refuses, as it does for a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def many(store_all):
    """More than fits, also compressed."""
    noise = ("%030x" * 20 % tuple(hash((n, k)) % 16**30 for k in range(20)) for n in range(80))
    return store_all("acme:main", (f"{n} {text}" for n, text in enumerate(noise)))


def rows(principal, model, **filters):
    with access.enter(principal, why="test"):
        return list(model.objects.within(principal.project_id).filter(**filters))


@pytest.mark.parametrize(("kind", "room"), [("backup", LITTLE), ("pack", LITTLE), ("pack", HALF)])
def test_an_operation_fails_with_no_space(principal, many, storage, kind, room):
    wish = {"namespace": many[0].namespace if kind == "pack" else None, "options": {}, "now": timezone.now()}
    operation = jobs.start(principal, kind=kind, wake_up=False, **wish)
    with small_disk(room):
        ended = jobs.run(principal, operation.id)
    assert (ended.state, ended.error["code"]) == ("failed", "no_space")
    assert list(storage.glob("*")) == []
    assert rows(principal, Backup) == []
    again = jobs.start(principal, kind=kind, wake_up=False, **wish)
    assert jobs.run(principal, again.id).state == "succeeded"


@contextmanager
def somebody_elses(folder):
    """A folder that this process may not write, root included."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o500)
    user = os.geteuid()
    try:
        os.seteuid(65534 if user == 0 else user)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o700)


@pytest.mark.parametrize("kind", ["backup", "pack"])
def test_a_folder_that_may_not_be_written_is_told(principal, many, storage, kind):
    wish = {"namespace": many[0].namespace if kind == "pack" else None, "options": {}, "now": timezone.now()}
    operation = jobs.start(principal, kind=kind, wake_up=False, **wish)
    with somebody_elses(storage):
        ended = jobs.run(principal, operation.id)
    assert (ended.state, ended.error["code"]) == ("failed", "not_writable")
    assert rows(principal, Backup) == []


def test_a_backup_fails_with_no_space_where_the_journal_has_none(principal, storage, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal.Journal, "held", refuse)
    operation = jobs.start(principal, kind="backup", namespace=None, options={}, now=timezone.now(), wake_up=False)
    ended = jobs.run(principal, operation.id)
    assert (ended.state, ended.error["code"]) == ("failed", "no_space")


def test_an_upload_is_refused(alice, many, storage, principal):
    made = jobs.start(principal, kind="backup", namespace=None, options={}, now=timezone.now(), wake_up=False)
    file = jobs.run(principal, made.id).report["file"]
    data = (storage / file).read_bytes() + bytes(3 << 20)  # so much that it does not stay in memory on its way
    with small_disk(LITTLE):
        answer = alice.client.post("/api/v1/restores", {"upload": SimpleUploadedFile("b.gz", data)}, format="multipart")
    assert (answer.status_code, answer.json()["code"]) == (507, "no_space")
    assert [path.name for path in storage.iterdir()] == [file]
    assert [row.file for row in rows(principal, Backup)] == [file]
    assert rows(principal, Operation, kind="restore") == []


def test_a_pack_that_can_not_be_unpacked_is_told(many, storage, principal, tmp_path):
    path = tmp_path / "main.sqlite"
    call_command("pack", "write", "acme:main", str(path))
    with small_disk(LITTLE), pytest.raises(CommandError, match="not enough room"):
        call_command("pack", "import", str(path))


def test_the_room_that_is_asked_for_holds_what_is_written(principal, many, storage, monkeypatch):
    row = many[0]
    asked = []
    monkeypatch.setattr(backup_storage, "check_room", asked.append)

    def backed_up(**options):
        wish = {"namespace": None, "options": options, "now": timezone.now()}
        return jobs.run(principal, jobs.start(principal, kind="backup", wake_up=False, **wish).id).report["size"]

    backed_up()
    with access.enter(principal, why="test"):
        Revision.objects.create(project_id=principal.project_id, fragment=row, revision=1, content="Otters sleep.")
    sizes = [backed_up(), backed_up(include_embeddings=True)]
    with access.enter(principal, why="test"):
        Archive.objects.create(
            project_id=principal.project_id,
            namespace_id=row.namespace_id,
            fragment_id=row.id,
            reason="compacted",
            payload=b"x" * 5000,
        )
        execute("UPDATE memories_archive SET payload = %s", [Archive.packed(SHORT)])
    backed_up()
    before, revised, embedded, archived = asked
    assert revised > before
    assert embedded >= revised + 80 * 384 * 2.8
    assert archived > revised
    assert revised > sizes[0]
    assert embedded > sizes[1]
