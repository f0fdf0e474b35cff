"""Which vectors are nearest to some, exactly: the same numbers in whatever order and company they are compared.

Half-precision numbers are multiples of 2^-24, so products of two are multiples of 2^-48 and every partial sum over unit
vectors fits into the 53 bits of a double. Nothing is rounded, whichever way a library adds up.
"""

import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection

from memories.models import EmbeddingModel, Namespace
from memories.retrieval import indexed, scopes_of

NEAR = 0.7  # cosine from which memories are linked
NEAREST = 5
# How many an index is asked for: of these the exact five best are taken.
ASKED, EF_SEARCH = 20, 120
MOST = 1.0  # halves of a unit vector may be a little longer than one
BLOCK = 20_000
VECTORS = "SELECT fragment_id, halfvec_send(vector) FROM memories_embedding"
Numbers = np.ndarray[Any, np.dtype[np.float64]]
Pair = tuple[uuid.UUID, uuid.UUID]
Near = list[tuple[uuid.UUID, float]]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Whom some fragments are near to: each one's nearest, best first, and the same the other way round."""

    nearest: dict[uuid.UUID, Near]
    # By the id of a fragment that was not asked about: those of the asked that are near to it.
    near: dict[uuid.UUID, Near]


@dataclass(frozen=True, slots=True)
class Ground:
    """Vectors in the order of their fragments' ids."""

    ids: list[uuid.UUID]
    numbers: Numbers


def neighbourhood(
    namespace: Namespace, ids: Sequence[uuid.UUID], *, model: EmbeddingModel, passed_over: set[uuid.UUID]
) -> Neighbourhood:
    """Return whom the asked fragments are near to, among the namespace's active ones that every session sees.

    By comparing all with all, or through the namespace's vector index where one stands. Those in `passed_over` get no
    list of their own in `near`.
    """
    if indexed(scopes_of([namespace]), model):
        return _by_index(namespace, ids, model, passed_over)
    return _by_comparing(namespace, ids, model, passed_over)


def _by_comparing(
    namespace: Namespace, ids: Sequence[uuid.UUID], model: EmbeddingModel, passed_over: set[uuid.UUID]
) -> Neighbourhood:
    vectors = _of(namespace, ids, model)
    row_of = {fragment_id: row for row, fragment_id in enumerate(vectors.ids)}
    nearest: dict[uuid.UUID, Near] = {fragment_id: [] for fragment_id in vectors.ids}
    near: dict[uuid.UUID, Near] = {}
    for block in _blocks(namespace, model) if vectors.ids else ():
        cosines = np.minimum(vectors.numbers @ block.numbers.T, MOST)
        own = [(row_of[other], column) for column, other in enumerate(block.ids) if other in row_of]
        for row, column in own:
            cosines[row, column] = -1.0
        for row, one in enumerate(vectors.ids):
            nearest[one] = best(nearest[one] + _best(block.ids, cosines[row]))
        for column in np.flatnonzero((cosines >= NEAR).any(axis=0)).tolist():
            other = block.ids[column]
            if other not in row_of and other not in passed_over:
                near[other] = _best(vectors.ids, cosines[:, column])
    return Neighbourhood(nearest, near)


def _best(ids: list[uuid.UUID], cosines: Numbers) -> Near:
    """Return the five nearest of these, of equals those with the lower id; `ids` are in order."""
    places = np.flatnonzero(cosines >= NEAR)
    order = np.lexsort((places, -cosines[places]))[:NEAREST]
    return [(ids[place], float(cosines[place])) for place in places[order]]


def _by_index(
    namespace: Namespace, ids: Sequence[uuid.UUID], model: EmbeddingModel, passed_over: set[uuid.UUID]
) -> Neighbourhood:
    vectors = _of(namespace, ids, model)
    found = _candidates(namespace, vectors, model)
    others = _of(namespace, sorted({other for _, other in found}), model)
    place_of = {fragment_id: place for place, fragment_id in enumerate(others.ids)}
    rows: dict[uuid.UUID, list[int]] = {fragment_id: [] for fragment_id in vectors.ids}
    for one, other in found:
        rows[one].append(place_of[other])
    nearest: dict[uuid.UUID, Near] = {}
    near: dict[uuid.UUID, Near] = {}
    for row, one in enumerate(vectors.ids):
        places = np.array(sorted(rows[one]), dtype=int)
        cosines = np.minimum(others.numbers[places] @ vectors.numbers[row], MOST)
        close = cosines >= NEAR
        pairs = [(others.ids[place], float(alike)) for place, alike in zip(places[close], cosines[close], strict=True)]
        nearest[one] = best(pairs)
        for other, alike in pairs:
            if other not in rows and other not in passed_over:
                near.setdefault(other, []).append((one, alike))
    return Neighbourhood(nearest, {other: best(pairs) for other, pairs in near.items()})


def best(pairs: Near) -> Near:
    """Return the five nearest of these, of equals those with the lower id."""
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:NEAREST]


def likeness(namespace: Namespace, pairs: Collection[Pair], *, model: EmbeddingModel) -> dict[Pair, float]:
    """Return how near the two of each pair are; pairs with one that is not active, or has no vector, are left out."""
    ground = _of(namespace, sorted({end for pair in pairs for end in pair}), model)
    place_of = {fragment_id: place for place, fragment_id in enumerate(ground.ids)}
    known = [pair for pair in pairs if pair[0] in place_of and pair[1] in place_of]
    ones, others = ([place_of[pair[end]] for pair in known] for end in (0, 1))
    alike = np.minimum(np.einsum("ij,ij->i", ground.numbers[ones], ground.numbers[others]), MOST)
    return dict(zip(known, alike.tolist(), strict=True)) if known else {}


def _active(namespace: Namespace, model: EmbeddingModel, table: str = "memories_embedding") -> str:
    """Literals, because the planner has to see a partition and a partial index."""
    return f"""{table}.project_id = '{namespace.project_id}' AND {table}.root_id = '{namespace.root_id}'
        AND {table}.namespace_id = '{namespace.id}' AND {table}.model_id = '{model.id}'
        AND {table}.status = 'active' AND {table}.session_id = ''"""


def _blocks(namespace: Namespace, model: EmbeddingModel) -> Iterator[Ground]:
    """Return all vectors of the namespace, in blocks that fit into memory."""
    after = uuid.UUID(int=0)
    while True:
        block = _ground(f"{VECTORS} WHERE {_active(namespace, model)} AND fragment_id > %s", after, most=BLOCK)
        if not block.ids:
            return
        yield block
        after = block.ids[-1]


def _of(namespace: Namespace, ids: Sequence[uuid.UUID], model: EmbeddingModel) -> Ground:
    return _ground(f"{VECTORS} WHERE {_active(namespace, model)} AND fragment_id = ANY (%s)", list(ids))


def _ground(statement: str, *values: Any, most: int | None = None) -> Ground:
    """As Postgres sends halfvec: the number of dimensions, two bytes unused, then big-endian halves."""
    with connection.cursor() as cursor:
        cursor.execute(f"{statement} ORDER BY fragment_id LIMIT %s", [*values, most])
        rows = cursor.fetchall()
    numbers = [np.frombuffer(sent, dtype=">f2", offset=4) for _, sent in rows]
    return Ground([row[0] for row in rows], np.array(numbers, dtype=np.float64) if rows else np.empty((0, 1)))


def _candidates(namespace: Namespace, ground: Ground, model: EmbeddingModel) -> list[Pair]:
    """(asked, other) by the index: approximately the twenty nearest of each."""
    vector = f"vector::halfvec({int(model.dim)})"
    statement = f"""
        SELECT asked.fragment_id, other.fragment_id
        FROM memories_embedding AS asked CROSS JOIN LATERAL (
            SELECT e.fragment_id FROM memories_embedding AS e
            WHERE {_active(namespace, model, "e")}
            ORDER BY e.{vector} <#> asked.{vector} LIMIT {ASKED + 1}
        ) AS other
        WHERE {_active(namespace, model, "asked")} AND asked.fragment_id = ANY (%s)
            AND other.fragment_id <> asked.fragment_id"""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL hnsw.ef_search = {EF_SEARCH}; SET LOCAL hnsw.iterative_scan = relaxed_order")
        cursor.execute(statement, [ground.ids])
        return list(cursor.fetchall())
