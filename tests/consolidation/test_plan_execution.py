"""Applying a plan: what changed since is left, what would change much asks before, and nothing is half done."""

import pytest
from django.utils import timezone

from memories import access, ingest, jobs, operations, upkeep
from memories.models import Operation, PlanStep
from memories.upkeep.consolidation import decay, plan_execution
from memories.upkeep.consolidation.steps import Phase
from tests.consolidation.conftest import DAY, unit


@pytest.fixture
def faded(remember):
    """Memories that fade below the threshold."""

    def fill(number):
        return [
            remember(f"We met {n}.", vector=unit(*[0] * n, 1), age=60, type="episodic", importance=0.3)
            for n in range(number)
        ]

    return fill


def test_what_changed_since_the_plan_is_stale_and_left(run, faded, principal, now, now_of):
    one, other = faded(2)
    plan = run(dry_run=True)
    ingest.updates.revise(principal, one.id, changes={"importance": 0.2}, revision=None, now=now)
    done = run(plan_id=plan.report["plan_id"])
    assert done.report["archived"] == 1
    assert done.report["stale"] == {"count": 2, "ids": [str(one.id)] * 2}
    assert [now_of(row).status for row in (one, other)] == ["active", "archived"]


def test_what_was_read_since_the_plan_is_left(run, faded, principal, now_of):
    from memories.models import Access

    (one,) = faded(1)
    plan = run(dry_run=True)
    with access.enter(principal, why="test"):
        Access.objects.count_up(principal.project_id, {one.id: 1}, {one.id: timezone.now()})
    assert run(plan_id=plan.report["plan_id"]).report["stale"]["count"] == 2
    assert (now_of(one).status, now_of(one).tier) == ("active", "hot")


def test_a_plan_is_applied_once(run, faded, digest):
    faded(2)
    plan = run(dry_run=True)
    run(plan_id=plan.report["plan_id"])
    after = digest()
    with pytest.raises(upkeep.consolidation.PlanUsed):
        run(plan_id=plan.report["plan_id"])
    assert digest() == after


def test_a_plan_that_changes_much_needs_confirmation(run, faded, digest, monkeypatch):
    faded(5)
    monkeypatch.setattr(plan_execution, "FREE", 2)
    before = digest()
    refused = run()
    assert (refused.state, refused.error["code"]) == ("failed", "needs_confirmation")
    assert (refused.report["archived"], refused.report["applied"]) == (5, False)
    assert digest() == before
    done = run(plan_id=refused.report["plan_id"], confirm=True)
    assert (done.state, done.report["archived"]) == ("succeeded", 5)


def test_a_hundred_may_go_without_asking(run, faded, monkeypatch):
    faded(5)
    assert plan_execution.FREE == 100
    assert run().state == "succeeded"


def test_a_failed_run_applies_nothing_and_keeps_its_report(run, faded, digest, monkeypatch):
    faded(3)
    before = digest()

    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr(decay, "prune", broken)
    failed = run()
    assert (failed.state, failed.error["code"]) == ("failed", "internal")
    assert (failed.report["applied"], failed.report["archived"]) == (False, 3)
    assert failed.report["phases"] == ["deduplicate", "contradictions", "corroborate", "digest", "decay", "archive"]
    assert digest() == before


def test_a_plan_of_another_namespace_is_no_plan(run, faded, principal, store, now):
    faded(1)
    plan = run(dry_run=True)
    there = store("acme:other", "The otter sleeps.").namespace
    options = {"plan_id": plan.report["plan_id"]}
    with pytest.raises(upkeep.consolidation.NoPlan):
        jobs.start(principal, kind="consolidate", namespace=there, options=options, now=now, wake_up=False)


def test_only_one_at_a_time_in_a_namespace(begin):
    first = begin()
    with pytest.raises(jobs.AlreadyRunning) as refused:
        begin()
    assert refused.value.operation_id == first.id


@pytest.mark.long
def test_a_cap_puts_off_the_rest(run, faded):
    faded(4)
    now = timezone.now()
    first = run(max_memories=3, now=now).report
    assert (first["archived"], first["deferred"]) == (3, {"archive": 1})
    assert run(max_memories=3, now=now).report["archived"] == 0
    assert run(max_memories=3, now=now + DAY / 24).report["archived"] == 1


def test_a_run_after_a_crash_goes_on_from_its_plan(principal, begin, faded, monkeypatch, digest, operation_of):
    faded(2)
    operation = begin()
    monkeypatch.setattr(plan_execution, "run", lambda *_: (_ for _ in ()).throw(operations.LeaseLost()))
    jobs.run(principal, operation.id)
    monkeypatch.undo()
    planned = operation_of(operation)
    assert (planned.state, planned.cursor["plan"]["planned"]) == ("running", 4)
    put(principal, operation, lease_until=timezone.now() - DAY)
    ended = jobs.run(principal, operation.id)
    assert (ended.state, ended.report["archived"], ended.fence) == ("succeeded", 2, 2)


def test_a_run_after_its_commit_only_tells(principal, begin, faded, digest, operation_of, count):
    faded(2)
    operation = begin()
    done = jobs.run(principal, operation.id)
    after, steps = digest(), count(PlanStep)
    put(principal, operation, state="running", finished_at=None, lease_until=timezone.now() - DAY, report=None)
    ended = jobs.run(principal, operation.id)
    assert {**ended.report, "durationMs": 0, "duration_ms": 0} == {**done.report, "durationMs": 0, "duration_ms": 0}
    assert (digest(), count(PlanStep)) == (after, steps)


def put(principal, operation, **values):
    from memories import access

    with access.enter(principal, why="test"):
        Operation.objects.filter(id=operation.id).update(**values)


def test_each_phase_is_told(begin, faded, principal):
    faded(1)
    told = []
    jobs.run(principal, begin().id, watcher=lambda stage, done, total: told.append((stage, done, total)))
    planning = [f"plan {name}" for name in ("deduplicate", "contradictions", "corroborate", "digest", "decay")]
    stages = [*planning, "planned", *[f"apply {phase}" for phase in Phase], "applied"]
    assert [stage for stage, _, total in told if total] == stages
    numbers = [(done, total) for _, done, total in told if total]
    assert numbers == [*[(n, 12) for n in range(5)], *[(n, 12) for n in (5, *range(5, 12))], (12, 12)]


def test_a_plan_that_was_applied_outlasts_one_that_was_not(run, faded, principal, now):
    faded(2)
    unused, plan = run(dry_run=True, now=now), run(dry_run=True, now=now)
    run(plan_id=plan.report["plan_id"], now=now)
    run(dry_run=True, now=now + 3 * DAY)
    with access.enter(principal, why="test"):
        kept = set(PlanStep.objects.values_list("operation", flat=True).distinct())
    assert plan.id in kept
    assert unused.id not in kept
