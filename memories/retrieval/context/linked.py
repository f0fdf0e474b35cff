"""Memories one link away from a hit: they ride along in a context, under every condition that hits are under."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from memories.access import Principal
from memories.models import Claim, Fragment, Link
from memories.models.answer_rows import load_answer_rows
from memories.models.enums import Status
from memories.retrieval.questions import Hit, Question
from memories.retrieval.scope import Places
from memories.retrieval.selection import freshness_bound

# A memory that was not found itself is worth at most half of the hit that leads to it.
SHARE = 0.5


def linked_memories(
    hits: Sequence[Hit], question: Question, places: Places, principal: Principal, *, most: int, now: datetime.datetime
) -> list[tuple[Fragment, float]]:
    """Return up to `most` memories with their values: half the best hit's score times the link's similarity.

    None under a floor on similarity to the question, which they were never measured against.
    """
    if question.min_similarity > 0 or not hits:
        return []
    if not (values := _values(hits, question, principal.project_id)):
        return []
    rows = (
        Fragment.objects.within(principal.project_id)
        .filter(namespace__in=places.scope_ids())
        .filter(question.filters.conditions(), id__in=values, status__in=question.filters.statuses)
    )
    linked = load_answer_rows(principal.project_id, rows)
    found = {row.id: row for row in linked if _fresh(row, question, places, now)}
    for fragment_id in _out_of_reach(list(found), question, principal.project_id, now):
        del found[fragment_id]
    for fragment_id in question.spoken.among(found, project_id=principal.project_id):
        del found[fragment_id]
    best = sorted(found, key=lambda fragment_id: (-values[fragment_id], fragment_id))[:most]
    return [(found[fragment_id], values[fragment_id]) for fragment_id in best]


def _values(hits: Sequence[Hit], question: Question, project_id: uuid.UUID) -> dict[uuid.UUID, float]:
    """Return by the id of each fragment that a hit links to and that is no hit itself."""
    scores = {hit.fragment.id: hit.score for hit in hits}
    values: dict[uuid.UUID, float] = {}
    for start, end, similarity in _links(hits, question, project_id):
        if end not in scores:
            value = round(SHARE * scores[start] * max(0.0, similarity), 6)
            values[end] = max(value, values.get(end, 0.0))
    return values


def _links(
    hits: Sequence[Hit], question: Question, project_id: uuid.UUID
) -> Iterable[tuple[uuid.UUID, uuid.UUID, float]]:
    """Return the links of hits: as loaded with them where only what is active is asked for, else all there are."""
    if question.filters.statuses == [Status.ACTIVE]:
        fragments: list[Any] = [hit.fragment for hit in hits]
        return [(row.id, uuid.UUID(other), similarity) for row in fragments for other, _, similarity in row.linked]
    links = Link.objects.within(project_id).filter(fragment__in=[hit.fragment.id for hit in hits])
    return links.values_list("fragment_id", "other_id", "similarity")


def _fresh(row: Fragment, question: Question, places: Places, now: datetime.datetime) -> bool:
    floor = freshness_bound(question, foreign=places.is_foreign(row.namespace_id))
    return not floor or row.relevance_at(now) >= floor


def _out_of_reach(
    ids: list[uuid.UUID], question: Question, project_id: uuid.UUID, now: datetime.datetime
) -> list[uuid.UUID]:
    """Return those whose claim belongs to another session or is not in force at the time that is asked for."""
    claims = Claim.objects.within(project_id).filter(fragment__in=ids)
    within = claims.filter(question.reach(now).conditions()).values("fragment_id")
    return list(claims.exclude(fragment__in=within).values_list("fragment_id", flat=True))
