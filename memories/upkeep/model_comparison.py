"""How alike two models answer: what share of the ten best of one is among the ten best of the other."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import connection

from memories import access
from memories.access import Principal
from memories.models import EmbeddingModel, Fragment, Namespace, vector_text
from memories.models.enums import Status
from memories.models.namespace import roots_of
from memories.providers import EmbeddingFailed, embed_query

DEPTH = 10
NEAREST = """
    SELECT fragment_id FROM memories_embedding
    WHERE project_id = %s AND root_id = ANY (%s) AND namespace_id = ANY (%s) AND model_id = %s AND status = 'active'
        AND fragment_id IS DISTINCT FROM %s
    ORDER BY (vector <#> %s::halfvec) + 0, fragment_id LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """Something to ask both models: a given question, or a memory of the project asked for its likes."""

    source: Literal["given", "sample"]
    text: str
    namespaces: list[uuid.UUID]
    itself: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Overlap:
    """The share of common hits, 0..1; None when neither model found anything."""

    source: str
    share: float | None


def compare(
    principal: Principal,
    model: EmbeddingModel,
    other: EmbeddingModel,
    *,
    queries: Sequence[str],
    namespace: str | None,
    sample: int,
) -> list[Overlap]:
    """The overlap for each query, then for each of the newest `sample` memories. Exact search, in the grant only.

    Questions are not kept anywhere (docs/decisions), so they are given, or stood in for by memories. Raises
    EmbeddingFailed, NotFound.
    """
    principal.require("read")
    with access.enter(principal, why="compare"):
        namespaces = access.requested_scopes(principal, namespace)
        probes = [Probe("given", text, [place.id for place in namespaces]) for text in queries]
        probes += _sampled(principal, namespaces, sample)
    probes_asked = [(probe, _vector(probe.text, model), _vector(probe.text, other)) for probe in probes]
    with access.enter(principal, why="compare"):
        return [
            Overlap(
                probe.source, _share(_nearest(principal, probe, model, one), _nearest(principal, probe, other, two))
            )
            for probe, one, two in probes_asked
        ]


def _sampled(principal: Principal, namespaces: Sequence[Namespace], number: int) -> list[Probe]:
    """Return the newest active memories, each to be asked for within its own namespace."""
    rows = Fragment.objects.within(principal.project_id).filter(namespace__in=namespaces, status=Status.ACTIVE)
    newest = rows.order_by("-created_at", "-id")[:number]
    return [Probe("sample", row.content, [row.namespace_id], itself=row.id) for row in newest]


def _vector(text: str, model: EmbeddingModel) -> Any:
    vector = embed_query(text, model=model)
    if vector is None:
        raise EmbeddingFailed(f"the embedder of {model.name} does not answer")
    return vector


def _nearest(principal: Principal, probe: Probe, model: EmbeddingModel, vector: Any) -> set[uuid.UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            NEAREST,
            [
                principal.project_id,
                list(roots_of(principal.project_id, probe.namespaces).values()),
                probe.namespaces,
                model.id,
                probe.itself,
                vector_text(vector),
                DEPTH,
            ],
        )
        return {row[0] for row in cursor}


def _share(one: set[uuid.UUID], two: set[uuid.UUID]) -> float | None:
    most = max(len(one), len(two))
    return round(len(one & two) / most, 4) if most else None
