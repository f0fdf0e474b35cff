"""Undo of a run: every row becomes what it was, or nothing changes and the report names the rows in the way."""

import datetime
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone
from psycopg import sql

from conflicts.authority import refuse_below
from conflicts.public import lock_namespace
from conflicts.reconciliation import reconcile
from conflicts.resolution import CannotUndo
from conflicts.rulings import with_protection
from memories import access, failpoints
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Fragment, Namespace, Operation, PlanStep, RunChange
from memories.models.enums import OperationState
from memories.models.sql import fetch
from memories.models.table_spec import HOME, made_columns
from memories.operations import Progress
from memories.run_changes.change_log import PLACES

MOST_NAMED = 100
RECORDED = ("consolidate", "merge", "rollback", "restore")  # kinds of operations of which the former state is kept
# Being read moves these, and no undo waits for that.
SOFT = {"memories_access"}
# Of which a constraint that may be checked later can't be named by its absence.
CLAIMS = "memories_claim"
# Set by triggers, or never changing.
FIXED = {"id", "fragment_id", *HOME}
# What the run dated its undo dates too: a backup from before that is older.
DATED = {
    "memories_fragment": {
        "updated_at": "updated_at = CASE WHEN c.before ? 'updated_at' THEN %(now)s ELSE t.updated_at END",
        "revision": "revision = t.revision + (c.before ? 'updated_at')::int",
    }
}
CHANGED = """
    SELECT c.fragment_id FROM memories_runchange c
    LEFT JOIN {table} t ON t.project_id = c.project_id AND t.{row} = c.row_id
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = %(place)s
        AND CASE WHEN t.project_id IS NULL THEN c.after <> '' AND c.before IS NOT NULL
            ELSE nova_part_digest(to_jsonb(t), c.before) <> c.after END
"""
# What the run made, and of which it changed what is believed, or said; a text that was shortened says the same.
BELIEVED = """
    SELECT DISTINCT c.fragment_id FROM memories_runchange c WHERE c.project_id = %(project)s
        AND c.operation_id = %(run)s AND (
            c.place IN ('memories_fragment', 'memories_claim') AND c.before IS NULL
            OR c.place = 'memories_fragment' AND (c.before ?| '{status,superseded_by_id}'
                OR c.before ? 'content' AND NOT c.before ? 'compression')
            OR c.place = 'memories_claim' AND (c.after = ''
                OR c.before ?| '{status,superseded_by_id,slot,valid_from,valid_until,exclusive}'))"""
UNMAKE = """
    DELETE FROM {table} t USING memories_runchange c WHERE c.project_id = %(project)s AND c.operation_id = %(run)s
        AND c.place = %(place)s AND c.before IS NULL AND t.project_id = c.project_id AND t.{row} = c.row_id
        AND (NOT %(soft)s OR nova_part_digest(to_jsonb(t), c.before) = c.after)
"""
REVERT = """
    UPDATE {table} t SET {columns}
    FROM memories_runchange c, LATERAL jsonb_populate_record(NULL::{table}, c.before) AS r
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = %(place)s AND c.before IS NOT NULL
        AND t.project_id = c.project_id AND t.{row} = c.row_id
        AND (NOT %(soft)s OR nova_part_digest(to_jsonb(t), c.before) = c.after)
"""
# Two conflicts that exchange their opponents would be the same for a moment, which may not be.
SET_DOWN = """
    UPDATE conflicts_pendingconflict t SET resolution = 'obsolete', resolved_at = %(now)s FROM memories_runchange c
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = 'conflicts_pendingconflict'
        AND c.before IS NOT NULL AND t.project_id = c.project_id AND t.id = c.row_id AND t.resolved_at IS NULL
    RETURNING t.id"""
TAKE_UP = """
    UPDATE conflicts_pendingconflict t SET resolution = '', resolved_at = NULL FROM memories_runchange c
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = 'conflicts_pendingconflict'
        AND NOT c.before ? 'resolved_at' AND t.project_id = c.project_id AND t.id = c.row_id
        AND t.id = ANY (%(set_down)s)"""
REMAKE = """
    INSERT INTO {table} ({all_columns}) SELECT {their_columns} FROM memories_runchange c,
        LATERAL jsonb_populate_record(NULL::{table}, c.before) AS r
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = %(place)s AND c.after = ''
        AND c.before IS NOT NULL AND (c.before ->> 'other_id' IS NULL OR EXISTS (SELECT FROM memories_fragment f
            WHERE f.project_id = c.project_id AND f.id = (c.before ->> 'other_id')::uuid))
    ON CONFLICT {clash} DO NOTHING
"""
# The dates that an undo raises would stand in the way of earlier runs, which had left these rows as they are again.
RECKON = """
    UPDATE memories_runchange e
    SET after = nova_part_digest(to_jsonb(t), d.known || e.before), before = d.known || e.before
    FROM memories_runchange c JOIN memories_fragment t ON t.project_id = c.project_id AND t.id = c.row_id,
        LATERAL (SELECT jsonb_build_object('updated_at', coalesce(c.before -> 'updated_at', to_jsonb(t.updated_at)),
            'revision', coalesce(c.before -> 'revision', to_jsonb(t.revision - (c.before ? 'updated_at')::int))
        ) AS dates) AS s,
        -- What the next undo would take for the revision before the earlier run.
        LATERAL (SELECT s.dates - 'updated_at' AS known) AS d
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = %(place)s
        AND c.before ?| '{updated_at,revision}' AND e.project_id = c.project_id AND e.place = c.place
        AND e.row_id = c.row_id AND e.operation_id <> c.operation_id
        AND e.after = nova_part_digest(to_jsonb(t) || s.dates, e.before)
"""


class CannotUndoRun(NovaError):
    """The run's rows changed since, or what stood before was deleted after its retention."""

    code = "cannot_undo"
    title = "This can’t be undone"
    is_kept = True


def permit(principal: Principal, operation: Operation) -> None:
    """Raise NotPermitted when the run changed something that is believed more than the principal's ceiling."""
    with access.enter(principal.of_everybody(), why="ceiling"):
        changed = RunChange.objects.within(operation.project_id).filter(operation=operation).values("fragment")
        rows = with_protection(Fragment.objects.within(operation.project_id).filter(id__in=changed)).order_by("-rank")
        refuse_below(principal, rows.values_list("rank", flat=True)[:1], what="something that the run changed")


def undo_run(
    principal: Principal,
    operation: Operation,
    progress: Progress,
    *,
    also: Callable[[Operation], object],
    failpoint: str,
    first: Callable[[Operation], object] = lambda run: None,
    scopes: Sequence[Namespace] = (),
    refuse: Callable[[Operation], object] | None = None,
) -> dict[str, Any]:
    """Take back what was recorded of a run; the report says how many rows. Raise CannotUndoRun; nothing changes then.

    `refuse` tells what is not fit for it. `first` and `also` are done in the same transaction, before and after. It
    reaches the run's namespace, or the `scopes`. Begun again after its end it has nothing to do.
    """
    if progress.operation.cursor:
        return dict(progress.operation.cursor)
    with access.enter(principal, why="undo"):
        run = Operation.objects.within(principal.project_id).select_related("namespace").get(id=operation.id)
        places = list(scopes) or [run.namespace]
        for place in sorted(places, key=lambda row: row.id):
            lock_namespace(place.id)
        run.refresh_from_db(fields=["report", "state"])
        (refuse or refuse_unfit)(run)
        _lock_run(run)
        if changed := _changed_since(run):
            progress.report = report_changed(run.id, changed)
            raise CannotUndoRun("memories changed since that run" + _later_run(run, changed))
        restored = _restored(run, first, progress)
        also(run)
        after = Fragment.objects.within(run.project_id).in_namespaces(places).totals()
        report = {"operation": str(run.id), "restored": restored, "after": after}
        RunChange.objects.within(run.project_id).filter(operation=run).delete()
        undone = {"by": str(progress.operation.id), "at": progress.operation.created_at.isoformat()}
        Operation.objects.within(run.project_id).filter(id=run.id).update(
            report={**(run.report or {}), "undone": undone}
        )
        progress.save(stage="undone", done=1, total=1, cursor=report)
        failpoints.reach(failpoint)
        return report


def _restored(run: Operation, first: Callable[[Operation], object], progress: Progress) -> int:
    """Let every row be what it was, and what came since wait against that; how many. Raise CannotUndoRun."""
    believed = {i for (i,) in fetch(BELIEVED, _values(run, ""))}
    try:
        with transaction.atomic():
            first(run)
            restored = _bring_back(run)
            reconcile(run.project_id, believed, since=run.started_at or run.created_at, now=timezone.now())
    except CannotUndo as error:
        progress.report = report_changed(run.id, map(uuid.UUID, error.memories))
        raise CannotUndoRun(f"{error.why}; {error.then}") from error
    except IntegrityError as error:
        raise CannotUndoRun("another value took the place meanwhile") from error
    return restored


def report_changed(run_id: uuid.UUID, changed: Iterable[uuid.UUID]) -> dict[str, Any]:
    """Return the report of an undo that is refused because these memories were changed since the run."""
    ids = sorted(map(str, changed))
    return {"operation": str(run_id), "changed_since": {"count": len(ids), "ids": ids[:MOST_NAMED]}}


def refuse_unfit(run: Operation) -> None:
    """Raise CannotUndoRun for what changed nothing, was undone already, or is too old."""
    if run.state != OperationState.SUCCEEDED or run.dry_run:
        raise CannotUndoRun("this run applied nothing")
    refuse_gone(run)


def refuse_gone(run: Operation) -> None:
    """Raise CannotUndoRun for what was undone already, or is too old."""
    report = run.report or {}
    if "undone" in report:
        raise CannotUndoRun("this run was undone already")
    if report.get("expired"):
        raise CannotUndoRun("what stood before that run was deleted after its retention")


def _lock_run(run: Operation) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM (SELECT f.id FROM memories_fragment f WHERE f.project_id = %s AND f.id IN (
                   SELECT c.fragment_id FROM memories_runchange c WHERE c.project_id = %s AND c.operation_id = %s)
               ORDER BY f.id FOR NO KEY UPDATE OF f) AS held""",
            [run.project_id, run.project_id, run.id],
        )


def _changed_since(run: Operation) -> set[uuid.UUID]:
    found: set[uuid.UUID] = set()
    with connection.cursor() as cursor:
        for place in set(PLACES) - SOFT:
            cursor.execute(_for(CHANGED, place), _values(run, place))
            found |= {row[0] for row in cursor}
    return found


def _later_run(run: Operation, changed: Collection[uuid.UUID]) -> str:
    """Return what to undo first, where a run that stands changed one of these memories later."""
    later = Q(operation__finished_at__gt=run.finished_at) & Q(fragment__in=changed)
    rows = RunChange.objects.within(run.project_id).filter(later).order_by("-operation__finished_at")
    found = rows.values_list("operation_id", flat=True).first()
    return f": undo the later run {found} first" if found else ""


def _bring_back(run: Operation) -> int:
    """Return what was made goes, children first; what was deleted comes back; what changed is as it was."""
    total = 0
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS claim_one_value DEFERRED")
        made = list(reversed(PLACES))
        for place in made[:-1]:
            cursor.execute(_for(UNMAKE, place), _values(run, place))
            total += cursor.rowcount
        cursor.execute(SET_DOWN, _values(run, ""))
        set_down = [row[0] for row in cursor]
        for place in PLACES:
            cursor.execute(_for(REMAKE, place), _values(run, place))
            total += cursor.rowcount
            cursor.execute(_for(REVERT, place), _values(run, place))
            total += cursor.rowcount
        cursor.execute(TAKE_UP, {**_values(run, ""), "set_down": set_down})
        # Memories last: with them goes what was kept of rows that name them.
        cursor.execute(_for(UNMAKE, made[-1]), _values(run, made[-1]))
        total += cursor.rowcount
        cursor.execute(RECKON, _values(run, made[-1]))
        cursor.execute("SET CONSTRAINTS claim_one_value IMMEDIATE")
    return int(total)


def _values(run: Operation, place: str) -> dict[str, Any]:
    return {"project": run.project_id, "run": run.id, "place": place, "soft": place in SOFT, "now": timezone.now()}


def _for(statement: str, place: str) -> sql.Composed:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
                   AND attgenerated = '' ORDER BY attnum""",
            [place],
        )
        columns = [row[0] for row in cursor]
    dated = DATED.get(place, {})
    own = [name for name in columns if name not in FIXED | made_columns() | dated.keys()]
    # A column that did not change is not among the former values: it stays.
    taken = [
        sql.SQL("{c} = CASE WHEN c.before ? {n} THEN r.{c} ELSE t.{c} END").format(
            c=sql.Identifier(name), n=sql.Literal(name)
        )
        for name in own
    ]
    whole = [name for name in columns if name != "change"]
    return sql.SQL(statement).format(
        table=sql.Identifier(place),
        clash=sql.SQL("(id)" if place == CLAIMS else ""),
        row=sql.Identifier(PLACES[place]),
        columns=sql.SQL(", ").join([*taken, *map(sql.SQL, dated.values())]),
        all_columns=sql.SQL(", ").join(map(sql.Identifier, whole)),
        their_columns=sql.SQL(", ").join([sql.SQL("r.{}").format(sql.Identifier(name)) for name in whole]),
    )


def expire(principal: Principal, *, now: datetime.datetime) -> int:
    """Delete what stood before runs that are older than the setting; how many runs. They can't be undone any more."""
    before = now - datetime.timedelta(days=settings.CONSOLIDATION_UNDO_DAYS)
    with access.enter(principal, why="retention"):
        old = Operation.objects.within(principal.project_id).filter(kind__in=RECORDED, finished_at__lt=before)
        # One that ended early has a report, or keeps what it wrote until then.
        changed = Q(report__isnull=False) | Q(cursor__transactions__isnull=False)
        runs = list(old.filter(changed, report__expired__isnull=True))
        ids = [run.id for run in runs]
        PlanStep.objects.within(principal.project_id).filter(operation__in=ids).delete()
        RunChange.objects.within(principal.project_id).filter(operation__in=ids).delete()
        for run in runs:
            run.report = {**(run.report or {}), "expired": True}
            run.save(update_fields=["report"])
        return len(runs)
