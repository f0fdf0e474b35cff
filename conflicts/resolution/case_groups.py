"""Groups of cases: how much waits of one source, owner, namespace or predicate."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min, QuerySet, TextField
from django.db.models.functions import Cast

from conflicts.resolution.cases import CHALLENGER, owner_names, words_of
from conflicts.resolution.decisions import visible_conflicts, with_claims
from conflicts.resolution.review_queue import SOURCE
from memories.access import Principal

MOST_GROUPS = 200


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """What waits of one source, owner, namespace or predicate: in how many cases, since when."""

    id: str
    name: str
    cases: int
    waiting: int
    since: datetime.datetime
    last_at: datetime.datetime


# By what what waits is counted, and its column.
GROUPS: Mapping[str, str] = {
    "source": "said_by",
    "owner": "newcomer__owner_id",
    "namespace": "namespace__name",
    "predicate": "predicate_digest",
}


def grouped(principal: Principal, questions: QuerySet[Any], by: str) -> list[CaseGroup]:
    """Return what waits by one of GROUPS, the largest first. Inside `access.enter`."""
    column = GROUPS[by]
    groups = questions.annotate(said_by=SOURCE).values(column)
    groups = groups.annotate(
        cases=Count("key", distinct=True),
        waits=Count(CHALLENGER, distinct=True),
        since=Min("created_at"),
        last=Max("created_at"),
        sample=Min(Cast("id", TextField())),
    )
    found = list(groups.order_by("-waits", "since")[:MOST_GROUPS])
    if by == "predicate":
        samples = visible_conflicts(principal).filter(id__in=[group["sample"] for group in found])
        words = {str(row.id): words_of(row)[1] for row in with_claims(samples)}
        named = [(words.get(group["sample"], ""),) * 2 for group in found]
    else:
        owners = owner_names(principal, [group[column] for group in found]) if by == "owner" else {}
        named = [(str(group[column] or ""), owners.get(group[column], str(group[column] or ""))) for group in found]
    return [
        CaseGroup(key, name, *(group[count] for count in ("cases", "waits", "since", "last")))
        for (key, name), group in zip(named, found, strict=True)
    ]
