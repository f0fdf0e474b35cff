"""Runs of a rollback: a plan by doing it and taking it back, then the same for good, and its undo."""

import hashlib
from typing import Any

from django.db import IntegrityError, transaction

from conflicts.public import lock_belief, one_value_checked_at_the_end
from conflicts.rollback import BeliefRollback, roll_back_belief, stage_belief
from conflicts.search_index import reindex_texts
from memories import access, run_changes
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Namespace, Operation, RunChange
from memories.models.enums import RecallCause
from memories.operations import ACCEPT, PlanChanged, Progress, plan_of, starter
from memories.providers import active_model
from memories.recall_checks import RecallGuard
from memories.rollbacks.former_memories import (
    MemoryRollback,
    bring_back_evicted,
    depart_again,
    link_successors,
    roll_back_memories,
    roll_back_texts,
    stage_memories,
    stand_again,
    votes_lost,
)
from memories.rollbacks.options import moment_of, permit_rollback, scopes_of

MOST_NAMED = 1_000
BOUND = ("counts", "let_be", "digest")  # what a run has to find as its plan did


class CannotRollBack(NovaError):
    """What stood then can't stand together by the rules of today."""

    code = "cannot_roll_back"
    title = "Nothing was rolled back"
    is_kept = True


class _OnlyPlanned(Exception):
    """A dry run ends: all is as before."""


def roll_back(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Let the operation's namespace, with all its users, be what it was at `options.to`; a dry run only tells.

    What was forgotten stays forgotten, what is contained stays contained, and what came since is archived. Begun again
    after it was applied it has nothing to do. Raise PlanChanged, NoPlan, RecallLost, CannotRollBack; nothing changes
    then.
    """
    if operation.cursor:
        return dict(operation.cursor)
    namespace, now = operation.namespace, operation.started_at or operation.created_at
    assert namespace is not None  # the kind asks for one
    with access.enter(principal, why="rollback"):
        scopes = scopes_of(namespace)
    recall = RecallGuard.around(
        principal, scopes, cause=RecallCause.ROLLBACK, now=now, namespace=namespace, operation=operation
    )
    report: dict[str, Any] = {}
    with progress.alive(), access.enter(principal, why="rollback"):
        try:
            with transaction.atomic():
                report = _apply(principal, operation, scopes)
                _refuse_changed(operation, report)
                if operation.dry_run:
                    recall.look()
                    raise _OnlyPlanned
                report |= recall.settle(accept=operation.options.get(ACCEPT, False), progress=progress)
        except _OnlyPlanned:
            return {**report, **recall.told()}
        except IntegrityError as error:
            raise CannotRollBack(
                "what stood then can't stand together by the rules that predicates have now"
            ) from error
        progress.save(stage="applied", done=1, total=1, cursor=report)
    return report


def undo_rollback(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Let the namespace be as before the rollback, but for what was forgotten since. Raise CannotUndoRun."""

    def follow(run: Operation) -> None:
        texts = RunChange.objects.within(run.project_id).filter(operation=run, place="memories_fragment")
        ids = set(texts.filter(before__has_key="content").values_list("row_id", flat=True))
        reindex_texts(run.project_id, ids, model=active_model())

    assert operation.namespace is not None
    with access.enter(principal, why="undo"):
        scopes = scopes_of(operation.namespace)
    how: dict[str, Any] = {"first": depart_again, "also": follow, "failpoint": "rollback.undone", "scopes": scopes}
    return run_changes.undo_run(principal, operation, progress, **how)


def _apply(principal: Principal, operation: Operation, scopes: list[Namespace]) -> dict[str, Any]:
    """Do it in the open transaction; the report."""
    project_id, at, now = operation.project_id, moment_of(operation), operation.created_at
    ids = [scope.id for scope in scopes]
    lock_belief(ids)
    permit_rollback(starter(principal, operation), operation)  # again: others wrote since it was asked
    stage_memories(project_id, ids, at)
    stage_belief(project_id, ids, at)
    memories = MemoryRollback()
    with run_changes.record_changes(operation), one_value_checked_at_the_end():
        bring_back_evicted(operation, memories, now=now)
        roll_back_texts(project_id, memories, now=now)
        roll_back_memories(project_id, memories, now=now)
        belief = roll_back_belief(project_id, ids, at=at, operation_id=operation.id, now=now)
        stand_again(project_id, memories, claimed=belief.claims, now=now)
        memories.let_be["votes_lost"] = votes_lost(project_id)
        link_successors(project_id, memories.set_aside | memories.changed | belief.claims)
    return {"namespace": scopes[0].name, "to": at.isoformat(), **_told(memories, belief)}


def _told(memories: MemoryRollback, belief: BeliefRollback) -> dict[str, Any]:
    lists = {
        "set_aside": memories.set_aside,
        "returned": memories.returned,
        "changed": (memories.changed | belief.claims | belief.votes) - memories.returned,
        "reworded": memories.texts,
        "conflicts_reopened": belief.reopened,
        "conflicts_closed": belief.closed,
        "rulings_withdrawn": belief.withdrawn,
        "rulings_restored": belief.ruled_again,
    }
    let_be = {**memories.let_be, "words_lost": belief.words_lost}
    named = {name: [str(i) for i in sorted(ids)] for name, ids in lists.items()}
    whole = repr((named, {why: sorted(map(str, ids)) for why, ids in sorted(let_be.items())}))
    return {
        "counts": {name: len(ids) for name, ids in lists.items()},
        "let_be": {why: len(ids) for why, ids in sorted(let_be.items()) if ids},
        **{name: ids[:MOST_NAMED] for name, ids in named.items()},
        "digest": hashlib.sha256(whole.encode()).hexdigest(),
    }


def _refuse_changed(operation: Operation, report: dict[str, Any]) -> None:
    plan = plan_of(operation)
    if plan and any((plan.report or {}).get(name) != report[name] for name in BOUND):
        raise PlanChanged("the rollback would do something else than its plan said")
