"""/backups/: make, prove, protect, download, and restore step by step: check, plan, confirm, watch."""

import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.http import FileResponse, Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from memories import access, backups, jobs, operations, recall_checks
from memories.access import NotFound, Principal
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.operations import id_of, rows_of
from memories.console.pagination import page_of
from memories.console.reports import ReportText, by_agent, report_of, salt_of
from memories.console.timetable import times_of
from memories.console.undo_strip import offer_undo
from memories.models import Backup, Operation
from memories.models.enums import ExportPolicy, OperationState, Verb
from memories.models.namespace import parts_of
from memories.operations import ACCEPT

PROOFS = ("verify", "drill")
BASES = 20  # the newest, from which an incremental one may go on


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return the backups, and the proof of the last; POST makes one."""
    request.principal.require(Verb.ADMIN)
    if request.method != "POST":
        return _list(request)
    policy = request.POST.get("policy", ExportPolicy.FULL)
    access.require_reach(request.principal, request.POST.getlist("namespaces"))
    options: dict[str, Any] = {"policy": policy, "include_embeddings": request.POST.get("embeddings") == "yes"}
    options |= {"namespaces": names} if (names := request.POST.getlist("namespaces")) else {}
    options |= {"base": base} if (base := request.POST.get("base")) else {}
    options |= {"prove": True} if request.POST.get("prove") == "yes" else {}
    return _start_operation(request, "backup", options) or _list(request, request.refusal)


def _list(request: Any, refusal: Refusal | None = None) -> HttpResponse:
    principal, now = request.principal, timezone.now()
    with access.enter(principal, why="console"):
        namespaces = access.all_readable(principal)
        every = backups.backups(principal)
        page = page_of(every.select_related("base"), request.GET, of="backups")
        whole = every.filter(upto__isnull=False, policy=ExportPolicy.FULL).order_by("-created_at", "-id")
        bases = list(whole[:BASES])
        running = list(
            rows_of(principal).filter(kind__in=("backup", *PROOFS, "restore"), state__in=operations.OPEN)[:5]
        )
    context = {
        "rows": page.rows,
        "older": page.older,
        "running": running,
        "proofs": backups.backup_status(principal, now=now),
        "policies": ExportPolicy.values,
        "namespaces": namespaces,
        "bases": bases,
        "most_bases": BASES,
        **times_of(request, "backups"),
        "refusal": refusal,
        "kept": request.POST,
        "chosen": request.POST.getlist("namespaces"),
        "now": now,
    }
    return render(request, "console/backups.html", context, status=409 if refusal else 200)


def _start_operation(request: Any, kind: str, options: dict[str, Any]) -> HttpResponse | None:
    """Lead to the operation that was started; None when it was refused (`request.refusal`)."""
    arguments: dict[str, Any] = {"kind": kind, "namespace": None, "options": options}
    made, request.refusal = run_action(lambda: jobs.start(request.principal, **arguments, now=timezone.now()))
    if made is None:
        return None
    return HttpResponseRedirect(reverse("console:operation", args=[made.id]), status=303)


@require_safe
@never_cache
@member
def one(request: Any, backup_id: uuid.UUID) -> HttpResponse:
    """Return what it holds and how far it was proven."""
    request.principal.require(Verb.ADMIN)
    return _page(request, backups.get_backup(request.principal, backup_id))


def _page(request: Any, row: Backup, refusal: Refusal | None = None) -> HttpResponse:
    places = by_agent(row.namespaces)
    context = {"row": row, "places": places, "refusal": refusal, "kept": request.POST, "now": timezone.now()}
    return render(request, "console/backup.html", context, status=409 if refusal else 200)


@takes_form
@member
def prove(request: Any, backup_id: uuid.UUID, kind: str) -> HttpResponse:
    """Verify or drills it."""
    request.principal.require(Verb.ADMIN)
    if kind not in PROOFS:
        raise Http404
    row = backups.get_backup(request.principal, backup_id)
    return _start_operation(request, kind, {"backup_id": str(row.id)}) or _page(request, row, request.refusal)


@takes_form
@member
def protect(request: Any, backup_id: uuid.UUID) -> HttpResponse:
    """Keep it from retention, or lets go of it."""
    request.principal.require(Verb.ADMIN)
    row = backups.get_backup(request.principal, backup_id)
    protected, there = request.POST.get("protected") == "yes", reverse("console:backup", args=[row.id])
    backups.protect(request.principal, row.id, protected=protected)
    message = "The backup is protected" if protected else "The backup is protected no more"
    offer_undo(request, message, request.path, there=there, protected="no" if protected else "yes")
    return HttpResponseRedirect(there, status=303)


@takes_form
@member
def delete(request: Any, backup_id: uuid.UUID) -> HttpResponse:
    """Delete it with its file, once its date was typed."""
    request.principal.require(Verb.ADMIN)
    row = backups.get_backup(request.principal, backup_id)
    if request.POST.get("confirm", "").strip() != f"{row.created_at:%Y-%m-%d}":
        return _page(request, row, Refusal("Nothing was deleted", "Type the backup’s date to delete it."))
    _, refusal = run_action(lambda: backups.delete(request.principal, row.id))
    return _page(request, row, refusal) if refusal else HttpResponseRedirect(reverse("console:backups"), status=303)


@require_safe
@never_cache
@member
def download(request: Any, backup_id: uuid.UUID) -> Any:
    """Return the file."""
    request.principal.require(Verb.ADMIN)
    row = backups.get_backup(request.principal, backup_id)
    file, refusal = run_action(lambda: backups.storage.open_file(row.file))
    if file is None:
        return _page(request, row, refusal)
    return FileResponse(file, as_attachment=True, filename=row.file, content_type="application/gzip")


@takes_form
@csrf_exempt  # whose check reads the form, which may not fit on the disk; `_taken` checks it
def upload(request: Any) -> HttpResponse:
    """Take a file in from elsewhere, and leads to its restore; one that is too big for the disk is told as that."""
    file, refusal = run_action(lambda: request.FILES.get("upload"))
    return _unreadable_upload(request, refusal) if refusal else _taken(request, file)


@member
def _unreadable_upload(request: Any, refusal: Refusal) -> HttpResponse:
    request.principal.require(Verb.ADMIN)
    return _list(request, refusal)


@csrf_protect
@member
def _taken(request: Any, file: Any) -> HttpResponse:
    request.principal.require(Verb.ADMIN)
    if file is None:
        return _list(request, Refusal("Nothing was sent", "Choose a backup file first."))
    taking = partial(backups.import_bundle, request.principal, file, is_read_whole=True)
    row, refusal = run_action(lambda: taking(now=timezone.now()))
    if row is None:
        return _list(request, refusal)
    return HttpResponseRedirect(reverse("console:restore-backup", args=[row.id]), status=303)


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """The plan of a restore with what it says, and the run that it was used for."""

    operation: Operation
    told: ReportText
    run: Operation | None

    @property
    def is_ready(self) -> bool:
        """Whether it was made."""
        return bool(self.operation.state == OperationState.SUCCEEDED)


def _plan(principal: Principal, backup: Backup, wanted: str) -> ShownPlan | None:
    """Return the plan of this backup with that id; the newest one when none is named. Raise NotFound."""
    with access.enter(principal, why="console"):
        rows = rows_of(principal).filter(kind="restore", dry_run=True, options__backup_id=str(backup.id))
        made = rows.filter(id=id_of(wanted)).first() if wanted else rows.first()
        if made is None:
            if wanted:
                raise NotFound("plan")
            return None
        run = operations.runs_of(made).first()
    return ShownPlan(made, report_of(principal, backup.file, made.report or {}, salt=salt_of(made)), run)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def restore(request: Any, backup_id: uuid.UUID) -> HttpResponse:
    """The steps of a restore; POST plans (`step=plan`) or does it (`step=apply`), as it was planned and confirmed."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    try:
        row = backups.get_backup(principal, backup_id)
    except NotFound:
        return _without_backup(request)
    if request.method != "POST":
        return _restore_page(request, row, _plan(principal, row, request.GET.get("plan", "")))
    if request.POST.get("step") == "plan":
        return _planned(request, row)
    plan = _plan(principal, row, wanted) if (wanted := request.POST.get("plan", "")) else None
    if refusal := _unconfirmed(request, plan):
        return _restore_page(request, row, plan or _plan(principal, row, ""), refusal)
    assert plan is not None  # it was confirmed
    options = {**plan.operation.options, "plan_id": str(plan.operation.id)}
    options |= {ACCEPT: True} if request.POST.get(ACCEPT) == "yes" else {}
    return _start_operation(request, "restore", options) or _restore_page(request, row, plan, request.refusal)


def _without_backup(request: Any) -> HttpResponse:
    """Lead from a plan whose backup went, such as a damaged upload, to the operation that says why. Raise NotFound."""
    wanted = request.GET.get("plan", "")
    with access.enter(request.principal, why="console"):
        rows = rows_of(request.principal).filter(kind="restore", dry_run=True)
        made = rows.filter(id=id_of(wanted)).first() if wanted else None
    if made is None:
        raise NotFound("backup")
    there = reverse("console:operation", args=[made.id])
    return HttpResponseClientRedirect(there) if request.htmx else HttpResponseRedirect(there, status=303)


def _planned(request: Any, row: Backup) -> HttpResponse:
    options: dict[str, Any] = {"backup_id": str(row.id)}
    options |= {"trust_signer": row.signer} if request.POST.get("trust") == "yes" and row.signer else {}
    options |= {"allow_version": True} if request.POST.get("allow_version") == "yes" else {}
    options |= _place_wished(request, row)
    arguments: dict[str, Any] = {"kind": "restore", "namespace": None, "options": options, "dry_run": True}
    made, refusal = run_action(lambda: jobs.start(request.principal, **arguments, now=timezone.now()))
    if made is None:  # a former plan is of something else
        return _restore_page(request, row, None, refusal)
    there = reverse("console:restore-backup", args=[row.id])
    return HttpResponseRedirect(f"{there}?plan={made.id}", status=303)


def _place_wished(request: Any, row: Backup) -> dict[str, str]:
    """Return into which new namespace it shall go, and which one of several; the name of a branch alone will do."""
    into, namespace = (request.POST.get(name, "").strip() for name in ("into", "namespace"))
    if namespace and namespace not in _roots(row):
        raise Http404
    if not into:
        return {}
    into = into if ":" in into else f"{request.principal.project}:{into}"
    return {"into": into, **({"namespace": namespace} if namespace else {})}


def _roots(row: Backup) -> list[str]:
    """Return the namespaces of a backup, without the scopes of users."""
    return sorted({parts_of(name)[0] for name in row.namespaces})


def _unconfirmed(request: Any, plan: ShownPlan | None) -> Refusal | None:
    if plan is None or not plan.is_ready:
        return Refusal("Nothing was changed", "Make a plan first.")
    if not plan.told.changes_anything:
        return Refusal("Nothing was changed", "This plan changes nothing.")
    if request.POST.get("confirm", "").strip() != request.principal.project:
        return Refusal("Nothing was changed", f"Type {request.principal.project} to confirm.")
    return None


def _restore_page(request: Any, row: Backup, plan: ShownPlan | None, refusal: Refusal | None = None) -> HttpResponse:
    waits = plan is not None and plan.operation.state in operations.OPEN
    polled = request.htmx and request.method == "GET"
    if polled and not waits:
        return HttpResponseClientRefresh()
    part = "#planned" if polled else ""
    foreign = row.signer not in backups.restoration.trusted_signers()
    context: dict[str, Any] = {
        "row": row,
        "plan": plan,
        "waits": waits,
        "foreign": foreign,
        "refusal": refusal,
        "now": timezone.now(),
    }
    planned = plan.operation.options if plan else {}
    context |= {"roots": _roots(row), "kept": request.POST, "may_trust": request.principal.is_operator}
    context["wished_namespace"] = request.POST.get("namespace") or planned.get("namespace")
    with access.enter(request.principal, why="console"):
        context["has_checks"] = recall_checks.checks_of(request.principal).exists()
    return render(request, f"console/restore.html{part}", context, status=409 if refusal else 200)
