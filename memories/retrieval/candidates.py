"""Finding candidates: nearest vectors and BM25 keywords, inside the asked namespaces only.

Raw SQL over the narrow search tables; literals where the planner has to see a partition or a partial index.
"""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Model, Q

from memories.models import Claim, Embedding, EmbeddingModel, Fragment, Namespace, decayed
from memories.retrieval.planning import FEW, Ground, Way, way
from memories.retrieval.questions import Filters, Reach
from memories.retrieval.understanding import Cues

# How many texts the candidates' words may stand in together, where a namespace keeps statistics. With filters, keyword
# hits are filtered after they were found: more of them have to be fetched.
BUDGET, FILTERED_BUDGET, FILTERED_POOL = 500, 1_500, 10_000
EF_SEARCH, MOST_SCANNED = 120, 20_000


Place = tuple[uuid.UUID, str, int]


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: the words, their vector, the conditions, and how many of each kind at the most."""

    query: str
    vector: Any
    model: EmbeddingModel
    filters: Filters
    reach: Reach
    cues: Cues
    now: datetime.datetime
    most: int


@dataclass(slots=True)
class Candidate:
    """What a score is made of; a light stand-in for a fragment's wide row."""

    id: uuid.UUID
    namespace_id: uuid.UUID
    type: str
    source: str
    importance: float
    emotional_valence: float
    is_pinned: bool
    is_anchor: bool
    base_relevance: float
    corroboration: int
    reinforcements: int
    disputes: int
    access_count: int
    # Days, never below zero: since it was born, last changed, last read.
    age: float
    unchanged: float
    unread: float
    # Whether it happened in the time that the question means.
    in_period: bool
    conversation_id: str
    sequence: int | None
    length: int
    # Who speaks, where a turn begins with a name: "Ann: …"; lower case.
    speaker: str
    # Whether it holds a phrase that the question quotes; whether it is about something that the question is about.
    quoted: bool
    on_topic: bool
    key: bytes | None
    cosine: float | None

    @property
    def place(self) -> Place | None:
        """Where it stands in a conversation."""
        return self.beside(0)

    def beside(self, steps: int) -> Place | None:
        """The place so many turns further on."""
        if not self.conversation_id or self.sequence is None:
            return None
        return self.namespace_id, self.conversation_id, self.sequence + steps

    @property
    def kept(self) -> bool:
        """Whether time does nothing to it."""
        return self.is_pinned or self.is_anchor

    @property
    def relevance_score(self) -> float:
        """See `decayed`."""
        return decayed(self.base_relevance, days=self.unread, kept=self.kept)


def index_name(namespace_id: uuid.UUID, model: EmbeddingModel) -> str:
    """What the vector index of a namespace under a model is called."""
    return f"vectors_{namespace_id.hex}_{model.id.hex[:12]}"


def keyword_hits(namespaces: Sequence[Namespace], search: Search) -> dict[uuid.UUID, float]:
    """BM25 score by fragment id, best first, of the `most` best."""
    condition, values = _where(Fragment, search.filters.conditions())
    filtered = (
        """JOIN memories_fragment ON memories_fragment.project_id = %s AND memories_fragment.id = h.fragment_id"""
    )
    statement = f"""
        SELECT h.fragment_id, h.score
        FROM unnest(%s::uuid[]) AS n (id)
        CROSS JOIN LATERAL nova_keyword_hits(n.id, %s::text[], %s, %s, %s, NULL, %s, %s) AS h
        {f"{filtered} WHERE {condition}" if condition else ""}
        ORDER BY h.score DESC, h.fragment_id LIMIT %s"""
    asked = [
        [n.id for n in namespaces],
        search.filters.statuses,
        search.reach.session_id,
        search.reach.at,
        search.query,
    ]
    pools = [FILTERED_BUDGET, FILTERED_POOL] if condition else [BUDGET, search.most]
    narrowed = [namespaces[0].project_id, *values] if condition else []
    return dict(_rows(statement, [*asked, *pools, *narrowed, search.most]))


def nearest(
    namespaces: Sequence[Namespace], search: Search, *, indexed: set[uuid.UUID]
) -> tuple[dict[uuid.UUID, float], dict[uuid.UUID, Way]]:
    """Cosine by fragment id of the `most` nearest of all, and by namespace the way they were found."""
    conditions = search.filters.conditions()
    scanned = [namespace for namespace in namespaces if namespace.id not in indexed]
    ways = dict.fromkeys([namespace.id for namespace in scanned], Way.SCAN)
    found = _nearest(scanned, search, conditions, exact=True) if scanned else []
    for namespace in namespaces:
        if namespace.id in indexed:
            passing = _passing(namespace, search) if conditions else None
            ways[namespace.id] = way(Ground(True, None if passing is None else len(passing)))
            if ways[namespace.id] == Way.INDEX:
                found += _nearest([namespace], search, conditions, exact=False)
            elif passing:
                found += _nearest([namespace], search, Q(fragment__in=passing), exact=True, on=Embedding)
    best = sorted(found, key=lambda row: (-row[1], row[0]))[: search.most]
    return dict(best), ways


def _nearest(
    namespaces: Sequence[Namespace], search: Search, conditions: Q, *, exact: bool, on: type[Model] = Fragment
) -> list[tuple[uuid.UUID, float]]:
    """The trailing `+ 0` keeps the planner from an approximate index (DESIGN §4)."""
    condition, values = _where(on, conditions)
    reach, told = _where(Embedding, search.reach.conditions())
    distance = f"(memories_embedding.vector::halfvec({search.model.dim}) <#> %s::halfvec({search.model.dim}))"
    joined = """JOIN memories_fragment ON memories_fragment.project_id = memories_embedding.project_id
        AND memories_fragment.id = memories_embedding.fragment_id"""
    statement = f"""
        SELECT memories_embedding.fragment_id, -{distance}
        FROM memories_embedding {joined if condition and on is Fragment else ""}
        WHERE memories_embedding.project_id = '{namespaces[0].project_id}'
            AND memories_embedding.namespace_id IN ({_literals(namespaces)})
            AND memories_embedding.model_id = '{search.model.id}' AND memories_embedding.status = ANY (%s)
            AND {reach} {f"AND {condition}" if condition else ""}
        ORDER BY {distance}{" + 0" if exact else ""} LIMIT %s"""
    vector = _text(search.vector)
    if not exact:
        _let_the_index_go_on()
    return _rows(statement, [vector, search.filters.statuses, *told, *values, vector, search.most])


def _passing(namespace: Namespace, search: Search) -> list[uuid.UUID] | None:
    """The fragments that pass the filters, when they are few; None when they are many."""
    condition, values = _where(Fragment, search.filters.conditions())
    statement = f"""SELECT id FROM memories_fragment
        WHERE project_id = %s AND namespace_id = %s AND {condition} LIMIT %s"""
    rows = _rows(statement, [namespace.project_id, namespace.id, *values, FEW + 1])
    return [row[0] for row in rows] if len(rows) <= FEW else None


def indexed(namespaces: Sequence[Namespace], model: EmbeddingModel) -> set[uuid.UUID]:
    """Those of the namespaces whose vectors have an index that is ready."""
    names = {index_name(namespace.id, model): namespace.id for namespace in namespaces}
    statement = """SELECT c.relname FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
        WHERE c.relname = ANY (%s) AND i.indisvalid"""
    return {names[name] for (name,) in _rows(statement, [list(names)])}


AGES = {
    name: f"greatest(0, extract(epoch FROM %s::timestamptz - {moment})::float8 / 86400)"
    for name, moment in {
        "age_of_created": "f.created_at",
        "age_of_updated": "f.updated_at",
        "age_of_used": "greatest(f.created_at, a.last_accessed_at)",
    }.items()
}
# The tables beside the fragment are asked for the same ids, not joined row by row: nothing then rests on statistics
# that a freshly filled database does not have yet.
LOADED = """
    SELECT f.id, f.namespace_id, f.type, f.source, f.importance, f.emotional_valence, f.is_pinned, f.is_anchor,
        f.base_relevance, f.corroboration, f.reinforcements, f.disputes, coalesce(a.access_count, 0),
        {age_of_created}, {age_of_updated}, {age_of_used},
        coalesce(coalesce(f.event_at, f.created_at) <@ tstzrange(%s, %s), false), f.conversation_id, f.sequence,
        length(f.content),
        CASE f.source_type WHEN 'conversation' THEN coalesce(lower(substring(f.content FROM '^([^:\n]{{1,40}}):')), '')
            ELSE '' END,
        (SELECT coalesce(bool_or(strpos(lower(f.content), phrase) > 0), false) FROM unnest(%s::text[]) AS phrase),
        f.topics && %s::varchar[], c.key_digest, e.cosine
    FROM memories_fragment f
    LEFT JOIN (
        SELECT fragment_id, access_count, last_accessed_at FROM memories_access
        WHERE project_id = %s AND fragment_id = ANY (%s)
    ) AS a ON a.fragment_id = f.id
    LEFT JOIN (
        SELECT fragment_id, key_digest FROM memories_claim
        WHERE project_id = %s AND fragment_id = ANY (%s) AND status = 'active'
    ) AS c ON c.fragment_id = f.id
    LEFT JOIN (
        SELECT fragment_id, -(vector <#> %s::halfvec) AS cosine FROM memories_embedding
        WHERE project_id = %s AND fragment_id = ANY (%s) AND namespace_id IN ({spaces}) AND model_id = '{model}'
    ) AS e ON e.fragment_id = f.id
    WHERE f.project_id = %s AND f.id = ANY (%s)"""


def load(namespaces: Sequence[Namespace], ids: Sequence[uuid.UUID], search: Search) -> list[Candidate]:
    """What a score is made of, for these fragments; the cosine too, where there is a vector."""
    vector = None if search.vector is None else _text(search.vector)
    statement = LOADED.format(spaces=_literals(namespaces), model=search.model.id, **AGES)
    mine = [namespaces[0].project_id, list(ids)]
    cues = [*(search.cues.period or ("infinity", "infinity")), search.cues.phrases, search.cues.keys]
    asked = [*[search.now] * len(AGES), *cues, *mine, *mine, vector, *mine, *mine]
    return [Candidate(*row) for row in _rows(statement, asked)]


def load_neighbours(
    namespaces: Sequence[Namespace], candidates: Sequence[Candidate], search: Search
) -> list[Candidate]:
    """What was said right before and after these, as far as it passes every condition and is no candidate itself."""
    known = {candidate.place for candidate in candidates}
    beside = {place for c in candidates for place in (c.beside(-1), c.beside(1)) if place} - known
    if not beside:
        return []
    condition, values = _where(Fragment, search.filters.conditions())
    reach, told = _where(Claim, search.reach.conditions())
    statement = f"""
        SELECT memories_fragment.id FROM memories_fragment
        LEFT JOIN memories_claim ON memories_claim.project_id = memories_fragment.project_id
            AND memories_claim.fragment_id = memories_fragment.id
        WHERE memories_fragment.project_id = %s AND memories_fragment.status = ANY (%s)
            AND memories_fragment.conversation_id <> ''
            AND (memories_fragment.namespace_id, conversation_id, sequence) IN (
                SELECT * FROM unnest(%s::uuid[], %s::varchar[], %s::int[]))
            AND (memories_claim.fragment_id IS NULL OR {reach}) {f"AND {condition}" if condition else ""}"""
    places = [list(column) for column in zip(*sorted(beside), strict=True)]
    asked = [namespaces[0].project_id, search.filters.statuses, *places, *told, *values]
    ids = [row[0] for row in _rows(statement, asked)]
    return load(namespaces, ids, search) if ids else []


def _literals(namespaces: Sequence[Namespace]) -> str:
    """The planner has to see which partitions and which partial index it may use."""
    return ", ".join(f"'{namespace.id}'" for namespace in namespaces)


def _text(vector: Any) -> str:
    """A vector as Postgres reads it; half precision holds no more than four digits."""
    return f"[{','.join([f'{number:.5g}' for number in vector.tolist()])}]"


def _where(model: type[Model], conditions: Q) -> tuple[str, Sequence[Any]]:
    """Conditions on a model's row as SQL over its table's name, and their parameters; nothing for none."""
    if not conditions:
        return "", []
    query = model._default_manager.filter(conditions).query
    return query.where.as_sql(query.get_compiler(connection=connection), connection)


def _let_the_index_go_on() -> None:
    """A search of an index goes on until enough hits pass the conditions."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SET LOCAL hnsw.ef_search = {EF_SEARCH}; SET LOCAL hnsw.iterative_scan = relaxed_order;"
            f" SET LOCAL hnsw.max_scan_tuples = {MOST_SCANNED}"
        )


def _rows(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
