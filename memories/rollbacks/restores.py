"""Undo of a restore: what it brought goes, what it changed is as it was; namespaces that it made go as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from conflicts.authority import refuse_below
from conflicts.public import Ruling
from conflicts.rulings import with_protection
from memories import access, run_changes
from memories.access import Principal
from memories.backups.restoration import WrittenNamespaces
from memories.models import Archive, Fragment, Namespace, Operation, RunChange
from memories.models.enums import CopyReason
from memories.models.history import events_of
from memories.models.sql import execute, fetch
from memories.operations import Progress
from memories.rollbacks.former_memories import depart_again
from memories.run_changes import CannotUndoRun

# What came beside memories, by its history; those that name others go before these.
CAME = """
    DELETE FROM {0} t USING {0}event e WHERE e.project_id = %(project)s
        AND e.recorded_in = ANY (%(transactions)s::text[]::xid8[]) AND e.pgh_label = 'insert'
        AND t.project_id = e.project_id AND t.id = e.pgh_obj_id"""
BESIDE = ("conflicts_ruling", "conflicts_pendingconflict", "memories_tombstone", "conflicts_predicate")
COPIES = """
    DELETE FROM memories_archive a USING memories_tombstoneevent e WHERE e.project_id = %(project)s
        AND e.recorded_in = ANY (%(transactions)s::text[]::xid8[]) AND e.pgh_label = 'insert'
        AND a.project_id = e.project_id AND a.fragment_id = e.original_id"""
# What somebody wrote, decided or ruled there since; that a memory was forgotten is in no way.
THERE_SINCE = """e.project_id = %(project)s AND e.namespace_id = %(scope)s
    AND e.recorded_in > %(since)s::text::xid8 AND NOT e.recorded_in = ANY (%(own)s::text[]::xid8[])"""
LIVES = "NOT EXISTS (SELECT FROM memories_erasure x WHERE x.project_id = e.project_id AND x.fragment_id = e.{0})"
WRITTEN_SINCE = " UNION ".join(
    f"SELECT e.{column} FROM {table}event e WHERE {THERE_SINCE} AND {LIVES.format(column)}"
    for table, column in (
        ("memories_fragment", "pgh_obj_id"),
        ("memories_claim", "fragment_id"),
        ("conflicts_ruling", "pgh_obj_id"),
        ("conflicts_predicate", "pgh_obj_id"),
    )
)


def permit_undo(principal: Principal, operation: Operation) -> None:
    """Raise NotPermitted when what a restore brought or changed is believed more than the principal's ceiling."""
    run_changes.permit(principal, operation)
    written = WrittenNamespaces.of(operation)
    with access.enter(principal.of_everybody(), why="ceiling"):
        of_users = Q(namespace__parent__name__in=written.made)
        rows = Fragment.objects.within(operation.project_id).filter(Q(namespace__name__in=written.made) | of_users)
        ranks = with_protection(rows).order_by("-rank").values_list("rank", flat=True)[:1]
        refuse_below(principal, ranks, what="something that was restored")
        transactions = [one for own in written.transactions.values() for one in own]
        rulings = events_of(Ruling).objects.filter(project=operation.project_id, recorded_in__in=transactions)
        refuse_below(principal, set(rulings.values_list("authority", flat=True)), what="a decision that was restored")


def refuse_unfit_undo(operation: Operation) -> None:
    """Raise CannotUndoRun for what wrote nothing, was undone already, or is too old; one that ended early is fit."""
    run_changes.refuse_gone(operation)
    if not WrittenNamespaces.of(operation).transactions:
        raise CannotUndoRun("this restore wrote nothing, or kept nothing to take it back by")


def undo_restore(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Let all be as before a restore, but for what was forgotten; owners and keys that it brought stay.

    Raise CannotUndoRun where somebody has changed since what it brought, or has written into a namespace that it made.
    """
    if progress.operation.cursor:
        return dict(progress.operation.cursor)
    written = WrittenNamespaces.of(operation)
    with access.enter(principal, why="undo"):
        rows = Namespace.objects.within(principal.project_id).named(list(written.transactions))
        scopes = list(rows.select_related("project").order_by("id"))
        made = [scope for scope in scopes if scope.name in written.made]
        others = Namespace.objects.within(principal.project_id).below(made).exclude(id__in=[row.id for row in scopes])
        later = list(others.select_related("project"))
    deleted: dict[str, int] = {}

    def first(run: Operation) -> None:
        _refuse_written_since([*made, *later], written.transactions, progress)
        _drop_copies(run)
        depart_again(run)

    def also(run: Operation) -> None:
        kept = [one for scope in scopes if scope not in made for one in written.transactions[scope.name]]
        for statement in (COPIES, *(CAME.format(table) for table in BESIDE)):
            execute(statement, {"project": run.project_id, "transactions": kept})
        for scope in made:
            deleted[scope.name] = Fragment.objects.within(run.project_id).filter(namespace=scope).count()
        # The scopes of users before what they lie in, forks before what they were forked from.
        for scope in sorted(made, key=lambda row: written.made.index(row.name), reverse=True):
            Namespace.objects.within(run.project_id).filter(id=scope.id).delete()

    how: dict[str, Any] = {"also": also, "first": first, "refuse": refuse_unfit_undo, "scopes": [*scopes, *later]}
    report = run_changes.undo_run(principal, operation, progress, failpoint="restore.undone", **how)
    return {**report, "deleted": deleted}


def _refuse_written_since(
    scopes: Sequence[Namespace], transactions: Mapping[str, Sequence[str]], progress: Progress
) -> None:
    """Raise CannotUndoRun where somebody wrote into namespaces that a restore made, or for other users of them."""
    last = [str(max((int(one) for own in transactions.values() for one in own), default=0))]
    for scope in scopes:
        own = transactions.get(scope.name, last)
        values = {"project": scope.project_id, "scope": scope.id, "since": own[0], "own": list(own)}
        if changed := [i for (i,) in fetch(WRITTEN_SINCE, values)]:
            progress.report = run_changes.report_changed(progress.operation.options["operation"], changed)
            raise CannotUndoRun(f"something was written into {scope.root_name} since")


def _drop_copies(run: Operation) -> None:
    """Take away the copies of compacted texts that came along."""
    changes = RunChange.objects.within(run.project_id).filter(operation=run)
    made = changes.filter(place="memories_fragment", before=None).values_list("row_id", flat=True)
    Archive.objects.within(run.project_id).of(made).filter(reason=CopyReason.COMPACTED).delete()
