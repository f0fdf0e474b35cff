"""History that is let go: what stays, what verifies, and when nothing goes."""

import datetime
import json
import os

import pytest
from django.apps import apps
from django.utils import timezone

from memories import access, audit, tasks
from memories.audit.journal import Journal
from memories.models import AuditHorizon, Backup, Seal
from memories.models.sql import fetch

OLD = datetime.timedelta(days=200)


@pytest.fixture(autouse=True)
def _a_hundred_days(settings):
    settings.HISTORY_DAYS = 100


@pytest.fixture
def history(keep, seal, service, tamper):
    """Three old seals, over a memory that was changed twice and one that was deleted, and a young one."""
    stays, goes = keep("The heron nests."), keep("The otter swims.")
    gone = goes.id
    with access.enter(service, why="test"):
        for importance in (0.2, 0.3):
            stays.importance = importance
            stays.save(update_fields=["importance"])
    seal()
    with access.enter(service, why="test"):
        stays.importance = 0.4
        stays.save(update_fields=["importance"])
        goes.delete()
    seal()
    age(service, tamper)
    keep("The mill stands still.")
    seal()
    return stays, gone


def age(service, tamper):
    """Lets all that was recorded by now be old, in file and chain too: made anew under an old clock."""
    for table in ("memories_fragmentevent", "memories_namespaceevent"):
        tamper(f"UPDATE {table} SET pgh_created_at = pgh_created_at - interval '200 days' WHERE project_id = %s",
               [service.project_id])  # fmt: skip
    tamper("DELETE FROM memories_seal WHERE project_id = %s", [service.project_id])
    Journal(service.project_id).path.unlink()
    audit.seal(service, now=timezone.now() - OLD)


def events(service, row_id):
    with access.enter(service, why="test"):
        rows = apps.get_model("memories", "FragmentEvent").objects.filter(pgh_obj_id=row_id).order_by("pgh_id")
        return list(rows.values_list("pgh_label", "importance"))


def numbers(service):
    with access.enter(service, why="test"):
        return list(Seal.objects.within(service.project_id).order_by("number").values_list("number", flat=True))


def test_of_what_is_there_the_first_and_the_last_state_stay(service, history):
    stays, goes = history
    (_, first), *_ = events(service, stays.id)
    assert audit.let_go(service, now=timezone.now()) > 0
    assert events(service, stays.id) == [("insert", first), ("update", 0.4)]
    assert events(service, goes) == []
    assert numbers(service) == [2]


def test_the_chain_and_the_rows_verify_afterwards_and_sealing_goes_on(service, history, keep, seal, journal):
    before = audit.verify(service)
    assert (before.finding, before.horizon) == (None, 0)
    audit.let_go(service, now=timezone.now())
    proof = audit.prove(service)
    assert proof.is_whole, proof
    assert (proof.chain.seals, proof.chain.horizon) == (1, 1)
    assert [json.loads(line)["number"] for line in journal.path.read_text().splitlines()] == [1, 2]
    keep("The river rises.")
    assert seal().number == 3
    assert audit.verify(service).finding is None


def test_nothing_goes_twice_and_nothing_without_the_setting(service, history, settings):
    settings.HISTORY_DAYS = 0
    tasks.expire_history()
    assert numbers(service) == [1, 2]
    settings.HISTORY_DAYS = 100
    tasks.expire_history()
    assert numbers(service) == [2]
    assert audit.let_go(service, now=timezone.now()) == 0


def test_a_chain_that_is_not_whole_is_left_as_it_is(service, history, tamper):
    stays, _ = history
    tamper("UPDATE memories_fragmentevent SET importance = .9 WHERE pgh_obj_id = %s AND importance = .3", [stays.id])
    assert audit.let_go(service, now=timezone.now()) == 0
    assert numbers(service) == [1, 2]
    assert audit.verify(service).finding.kind == "changed"


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE memories_fragmentevent SET importance = .9 WHERE pgh_obj_id = %s", "horizon_changed"),
        ("DELETE FROM memories_fragmentevent WHERE pgh_obj_id = %s AND pgh_label = 'insert'", "horizon_changed"),
        ("DELETE FROM memories_audithorizon WHERE %s IS NOT NULL", "removed"),
        ("UPDATE memories_audithorizon SET number = 0 WHERE %s IS NOT NULL", "horizon_changed"),
    ],
)  # fmt: skip
def test_whoever_tampers_with_what_was_kept_is_found(service, history, tamper, statement, kind):
    audit.let_go(service, now=timezone.now())
    tamper(statement, [history[0].id])
    assert audit.verify(service).finding.kind == kind


def test_what_a_backup_may_be_gone_on_from_keeps_its_history(service, history):
    with access.enter(service, why="test"):
        which = {"policy": "full", "policy_version": 1, "origin": "scheduled", "file": "f", "size": 1, "upto": 1}
        row = Backup.objects.create(project_id=service.project_id, **which)
    assert audit.let_go(service, now=timezone.now()) == 0
    with access.enter(service, why="test"):
        row.delete()
    assert audit.let_go(service, now=timezone.now()) > 0


def test_the_witness_still_knows_the_horizon(service, history, settings, tmp_path, tamper):
    settings.AUDIT_WITNESS = str(tmp_path / "witness")
    (tmp_path / "witness").mkdir()
    audit.send_seals(service, now=timezone.now())
    audit.let_go(service, now=timezone.now())
    assert audit.prove(service).is_whole
    assert audit.send_seals(service, now=timezone.now()) == 0
    tamper("UPDATE memories_audithorizon SET digest = sha256('x') WHERE project_id = %s", [service.project_id])
    assert audit.prove(service).witness.kind == "not_as_witnessed"


def test_the_app_can_take_away_nothing_of_the_last_ninety_days(service, keep, seal):
    row = keep("The heron nests.")
    row_id = row.id
    with access.enter(service, why="test"):
        row.delete()
    seal()
    with access.enter(service, why="test"):
        far = [service.project_id, str(2**62), 10_000]
        assert fetch("SELECT nova_let_history_go(%s, %s::text::xid8, %s)", far) == [(0,)]
    assert [label for label, _ in events(service, row_id)] == ["insert", "delete"]
    assert numbers(service) == [1]


def test_history_of_a_project_that_is_no_more_goes_with_its_files(service, history, journal, settings):
    path = journal.path
    lost = path.with_name("00000000-0000-0000-0000-000000000000.ndjson")
    lost.write_bytes(b"{}\n")
    os.utime(lost, (0, 0))
    tasks.expire_history()
    assert path.exists()
    assert not lost.exists()
    with access.enter(service, why="test"):
        assert AuditHorizon.objects.within(service.project_id).count() == 1
