"""Running an operation to its end: progress, cancelling, failing, going on after a crash."""

from dataclasses import replace

import psycopg
import pytest
from django.db import OperationalError, connection
from django.forms import model_to_dict
from django.utils import timezone

from memories import access, jobs, operations, tasks
from memories.errors import NovaError
from memories.models import Fragment, Namespace
from memories.operations.leases import LeaseLost


class Power(BaseException):
    """The machine stops: nothing is caught, nothing is cleaned up."""


@pytest.fixture
def run(principal, begin):
    """Runs a handler as an operation; (what `run` answers, the operation)."""

    def go(handler, operation=None):
        operation = operation or begin(principal)
        return operations.run(principal, operation.id, handlers={"rebuild": handler}), operation

    return go


def test_run_works(run):
    ended, _ = run(lambda *_: {"answer": 42})
    assert (ended.state, ended.report, ended.error) == ("succeeded", {"answer": 42}, None)
    assert ended.finished_at >= ended.started_at


def test_a_second_run_changes_nothing(run, principal, row_of):
    _, operation = run(lambda *_: {"answer": 42})
    before = model_to_dict(row_of(principal, operation))
    again, _ = run(lambda *_: {"answer": 43}, operation)
    assert again is None
    assert model_to_dict(row_of(principal, operation)) == before


def test_progress_can_be_seen_while_it_runs(run, principal, row_of):
    seen = []

    def handler(_, operation, progress):
        progress.save(stage="half", done=5, total=10, cursor=["a", 5])
        seen.append(row_of(principal, operation))
        return {}

    run(handler)
    assert (seen[0].state, seen[0].stage, seen[0].done, seen[0].total) == ("running", "half", 5, 10)
    assert seen[0].cursor == ["a", 5]


def test_cancelling_ends_it_between_two_batches(run, principal, row_of):
    batches = []

    def handler(_, operation, progress):
        for number in range(1, 10):
            batches.append(number)
            progress.save(stage="counting", done=number, total=9)
            if number == 3:
                operations.cancel(principal, operation.id, now=timezone.now())
            progress.check()
        return {}

    ended, _ = run(handler)
    assert batches == [1, 2, 3]
    assert (ended.state, ended.done, ended.report, ended.error) == ("cancelled", 3, None, None)
    assert ended.finished_at


def test_what_was_cancelled_after_its_worker_died_does_not_begin_again(run, principal, begin, time_machine):
    def die(*_):
        raise Power

    operation = begin(principal)
    with pytest.raises(Power):
        run(die, operation)
    operations.cancel(principal, operation.id, now=timezone.now())
    time_machine.move_to(timezone.now() + operations.leases.lease() * 2)
    ended, _ = run(lambda *_: {"ran": True}, operation)
    assert (ended.state, ended.report) == ("cancelled", None)


class NeedsConfirmation(NovaError):
    """A failure with a word of its own."""

    code = "needs_confirmation"


class Strange(Exception):
    """A failure of somebody else's library."""

    code = {"text": "the canary sang"}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("the canary sang"), "internal"),
        (NeedsConfirmation("the canary sang"), "needs_confirmation"),
        (Strange("the canary sang"), "internal"),
    ],
)
def test_a_failure_is_named_without_its_text(error, code, run, principal):
    def handler(*_):
        raise error

    ended, operation = run(handler)
    assert (ended.state, ended.error) == ("failed", {"code": code, "type": type(error).__name__})
    with access.enter(principal, why="test"), connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(o)::text FROM memories_operation o WHERE id = %s", [operation.id])
        row = cursor.fetchone()[0]
    assert "canary" not in row
    assert "Traceback" not in row


def test_a_database_error_in_a_handler_fails_the_operation_only(run):
    def handler(principal, *_):
        with access.enter(principal, why="test"), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    ended, _ = run(handler)
    assert (ended.state, ended.error["type"]) == ("failed", "DataError")


@pytest.mark.parametrize(
    "cause", [psycopg.OperationalError("server closed the connection"), psycopg.errors.CrashShutdown("terminating")]
)
def test_a_database_that_went_away_leaves_it_to_the_next_worker(cause, run, principal, row_of, time_machine):
    def handler(*_):
        raise OperationalError("away") from cause

    _, operation = run(handler)
    left = row_of(principal, operation)
    assert (left.state, left.error) == ("running", None)
    time_machine.move_to(timezone.now() + operations.leases.lease() * 2)
    ended, _ = run(lambda *_: {"answer": 42}, operation)
    assert (ended.state, ended.fence) == ("succeeded", 2)


def test_a_database_that_has_no_room_fails_it(run):
    def handler(*_):
        raise OperationalError("full") from psycopg.errors.DiskFull("no space left")

    ended, _ = run(handler)
    assert (ended.state, ended.error["code"]) == ("failed", "no_space")


def test_a_worker_that_lost_its_lease_writes_nothing_any_more(run, principal, begin, row_of, now):
    def handler(_, operation, progress):
        operations.claim(principal, operation.id, now=now + operations.leases.lease() * 2)
        with access.enter(principal, why="batch"):
            Namespace.objects.ensure(project_id=principal.project_id, name="acme:late")
            progress.save(stage="late", done=7, total=7)
        return {"late": True}

    _, operation = run(handler)
    row = row_of(principal, operation)
    assert (row.state, row.fence, row.stage, row.done, row.report) == ("running", 2, "", 0, None)
    with access.enter(principal, why="test"):
        assert not Namespace.objects.filter(name="acme:late").exists()


@pytest.mark.parametrize("end", ["finishes", "fails"])
def test_a_worker_that_lost_its_lease_does_not_end_the_operation(end, run, principal, row_of, now):
    def handler(_, operation, __):
        operations.claim(principal, operation.id, now=now + operations.leases.lease() * 2)
        return {"late": 1 / (end == "finishes")}

    _, operation = run(handler)
    assert (row_of(principal, operation).state, row_of(principal, operation).fence) == ("running", 2)


def test_it_goes_on_where_a_crash_ended_it(principal, begin, fill, small_batches, row_of, time_machine):
    fill(principal, 7)
    operation = begin(principal)

    def cut(_, done, __):
        if done == 4:
            raise Power

    with pytest.raises(Power):
        jobs.run(principal, operation.id, watcher=cut)
    crashed = row_of(principal, operation)
    assert (crashed.state, crashed.done) == ("running", 2)  # the batch that the crash cut off was rolled back
    time_machine.move_to(timezone.now() + operations.leases.lease() * 2)
    steps = []
    ended = jobs.run(principal, operation.id, watcher=lambda _, done, total: steps.append((done, total)))
    assert steps == [(4, 7), (6, 7), (7, 7)]
    assert (ended.state, ended.report) == ("succeeded", {"target": "keywords", "rebuilt": 7})


@pytest.fixture
def small_batches(monkeypatch):
    """Rebuilds the words of two fragments at a time."""
    targets = jobs.upkeep.reindex.TARGETS
    monkeypatch.setitem(targets, "keywords", replace(targets["keywords"], size=2))


def test_the_sweeper_wakes_a_worker_for_what_is_stranded(principal, charlie, begin, now, monkeypatch):
    woken = []
    monkeypatch.setattr(jobs, "wake", lambda *ids: woken.append(ids))
    long_ago = now - operations.leases.lease() * 2
    ours, theirs = begin(principal, now=long_ago), begin(charlie.principal, now=long_ago)
    begin(principal)
    tasks.sweep_operations()
    assert set(woken) == {(ours.project_id, ours.id), (theirs.project_id, theirs.id)}


def test_one_projects_trouble_does_not_stop_the_others(principal, charlie, monkeypatch):
    seen = []

    def seal(someone, *, now):
        seen.append(someone.project)
        raise OSError("disk full")

    monkeypatch.setattr(tasks.audit, "seal", seal)
    tasks.seal_events()
    assert {"acme", "elsewhere"} <= set(seen)


def test_a_task_for_what_is_gone_does_nothing(principal, begin, count):
    operation = begin(principal)
    tasks.run_operation(str(principal.project_id), "00000000-0000-0000-0000-000000000000")
    tasks.run_operation("00000000-0000-0000-0000-000000000000", str(operation.id))
    assert count(Fragment) == 0


def test_lease_lost_says_which(principal, begin):
    operation = begin(principal)
    with pytest.raises(LeaseLost, match=str(operation.id)):
        operations.leases.renew_lease(principal, operation, now=timezone.now())
