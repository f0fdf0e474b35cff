"""/recall/: what the memory has to answer, how that went, and running it."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRefresh

from memories import access, jobs, operations, recall_checks
from memories.access import Principal
from memories.console.auth import member
from memories.console.charts import Chart, stacks
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.namespaces import names
from memories.console.operations import rows_of
from memories.console.undo_strip import show_done
from memories.models import Operation, RecallCheck, RecallRun
from memories.models.enums import Expectation, RecallCause, Verb
from memories.models.recall import TOP_K
from memories.recall_checks import CheckDraft

DRAWN, LISTED = 60, 20
EXPECTATIONS = {"text": "these words", "value": "a claim of this value", "memory": "the memory of this id"}
CAUSES = {
    RecallCause.ASKED: "on demand",
    RecallCause.CONSOLIDATION: "consolidation",
    RecallCause.MERGE: "merge",
    RecallCause.MODEL: "switch of the model",
    RecallCause.RESTORE: "restore",
}
STATES = {True: "passed", False: "failed", None: "never run"}


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run in words, and the operation behind it."""

    row: RecallRun
    why: str

    @property
    def total(self) -> int:
        """How many checks were asked."""
        return int(self.row.passed) + len(self.row.failed)

    @property
    def where(self) -> str:
        """Of what."""
        return self.row.namespace.name if self.row.namespace else "all"

    @property
    def url(self) -> str:
        """The operation that asked; empty for none."""
        return reverse("console:operation", args=[self.row.operation_id]) if self.row.operation_id else ""


@dataclass(frozen=True, slots=True)
class ShownCheck:
    """A check and its state in a word."""

    row: RecallCheck

    @property
    def state(self) -> str:
        """How its last run went."""
        return STATES[self.row.passed]

    @property
    def is_named(self) -> bool:
        """Whether its name says more than its question."""
        return bool(self.row.name != self.row.question[: len(self.row.name)])


@require_safe
@never_cache
@member
def checks(request: Any) -> HttpResponse:
    """Return the checks, those that fail first, and their runs. What htmx polls is the run that lasts."""
    running = _running(request.principal)
    if request.htmx:
        context = {"running": running, "now": timezone.now()}
        return render(request, "console/recall.html#running", context) if running else HttpResponseClientRefresh()
    return _page(request)


def _running(principal: Principal) -> Operation | None:
    with access.enter(principal, why="console"):
        found: Operation | None = rows_of(principal).filter(kind="recall", state__in=operations.OPEN).first()
    return found


def _page(request: Any, refusal: Refusal | None = None) -> HttpResponse:
    principal = request.principal
    with access.enter(principal, why="console"):
        rows = [ShownCheck(row) for row in recall_checks.checks_of(principal).in_order()]
        runs = list(recall_checks.runs_of(principal).order_by("-created_at", "-id")[:DRAWN])
        running, places = _running(principal), names(principal)
    rows.sort(key=lambda check: (check.row.passed is not False, check.row.passed is not None))  # then by name, as read
    shown = [ShownRun(run, CAUSES[RecallCause(run.cause)]) for run in runs]
    passed = sum(check.row.passed is True for check in rows)
    context = {
        "checks": rows,
        "passed": passed,
        "failed": sum(check.row.passed is False for check in rows),
        "never": sum(check.row.passed is None for check in rows),
        "ran": max((check.row.run_at for check in rows if check.row.run_at), default=None),
        "chart": _chart(shown[::-1]),
        "runs": shown[:LISTED],
        "running": running,
        "names": places,
        "expectations": EXPECTATIONS.items(),
        "top_k": TOP_K,
        "may_run": Verb.WRITE in principal.verbs,
        "may_act": Verb.ADMIN in principal.verbs,
        "refusal": refusal,
        "kept": request.POST,
        "now": timezone.now(),
    }
    return render(request, "console/recall.html", context, status=409 if refusal else 200)


def _chart(runs: Sequence[ShownRun]) -> Chart:
    """Check that passed and failed by run, the newest last; a bar leads to its operation."""
    labels = [f"{run.row.created_at:%Y-%m-%d %H:%M:%S}, {run.why}, {run.where}" for run in runs]
    urls = dict(zip(labels, (run.url for run in runs), strict=True))
    drawn = stacks(
        [
            (label, [("passed", run.row.passed), ("failed", len(run.row.failed))])
            for label, run in zip(labels, runs, strict=True)
        ],
        says="checks by run: passed, and failed on top",
        link=lambda label, _: urls[label],
    )
    ends = [f"{run.row.created_at:%Y-%m-%d}" for run in (runs[0], runs[-1])] if runs else ["", ""]
    return Chart(drawn.bars, drawn.width, drawn.says, drawn.most, *ends)


@takes_form
@member
def run(request: Any) -> HttpResponse:
    """Start a run of all checks; none beside one that lasts."""
    request.principal.require(Verb.WRITE)
    if _running(request.principal) is None:
        options: dict[str, Any] = {"kind": "recall", "namespace": None, "options": {}}
        _, refusal = run_action(lambda: jobs.start(request.principal, **options, now=timezone.now()))
        if refusal:
            return _page(request, refusal)
    return HttpResponseRedirect(reverse("console:recall"), status=303)


@takes_form
@member
def keep(request: Any) -> HttpResponse:
    """Keep a check as the form has it."""
    request.principal.require(Verb.ADMIN)
    draft = _draft(request.POST)
    if isinstance(draft, Refusal):
        return _page(request, draft)
    return _kept(request, [draft])


def _draft(form: Mapping[str, str]) -> CheckDraft | Refusal:
    given = {name: form.get(name, "").strip() for name in ("namespace", "question", "expected", "name", "note")}
    expects, places = form.get("expects", ""), form.get("top_k", "").strip() or str(TOP_K)
    if expects not in Expectation.values or any("\0" in text for text in given.values()):
        return Refusal("Nothing was kept", "Say what is expected.")
    if not given["question"] or not given["expected"]:
        return Refusal("Nothing was kept", "Give a question and what has to be among its answers.")
    limits = {"question": 1000, "expected": 1000, "name": 200, "note": 1000}
    if over := next((name for name, most in limits.items() if len(given[name]) > most), None):
        return Refusal("Nothing was kept", f"The {over} is longer than {limits[over]} characters.")
    if not (places.isascii() and places.isdecimal() and len(places) < 4 and 1 <= int(places) <= 100):
        return Refusal("Nothing was kept", "It has to be among the first 1 to 100 answers.")
    if expects == Expectation.MEMORY and not _is_id(given["expected"]):
        return Refusal("Nothing was kept", "A memory is expected by its id, which its page names.")
    return CheckDraft(**given, expects=expects, top_k=int(places))


def _is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _kept(request: Any, drafts: Sequence[CheckDraft]) -> HttpResponse:
    kept, refusal = run_action(lambda: recall_checks.keep(request.principal, drafts, now=timezone.now()))
    if kept is None:
        return _page(request, refusal)
    there, replaced = reverse("console:recall"), sum(replaced for _, replaced in kept)
    message = "1 check is kept" if len(kept) == 1 else f"{len(kept)} checks are kept"
    show_done(request, f"{message}, {replaced} in place of a former one" if replaced else message, there=there)
    return HttpResponseRedirect(there, status=303)


@takes_form
@member
def load(request: Any) -> HttpResponse:
    """Keep all checks of a YAML file, or none."""
    request.principal.require(Verb.ADMIN)
    file, refusal = run_action(lambda: request.FILES.get("file"))
    if file is None:
        return _page(request, refusal or Refusal("Nothing was kept", "Choose a YAML file first."))
    try:
        text = file.read(4 * recall_checks.LARGEST + 1).decode()
    except UnicodeDecodeError:
        return _page(request, Refusal("This file can’t be read", "It is no UTF-8 text."))
    drafts, refusal = run_action(lambda: recall_checks.read_file(text))
    return _page(request, refusal) if drafts is None else _kept(request, drafts)


@require_safe
@never_cache
@member
def export(request: Any) -> HttpResponse:
    """Return all checks as a YAML file."""
    with access.enter(request.principal, why="console"):
        text = recall_checks.written_file(recall_checks.checks_of(request.principal).in_order())
    named = f"recall-{request.principal.project}.yaml"
    return HttpResponse(
        text,
        content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{named}"'},
    )


@takes_form
@member
def delete(request: Any, check_id: uuid.UUID) -> HttpResponse:
    """Delete a check."""
    request.principal.require(Verb.ADMIN)
    row = recall_checks.remove(request.principal, check_id)
    there = reverse("console:recall")
    show_done(request, f"The check “{row.name[:60]}” is deleted", there=there, more="That can’t be undone.")
    return HttpResponseRedirect(there, status=303)
