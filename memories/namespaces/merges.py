"""Merges: a branch's writes are replayed into another namespace, in one transaction that can be taken back."""

import datetime
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Any

from django.db import transaction

from conflicts.public import lock_namespace
from memories import access, failpoints, run_changes
from memories.access import NotFound, Principal
from memories.models import EmbeddingModel, Fragment, Namespace, Operation, Origin
from memories.models.enums import RecallCause
from memories.models.namespace import is_written, scope_name
from memories.models.sql import execute, fetch
from memories.namespaces.copies import CopyRoute, new_id
from memories.namespaces.deletion import refuse_stronger
from memories.namespaces.diff import Lineup, compare_namespaces
from memories.namespaces.forks import require_same_user, with_users
from memories.namespaces.replay import Replayed, replay
from memories.namespaces.sync import (
    bring_along,
    bring_history,
    bring_rulings,
    delete_rulings,
    forget_there,
    sync_details,
)
from memories.operations import (
    ACCEPT,
    BadOptions,
    Options,
    PlanChanged,
    Progress,
    check_accepted,
    check_plan_id,
    plan_of,
    refuse_unfit_plan,
)
from memories.providers import active_model
from memories.recall_checks import RecallGuard

MOST_NAMED = 1_000
ONLY = "only"  # these memories, whatever became of the others
ADDED = ("counts", "skipped_because")


class _OnlyLooked(Exception):
    """A dry run ends: all is as before."""


def check_merge(options: Options) -> None:
    """Raise BadOptions unless they name a source."""
    source = options.get("source")
    if set(options) - {"plan_id", ONLY, ACCEPT} != {"source"} or not isinstance(source, str) or not is_written(source):
        raise BadOptions("source", "Name the branch that is merged: project:branch.")
    _check_only(options)
    check_plan_id(options)
    check_accepted(options)


def _check_only(options: Options) -> None:
    """Raise BadOptions unless `only`, if it is there, is a list of ids."""
    ids = options.get(ONLY, [])
    try:
        if not isinstance(ids, list) or len(ids) > MOST_NAMED or (ONLY in options and not ids):
            raise ValueError
        for each in ids:
            uuid.UUID(each)
    except (ValueError, AttributeError, TypeError) as error:
        raise BadOptions(ONLY, f"Give ids of 1 to {MOST_NAMED:,} memories of the branch.") from error


def refuse_unfit_merge(operation: Operation) -> None:
    """Raise NotFound for a source that is not there, BadOptions for a merge with itself, and as its plan is unfit."""
    require_same_user(operation, operation.options["source"], field="source")
    rows = Namespace.objects.within(operation.project_id).named([operation.options["source"]])
    found = rows.first()
    if found is None:
        raise NotFound(f"namespace {operation.options['source']}")
    if found.id == operation.namespace_id:
        raise BadOptions("target", "A namespace can't be merged with itself.")
    _refuse_strangers(found, operation)
    refuse_unfit_plan(operation)


def _refuse_strangers(source: Namespace, operation: Operation) -> None:
    """Raise BadOptions for memories that `only` names and the source does not hold."""
    named = set(map(uuid.UUID, operation.options.get(ONLY, [])))
    rows = Fragment.objects.within(operation.project_id).filter(with_users(source), id__in=named)
    if strange := named - set(rows.values_list("id", flat=True)):
        raise BadOptions(ONLY, f"The branch does not hold {len(strange)} of these memories, such as {min(strange)}.")


def permit_merge(principal: Principal, operation: Operation) -> None:
    """Raise NotPermitted when something that is brought, or was, is believed more than the principal's ceiling."""
    run_changes.permit(principal, operation)
    source = Namespace.objects.within(operation.project_id).filter(name=operation.options["source"]).first()
    if source is not None:
        refuse_stronger(principal, with_users(source), what="something of the branch")


def merge(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Merge `options.source` into the operation's namespace; a dry run does the same and takes it back.

    Begun again after it was applied it has nothing to do. Raise NotFound, PlanChanged, NoPlan, RecallLost; nothing is
    merged then.
    """
    if operation.cursor:
        return dict(operation.cursor)
    target = operation.namespace
    assert target is not None  # the kind asks for one
    model, now = active_model(), operation.created_at
    text: dict[str, Any] = {}
    recall = RecallGuard.around(
        principal,
        [target],
        cause=RecallCause.MERGE,
        now=operation.started_at or now,
        namespace=target,
        operation=operation,
    )
    with progress.alive(), access.enter(principal, why="merge"):
        source = Namespace.objects.within(target.project_id).named([operation.options["source"]]).first()
        if source is None:
            raise NotFound("namespace")
        try:
            with transaction.atomic():
                for way in _ways(source, target, operation):
                    text = _combine_reports(text, _applied(way, operation, progress, model=model, now=now))
                _refuse_changed(operation, text)
                if operation.dry_run:
                    recall.look()
                    raise _OnlyLooked
                text |= recall.settle(accept=operation.options.get(ACCEPT, False), progress=progress)
        except _OnlyLooked:
            return {**text, **recall.told()}
        progress.save(stage="applied", done=1, total=1, cursor=text)
        failpoints.reach("branches.merge.applied")
    failpoints.reach("branches.merge.committed")
    return text


def _ways(source: Namespace, target: Namespace, operation: Operation) -> Iterator[CopyRoute]:
    """From the one to the other, then for each user of the source from scope to scope.

    What is made for a user has an id by the plan, so that the run of a plan makes the memories that it named.
    """
    yield CopyRoute(source, target, operation.id)
    scopes = Namespace.objects.within(source.project_id).below([source]).select_related("project")
    plan = uuid.UUID(operation.options.get("plan_id") or str(operation.id))
    for scope in scopes.order_by("name"):
        new, name = new_id(scope.id, plan, 0), scope_name(target.name, scope.user)
        there = Namespace.objects.ensure(project_id=target.project_id, name=name, new_id=new)
        yield CopyRoute(scope, there, operation.id)


def _combine_reports(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the reports of two ways as one: the names of the first, counts added, ids one after the other."""
    if not one:
        return other

    def both(name: str) -> Any:
        counts, theirs = one[name], other[name]
        if isinstance(counts, list):
            return [*counts, *theirs][:MOST_NAMED]
        if name in ADDED:
            return {key: counts.get(key, 0) + theirs.get(key, 0) for key in {**counts, **theirs}}
        return {**counts, **theirs} if isinstance(counts, dict) else counts

    return {name: both(name) for name in one}


def _refuse_changed(operation: Operation, text: dict[str, Any]) -> None:
    plan = plan_of(operation)
    if plan and any((plan.report or {}).get(name) != text[name] for name in ("counts", "skipped_because")):
        raise PlanChanged("the merge would do something else than its plan said")


def undo_merge(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """The target as it was before the merge, but for what was forgotten. Raise CannotUndo; nothing changes then."""

    def unlink(run: Operation) -> None:
        Origin.objects.within(run.project_id).filter(operation_id=run.id).delete()
        delete_rulings(run.project_id, run.id)

    return run_changes.undo_run(principal, operation, progress, also=unlink, failpoint="branches.merge.undone")


def _applied(
    way: CopyRoute, operation: Operation, progress: Progress, *, model: EmbeddingModel, now: datetime.datetime
) -> dict[str, Any]:
    _lock_namespaces(way)
    only = operation.options.get(ONLY)
    erased = forget_there(way, now=now) if only is None else []
    failpoints.reach("branches.merge.forgotten")
    found = compare_namespaces(way)
    if only is not None:
        found.restrict(way, set(map(uuid.UUID, only)))
    with run_changes.record_changes(operation):
        carried = sync_details(way, found.coming, now=now) if only is None else set()
        failpoints.reach("branches.merge.carried")
        done = replay(way, found.coming, found.counterparts, model=model, now=now)
        elsewhere = {**found.counterparts, **done.now_is}
        bring_along(way, done.stored, found.counterparts)
        history = bring_history(way, found.history, elsewhere)
        if only is None:
            bring_rulings(way, elsewhere)
        failpoints.reach("branches.merge.brought")
    execute("DROP TABLE branch_source, branch_target, branch_pairs", [])
    return _report(way, found, done, erased=erased, carried=carried, history=history)


def _report(
    way: CopyRoute,
    found: Lineup,
    done: Replayed,
    *,
    erased: Sequence[uuid.UUID],
    carried: Set[uuid.UUID],
    history: int,
) -> dict[str, Any]:
    """Return what became of which memories; what the merge makes is named as in the source, too."""
    skipped = done.skipped | dict.fromkeys(found.evicted, "evicted") | found.idle
    ours = set(done.stored.values())
    lists = {
        "added": done.added,
        "superseded": sorted({i for i in done.superseded if i not in ours}),
        "conflicting": done.conflicting,
        "skipped": sorted(skipped),
        "blocked_by_erasure": sorted({*found.forgotten, *done.forgotten}),
        "forgotten": erased,
        "carried": sorted(carried),
    }
    named = {name: list(ids)[:MOST_NAMED] for name, ids in lists.items()}
    # What the merge makes is not there after a dry run.
    was = done.replaced | {new: old for old, new in done.stored.items()}
    beside = (
        done.superseded | done.beside | {i: found.counterparts[i] for i, why in found.idle.items() if why == "repeats"}
    )
    return {
        "source": way.source.name,
        "target": way.target.name,
        "counts": {**{name: len(ids) for name, ids in lists.items()}, "history": history},
        "skipped_because": dict(sorted(Counter(skipped.values()).items())),
        **{name: [str(i) for i in ids] for name, ids in named.items()},
        "sources": {str(i): str(was[i]) for name in ("added", "conflicting") for i in named[name]},
        "reasons": {str(i): skipped[i] for i in named["skipped"]},
        "beside": {
            str(i): str(was.get(beside[i], beside[i]))
            for name in ("superseded", "conflicting", "skipped")
            for i in named[name]
            if i in beside
        },
    }


def _lock_namespaces(way: CopyRoute) -> None:
    """Hold both namespaces with every memory in them: in the order of their ids, as everybody does."""
    for namespace in sorted((way.source, way.target), key=lambda row: row.id):
        lock_namespace(namespace.id)
    fetch(
        """SELECT count(*) FROM (SELECT FROM memories_fragment WHERE project_id = %(project)s
               AND namespace_id IN (%(source)s, %(target)s) ORDER BY id FOR NO KEY UPDATE) AS held""",
        way.values,
    )
