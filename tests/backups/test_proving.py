"""Verify reads a backup to its end, a drill restores it where nobody sees it; both say so in its row."""

import pytest
from django.db import connection
from django.utils import timezone

from memories import access, jobs, operations
from memories.models import Backup, Fragment
from tests.backups.conftest import forged


@pytest.fixture
def seen(principal):
    """The backup's row as it is now."""

    def load(row):
        with access.enter(principal, why="test"):
            return Backup.objects.get(id=row.id)

    return load


@pytest.mark.parametrize("vectors", [False, True])
def test_a_whole_backup_is_sound_in_both(principal, lived, back_up, job, seen, texts, vectors):
    row, before = back_up(include_embeddings=vectors), texts()
    verified, drilled = job("verify", backup_id=str(row.id)), job("drill", backup_id=str(row.id))
    assert (verified.state, drilled.state) == ("succeeded", "succeeded"), (verified.error, drilled.error)
    assert verified.report["records"] == drilled.report["records"] == row.records
    assert (seen(row).verdict, seen(row).drill_verdict) == ("sound", "sound")
    assert texts() == before


def test_a_drill_leaves_nothing_behind(principal, store, back_up, job):
    store("acme:main", "The heron nests by the mill.")
    job("drill", backup_id=str(back_up().id))
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r'")
        assert [name for (name,) in cursor if "staged" in name or "memories" in name] == []
    with access.enter(principal, why="test"):
        assert Fragment.objects.within(principal.project_id).count() == 1


def test_a_drill_does_not_need_what_is_here(store, back_up, job, wipe):
    store("acme:main", "The heron nests by the mill.")
    row = back_up()
    wipe()
    assert job("drill", backup_id=str(row.id)).state == "succeeded"


@pytest.mark.parametrize("kind", ["verify", "drill"])
def test_a_changed_file_is_found(store, back_up, job, storage, seen, kind):
    store("acme:main", "The heron nests by the mill.")
    row = back_up()
    path = storage / row.file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    ended = job(kind, backup_id=str(row.id))
    assert ended.state == "failed"
    assert ended.error["code"] in ("file_changed", "broken_bundle")
    assert ended.error["code"] in (seen(row).verdict, seen(row).drill_verdict)


def test_a_file_that_is_rightly_signed_but_another_one_is_found(store, back_up, job, storage):
    store("acme:main", "The heron nests by the mill.")
    row = back_up()
    forged(storage / row.file, lambda told: None)
    assert job("verify", backup_id=str(row.id)).error["code"] == "file_changed"


def test_a_missing_file_is_found(store, back_up, job, storage, seen):
    row = back_up()
    (storage / row.file).unlink()
    assert job("verify", backup_id=str(row.id)).error["code"] == "file_missing"
    assert seen(row).verdict == "file_missing"


@pytest.mark.parametrize("kind", ["verify", "drill"])
def test_one_that_was_broken_off_says_nothing(principal, store, back_up, job, seen, monkeypatch, kind):
    store("acme:main", "The heron nests by the mill.")
    row = back_up()
    monkeypatch.setattr(operations.Progress, "check", lambda _: (_ for _ in ()).throw(operations.Cancelled))
    monkeypatch.setattr("memories.backups.records.BATCH", 1)
    wish = {"namespace": None, "options": {"backup_id": str(row.id)}, "dry_run": False, "now": timezone.now()}
    started = operations.start(principal, kind=kind, **wish)
    claimed = operations.claim(principal, started.id, now=timezone.now())
    with pytest.raises(operations.Cancelled):
        jobs.KINDS[kind].run(principal, claimed, operations.Progress(principal, claimed))
    found = seen(row)
    assert (found.verdict, found.drill_verdict, found.verified_at, found.drilled_at) == ("", "", None, None)


def test_a_strangers_backup_is_drilled_as_it_is(alice, store, back_up, job, seen, another_key):
    store("acme:main", "The heron nests by the mill.", by=alice.principal, source="user_explicit", is_anchor=True)
    row = back_up()
    another_key()
    assert job("drill", backup_id=str(row.id)).state == "succeeded"
    assert seen(row).drill_verdict == "sound"


def test_a_backup_of_what_was_forgotten_since_is_sound(alice, store, back_up, job, seen):
    gone = store("acme:main", "The heron nests by the mill.", by=alice.principal)
    row = back_up()
    assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
    assert job("drill", backup_id=str(row.id)).state == "succeeded"
    assert seen(row).drill_verdict == "sound"
