"""/namespaces/: the tree of forks; fork, merge after a look at it, delete one, or the project."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Max
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from memories import access, jobs, operations
from memories.access import NotFound, Principal, users
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.memory_lists import MemoryList, report_lists
from memories.console.operations import id_of, place_of, rows_of
from memories.console.recall_losses import lost_checks
from memories.console.undo_strip import show_done
from memories.models import Fragment, Namespace, Operation, RecallCheck
from memories.models.enums import OperationState, Verb
from memories.models.namespace import FORM
from memories.namespaces import count_project
from memories.operations import ACCEPT

FIRST = 5  # users of a namespace in the tree


@dataclass(slots=True)
class Branch:
    """A namespace with its users and its forks."""

    row: Namespace
    fragments: int
    newest: Any
    people: users.Below | None = None
    forks: list["Branch"] = field(default_factory=list)

    @property
    def memories(self) -> int:
        """How many its list shows: its own and its users'."""
        return self.fragments + (self.people.memories if self.people else 0)


def tree(principal: Principal) -> list[Branch]:
    """Return the namespaces that are no forks, each with what was forked from it."""
    with access.enter(principal, why="console"):
        rows = access.all_readable(principal)
        counted = Fragment.objects.within(principal.project_id).in_namespaces(rows).order_by().values("namespace")
        counts = {c["namespace"]: c for c in counted.annotate(n=Count("id"), newest=Max("created_at"))}
        people = users.users_by_namespace(principal, each=FIRST)
    branches = {row.id: Branch(row, *_numbers(counts.get(row.id)), people.get(row.id)) for row in rows}
    roots: list[Branch] = []
    for row in rows:
        above = branches.get(row.forked_from_id) if row.forked_from_id else None
        (above.forks if above and above.row.id != row.id else roots).append(branches[row.id])
    return roots


def _numbers(found: dict[str, Any] | None) -> tuple[int, Any]:
    return (found["n"], found["newest"]) if found else (0, None)


@require_safe
@never_cache
@member
def namespaces(request: Any) -> HttpResponse:
    """Return the tree."""
    return _page(request)


def _page(request: Any, refusal: Refusal | None = None) -> HttpResponse:
    roots = tree(request.principal)
    context = {
        "roots": roots,
        "places": sorted(_places(roots)),
        "may_act": Verb.ADMIN in request.principal.verbs,
        "refusal": refusal,
        "kept": request.POST,
        "now": timezone.now(),
    }
    if context["may_act"]:
        context["holds"] = count_project(request.principal)
    return render(request, "console/namespaces.html", context, status=409 if refusal else 200)


def names(principal: Principal) -> list[str]:
    """Return the namespaces by name, without the scopes of users."""
    with access.enter(principal, why="console"):
        return [row.name for row in access.all_readable(principal)]


def _places(branches: list[Branch]) -> list[tuple[str, int]]:
    """Return the names of all namespaces, with how many memories each holds, its users' among them."""
    own = [(branch.row.name, branch.memories) for branch in branches]
    return [*own, *(place for branch in branches for place in _places(branch.forks))]


def _start(request: Any, **options: Any) -> Operation | None:
    made, request.refusal = run_action(lambda: jobs.start(request.principal, **options, now=timezone.now()))
    return made


def _redirect(made: Operation | None) -> HttpResponse | None:
    return HttpResponseRedirect(reverse("console:operation", args=[made.id]), status=303) if made else None


@takes_form
@member
def fork(request: Any) -> HttpResponse:
    """Copy a namespace into a new one."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    source, target = place_of(principal, request.POST.get("source", "")), request.POST.get("target", "").strip()
    target = target if ":" in target else f"{principal.project}:{target}"
    if not FORM.fullmatch(target) or not principal.covers(target):
        return _page(request, Refusal("Nothing was forked", "Use lower-case letters, digits, dots and dashes."))
    made = _start(request, kind="fork", namespace=source, options={"target": target})
    if made is None:
        return _page(request, request.refusal)
    there = reverse("console:operation", args=[made.id])
    show_done(request, f"The fork of {source.name} into {target} was begun", there=there)
    return HttpResponseRedirect(there, status=303)


@takes_form
@member
def delete(request: Any) -> HttpResponse:
    """Delete a namespace with all that it holds, once its name was typed."""
    request.principal.require(Verb.ADMIN)
    row = place_of(request.principal, request.POST.get("name", ""))
    if request.POST.get("confirm", "").strip() != row.name:
        return _page(request, Refusal("Nothing was deleted", f"Type {row.name} to delete it."))
    made = _start(request, kind="delete", namespace=None, options={"namespace": row.name})
    return _redirect(made) or _page(request, request.refusal)


@takes_form
@member
def delete_project(request: Any) -> HttpResponse:
    """Delete the project with all that it holds, once its name was typed; not when it holds more or less than shown."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    if request.POST.get("confirm", "").strip() != principal.project:
        return _page(request, Refusal("Nothing was deleted", f"Type {principal.project} to delete the project."))
    with access.enter(principal, why="delete project"):
        held = count_project(principal).memories
        if request.POST.get("expected_count") != str(held):
            changed = f"The project holds {held} by now, which is not what the page showed. Look again."
            return _page(request, Refusal("Nothing was deleted", changed))
        made = _start(request, kind="delete_project", namespace=None, options={"project": principal.project})
    return _redirect(made) or _page(request, request.refusal)


@dataclass(frozen=True, slots=True)
class Look:
    """What a merge would do, list by list; and the merge that it was used for."""

    operation: Operation
    lists: list[MemoryList]
    run: Operation | None
    lost: list[RecallCheck]

    @property
    def is_ready(self) -> bool:
        """Whether it was worked out."""
        return bool(self.operation.state == OperationState.SUCCEEDED)

    @property
    def waits(self) -> bool:
        """Whether it is being worked out."""
        return self.operation.state in operations.OPEN


def _load_preview(principal: Principal, source: str, target: Namespace, wanted: str) -> Look | None:
    """Return the preview with that id; the newest one when none is named. Raise NotFound."""
    with access.enter(principal, why="console"):
        rows = rows_of(principal).filter(kind="merge", dry_run=True, namespace=target, options__source=source)
        made = rows.filter(id=id_of(wanted)).first() if wanted else rows.first()
        if made is None and wanted:
            raise NotFound("preview")
        if made is None:
            return None
        report = made.report or {}
        return Look(
            made, report_lists(principal, report), operations.runs_of(made).first(), lost_checks(principal, report)
        )


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def merge(request: Any, name: str) -> HttpResponse:
    """Return a merge before it is done: `step=look` works it out, `step=merge` does what was looked at."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    source = place_of(principal, name)
    params = request.POST if request.method == "POST" else request.GET
    wanted, preview = params.get("target", ""), params.get("preview", "")
    origin = _origin_of(principal, source)
    targets = [name for name, _ in _places(tree(principal)) if name != source.name]
    targets.sort(key=lambda name: name != origin)  # the first one is chosen until another one is
    if wanted and wanted not in targets:
        raise Http404
    target = place_of(principal, wanted) if wanted else None
    found = _load_preview(principal, source.name, target, preview) if target else None
    if request.method == "POST" and target and (led := _merged(request, source, target, found if preview else None)):
        return led
    refusal = getattr(request, "refusal", None)
    context = {"source": source, "target": target, "targets": targets, "look": found, "refusal": refusal}
    if request.htmx and request.method == "GET" and found:
        return render(request, "console/merge.html#waiting", context) if found.waits else HttpResponseClientRefresh()
    return render(request, "console/merge.html", {**context, "now": timezone.now()}, status=409 if refusal else 200)


def _origin_of(principal: Principal, source: Namespace) -> str:
    """Return the namespace that a branch was forked from; "" where it is none, or that is gone."""
    if source.forked_from_id is None:
        return ""
    with access.enter(principal, why="console"):
        origin = Namespace.objects.within(principal.project_id).filter(id=source.forked_from_id).first()
    return origin.name if origin else ""


def _merged(request: Any, source: Namespace, target: Namespace, look: Look | None) -> HttpResponse | None:
    """Look, or merges what was looked at; None when it was refused (`request.refusal`)."""
    options: dict[str, Any] = {"kind": "merge", "namespace": target, "options": {"source": source.name}}
    if only := request.POST.getlist("only") or (look.operation.options.get("only", []) if look else []):
        options["options"]["only"] = only
    if request.POST.get("step") != "merge":
        made = _start(request, **options, dry_run=True)
        params = urlencode({"target": target.name, "preview": made.id}) if made else ""
        there = reverse("console:merge", args=[source.name])
        return HttpResponseRedirect(f"{there}?{params}", status=303) if made else None
    if look is None or not look.is_ready:
        request.refusal = Refusal("Nothing was merged", "Preview it first.")
        return None
    options["options"]["plan_id"] = str(look.operation.id)
    if request.POST.get(ACCEPT) == "yes":
        options["options"][ACCEPT] = True
    return _redirect(_start(request, **options))
