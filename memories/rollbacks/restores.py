"""Undo of a restore: what it brought goes, what it changed is as it was; namespaces that it made go as a whole."""

from typing import Any

from conflicts.authority import refuse_below
from conflicts.public import Ruling
from conflicts.rulings import with_protection
from memories import access, run_changes
from memories.access import Principal
from memories.models import Archive, Fragment, Namespace, Operation, RunChange
from memories.models.enums import CopyReason
from memories.models.history import events_of
from memories.models.sql import execute, fetch
from memories.operations import Progress
from memories.run_changes import CannotUndoRun

# Kept of what came back: how it had left.
LEFT = ("memories_tombstone", "memories_archive")
LEFT_AGAIN = """
    INSERT INTO {0} SELECT (jsonb_populate_record(NULL::{0}, c.before)).* FROM memories_runchange c
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = '{0}' ON CONFLICT DO NOTHING"""
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
WRITTEN_SINCE = """
    SELECT DISTINCT e.pgh_obj_id FROM memories_fragmentevent e
    WHERE e.project_id = %s AND e.namespace_id = %s AND e.recorded_in > %s::text::xid8
    UNION SELECT DISTINCT c.fragment_id FROM memories_claimevent c
    WHERE c.project_id = %s AND c.namespace_id = %s AND c.recorded_in > %s::text::xid8"""
MOST_NAMED = 100


def permit_undo(principal: Principal, operation: Operation) -> None:
    """Raise NotPermitted when what a restore brought or changed is believed more than the principal's ceiling."""
    run_changes.permit(principal, operation)
    made = (operation.report or {}).get("made") or []
    with access.enter(principal.of_everybody(), why="ceiling"):
        rows = Fragment.objects.within(operation.project_id).filter(namespace__name__in=made)
        ranks = with_protection(rows).order_by("-rank").values_list("rank", flat=True)[:1]
        refuse_below(principal, ranks, what="something that was restored")
        written = list(((operation.report or {}).get("transactions") or {}).values())
        rulings = events_of(Ruling).objects.filter(project=operation.project_id, recorded_in__in=written)
        refuse_below(principal, set(rulings.values_list("authority", flat=True)), what="a decision that was restored")


def refuse_unfit_restore(operation: Operation) -> None:
    """Raise CannotUndoRun for what changed nothing, was undone already, is too old, or kept nothing for an undo."""
    run_changes.refuse_unfit(operation)
    if "transactions" not in (operation.report or {}):
        raise CannotUndoRun("this restore kept nothing to take it back by")


def undo_restore(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Let all be as before a restore, but for what was forgotten; owners and keys that it brought stay.

    Raise CannotUndoRun where somebody has changed since what it brought, or has written into a namespace that it made.
    """
    if progress.operation.cursor:
        return dict(progress.operation.cursor)
    report: dict[str, Any] = operation.report or {}
    written: dict[str, str] = report.get("transactions") or {}
    with access.enter(principal, why="undo"):
        rows = Namespace.objects.within(principal.project_id).named(list(written))
        scopes = list(rows.select_related("project").order_by("id"))
    made = [scope for scope in scopes if scope.name in report.get("made", ())]
    deleted: dict[str, int] = {}

    def first(run: Operation) -> None:
        for scope in made:
            _refuse_written_since(scope, written[scope.name], progress)
        _bring_copies_back(run)

    def also(run: Operation) -> None:
        kept = [written[scope.name] for scope in scopes if scope not in made]
        for statement in (COPIES, *(CAME.format(table) for table in BESIDE)):
            execute(statement, {"project": run.project_id, "transactions": kept})
        for scope in made:
            deleted[scope.name] = Fragment.objects.within(run.project_id).filter(namespace=scope).count()
        # The scopes of users before what they lie in, forks before what they were forked from.
        for scope in sorted(made, key=lambda row: list(written).index(row.name), reverse=True):
            Namespace.objects.within(run.project_id).filter(id=scope.id).delete()

    how: dict[str, Any] = {"also": also, "first": first, "scopes": scopes, "failpoint": "restore.undone"}
    return {**run_changes.undo_run(principal, operation, progress, **how), "deleted": deleted}


def _refuse_written_since(scope: Namespace, transaction: str, progress: Progress) -> None:
    values = [scope.project_id, scope.id, transaction] * 2
    if changed := sorted(str(i) for (i,) in fetch(WRITTEN_SINCE, values)):
        told = {"count": len(changed), "ids": changed[:MOST_NAMED]}
        progress.report = {"operation": progress.operation.options["operation"], "changed_since": told}
        raise CannotUndoRun(f"memories were written into {scope.name} since")


def _bring_copies_back(run: Operation) -> None:
    """Let what came back have left again: its tombstone, and the copy; copies that came along go."""
    values = {"project": run.project_id, "run": run.id}
    changes = RunChange.objects.within(run.project_id).filter(operation=run)
    made = changes.filter(place="memories_fragment", before=None).values_list("row_id", flat=True)
    Archive.objects.within(run.project_id).of(made).filter(reason=CopyReason.COMPACTED).delete()
    for table in LEFT:
        execute(LEFT_AGAIN.format(table), values)
