"""Finding candidates: exact nearest vectors and BM25 keywords, inside the asked namespaces only."""

import uuid
from collections.abc import Sequence
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import F, FloatField, Func, QuerySet, Value
from pgvector.django import HalfVectorField

from memories.models import Embedding, EmbeddingModel, Fragment, Namespace
from memories.retrieval.questions import Filters, Reach

# With filters, keyword hits are filtered after they were found: enough of them have to be fetched.
FILTERED_POOL = 10_000


class Cosine(Func):
    """Cosine of unit vectors. The trailing `+ 0` keeps the planner from an approximate index (DESIGN §4)."""

    template = "(-(%(expressions)s) + 0)"
    arg_joiner = " <#> "
    output_field = FloatField()


def _embeddings(
    namespaces: Sequence[Namespace], filters: Filters, reach: Reach, model: EmbeddingModel, vector: Any
) -> QuerySet[Any]:
    rows = Embedding.objects.within(namespaces[0].project_id).filter(
        reach.conditions(), namespace__in=namespaces, model=model, status__in=filters.statuses
    )
    query = Value(vector, output_field=HalfVectorField())
    found: QuerySet[Any] = rows.filter(filters.conditions("fragment__")).annotate(cosine=Cosine(F("vector"), query))
    return found


def nearest(
    namespaces: Sequence[Namespace], *, vector: Any, model: EmbeddingModel, filters: Filters, reach: Reach, most: int
) -> dict[uuid.UUID, float]:
    """Cosine by fragment id of the `most` nearest, exactly."""
    rows = _embeddings(namespaces, filters, reach, model, vector).order_by("-cosine", "fragment_id")
    return dict(rows.values_list("fragment_id", "cosine")[:most])


def cosines(
    namespaces: Sequence[Namespace],
    *,
    vector: Any,
    model: EmbeddingModel,
    filters: Filters,
    reach: Reach,
    ids: Sequence[uuid.UUID],
) -> dict[uuid.UUID, float]:
    """Cosine by fragment id of these fragments, as far as they have a vector and pass the filters."""
    rows = _embeddings(namespaces, filters, reach, model, vector).filter(fragment_id__in=ids)
    return dict(rows.values_list("fragment_id", "cosine"))


def keyword_hits(
    namespaces: Sequence[Namespace], *, query: str, filters: Filters, reach: Reach, most: int
) -> dict[uuid.UUID, float]:
    """BM25 score by fragment id, best first, of the `most` best."""
    conditions = filters.conditions()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT fragment_id, score FROM nova_keyword_hits(%s::uuid[], %s::text[], %s, %s, %s, %s)",
            [
                [n.id for n in namespaces],
                filters.statuses,
                reach.session_id,
                reach.at,
                query,
                FILTERED_POOL if conditions else most,
            ],
        )
        scores = dict(cursor.fetchall())
    if not conditions:
        return scores
    rows = Fragment.objects.within(namespaces[0].project_id).filter(conditions, id__in=list(scores))
    passing = set(rows.values_list("id", flat=True))
    return dict(islice(((i, score) for i, score in scores.items() if i in passing), most))
