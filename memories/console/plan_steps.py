"""The steps of a plan, page by page, and the ticks that a person took away from some of them."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import Http404

from conflicts.public import ClaimDraft
from memories.extraction import restated_claims
from memories.models import Fragment, Operation, PlanStep
from memories.models.enums import OperationState

PAGE = 50
TICKS = "plan-ticks"
PLANS = 20  # whose ticks a session keeps
# What a step is to do to a memory, what it did, and how the memory beside it is called; by phase and action.
SAID = {
    ("deduplicate", "merge"): ("Merge into its twin", "Merged into its twin", "stays"),
    ("contradictions", "claims"): ("Read as a claim", "Was read as a claim", ""),
    ("contradictions", "wins"): ("Read as a claim, which wins", "Was read as a claim, which won", "gives way"),
    ("contradictions", "repeats"): (
        "Replace by one that says the same",
        "Was replaced by one that says the same",
        "stays",
    ),
    ("contradictions", "outdated"): ("Replace by a later one", "Was replaced by a later one", "stays"),
    ("contradictions", "loses"): ("Send to review", "Went to review", "stands against it"),
    ("contradictions", "barred"): (
        "Archive, for a person rejected the like",
        "Archived, for a person rejected the like",
        "",
    ),
    ("contradictions", "answered"): (
        "Wait no longer, for another says it",
        "Waits no longer, for another says it",
        "stays",
    ),
    ("contradictions", "returns"): (
        "Let back, for nothing opposes it",
        "Came back, for nothing opposes it",
        "gives way",
    ),
    ("corroborate", "corroborate"): ("Confirm", "Was confirmed", "is another source"),
    ("digest", "digest"): ("Put into a digest", "Went into a digest", ""),
    ("decay", "cool"): ("Make cold", "Went cold", ""),
    ("archive", "archive"): ("Archive, for it faded", "Archived, for it faded", ""),
    ("prune", "superseded"): ("Archive, for it was replaced", "Archived, for it was replaced", ""),
    ("prune", "disputed"): ("Archive, for it was disputed", "Archived, for it was disputed", ""),
}


@dataclass(frozen=True, slots=True)
class ToldStep:
    """A step in words: what becomes of its memory, what that is read to claim, and which other one it is about."""

    row: PlanStep
    says: str
    other_says: str
    claim: ClaimDraft | None
    # How many more it is about; the digest that was made of it.
    more: int
    digest: str


@dataclass(frozen=True, slots=True)
class PhaseSteps:
    """The steps of a phase that stand on a page."""

    name: str
    steps: list[ToldStep]


@dataclass(frozen=True, slots=True)
class StepPage:
    """One page of a plan's steps; `left_out` are the ordinals without a tick, on all pages."""

    phases: list[PhaseSteps]
    number: int
    total: int
    left_out: Collection[int]

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.total // PAGE))

    @property
    def before(self) -> int:
        """The page before; 0 for none."""
        return self.number - 1

    @property
    def after(self) -> int:
        """The page after; 0 for none."""
        return self.number + 1 if self.number < self.pages else 0


def steps_of(row: Operation, *, number: int, left_out: Collection[int]) -> StepPage:
    """Return a page of the steps of a plan, or of those that a run applied. Inside `access.enter`.

    Raise Http404 for a page that is not there.
    """
    report, done = row.report or {}, row.state == OperationState.SUCCEEDED and not row.dry_run
    steps = PlanStep.objects.within(row.project_id).filter(operation=report.get("plan_id", row.id))
    if not row.dry_run:
        steps = steps.exclude(ordinal__in=[*row.options.get("leave_out", []), *report.get("left", [])])
    total, first = steps.count(), (number - 1) * PAGE
    if number > 1 and first >= total:
        raise Http404
    shown = steps.select_related("fragment__claim", "other").order_by("ordinal")[first : first + PAGE]
    entries = [_describe_step(step, done=done, made=done and "undone" not in report) for step in shown]
    phases = [PhaseSteps(phase, list(group)) for phase, group in groupby(entries, key=lambda step: step.row.phase)]
    return StepPage(phases, number, total, left_out)


def _describe_step(step: PlanStep, *, done: bool, made: bool) -> ToldStep:
    request, did, other = SAID.get((step.phase, step.action), (step.action, step.action, "concerns"))
    return ToldStep(
        row=step,
        says=did if done else request,
        other_says=other,
        claim=_claim(step.fragment) if step.phase == "contradictions" else None,
        more=max(0, len(step.details.get("others", [])) - 1),
        digest=step.details.get("digest", "") if made else "",
    )


def _claim(row: Fragment) -> ClaimDraft | None:
    """Return what a memory claims, or is read to claim."""
    claim = getattr(row, "claim", None)
    return ClaimDraft.of(claim) if claim else next(iter(restated_claims(row).claims_for(row)), None)


def page_number(text: str) -> int:
    """Return the number of a page, 1 for none. Raise Http404 for what is no number."""
    if not text:
        return 1
    if not (text.isascii() and text.isdigit() and int(text[:6]) > 0 and len(text) <= 6):
        raise Http404
    return int(text)


def left_out(request: Any, plan: uuid.UUID) -> set[int]:
    """Return the steps of a plan from which this person took the tick away."""
    return set(_last_plans(request).get(str(plan), []))


def noted(request: Any, plan: uuid.UUID) -> set[int]:
    """Return the same once the shown steps stand as the form has them; kept for the last few plans."""
    shown, ticked = (
        {int(n) for n in request.POST.getlist(name) if n.isascii() and n.isdigit() and len(n) < 10}
        for name in ("shown", "step")
    )
    left = (left_out(request, plan) - shown) | (shown - ticked)
    others = {of: steps for of, steps in _last_plans(request).items() if of != str(plan)}
    latest = dict(list(others.items())[-(PLANS - 1) :])
    request.session[TICKS] = latest | {str(plan): sorted(left)}
    return left


def _last_plans(request: Any) -> dict[str, list[int]]:
    """Return by plan, the plan that was looked through last at the end."""
    kept: dict[str, Any] = request.session.get(TICKS) or {}
    return {} if "plan" in kept else kept  # a session of an earlier version
