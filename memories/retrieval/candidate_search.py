"""Candidate search: nearest vectors and BM25 keywords, inside the asked namespaces only.

Raw SQL over the narrow search tables; literals where the planner has to see a partition or a partial index.
"""

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q

from memories.models import Embedding, EmbeddingModel, Fragment
from memories.models.sql import PROJECT, fetch
from memories.retrieval.query_features import Cues
from memories.retrieval.questions import Filters, Reach
from memories.retrieval.search_plan import FEW, PlanGround, SearchWay, choose_search
from memories.retrieval.search_scopes import Query, SearchScope, inside, reached, where

# How many texts a question's rare words may stand in together, and where the others have to meet. Times and weights are
# checked after the hits were found: more of these have to be fetched.
BUDGET, FILTERED_BUDGET, FILTERED_POOL = 500, 1_500, 10_000
BUDGET_PER_HIT, FILTERED_ENOUGH = 5, 3  # times as many as are asked for
# How many an index holds in view while it is searched: the more the larger it is, or it misses whole neighbourhoods
# where all are about as near; pgvector takes no more.
EF_SEARCH, MOST_EF_SEARCH, VECTORS_PER_EF = 120, 1_000, 800
MOST_SCANNED = 20_000
BEGINNING = 41  # characters in which a speaker's name and its colon stand
# Of how many times as many as are asked for the scores are told, where all that hold a word are scored anyway.
FURTHER = 4
# What the texts of these roots and scopes tell of a question.
READ = "nova_read(%s::uuid[], %s::uuid[], %s::text[], %s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: the words, their vector as Postgres reads it, the conditions, how many at the most."""

    query: str
    vector: str | None
    model: EmbeddingModel
    filters: Filters
    reach: Reach
    cues: Cues
    now: datetime.datetime
    most: int
    # Whether something is claimed where it looks, so that texts and claims are weighed against each other.
    weighs_claims: bool = False
    # The vector without the question's persons, for where it shows that these speak.
    impersonal: str | None = None
    # Of how many of the best by words, and by meaning, the neighbours in their conversations are found with them.
    neighboured: int = 0


def index_name(scope_id: uuid.UUID, model: EmbeddingModel, *, whole: bool = False) -> str:
    """Return what the vector index of a scope under a model is called; `whole`: of a namespace with all its users."""
    return f"{'allvectors' if whole else 'vectors'}_{scope_id.hex}_{suffix_of(model)}"


def suffix_of(model: EmbeddingModel) -> str:
    """Return the end of an index's name that tells the model."""
    return model.id.hex[:12]


# How many vectors the index of a scope holds, null where none is ready; the name as `index_name` has it.
INDEXED = """(SELECT c.reltuples::bigint FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
    WHERE i.indisvalid AND c.relname = (CASE WHEN {whole} THEN 'allvectors_' ELSE 'vectors_' END
        || translate({scope}::text, '-', '') || '_' || %(model)s)::name)"""


@dataclass(frozen=True, slots=True)
class Few:
    """Fragments that are few: their ids as Postgres words an array, how many in each namespace, what is left to check.

    Namespaces of which many pass are not in `counts`. `marked`: they are just those that carry the marks.
    """

    ids: str
    counts: Mapping[uuid.UUID, int]
    left: Q
    marked: bool


def passing(scopes: Sequence[SearchScope], search: Search) -> Few | None:
    """Return the fragments that may pass the filters, of the namespaces where they are few; None when these are none.

    What lies in the times, else what carries the marks; the other conditions are left to who looks at them.
    """
    filters = search.filters
    found = _in_times(scopes, search) if filters.times else None
    if found is None and filters.marks:
        marked = "nova_passing(n.root, n.scope, %s::text[], %s::jsonb, %s)"
        params = [filters.statuses, json.dumps(filters.marks), FEW]
        found = _few(scopes, marked, params, left=filters.ranges, marked=True)
    return found


def _in_times(scopes: Sequence[SearchScope], search: Search) -> Few | None:
    condition, values = where(Fragment, search.filters.times)
    users = """(namespace_id = n.scope OR n.scope IS NULL AND namespace_id IN (
        SELECT s.id FROM memories_namespace s WHERE s.id = n.root OR s.parent_id = n.root))"""
    here = users if any(scope.whole for scope in scopes) else "namespace_id = n.scope"
    inside = f"""coalesce((SELECT array_agg(id) FROM (SELECT id FROM memories_fragment WHERE project_id = %s
        AND {here} AND status = ANY (%s) AND {condition} LIMIT %s) AS f), '{{}}')"""
    params = [scopes[0].project_id, search.filters.statuses, *values, FEW + 1]
    return _few(scopes, inside, params, left=search.filters.conditions())


def _few(scopes: Sequence[SearchScope], source: str, params: list[Any], *, left: Q, marked: bool = False) -> Few | None:
    """Return what an expression finds in each namespace, where that is not null and no more than few."""
    statement = f"""
        SELECT n.id, trim(BOTH '{{}}' FROM t.found::text), cardinality(t.found)
        FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) AS n (id, root, scope)
        CROSS JOIN LATERAL (SELECT {source} AS found OFFSET 0) AS t
        WHERE cardinality(t.found) <= %s"""
    rows = fetch(statement, [*_named(scopes), *params, FEW])
    if not rows:
        return None
    counts = {place: count for place, _, count in rows}
    return Few(f"{{{','.join(ids for _, ids, _ in rows if ids)}}}", counts, left, marked)


def _named(scopes: Sequence[SearchScope]) -> list[list[uuid.UUID | None]]:
    """Ids, roots and scopes below these, as the statements take them."""
    return [[scope.id for scope in scopes], [scope.root_id for scope in scopes], [scope.scope_id for scope in scopes]]


def speaker_of(beginning: str) -> str:
    """Return who speaks in a turn that begins so, in lower case; empty when nobody is named."""
    name, colon, _ = beginning.partition(":")
    return name.lower() if colon and "\n" not in name else ""


# The same in SQL.
SPEAKER = rf"lower(substring(left(content, {BEGINNING}) FROM '^([^:\n]*):'))"

# Which of the persons in the question the best by words show speaking; of each looked for until it is found.
SPEAKING = f"""
    SELECT p.person FROM unnest(%s::text[]) AS p (person) WHERE EXISTS (
        SELECT FROM words AS w WHERE p.person = (SELECT {SPEAKER} FROM memories_fragment
            WHERE project_id = {PROJECT} AND id = w.fragment_id AND source_type = 'conversation') OFFSET 0)"""

# The best of each side: of those that are asked, and of the others.
BEST = f"""
    SELECT h.fragment_id, h.score, h.rank FROM (
        SELECT h.fragment_id, h.score,
            row_number() OVER (PARTITION BY n.place > %s ORDER BY h.score DESC, h.fragment_id) AS rank
        FROM {READ} AS r
        JOIN unnest(%s::uuid[], %s::uuid[], %s::int[]) WITH ORDINALITY AS n (root, scope, few, place) USING (place)
        CROSS JOIN LATERAL (
            SELECT one.fragment_id, one.score
            FROM (
                SELECT * FROM nova_keyword_hits(n.root, n.scope, %s::text[], %s, %s, r.lexemes, r.held, r.documents,
                    r.counted, r.held_of_all, r.documents_of_all, r.mean_length_of_all,
                    CASE WHEN n.few IS NOT NULL THEN %s::uuid[] END, %s::jsonb, n.few, %s, %s, %s)
                ORDER BY score DESC, fragment_id OFFSET 0
            ) AS one
            {{checked}}
        ) AS h
    ) AS h
    WHERE h.rank <= %s ORDER BY h.score DESC, h.fragment_id"""


class KeywordHits(dict[uuid.UUID, float]):
    """BM25 score by fragment id, best first.

    `further` are the scores of those behind, by id as text, for what is found by other means.
    """

    def __init__(self, best: Mapping[uuid.UUID, float], further: Mapping[str, float]) -> None:
        super().__init__(best)
        self.further = further


def keyword_hits(
    scopes: Sequence[SearchScope],
    search: Search,
    *,
    others: Sequence[SearchScope] = (),
    among: Few | None = None,
) -> KeywordHits:
    """Return the `most` best of the scopes and as many of the `others`; as `keyword_query` has it."""
    query = keyword_query(scopes, search, others=others, among=among)
    rows = fetch(query.statement, query.params)
    best = {which: score for which, score, rank in rows if rank <= search.most}
    return KeywordHits(best, {str(which): score for which, score, rank in rows if rank > search.most})


def keyword_query(
    scopes: Sequence[SearchScope],
    search: Search,
    *,
    others: Sequence[SearchScope] = (),
    among: Few | None = None,
) -> Query:
    """Return the query for the `most` best of the scopes, as many of the `others`, and some behind these.

    Words weigh by all texts of both. `among` are the few that may pass the filters.
    """
    filters, reach, most = search.filters, search.reach, search.most
    condition, values = where(Fragment, filters.ranges)
    # Row by row, best first, until enough passed: most of them are never looked at.
    checked = f"""CROSS JOIN LATERAL (SELECT FROM memories_fragment WHERE memories_fragment.project_id = {PROJECT}
            AND memories_fragment.id = one.fragment_id AND {condition} OFFSET 0) AS f LIMIT %s"""
    statement = BEST.format(checked=checked if condition else "")
    counts = among.counts if among else {}
    read = [*scopes, *others]
    _, *named = _named(read)
    reached_by = [filters.statuses, reach.session_id, reach.at]
    params: list[Any] = [
        len(scopes),
        *named,
        *reached_by,
        search.query,
        *named,
        [counts.get(scope.id) for scope in read],
        *reached_by,
    ]
    # The marks find whom they found before; naming these costs more.
    params.append(among.ids if among and not among.marked else None)
    params.append(json.dumps(filters.marks) if filters.marks else None)
    if condition:
        params += [FILTERED_BUDGET, FILTERED_ENOUGH * most, FILTERED_POOL, scopes[0].project_id, *values, most]
    else:
        params += [max(BUDGET, BUDGET_PER_HIT * most), most, FURTHER * most]
    return Query(statement, [*params, FURTHER * most])


@dataclass(frozen=True, slots=True)
class NearestQuery(Query):
    """The nearest vectors as SQL: (fragment_id, cosine) rows, beside a CTE `asked` with the vector; the ways it goes.

    `scoped`: by scope, how its vectors are searched; `vectors`: about how many the largest index holds, if any.
    """

    scoped: Mapping[uuid.UUID, SearchWay]
    vectors: int | None = None

    @classmethod
    def joined(cls, queries: Sequence["NearestQuery"]) -> "NearestQuery":
        """Return one query for all that these find."""
        statement = " UNION ALL ".join(f"({query.statement})" for query in queries)
        ways = {scope: way for query in queries for scope, way in query.scoped.items()}
        largest = max((query.vectors for query in queries if query.vectors is not None), default=None)
        return cls(statement, [value for query in queries for value in query.params], ways, largest)

    def hold_in_view(self) -> None:
        """Let this transaction search its indexes so that enough hits pass the conditions; before it is asked."""
        if self.vectors is None:
            return
        ef_search = min(MOST_EF_SEARCH, max(EF_SEARCH, self.vectors // VECTORS_PER_EF))
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET LOCAL hnsw.ef_search = {ef_search}; SET LOCAL hnsw.iterative_scan = relaxed_order;"
                f" SET LOCAL hnsw.max_scan_tuples = {MOST_SCANNED}"
            )


def nearest(
    scopes: Sequence[SearchScope],
    search: Search,
    *,
    indexed: Mapping[uuid.UUID, int],
    among: Few | None = None,
) -> tuple[dict[uuid.UUID, float], dict[uuid.UUID, SearchWay]]:
    """Cosine by fragment id of the `most` nearest of all, and by namespace the way they were found.

    `indexed` are the namespaces whose vectors have an index, each with how many these are.
    """
    query = nearest_query(scopes, search, indexed=indexed, among=among)
    asked = asked_vector(search)
    query.hold_in_view()
    found = fetch(f"WITH {asked.statement} SELECT * FROM ({query.statement}) AS near", [*asked.params, *query.params])
    return dict(sorted(found, key=lambda row: (-row[1], row[0]))[: search.most]), dict(query.scoped)


def asked_vector(search: Search) -> Query:
    """Return the CTE `asked` with the question's vector."""
    return Query(f"asked (vector) AS MATERIALIZED (SELECT %s::halfvec({search.model.dim}))", [search.vector])


def asked_beside_words(search: Search, *, project_id: uuid.UUID) -> Query:
    """Return the CTE `asked`, with the vector without the question's persons where `words` show these `speaking`."""
    vector = f"%s::halfvec({search.model.dim})"
    statement = f"""speaking (person) AS MATERIALIZED ({SPEAKING}), asked (vector) AS MATERIALIZED (
        SELECT CASE WHEN EXISTS (SELECT FROM speaking) THEN {vector} ELSE {vector} END)"""
    persons = [] if search.impersonal is None else list(search.cues.persons)
    return Query(statement, [persons, project_id, search.impersonal, search.vector])


def nearest_query(
    scopes: Sequence[SearchScope],
    search: Search,
    *,
    indexed: Mapping[uuid.UUID, int],
    among: Few | None = None,
) -> NearestQuery:
    """Return the query for at least the `most` nearest; `indexed` as in `nearest`."""
    indexed = {} if search.filters.wants_cold else indexed
    few = among.counts if among else {}
    ways = {scope.id: choose_search(PlanGround(scope.id in indexed, few.get(scope.id))) for scope in scopes}
    by_way = {way: [scope for scope in scopes if ways[scope.id] == way] for way in SearchWay}
    parts = []
    if by_way[SearchWay.SCAN]:
        parts.append(_nearest(by_way[SearchWay.SCAN], search, exact=True))
    if by_way[SearchWay.PICK]:
        parts.append(_nearest(by_way[SearchWay.PICK], search, among=among, exact=True))
    for scope in by_way[SearchWay.INDEX]:
        parts.append(_nearest_by_index(scope, search))
    largest = max((indexed[scope.id] for scope in by_way[SearchWay.INDEX]), default=None)
    statement = " UNION ALL ".join(f"({part.statement})" for part in parts) or NOBODY
    return NearestQuery(statement, [value for part in parts for value in part.params], ways, largest)


NOBODY = "SELECT NULL::uuid, NULL::float8 WHERE false"


def _nearest_by_index(scope: SearchScope, search: Search) -> Query:
    """An index gives up after so many tuples: where fewer pass than was expected, all are looked at."""
    indexed, every = (_nearest([scope], search, exact=exact) for exact in (False, True))
    statement = f"""WITH indexed AS MATERIALIZED ({indexed.statement})
        SELECT * FROM indexed WHERE (SELECT count(*) FROM indexed) = %s
        UNION ALL SELECT * FROM ({every.statement}) AS every WHERE (SELECT count(*) FROM indexed) < %s"""
    return Query(statement, [*indexed.params, search.most, *every.params, search.most])


def _nearest(scopes: Sequence[SearchScope], search: Search, *, exact: bool, among: Few | None = None) -> Query:
    """Return the query; the trailing `+ 0` keeps the planner from an approximate index."""
    reach, times = reached(Embedding, search.reach)
    condition, values = where(Fragment, among.left if among else search.filters.conditions())
    joined = """JOIN memories_fragment ON memories_fragment.project_id = memories_embedding.project_id
        AND memories_fragment.id = memories_embedding.fragment_id"""
    picked = "AND memories_embedding.fragment_id = ANY (%s::uuid[])" if among else ""
    dim = search.model.dim
    distance = f"(memories_embedding.vector::halfvec({dim}) <#> (SELECT vector FROM asked))"
    # An index of one namespace serves only a statement that names it, and how few are wanted.
    here = inside(scopes, "memories_embedding", worded=not exact)
    statement = f"""
        SELECT memories_embedding.fragment_id, -{distance}
        FROM memories_embedding {joined if condition else ""}
        WHERE memories_embedding.project_id = {PROJECT} AND {here.statement}
            AND memories_embedding.model_id = {"%s" if exact else f"'{search.model.id}'"}
            AND memories_embedding.status = ANY (%s)
            {"" if search.filters.wants_cold else "AND NOT memories_embedding.cold"}
            AND {reach} {f"AND {condition}" if condition else ""} {picked}
        ORDER BY {distance}{" + 0" if exact else ""} LIMIT {"%s" if exact else search.most}"""
    few = [among.ids] if among else []
    params = [scopes[0].project_id, *here.params, *([search.model.id] if exact else [])]
    params += [search.filters.statuses, *times, *values, *few, *([search.most] if exact else [])]
    return Query(statement, params)


def indexed(scopes: Sequence[SearchScope], model: EmbeddingModel) -> dict[uuid.UUID, int]:
    """Return those of the namespaces whose vectors have an index that is ready, each with about how many it holds."""
    names = {index_name(scope.id, model, whole=scope.whole): scope.id for scope in scopes}
    statement = """SELECT c.relname, c.reltuples::bigint FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
        WHERE c.relname = ANY (%s) AND i.indisvalid"""
    return {names[name]: vectors for name, vectors in fetch(statement, [list(names)])}
