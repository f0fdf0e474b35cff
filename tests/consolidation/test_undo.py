"""Undoing a run: everything as before it, or a word on what stands in the way."""

import uuid

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, erasure, ingest, jobs, run_changes
from memories.models import Fragment, Operation, RunChange
from tests.consolidation.conftest import DAY, beside, unit


@pytest.fixture
def full(remember, link, alice, bob):
    """A namespace in which every phase finds something to do."""

    def fill():
        rows = {
            "best": remember("The heron nests by the mill.", by=alice.principal, source="tool_output", vector=unit(1)),
            "twin": remember("The heron nests by the mill!", by=bob.principal, vector=beside(0.98), tags=["twin"]),
            "like": remember("By the mill nests the heron.", by=bob.principal, vector=beside(0.93, 0, 2)),
            "oslo": remember(
                "I live in Oslo.", by=alice.principal, source="user_explicit", vector=unit(0, 0, 0, 1), age=9
            ),
            "rome": remember("I live in Rome.", by=alice.principal, source="user_explicit", vector=unit(0, 0, 0, 0, 1)),
            "told": remember("The user lives in Bath.", by=bob.principal, vector=unit(0, 0, 0, 0, 0, 1)),
            "gone": remember("Ada was six.", vector=unit(*[0] * 6, 1), status="superseded", unchanged=91),
            "low": remember("It burnt down.", vector=unit(*[0] * 7, 1), status="disputed", disputes=3, age=500),
            "dim": remember("We met Ivo.", vector=unit(*[0] * 8, 1), age=60, type="episodic", importance=0.3),
        }
        stale = [remember(f"Otter {n} sleeps.", vector=unit(*[0] * (9 + n), 1), age=40, read=1) for n in range(3)]
        link(*stale)
        link(rows["twin"], rows["dim"], rows["gone"])
        return rows

    return fill


def test_undo_is_the_identity(run, undo, full, belief, operation_of, count):
    full()
    before = belief()
    done = run()
    numbers = done.report
    found = [numbers[name] for name in ("merged", "corroborated", "archived", "decayed")]
    found += [numbers["contradictions"][name] for name in ("resolved", "pending")]
    assert all([*found, *numbers["compressed"].values(), *numbers["pruned"].values()])
    assert belief() != before
    undone = undo(done)
    assert (undone.state, undone.kind, undone.error) == ("succeeded", "undo", None)
    assert belief() == before
    assert operation_of(done).report["undone"]["by"] == str(undone.id)
    assert count(RunChange) == 0


@pytest.fixture
def two_runs(full, run, belief):
    """Two runs, of which the second changes what the first changed or made, and the pictures before each."""

    def take():
        full()
        pictures = [belief()]
        first = run()
        pictures.append(belief())
        second = run(now=timezone.now() + 200 * DAY)
        assert belief() != pictures[1]
        return first, second, pictures

    return take


def test_runs_are_undone_last_first(two_runs, undo, belief, count):
    first, second, pictures = two_runs()
    for done, picture in ((second, pictures[1]), (first, pictures[0])):
        undone = undo(done)
        assert (undone.state, undone.error) == ("succeeded", None)
        assert belief() == picture
    assert count(RunChange) == 0


def test_three_runs_are_undone_last_first(remember, begin, undo, belief, principal):
    row = remember("We met Ivo.", vector=unit(1))
    pictures, runs = [], []
    for changes in ({"importance": 0.9, "revision": 2}, {"tier": "cold", "importance": 0.8}, {"tier": "hot"}):
        pictures.append(belief())
        done = begin()
        with access.enter(principal, why="test"):
            with run_changes.record_changes(done):
                Fragment.objects.filter(id=row.id).update(**changes, updated_at=timezone.now())
            ended = {"state": "succeeded", "started_at": done.created_at, "finished_at": timezone.now()}
            Operation.objects.filter(id=done.id).update(report={"plan_id": str(done.id)}, **ended)
        runs.append(done)
    for done in reversed(runs):
        assert undo(done).error is None
        assert belief() == pictures.pop()


def test_a_later_run_that_stands_is_in_the_way_by_name(two_runs, undo, digest):
    first, second, _ = two_runs()
    before = digest()
    refused = undo(first)
    assert (refused.state, refused.error["code"]) == ("failed", "cannot_undo")
    assert f"undo the later run {second.id} first" in refused.error["detail"]
    assert refused.report["changed_since"]["count"]
    assert digest() == before


def test_what_a_person_changed_between_two_runs_stays_in_the_way(run, full, undo, principal, digest):
    rows = full()
    first = run()
    ingest.updates.unarchive(principal, rows["dim"].id, now=timezone.now())
    second = run(now=timezone.now() + 200 * DAY)
    assert undo(second).state == "succeeded"
    before = digest()
    refused = undo(first)
    assert refused.report["changed_since"] == {"count": 1, "ids": [str(rows["dim"].id)]}
    assert "later run" not in refused.error["detail"]
    assert digest() == before


def test_what_was_undone_is_not_done_again(run, undo, full, belief):
    full()
    before = belief()
    undo(run())
    again = run()
    assert again.report["planned"] == 0
    assert belief() == before


def test_a_row_that_changed_since_stands_in_the_way(run, undo, full, digest, principal, now):
    rows = full()
    done = run()
    ingest.updates.unarchive(principal, rows["dim"].id, now=now)
    before = digest()
    refused = undo(done)
    assert (refused.state, refused.error["code"]) == ("failed", "cannot_undo")
    assert refused.report["changed_since"] == {"count": 1, "ids": [str(rows["dim"].id)]}
    assert digest() == before


def test_other_columns_of_a_row_may_have_changed(run, undo, remember, principal, now, now_of):
    row = remember("We met Ivo.", vector=unit(1), age=60, type="episodic", importance=0.3)
    done = run()
    ingest.updates.revise(principal, row.id, changes={"outcome": "positive"}, revision=None, now=now_of(row).updated_at)
    assert undo(done).state == "succeeded"
    assert (now_of(row).status, now_of(row).outcome) == ("active", "positive")


def test_forgetting_erases_what_was_kept_of_a_memory(run, undo, full, principal, now, count):
    rows = full()
    done = run()
    kept = count(RunChange)
    erasure.forget(principal, rows["dim"].id, now=now)
    assert count(RunChange) < kept
    assert undo(done).state == "succeeded"


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_applied_nothing_can_not_be_undone(run, undo, full, principal, dry_run):
    full()
    done = run(dry_run=dry_run)
    if not dry_run:
        undo(done)
    with pytest.raises(jobs.NotUndoable if dry_run else run_changes.CannotUndoRun):
        jobs.start_undo(principal, done.id, now=timezone.now(), wake_up=False)


def test_a_run_is_undone_until_its_retention_ends(run, undo, full, principal, settings, digest, count, now):
    full()
    done = run()
    after = digest()
    settings.CONSOLIDATION_UNDO_DAYS = 0
    assert run_changes.expire(principal, now=timezone.now()) == 1
    assert count(RunChange) == 0
    with pytest.raises(run_changes.CannotUndoRun, match="retention"):
        jobs.start_undo(principal, done.id, now=timezone.now(), wake_up=False)
    assert run_changes.expire(principal, now=timezone.now()) == 0
    assert digest() == after


def test_another_value_that_took_the_place_stands_in_the_way(run, undo, remember, alice, now, digest, principal):
    old = remember("Ada is six.", vector=unit(1), claim=ClaimDraft("Ada", "age", "6"), age=70, type="episodic")
    with_all(principal, old)
    done = run()
    assert done.report["archived"] == 1
    remember("Ada is seven.", vector=unit(0, 1), claim=ClaimDraft("Ada", "age", "7"))
    before = digest()
    refused = undo(done)
    assert (refused.state, refused.error["code"]) == ("failed", "cannot_undo")
    assert digest() == before


def with_all(principal, row):
    from memories import access
    from memories.models import Namespace

    with access.enter(principal, why="test"):
        Namespace.objects.filter(id=row.namespace_id).update(archive_policy="all")


def test_a_kind_without_undo_says_so(principal, begin):
    from memories import operations

    other = operations.start(
        principal, kind="rebuild", namespace=None, options={"target": "keywords"}, dry_run=False, now=timezone.now()
    )
    with pytest.raises(jobs.NotUndoable):
        jobs.start_undo(principal, other.id, now=timezone.now())
    with pytest.raises(jobs.access.NotFound):
        jobs.start_undo(principal, uuid.uuid4(), now=timezone.now())
