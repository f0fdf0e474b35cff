"""What was settled lately: by whom, when and how; and what a refusal is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from conflicts.resolution import waiting, with_claims
from conflicts.resolution.review_queue import unforked
from conflicts.rulings import of_conflicts
from memories.access import Principal
from memories.console.decisions import DecisionNotice
from memories.console.errors import Refusal
from memories.console.pagination import Page, page_of
from memories.console.review_items import headline_of, names_of, outcome_of


@dataclass(frozen=True, slots=True)
class Settled:
    """One decision."""

    row: Any
    text: str
    by: str
    outcome: str


@dataclass(frozen=True, slots=True)
class DecisionAbout:
    """A refusal, and the conflict that it is about; no text where that is gone."""

    conflict_id: Any
    text: str
    refusal: Refusal | None


def list_settled(principal: Principal, query: QueryDict, *, namespace: str = "") -> Page:
    """Return what people have settled and not taken back, the newest first; of a branch its copies, too.

    Inside `access.enter`. Raise NotFound for a namespace that is not covered.
    """
    rows = waiting(principal, status="resolved", namespace=namespace or None).filter(resolved_by__isnull=False)
    page = page_of(rows if namespace else unforked(rows), query, of="review", by="resolved_at")
    names = names_of(principal, [row.resolved_by for row in page.rows])
    left = of_conflicts(principal.project_id, [row.id for row in page.rows])
    found = [
        Settled(row, headline_of(row), names.get(row.resolved_by, ""), outcome_of(row, left.get(row.id)))
        for row in with_claims(page.rows)
    ]
    return Page(found, page.older)


def describe_refusals(principal: Principal, refused: Sequence[DecisionNotice]) -> list[DecisionAbout]:
    """Return each refusal with what it is about. Inside `access.enter`."""
    if not refused:
        return []
    rows = waiting(principal, status="all").filter(id__in=[refused_row.conflict_id for refused_row in refused])
    texts = {row.id: headline_of(row) for row in with_claims(rows)}
    return [
        DecisionAbout(refused_row.conflict_id, texts.get(refused_row.conflict_id, ""), refused_row.refusal)
        for refused_row in refused
    ]
