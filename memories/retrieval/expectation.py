"""Expectation: at which stage, and why, a fragment dropped out that the caller expected to answer."""

import datetime
from dataclasses import fields
from typing import Any

from memories.access import Principal
from memories.models import Claim, Fragment, PendingEmbedding
from memories.retrieval.questions import Filters, Question
from memories.retrieval.scope import Places
from memories.retrieval.trace import REASONS, Path, Stage, Trail


def explain_expected(
    principal: Principal, question: Question, places: Places, trail: Trail, *, now: datetime.datetime
) -> dict[str, Any]:
    """{id, stage, reason, …}: where the expected fragment's way ended. A foreign one looks like a missing one."""
    row = Fragment.objects.within(principal.project_id).select_related("namespace").filter(id=question.expect).first()
    if row is None or not principal.covers_reading(row.namespace.name):
        return _told(question, Stage.UNKNOWN)
    if path := trail.paths.get(row.id):
        return {"id": str(row.id), **path.told(bm25=trail.bm25.get(row.id))}
    if not places.reaches(row.namespace):
        return _told(question, Stage.NAMESPACE)
    if row.status not in question.filters.statuses:
        return _told(question, Stage.STATUS, status=row.status)
    claims = Claim.objects.within(principal.project_id).filter(fragment=row)
    if claims.exists() and not claims.filter(question.reach(now).conditions()).exists():
        return _told(question, Stage.REACH)
    if failed := _failed(row, question.filters):
        return _told(question, Stage.FILTERS, filters=failed)
    if not question.top_k:
        return _told(question, Stage.TOP_K)
    waiting = PendingEmbedding.objects.within(principal.project_id).filter(fragment=row).exists()
    return _told(question, Stage.CANDIDATES, embedding="pending" if waiting else "ready")


def _failed(row: Fragment, filters: Filters) -> list[str]:
    """Return the names of the filters that the fragment does not pass."""
    names = [field.name for field in fields(Filters) if field.name not in ("status_filter", "include_all")]
    alone = {name: Filters(**{name: getattr(filters, name)}).conditions() for name in names}
    here = Fragment.objects.within(row.project_id).filter(id=row.id)
    return [name for name, condition in alone.items() if condition and not here.filter(condition).exists()]


def _told(question: Question, stage: Stage, **more: Any) -> dict[str, Any]:
    return {"id": str(question.expect), **Path(stage=stage).told(), "reason": REASONS[stage], **more}
