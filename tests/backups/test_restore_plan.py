"""A restore that is bound to its plan does what it said, or nothing."""

import uuid

import pytest
from django.utils import timezone

from memories import jobs, operations
from memories.models import Backup, Fragment, Operation
from tests.backups.conftest import live


@pytest.fixture
def planned(job, wipe, store, back_up, principal):
    """A backup of two memories that are gone since, and the plan of their return."""
    rows = [store("acme:main", f"Heron {n} nests.") for n in range(2)]
    backup = back_up()
    live(principal, "DELETE FROM memories_fragment WHERE project_id = %s", principal.project_id)
    return backup, job("restore", dry_run=True, backup_id=str(backup.id)), rows


def test_a_run_bound_to_its_plan_does_what_it_said(planned, job, count):
    backup, plan, _ = planned
    ended = job("restore", backup_id=str(backup.id), plan_id=str(plan.id))
    assert (ended.state, ended.report["insert"], count(Fragment)) == ("succeeded", 2, 2)


def test_a_run_whose_counts_differ_from_its_plan_writes_nothing(planned, job, count, restore, principal):
    backup, plan, rows = planned
    restore(backup)
    live(principal, "DELETE FROM memories_fragment WHERE id = %s", rows[0].id)
    saved = count(Backup)
    ended = job("restore", backup_id=str(backup.id), plan_id=str(plan.id))
    assert (ended.state, ended.error["code"]) == ("failed", "plan_changed")
    assert (count(Fragment), count(Backup)) == (1, saved)


def test_only_a_plan_of_the_same_restore_binds(planned, job, back_up, principal, count):
    backup, plan, _ = planned
    wish = {"kind": "restore", "namespace": None, "now": timezone.now()}
    other = back_up()
    before = count(Operation)
    for options in (
        {"backup_id": str(other.id), "plan_id": str(plan.id)},
        {"backup_id": str(backup.id), "plan_id": str(uuid.uuid4())},
        {"backup_id": str(backup.id), "plan_id": str(plan.id), "allow_version": True},
    ):
        with pytest.raises(operations.NoPlan):
            jobs.start(principal, **wish, options=options)
    with pytest.raises(operations.BadOptions):
        jobs.start(principal, **wish, options={"backup_id": str(backup.id), "plan_id": "x"})
    assert count(Operation) == before
    bound = {"backup_id": str(backup.id), "plan_id": str(plan.id)}
    jobs.start(principal, **wish, options=bound)
    with pytest.raises(operations.PlanUsed):
        jobs.start(principal, **wish, options=bound)
    assert count(Operation) == before + 1


def test_a_bound_run_that_began_to_write_goes_on(planned, job, principal, restore):
    backup, plan, _ = planned
    begun = jobs.start(
        principal,
        kind="restore",
        namespace=None,
        options={"backup_id": str(backup.id), "plan_id": str(plan.id)},
        now=timezone.now(),
    )
    live(principal, """UPDATE memories_operation SET cursor = '{"agreed": true}' WHERE id = %s""", begun.id)
    restore(backup)
    assert jobs.run(principal, begun.id).state == "succeeded"
