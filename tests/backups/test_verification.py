"""Verify reads a backup to its end, a drill restores it where nobody sees it; both say so in its row."""

import hashlib

import pytest
from django.db import connection
from django.utils import timezone

from memories import access, jobs, operations
from memories.models import Backup, Fragment
from tests.backups.conftest import forged, live


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


@pytest.mark.long
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


@pytest.mark.parametrize(
    ("policy", "counts", "why"),
    [
        ("full", {"everything": 999}, "the manifest counts 999 fragments of 'everything', the file holds 2"),
        ("full", {}, "the manifest counts 0 fragments of '', the file holds 2"),
        ("full", {"everything": True}, "counts of the manifest is of another type"),
        (
            "identity",
            {"anchors": 2, "narrative_checkpoints": 0, "reflections": 0, "knowledge": 0},
            "the manifest counts 2 fragments of 'anchors', the file holds 1",
        ),
    ],
)
def test_counts_that_are_not_what_the_file_holds_are_found(
    principal, store, back_up, job, storage, policy, counts, why
):
    store("acme:main", "I am called Ada.", is_anchor=True, category="knowledge")
    store("acme:main", "Herons eat fish.", category="knowledge")
    row = back_up(policy=policy)
    assert job("verify", backup_id=str(row.id)).state == "succeeded"

    def miscount(told):
        told[0]["counts"] = [{"bucket": name, "reason": "so", "count": count} for name, count in counts.items()]

    path = storage / row.file
    forged(path, miscount)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    live(principal, "UPDATE memories_backup SET sha256 = %s WHERE id = %s", sha256, row.id)
    for kind in ("verify", "drill", "restore"):
        error = job(kind, backup_id=str(row.id)).error
        assert (error["code"], error["line"], error["detail"]) == ("broken_bundle", 1, why)


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
    monkeypatch.setattr("memories.backups.bundle.records.BATCH", 1)
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
