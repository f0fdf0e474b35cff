"""How a stored memory, and several at once, are answered."""

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.response import Response

from conflicts.public import Admission
from memories import upkeep
from memories.access import NotFound, Principal
from memories.models import Fragment, Project
from memories.models.answer_rows import load_answer_rows
from memories.providers import active_model
from memories.rest.answers import answers, stored

IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key and body give one effect, kept 48 h."
)


def _rows(principal: Principal, ids: list[uuid.UUID]) -> dict[uuid.UUID, Fragment]:
    return {row.id: row for row in load_answer_rows(principal.project_id, ids)}


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
    """Return one answer per item, in order; of one whose text was forgotten, only that.

    Of one that claims nothing and did nothing to others everything is known: it is not read again.
    """
    admissions = [admission for admission in each if admission is not None]
    rows = _as_known(principal, admissions)
    rows |= _rows(principal, [one.fragment.id for one in admissions if one.fragment.id not in rows])
    found = [rows.get(one.fragment.id) or _as_stored(one.fragment) for one in admissions]
    answer = iter(stored(admissions, found, now=timezone.now(), model=principal.active_model))
    return [BLOCKED if admission is None else next(answer) for admission in each]


def _as_known(principal: Principal, admissions: Sequence[Admission]) -> dict[uuid.UUID, Fragment]:
    """Return by id those that stand as they were made, with all that an answer shows."""
    times = Counter(one.fragment.id for one in admissions)
    project = Project(id=principal.project_id, name=principal.project)
    model = principal.active_model or active_model()
    return {
        one.fragment.id: _as_stored(one.fragment, project, [] if one.embedded_by == model.id else [str(model.id)])
        for one in admissions
        # The database writes numbers of `extra` in its own way.
        if one.as_made and times[one.fragment.id] == 1 and not one.fragment.extra
    }


def _as_stored(fragment: Any, project: Project | None = None, waiting_for: Sequence[str] = ()) -> Fragment:
    """Return what was stored as it was made: somebody may have forgotten it since."""
    fragment.linked, fragment.replaced, fragment.waiting_for, fragment.contested = [], [], waiting_for, []
    fragment.claims_made, fragment.doubted = [], []
    if project is not None:
        fragment.project = project
        fragment._state.fields_cache |= {"access": None, "claim": None}
    made: Fragment = fragment
    return made


def readable_fragment(principal: Principal, fragment_id: uuid.UUID) -> Fragment:
    """Return one fragment with everything an answer shows. Raise NotFound."""
    row = _load(principal, [fragment_id]).get(fragment_id)
    if row is None:
        raise NotFound("fragment")
    return row


def answer_of(principal: Principal, fragment_id: uuid.UUID) -> dict[str, Any]:
    """Return one fragment as the API shows it. Raise NotFound."""
    return answers([readable_fragment(principal, fragment_id)], now=timezone.now())[0]


def with_capacity(principal: Principal, answer: Response, *, stored: int) -> Response:
    """Say in a header how full the project is: `X-NovaMem-Capacity: 0.7312; warning`."""
    full = upkeep.lifecycle.after_storing(principal, stored)
    answer.headers["X-NovaMem-Capacity"] = f"{full.ratio:.4f}; {full.status}"
    return answer
