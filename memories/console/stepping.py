"""The steps of a plan, page by page, and the ticks that a person took away from some of them."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import Http404

from memories.models import Operation, PlanStep

PAGE = 50
TICKS = "plan-ticks"
PLANS = 20  # whose ticks a session keeps
# What a phase does to a memory, and to the one beside it.
SAID = {
    "deduplicate": ("Merge into its twin", "stays"),
    "contradictions": ("Decide on", "concerns"),
    "corroborate": ("Count as another source", "is confirmed"),
    "digest": ("Put into a digest", ""),
    "decay": ("Make cold", ""),
    "archive": ("Archive, for it faded", ""),
    "prune": ("Archive, for it was replaced or disputed", ""),
}


@dataclass(frozen=True, slots=True)
class PhaseSteps:
    """The steps of a phase that stand on a page."""

    name: str
    says: str
    other_says: str
    steps: list[PlanStep]


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
    """A page of the steps. Inside `access.enter`. Raises Http404 for a page that is not there."""
    steps = PlanStep.objects.within(row.project_id).filter(operation=row).select_related("fragment", "other")
    total, first = steps.count(), (number - 1) * PAGE
    if number > 1 and first >= total:
        raise Http404
    shown = steps.order_by("ordinal")[first : first + PAGE]
    phases = [PhaseSteps(phase, *SAID[phase], list(group)) for phase, group in groupby(shown, key=lambda s: s.phase)]
    return StepPage(phases, number, total, left_out)


def page_number(text: str) -> int:
    """The number of a page, 1 for none. Raises Http404 for what is no number."""
    if not text:
        return 1
    if not (text.isascii() and text.isdigit() and int(text[:6]) > 0 and len(text) <= 6):
        raise Http404
    return int(text)


def left_out(request: Any, plan: uuid.UUID) -> set[int]:
    """The steps of a plan from which this person took the tick away."""
    return set(_kept(request).get(str(plan), []))


def noted(request: Any, plan: uuid.UUID) -> set[int]:
    """The same once the shown steps stand as the form has them; kept for the last few plans."""
    shown, ticked = (
        {int(n) for n in request.POST.getlist(name) if n.isascii() and n.isdigit() and len(n) < 10}
        for name in ("shown", "step")
    )
    left = (left_out(request, plan) - shown) | (shown - ticked)
    others = {of: steps for of, steps in _kept(request).items() if of != str(plan)}
    latest = dict(list(others.items())[-(PLANS - 1) :])
    request.session[TICKS] = latest | {str(plan): sorted(left)}
    return left


def _kept(request: Any) -> dict[str, list[int]]:
    """By plan, the plan that was looked through last at the end."""
    kept: dict[str, Any] = request.session.get(TICKS) or {}
    return {} if "plan" in kept else kept  # a session of an earlier version
