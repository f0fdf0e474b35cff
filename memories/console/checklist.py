"""The first-run checklist: what to try once, ticked by what really happened."""

import datetime
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from conflicts.resolution import waiting
from memories import access, backups, demo
from memories.models import Fragment, Namespace, Operation
from memories.models.enums import Verb

LONG_AGO = datetime.timedelta(days=25)  # before the story was told: in the middle of it
ASKED_WHY, LOOKED_BACK, HIDDEN = "tour-why", "tour-past", "tour-hidden"


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    """One thing to try, where, and whether it was done."""

    text: str
    url: str
    done: bool


def steps(request: Any) -> list[ChecklistStep]:
    """Return the checklist, for an admin, while the demo story stands and is not hidden; empty otherwise."""
    principal = request.principal
    if request.session.get(HIDDEN) or Verb.ADMIN not in principal.verbs:
        return []
    with access.enter(principal, why="console"):
        namespace = Namespace.objects.within(principal.project_id).filter(name=demo.TOUR).first()
        if namespace is None:
            return []
        settled = waiting(principal, status="resolved").exclude(resolved_by=None).exists()
        looked = Operation.objects.within(principal.project_id).filter(kind="consolidate", dry_run=True).exists()
        saved = backups.backups(principal).filter(verdict="sound").exists()
        own = Fragment.objects.within(principal.project_id).exclude(category="demo").exclude(source_type="digest")
    seen = request.session
    day = (namespace.created_at - LONG_AGO).date()
    then = {"namespace": demo.TOUR, "subject": "user", "predicate": "lives_in", "day": day.isoformat()}
    return [
        ChecklistStep("Settle a conflict: is the travel budget $750 or $0?", reverse("console:review"), settled),
        ChecklistStep(
            "Ask “where does the user live?” and press w to see why",
            reverse("console:memories") + "?q=where+does+the+user+live%3F",
            bool(seen.get(ASKED_WHY)),
        ),
        ChecklistStep(
            f"See what was believed in {day:%B}",
            f"{reverse('console:beliefs')}?{urlencode(then)}",
            bool(seen.get(LOOKED_BACK)),
        ),
        ChecklistStep("Preview a consolidation", reverse("console:consolidation"), looked),
        ChecklistStep("Make a backup and verify it", reverse("console:backups"), saved),
        ChecklistStep("Store your own first memory", reverse("console:connect"), own_memory(principal, own)),
    ]


def own_memory(principal: Any, rows: Any) -> bool:
    """Return whether somebody stored something that is not of the story."""
    with access.enter(principal, why="console"):
        return bool(rows.exists())
