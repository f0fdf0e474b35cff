"""How a stored memory, and several at once, are answered."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter

from conflicts.public import Admission
from memories.access import NotFound, Principal
from memories.models import Fragment
from memories.rest.answers import answers, stored

IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key and body give one effect, kept 48 h."
)


def _rows(principal: Principal, ids: list[uuid.UUID]) -> dict[uuid.UUID, Fragment]:
    rows = Fragment.objects.within(principal.project_id).for_answers().filter(id__in=ids)
    return {row.id: row for row in rows}


def _load(principal: Principal, ids: list[uuid.UUID]) -> dict[uuid.UUID, Fragment]:
    rows = _rows(principal, ids)
    return {each: row for each, row in rows.items() if principal.covers_reading(row.namespace.name)}


def stored_answers(principal: Principal, admissions: list[Admission]) -> list[dict[str, Any]]:
    """Return one answer per admission, in order."""
    fragments = [admission.fragment for admission in admissions]
    rows = _rows(principal, [fragment.id for fragment in fragments])
    return stored(
        admissions,
        [rows.get(row.id) or _as_stored(row) for row in fragments],
        now=timezone.now(),
        model=principal.active_model,
    )


BLOCKED = {"status": "blocked_by_erasure", "code": "blocked_by_erasure"}


def batch_answers(principal: Principal, each: Sequence[Admission | None]) -> list[dict[str, Any]]:
    """Return one answer per item, in order; of one whose text was forgotten, only that."""
    answer = iter(stored_answers(principal, [admission for admission in each if admission is not None]))
    return [BLOCKED if admission is None else next(answer) for admission in each]


def _as_stored(fragment: Any) -> Fragment:
    """Return what was stored, when somebody has forgotten it since."""
    fragment.linked, fragment.replaced, fragment.waiting_for, fragment.contested = [], [], [], []
    fragment.further, fragment.doubted = [], []
    stored: Fragment = fragment
    return stored


def readable_fragment(principal: Principal, fragment_id: uuid.UUID) -> Fragment:
    """Return one fragment with everything an answer shows. Raise NotFound."""
    row = _load(principal, [fragment_id]).get(fragment_id)
    if row is None:
        raise NotFound("fragment")
    return row


def answer_of(principal: Principal, fragment_id: uuid.UUID) -> dict[str, Any]:
    """Return one fragment as the API shows it. Raise NotFound."""
    return answers([readable_fragment(principal, fragment_id)], now=timezone.now())[0]
