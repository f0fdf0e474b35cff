"""Finding candidates: nearest vectors and BM25 keywords, inside the asked namespaces only.

Raw SQL over the narrow search tables; literals where the planner has to see a partition or a partial index.
"""

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Model, Q

from memories.models import Claim, Embedding, EmbeddingModel, Fragment, Namespace, decayed
from memories.models.raw import fetch
from memories.retrieval.planning import FEW, Ground, Way, way
from memories.retrieval.questions import Filters, Reach
from memories.retrieval.understanding import Cues

# How many texts the candidates' words may stand in together, where a namespace keeps statistics. Times and weights are
# checked after the hits were found: more of these have to be fetched.
BUDGET, FILTERED_BUDGET, FILTERED_POOL = 500, 1_500, 10_000
# How many an index holds in view while it is searched: the more the larger it is, or it misses whole neighbourhoods
# where all are about as near; pgvector takes no more.
EF_SEARCH, MOST_EF_SEARCH, VECTORS_PER_EF = 120, 1_000, 500
MOST_SCANNED = 20_000


Place = tuple[uuid.UUID, str, int]


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: the words, their vector as Postgres reads it, the conditions, and how many at the most."""

    query: str
    vector: str | None
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
    # Days, never below zero: since it was born, last changed, last read; the last divided by its stability.
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


@dataclass(frozen=True, slots=True)
class Few:
    """Fragments that are few: their ids as Postgres words an array, how many they are, what is still to be checked.

    `marked`: they are just those that carry the marks.
    """

    ids: str
    count: int
    left: Q
    marked: bool


def passing(namespaces: Sequence[Namespace], search: Search) -> Few | None:
    """The few fragments that may pass the filters; None when they are many, or when there are no filters.

    What lies in the times, else what carries the marks; the other conditions are left to who looks at them.
    """
    filters = search.filters
    found = _in_times(namespaces, search) if filters.times else None
    if found is None and filters.marks:
        marked = "nova_passing(n.id, %s::text[], %s::jsonb, %s)"
        asked = [filters.statuses, json.dumps(filters.marks), FEW]
        found = _few(namespaces, marked, asked, left=filters.ranges, marked=True)
    return found


def _in_times(namespaces: Sequence[Namespace], search: Search) -> Few | None:
    condition, values = _where(Fragment, search.filters.times)
    inside = f"""coalesce((SELECT array_agg(id) FROM (SELECT id FROM memories_fragment WHERE project_id = %s
        AND namespace_id = n.id AND status = ANY (%s) AND {condition} LIMIT %s) AS f), '{{}}')"""
    asked = [namespaces[0].project_id, search.filters.statuses, *values, FEW + 1]
    return _few(namespaces, inside, asked, left=search.filters.conditions())


def _few(
    namespaces: Sequence[Namespace], source: str, asked: list[Any], *, left: Q, marked: bool = False
) -> Few | None:
    """What an expression finds in each namespace; None when it is null or more than few."""
    statement = f"""
        SELECT trim(BOTH '{{}}' FROM t.found::text), cardinality(t.found)
        FROM unnest(%s::uuid[]) AS n (id) CROSS JOIN LATERAL (SELECT {source} AS found OFFSET 0) AS t"""
    rows = fetch(statement, [[namespace.id for namespace in namespaces], *asked])
    if any(count is None for _, count in rows) or sum(count for _, count in rows) > FEW:
        return None
    return Few(f"{{{','.join(ids for ids, _ in rows if ids)}}}", sum(count for _, count in rows), left, marked)


def keyword_hits(
    namespaces: Sequence[Namespace], search: Search, *, among: Few | None = None
) -> dict[uuid.UUID, float]:
    """BM25 score by fragment id, best first, of the `most` best; `among` are the few that may pass the filters."""
    filters, reach = search.filters, search.reach
    condition, values = _where(Fragment, filters.ranges)
    # Row by row, best first as the function gives them, until enough passed: most of them are never looked at.
    checked = f"""CROSS JOIN LATERAL (SELECT FROM memories_fragment WHERE memories_fragment.project_id = %s
            AND memories_fragment.id = one.fragment_id AND {condition} OFFSET 0) AS f LIMIT %s"""
    statement = f"""
        SELECT h.fragment_id, h.score
        FROM unnest(%s::uuid[]) AS n (id)
        CROSS JOIN LATERAL (
            SELECT one.fragment_id, one.score
            FROM nova_keyword_hits(n.id, %s::text[], %s, %s, %s, %s::uuid[], %s::jsonb, %s, %s, %s) AS one
            {checked if condition else ""}
        ) AS h
        ORDER BY h.score DESC, h.fragment_id LIMIT %s"""
    asked = [[namespace.id for namespace in namespaces], filters.statuses, reach.session_id, reach.at, search.query]
    # The marks find whom they found before; naming these costs more.
    ids = among.ids if among and not among.marked else None
    narrowed = [ids, json.dumps(filters.marks) if filters.marks else None, among.count if among else None]
    pools = [FILTERED_BUDGET if condition else BUDGET, FILTERED_POOL if condition else search.most]
    rechecked = [namespaces[0].project_id, *values, search.most] if condition else []
    return dict(fetch(statement, [*asked, *narrowed, *pools, *rechecked, search.most]))


def nearest(
    namespaces: Sequence[Namespace],
    search: Search,
    *,
    indexed: Mapping[uuid.UUID, int],
    among: Few | None = None,
) -> tuple[dict[uuid.UUID, float], dict[uuid.UUID, Way]]:
    """Cosine by fragment id of the `most` nearest of all, and by namespace the way they were found.

    `indexed` are the namespaces whose vectors have an index, each with how many these are.
    """
    indexed = {} if search.filters.wants_cold else indexed
    few = among.count if among else None
    ways = {namespace.id: way(Ground(namespace.id in indexed, few)) for namespace in namespaces}
    found = []
    if scanned := [namespace for namespace in namespaces if ways[namespace.id] == Way.SCAN]:
        found += _nearest(scanned, search, exact=True)
    if picked := [namespace for namespace in namespaces if ways[namespace.id] == Way.PICK]:
        found += _nearest(picked, search, among=among, exact=True)
    for namespace in namespaces:
        if ways[namespace.id] == Way.INDEX:
            _hold_in_view(indexed[namespace.id])
            near = _nearest([namespace], search, exact=False)
            # An index gives up after so many tuples: where fewer pass than was expected, all are looked at.
            found += near if len(near) == search.most else _nearest([namespace], search, exact=True)
    best = sorted(found, key=lambda row: (-row[1], row[0]))[: search.most]
    return dict(best), ways


def _nearest(
    namespaces: Sequence[Namespace], search: Search, *, exact: bool, among: Few | None = None
) -> list[tuple[uuid.UUID, float]]:
    """The trailing `+ 0` keeps the planner from an approximate index (DESIGN §4)."""
    reach, told = _reached(Embedding, search.reach)
    condition, values = _where(Fragment, among.left if among else search.filters.conditions())
    joined = """JOIN memories_fragment ON memories_fragment.project_id = memories_embedding.project_id
        AND memories_fragment.id = memories_embedding.fragment_id"""
    picked = "AND memories_embedding.fragment_id = ANY (%s::uuid[])" if among else ""
    distance = f"(memories_embedding.vector::halfvec({search.model.dim}) <#> %s::halfvec({search.model.dim}))"
    statement = f"""
        SELECT memories_embedding.fragment_id, -{distance}
        FROM memories_embedding {joined if condition else ""}
        WHERE memories_embedding.project_id = '{namespaces[0].project_id}'
            AND memories_embedding.namespace_id IN ({_literals(namespaces)})
            AND memories_embedding.model_id = '{search.model.id}' AND memories_embedding.status = ANY (%s)
            {"" if search.filters.wants_cold else "AND NOT memories_embedding.cold"}
            AND {reach} {f"AND {condition}" if condition else ""} {picked}
        ORDER BY {distance}{" + 0" if exact else ""} LIMIT %s"""
    few = [among.ids] if among else []
    asked = [search.vector, search.filters.statuses, *told, *values, *few, search.vector, search.most]
    return fetch(statement, asked)


def indexed(namespaces: Sequence[Namespace], model: EmbeddingModel) -> dict[uuid.UUID, int]:
    """Those of the namespaces whose vectors have an index that is ready, each with about how many it holds."""
    names = {index_name(namespace.id, model): namespace.id for namespace in namespaces}
    statement = """SELECT c.relname, c.reltuples::bigint FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
        WHERE c.relname = ANY (%s) AND i.indisvalid"""
    return {names[name]: vectors for name, vectors in fetch(statement, [list(names)])}


AGES = {
    name: f"greatest(0, extract(epoch FROM %s::timestamptz - {moment})::float8 / 86400)"
    for name, moment in {
        "age_of_created": "f.created_at",
        "age_of_updated": "f.updated_at",
        "age_of_used": "greatest(f.created_at, a.last_accessed_at)",
    }.items()
}
AGES["age_of_used"] += " / coalesce(a.stability, 1)"
# The tables beside the fragment are asked for the same ids, not joined row by row: nothing then rests on statistics
# that a freshly filled database does not have yet.
LOADED = """
    WITH asked AS MATERIALIZED (SELECT %s::uuid[] AS ids)
    SELECT f.id, f.namespace_id, f.type, f.source, f.importance, f.emotional_valence, f.is_pinned, f.is_anchor,
        f.base_relevance, f.corroboration, f.reinforcements, f.disputes, coalesce(a.access_count, 0),
        {age_of_created}, {age_of_updated}, {age_of_used},
        coalesce(coalesce(f.event_at, f.created_at) <@ tstzrange(%s, %s), false), f.conversation_id, f.sequence,
        length(f.content), CASE f.source_type WHEN 'conversation' THEN left(f.content, {speaker}) ELSE '' END,
        {quoted}, f.topics && %s::varchar[], c.key_digest, e.cosine
    FROM memories_fragment f
    LEFT JOIN (
        SELECT fragment_id, access_count, last_accessed_at, stability FROM memories_access
        WHERE project_id = %s AND fragment_id = ANY ((SELECT ids FROM asked)::uuid[])
    ) AS a ON a.fragment_id = f.id
    LEFT JOIN (
        SELECT fragment_id, key_digest FROM memories_claim
        WHERE project_id = %s AND fragment_id = ANY ((SELECT ids FROM asked)::uuid[]) AND status = 'active'
    ) AS c ON c.fragment_id = f.id
    LEFT JOIN (
        SELECT fragment_id, -(vector <#> %s::halfvec) AS cosine FROM memories_embedding
        WHERE project_id = %s AND fragment_id = ANY ((SELECT ids FROM asked)::uuid[]) AND namespace_id IN ({spaces})
            AND model_id = '{model}'
    ) AS e ON e.fragment_id = f.id
    WHERE f.project_id = %s AND f.id = ANY ((SELECT ids FROM asked)::uuid[])"""
QUOTED = "(SELECT bool_or(strpos(lower(f.content), phrase) > 0) FROM unnest(%s::text[]) AS phrase)"
SPEAKER = 40  # characters that a speaker's name has at the most


def load(namespaces: Sequence[Namespace], ids: Sequence[uuid.UUID], search: Search) -> list[Candidate]:
    """What a score is made of, for these fragments; the cosine too, where there is a vector."""
    phrases = search.cues.phrases
    statement = LOADED.format(
        spaces=_literals(namespaces),
        model=search.model.id,
        speaker=SPEAKER + 1,
        quoted=QUOTED if phrases else "false",
        **AGES,
    )
    mine = namespaces[0].project_id
    cues = [*(search.cues.period or ("infinity", "infinity")), *([phrases] if phrases else []), search.cues.keys]
    # As text: adapting each id takes longer than reading it.
    wanted = f"{{{','.join(map(str, ids))}}}"
    asked = [wanted, *[search.now] * len(AGES), *cues, mine, mine, search.vector, mine, mine]
    found = [Candidate(*row) for row in fetch(statement, asked)]
    for candidate in found:
        candidate.speaker = _speaker(candidate.speaker)
    return found


def _speaker(beginning: str) -> str:
    """Who speaks in a turn that begins so, in lower case; empty when nobody is named."""
    name, colon, _ = beginning.partition(":")
    return name.lower() if colon and "\n" not in name else ""


def load_neighbours(
    namespaces: Sequence[Namespace], candidates: Sequence[Candidate], search: Search
) -> list[Candidate]:
    """What was said right before and after these, as far as it passes every condition and is no candidate itself."""
    known = {candidate.place for candidate in candidates}
    beside = {place for c in candidates for place in (c.beside(-1), c.beside(1)) if place} - known
    if not beside:
        return []
    condition, values = _where(Fragment, search.filters.conditions())
    reach, told = _reached(Claim, search.reach)
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
    ids = [row[0] for row in fetch(statement, asked)]
    return load(namespaces, ids, search) if ids else []


def _literals(namespaces: Sequence[Namespace]) -> str:
    """The planner has to see which partitions and which partial index it may use."""
    return ", ".join(f"'{namespace.id}'" for namespace in namespaces)


def _where(model: type[Model], conditions: Q) -> tuple[str, Sequence[Any]]:
    """Conditions on a model's row as SQL over its table's name, and their parameters; nothing for none."""
    if not conditions:
        return "", []
    query = model._default_manager.filter(conditions).query
    return query.where.as_sql(query.get_compiler(connection=connection), connection)


def _reached(model: type[Model], reach: Reach) -> tuple[str, list[Any]]:
    """The reach as SQL over the model's table, and its parameters."""
    times = [reach.at, reach.at] if reach.at else []
    return _reaching(model, timeless=reach.at is None), ["", reach.session_id, *times]


@cache
def _reaching(model: type[Model], *, timeless: bool) -> str:
    """Worded once: the ORM takes longer for it than Postgres for the search."""
    return _where(
        model, Reach("any", None if timeless else datetime.datetime.max.replace(tzinfo=datetime.UTC)).conditions()
    )[0]


def _hold_in_view(vectors: int) -> None:
    """For the search of an index of so many; it goes on until enough hits pass the conditions."""
    ef_search = min(MOST_EF_SEARCH, max(EF_SEARCH, vectors // VECTORS_PER_EF))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SET LOCAL hnsw.ef_search = {ef_search}; SET LOCAL hnsw.iterative_scan = relaxed_order;"
            f" SET LOCAL hnsw.max_scan_tuples = {MOST_SCANNED}"
        )
