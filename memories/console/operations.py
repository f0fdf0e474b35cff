"""/operations/: long jobs, one of them with its progress and report; starting by hand, cancelling, taking back."""

import datetime
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from memories import access, jobs, operations, upkeep
from memories.access import NotFound, Principal
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.job_form import SAID, JobForm, form_of, read_options, run_address, start_job
from memories.console.memory_lists import MemoryList, report_lists, rollback_lists
from memories.console.pagination import page_of
from memories.console.plan_steps import StepPage, left_out, page_number, steps_of
from memories.console.recall_losses import lost_checks
from memories.console.reports import ReportText, merge_lines, restore_told, rollback_lines
from memories.console.snippets import action_curl, server_url
from memories.models import Backup, Namespace, Operation, PendingEmbedding, RecallCheck
from memories.models.enums import OperationState, Verb

STALLED = datetime.timedelta(seconds=30)
CONSOLIDATE, ROLLBACK = "consolidate", "rollback"
# Kinds whose reports list memories; and from where a plan is run.
LISTED = {"merge": report_lists, ROLLBACK: rollback_lists}
APPLIED_AT = {CONSOLIDATE: "console:apply", ROLLBACK: "console:rollback-run"}


@dataclass(frozen=True, slots=True)
class ShownOperation:
    """An operation as a person sees it; `offers` are the names of what may be done about it."""

    row: Operation
    lines: list[tuple[str, str]]
    steps: StepPage | None
    offers: frozenset[str]
    stalled: bool
    log: list[tuple[datetime.datetime, str]]
    # What a restore did or would do; the run that a plan was used for.
    told: ReportText | None = None
    run: Operation | None = None
    # What a merge did or would do, memory by memory.
    lists: Sequence[MemoryList] = ()
    # The recall checks that it lost, or would lose.
    lost: Sequence[RecallCheck] = ()
    # Whether the backup that it is about is still there.
    has_backup: bool = False
    # The namespace beside which a backup was restored.
    origin: str = ""
    # How many of the memories that waited for a vector when a restore ended still do, at the most.
    waiting: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it still waits or runs."""
        return self.row.state in operations.OPEN

    @property
    def did(self) -> bool:
        """Whether it changed what it was to change."""
        return bool(self.row.state == OperationState.SUCCEEDED and not self.row.dry_run)

    @property
    def applied_at(self) -> str:
        """Where a form of this plan leads that runs it."""
        return reverse(APPLIED_AT[self.row.kind], args=[self.row.id]) if self.row.kind in APPLIED_AT else ""

    @property
    def to(self) -> datetime.datetime | None:
        """To when a rollback goes."""
        return parse_datetime(str(self.row.options.get("to", "")))

    @property
    def rate(self) -> str:
        """How many it did a second so far."""
        begun, seen = self.row.started_at, self.row.heartbeat_at
        seconds = (seen - begun).total_seconds() if begun and seen else 0
        return f"{self.row.done / seconds:.0f}" if seconds >= 1 and self.row.done else ""

    @property
    def elapsed(self) -> str:
        """How long it has worked, or did."""
        if self.row.started_at is None:
            return ""
        end = self.row.finished_at or self.row.heartbeat_at or self.row.started_at
        return f"{(end - self.row.started_at).total_seconds():.1f} s"


def rows_of(principal: Principal) -> QuerySet[Any]:
    """Return the project's operations, newest first. Inside `access.enter`."""
    rows = Operation.objects.within(principal.project_id).select_related("namespace")
    return rows.order_by("-created_at", "-id")


def id_of(text: str) -> uuid.UUID:
    """Return the id of an operation as a form carries it. Raise NotFound."""
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise NotFound("operation") from error


def place_of(principal: Principal, name: str) -> Namespace:
    """Return a namespace that the person may act in, by its name. Raise NotFound."""
    with access.enter(principal, why="console"):
        found = [row for row in access.readable(principal, [name]) if principal.covers(name)]
    if not found:
        raise NotFound(f"namespace {name}")
    return found[0]


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return the operations, of one state or all; those that ended lately (`days`), or all. POST starts one."""
    if request.method != "POST":
        return _list(request)
    principal = request.principal
    principal.require(Verb.ADMIN)
    form, name = form_of(principal, request.POST), request.POST.get("namespace", "")
    if form is None:
        raise Http404
    place, looks = place_of(principal, name) if name else None, request.POST.get("step") != "run"
    made, refusal = run_action(lambda: start_job(principal, form, place, dry_run=looks and form.dry_runs))
    if made is None:
        return _list(request, refusal)
    return HttpResponseRedirect(reverse("console:operation", args=[made.id]), status=303)


def _list(request: Any, refusal: Refusal | None = None) -> HttpResponse:
    state, may_act = request.GET.get("state", ""), Verb.ADMIN in request.principal.verbs
    if state and state not in OperationState.values:
        raise Http404
    with access.enter(request.principal, why="console"):
        found = rows_of(request.principal)
        page = page_of(_since(found.filter(state=state) if state else found, request.GET), request.GET, of="operations")
    context = {
        "rows": page.rows,
        "older": page.older,
        "state": state,
        "days": request.GET.get("days", ""),
        "states": OperationState.values,
        "now": timezone.now(),
        "kinds": SAID if may_act else {},
        "refusal": refusal,
    }
    if may_act and (form := form_of(request.principal, request.POST or request.GET)):
        context |= {"form": form, "curls": _run_curls(request, form)}
    return render(request, "console/operations.html", context, status=409 if refusal else 200)


def _run_curls(request: Any, form: JobForm) -> list[tuple[str, str]]:
    """Return what the form's buttons do, asked of the API."""
    base, place = server_url(request), form.place_shown
    wish = {"kind": form.kind, **({"namespace": place} if place else {}), "options": read_options(form)}
    looks = [("Preview", action_curl(base, "/api/v1/operations", wish | {"dry_run": True}))] if form.dry_runs else []
    return [*looks, ("Run", action_curl(base, "/api/v1/operations", wish))]


def _since(rows: QuerySet[Any], query: QueryDict) -> QuerySet[Any]:
    """Return those that ended within the last `days`, or all. Raise Http404."""
    days = query.get("days", "")
    if not days:
        return rows
    if not re.fullmatch(r"[1-9][0-9]{0,2}", days, re.ASCII):
        raise Http404
    return rows.filter(finished_at__gte=timezone.now() - datetime.timedelta(days=int(days)))


@require_safe
@never_cache
@member
def one(request: Any, operation_id: uuid.UUID) -> HttpResponse:
    """One operation. What htmx polls is the progress alone; at the end it loads the page anew, with the report."""
    shown = read(request, operation_id, now=timezone.now())
    if request.htmx and not shown.is_open:
        return HttpResponseClientRefresh()
    return _page(request, shown, part="#live" if request.htmx else "")


def _page(request: Any, shown: ShownOperation, *, part: str = "", refusal: Refusal | None = None) -> HttpResponse:
    context: dict[str, Any] = {"shown": shown, "refusal": refusal, "now": timezone.now()}
    context |= {"curls": _curls(request, shown)}
    if Verb.ADMIN in request.principal.verbs:
        context |= {"run_address": run_address(shown.row)}
    return render(request, f"console/operation.html{part}", context, status=409 if refusal else 200)


def _curls(request: Any, shown: ShownOperation) -> list[tuple[str, str]]:
    """Return what the buttons do, asked of the API."""
    base, row = server_url(request), shown.row
    found = []
    for name in ("cancel", "undo"):
        if name in shown.offers:
            found.append((name.capitalize(), action_curl(base, f"/api/v1/operations/{row.id}/{name}")))
    if shown.offers & {"apply", "confirm"} and row.namespace:
        plan = {"namespace": row.namespace.name, "plan_id": str((row.report or {}).get("plan_id", row.id))}
        plan |= {"confirm": True} if "confirm" in shown.offers else {}
        plan |= {"accept_recall_loss": True} if shown.lost else {}
        plan |= {"to": row.options["to"]} if row.kind == ROLLBACK else {}
        path = "/api/v1/rollbacks" if row.kind == ROLLBACK else "/api/v1/consolidations"
        found.append(("Run this plan", action_curl(base, path, plan)))
    return found


def read(request: Any, operation_id: uuid.UUID, *, now: datetime.datetime) -> ShownOperation:
    """Return the operation. Raise NotFound: unknown and foreign look the same."""
    principal, number = request.principal, page_number(request.GET.get("page", ""))
    with access.enter(principal, why="console"):
        row = rows_of(principal).filter(id=operation_id).first()
        if row is None:
            raise NotFound("operation")
        planned = row.kind == CONSOLIDATE and row.state not in operations.OPEN
        steps = steps_of(row, number=number, left_out=left_out(request, row.id)) if planned else None
        seen = row.heartbeat_at
        stalled = row.state == OperationState.RUNNING and seen is not None and now - seen > STALLED
        run = _run_of(row)
        list_memories = LISTED.get(row.kind)
        lists = list_memories(principal, row.report or {}, done=not row.dry_run) if list_memories else []
        lost = lost_checks(principal, row.report or {})
        backup_id = row.options.get("backup_id")
        waited = (row.report or {}).get("waiting_for_vectors", 0)
        waiting = PendingEmbedding.objects.within(principal.project_id)[:waited].count() if waited else 0
        origin = _origin_of(row) if "into" in row.options else ""
        has_backup = bool(backup_id) and Backup.objects.within(principal.project_id).filter(id=backup_id).exists()
    details = _describe(principal, row)
    lines = [] if details else _lines(row)
    offers = _offers(principal, row, is_used=run is not None)
    own = (_log(row), details, run, lists, lost, has_backup, origin, waiting)
    return ShownOperation(row, lines, steps, offers, stalled, *own)


def _origin_of(row: Operation) -> str:
    """Return beside which namespace a restore put the one that it made; "" for none. Inside `access.enter`."""
    made = Namespace.objects.within(row.project_id).named([row.options["into"]])
    found: str | None = made.values_list("forked_from__name", flat=True).first()
    return found or ""


def _run_of(row: Operation) -> Operation | None:
    """Return the run that a plan was used for. Inside `access.enter`."""
    plan_id = (row.report or {}).get("plan_id", str(row.id))
    if not (row.dry_run or plan_id != str(row.id)):
        return None
    plan = Operation.objects.within(row.project_id).filter(id=plan_id).first()
    found: Operation | None = operations.runs_of(plan).exclude(id=row.id).first() if plan else None
    return found


def _describe(principal: Principal, row: Operation) -> ReportText | None:
    report = row.report or {}
    if row.kind != "restore" or "namespaces" not in report:
        return None
    return restore_told(principal, row, report)


def _log(row: Operation) -> list[tuple[datetime.datetime, str]]:
    """Return what happened to it when, as far as the row knows."""
    entries = [(row.created_at, "asked for"), (row.started_at, "a worker began")]
    entries += [(datetime.datetime.fromisoformat(at), stage) for stage, at in row.stages]
    entries += [(row.finished_at, str(row.state))]
    return [(at, text) for at, text in entries if at]


def _lines(row: Operation) -> list[tuple[str, str]]:
    report = row.report or {}
    if row.kind == "merge":
        return merge_lines(report, done=not row.dry_run)
    if row.kind == ROLLBACK and "counts" in report:
        return rollback_lines(report, done=not row.dry_run)
    if row.kind in (CONSOLIDATE, jobs.UNDO):
        return upkeep.consolidation.report_lines(report)
    nested = {
        f"{name}: {part}": n for name, parts in report.items() if isinstance(parts, dict) for part, n in parts.items()
    }
    plain = {name: value for name, value in (report | nested).items() if isinstance(value, str | int | float)}
    return [(name.replace("_", " "), str(value)) for name, value in plain.items()]


def _offers(principal: Principal, row: Operation, *, is_used: bool) -> frozenset[str]:
    """Return what this person may do about it now; the rooms check it again."""
    if Verb.ADMIN not in principal.verbs:
        return frozenset()
    report = row.report or {}
    # What a job keeps to go on from is its own affair: of some it is a number.
    planned = row.cursor.get("plan") if row.kind == CONSOLIDATE and isinstance(row.cursor, dict) else None
    ended_well = row.state == OperationState.SUCCEEDED
    offered = {
        "cancel": row.state in operations.OPEN and not row.cancel_requested,
        "apply": row.dry_run and ended_well and not is_used and (bool(planned) or row.kind == ROLLBACK),
        "confirm": row.kind == CONSOLIDATE
        and (row.error or {}).get("code") in ("needs_confirmation", "recall_lost")
        and bool(report.get("plan_id"))
        and not is_used,
        "undo": jobs.can_undo(row),
    }
    return frozenset(name for name, offer in offered.items() if offer)


@takes_form
@member
def cancel(request: Any, operation_id: uuid.UUID) -> HttpResponse:
    """Ask it to end between two batches; a queued one ends at once."""
    request.principal.require(Verb.ADMIN)
    _, refusal = run_action(lambda: operations.cancel(request.principal, operation_id, now=timezone.now()))
    return redirect_or_error(request, operation_id, refusal, shows=operation_id)


@takes_form
@member
def undo(request: Any, operation_id: uuid.UUID) -> HttpResponse:
    """Take back what it did; the page of the undo shows how far it is."""
    request.principal.require(Verb.ADMIN)
    made, refusal = run_action(lambda: jobs.start_undo(request.principal, operation_id, now=timezone.now()))
    return redirect_or_error(request, made.id if made else None, refusal, shows=operation_id)


def redirect_or_error(
    request: Any, made: uuid.UUID | None, refusal: Refusal | None, *, shows: uuid.UUID, name: str = "operation"
) -> HttpResponse:
    """Lead to what was made, or show the operation with the reason why nothing was."""
    if refusal is None:
        return HttpResponseRedirect(reverse(f"console:{name}", args=[made]))
    return _page(request, read(request, shows, now=timezone.now()), refusal=refusal)
