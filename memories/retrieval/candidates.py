"""Candidates: what the scores of fragments are made of: those found, those said beside them, and claims asked for."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from django.db.models import Q

from conflicts.free_text import Upheld, Vector
from conflicts.rulings import claim_ruled, text_ruled
from memories.models import Claim, Fragment
from memories.models.enums import INSTRUCTION, SourceClass
from memories.models.fragment import wording_of
from memories.models.scoring import LAST_USED, STABILITY, Rates, days_since
from memories.models.sql import PROJECT, array_of, fetch, fetch_prepared
from memories.retrieval.candidate_search import (
    BEGINNING,
    NOBODY,
    KeywordHits,
    NearestQuery,
    Search,
    asked_beside_words,
    speaker_of,
)
from memories.retrieval.search_plan import SearchWay
from memories.retrieval.search_scopes import Query, SearchScope, among_roots, reached, where

Place = tuple[uuid.UUID, str, int]
Message = tuple[uuid.UUID, str, int | None, str]
Column = npt.NDArray[np.float64]  # a number of each candidate


@dataclass(slots=True)
class Candidate:
    """What a score is made of; a light stand-in for a fragment's wide row. The fields stand as `LOADED` has columns."""

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
    # Who speaks, where a turn begins with a name: "Ann: …"; lower case. Whether it is a turn of a conversation, and
    # there the user's; what the message is called of which it is a piece.
    speaker: str
    is_turn: bool
    is_by_user: bool
    piece_of: str
    # Whether it holds a phrase that the question quotes; whether it is about something that the question is about.
    quoted: bool
    on_topic: bool
    # Of what it claims, the keys.
    keys: list[bytes]
    cosine: float | None
    # How far it may be believed: its authority, or that of the ruling that chose it; whose it is; what it says and
    # claims, where claims are weighed.
    rank: int = 0
    owner_id: uuid.UUID | None = None
    wording: str = ""
    claims: list[Upheld] = field(default_factory=list)
    # Its vector as Postgres sends it: few are read.
    sent: bytes | None = None
    # Whether it passes every condition; a claim that does not is no answer, and what contradicts it still says so.
    passes: bool = True
    # Whether the search for the nearest vectors found it; whether it was said beside one of the best; whether it makes
    # one of all the claims, where these are few.
    is_near: bool = False
    is_beside: bool = False
    is_held: bool = False
    # Whether the user tells the assistant in it what to do from then on.
    is_standing: bool = False
    # The keys under which its claim gives way to another candidate's.
    lost: Collection[bytes] = ()
    # By key what it claims that was rejected, though it stands for something else.
    rejected: dict[bytes, str] = field(default_factory=dict)

    @property
    def vector(self) -> Vector | None:
        """Its vector in single precision (dim); None where it has none, or none was asked for."""
        return None if self.sent is None else np.frombuffer(self.sent, ">f2", offset=VECTOR_HEAD).astype(np.float32)

    @property
    def place(self) -> Place | None:
        """Where it stands in a conversation."""
        return self.beside(0)

    def beside(self, steps: int) -> Place | None:
        """Return the place so many turns further on."""
        if not self.conversation_id or self.sequence is None:
            return None
        return self.namespace_id, self.conversation_id, self.sequence + steps

    @property
    def message(self) -> Message | None:
        """The message of which it is a piece among others."""
        if not self.piece_of:
            return None
        return self.namespace_id, self.conversation_id, self.sequence, self.piece_of

    @property
    def kept(self) -> bool:
        """Whether time does nothing to it."""
        return self.is_pinned or self.is_anchor

    def relevance_score(self, rates: Rates) -> float:
        """Return its relevance now, decayed."""
        return rates.decayed(self.base_relevance, days=self.unread, kept=self.kept)


NOW = "%s::timestamptz"
AGES = {
    "age_of_created": days_since("f.created_at", now=NOW),
    "age_of_updated": days_since("f.updated_at", now=NOW),
    "age_of_used": f"{days_since(LAST_USED, now=NOW)} / {STABILITY}",
}
# Each fragment is looked up by itself, and what stands beside it too: nothing then rests on statistics that a freshly
# filled database does not have yet.
LOADED = """
    {found}
    SELECT f.id, f.namespace_id, f.type, f.source, f.importance, f.emotional_valence, f.is_pinned, f.is_anchor,
        f.base_relevance, f.corroboration, f.reinforcements, f.disputes, coalesce(a.access_count, 0),
        {age_of_created}, {age_of_updated}, {age_of_used},
        coalesce(coalesce(f.event_at, f.created_at) <@ tstzrange(%s, %s), false), f.conversation_id, f.sequence,
        length(f.content), CASE f.source_type WHEN 'conversation' THEN left(f.content, {speaker}) ELSE '' END,
        f.source_type = 'conversation', f.source_type = 'conversation' AND f.source IN ({user}), {piece_of},
        {quoted}, f.topics && %s::varchar[], {keys}, e.cosine, {believed}, {passes}, {ways}, {beside}, {words}
    FROM memories_fragment f
    LEFT JOIN LATERAL (
        SELECT access_count, last_accessed_at, stability FROM memories_access
        WHERE project_id = {project} AND fragment_id = f.id OFFSET 0
    ) AS a ON true
    LEFT JOIN LATERAL (
        SELECT -(vector <#> {asked}) AS cosine, vector FROM memories_embedding
        WHERE project_id = {project} AND fragment_id = f.id AND {roots} AND namespace_id = f.namespace_id
            AND model_id = %s OFFSET 0
    ) AS e ON true
    {among}"""
# What words and vectors find, what was said beside the best of that, and all claims as long as they are few.
FOUND = """WITH words (fragment_id, score, rank) AS MATERIALIZED ({words}),
    {asked}, near (fragment_id, cosine) AS MATERIALIZED ({near}),
    places AS MATERIALIZED (
        SELECT namespace_id, conversation_id, sequence FROM memories_fragment
        WHERE project_id = {project} AND conversation_id <> '' AND id = ANY (ARRAY(
            (SELECT fragment_id FROM words ORDER BY score DESC, fragment_id LIMIT %s)
            UNION (SELECT fragment_id FROM near ORDER BY cosine DESC, fragment_id LIMIT %s)))),
    beside (fragment_id) AS MATERIALIZED ({beside}),
    held (fragment_id) AS MATERIALIZED ({held}),
    standing (fragment_id) AS MATERIALIZED ({standing})"""
BESIDE = """
    SELECT memories_fragment.id FROM memories_fragment
    WHERE memories_fragment.project_id = {project} AND memories_fragment.id = ANY (ARRAY(
        SELECT n.id FROM places AS b CROSS JOIN LATERAL (
            SELECT t.id FROM memories_fragment AS t
            WHERE t.project_id = {project} AND t.namespace_id = b.namespace_id AND t.conversation_id = b.conversation_id
                AND t.conversation_id <> '' AND t.sequence BETWEEN b.sequence::bigint - 1 AND b.sequence::bigint + 1
                AND t.sequence <> b.sequence OFFSET 0
        ) AS n)) AND {passing}"""
HELD = """SELECT fragment_id FROM memories_claim
    WHERE project_id = {project} AND namespace_id = ANY (%s) AND status = 'active' AND {reach} LIMIT %s"""
# As an array, as which ids come from outside, too: joined, a database without statistics reads a project for each.
AMONG_FOUND = f"""WHERE f.project_id = {PROJECT} AND f.id = ANY (ARRAY(
    SELECT fragment_id FROM words WHERE rank <= %s UNION SELECT fragment_id FROM near
    UNION SELECT fragment_id FROM beside UNION SELECT fragment_id FROM standing
    UNION SELECT fragment_id FROM held WHERE (SELECT count(*) FROM held) <= %s))"""
# In the first row only, as JSON: BM25 by id of the best by words and of those behind, best first; who speaks there; how
# many claims there are, as far as it was counted. Put together as text, which takes Postgres least.
SCORED = """(SELECT string_agg(concat('"', fragment_id, '":', score), ',' ORDER BY score DESC, fragment_id) FROM words
        WHERE rank {which} %s)"""
WORDS_FOUND = f"""CASE WHEN row_number() OVER () = 1 THEN concat('[{{', {SCORED.format(which="<=")}, '}},{{',
        {SCORED.format(which=">")}, '}},', coalesce((SELECT json_agg(person) FROM speaking)::text, '[]'), ',',
        (SELECT count(*) FROM held), ']') END"""
WAYS = """f.id IN (SELECT fragment_id FROM near), f.id IN (SELECT fragment_id FROM beside),
        f.id IN (SELECT fragment_id FROM held), f.id IN (SELECT fragment_id FROM standing)"""
# A message beyond a fragment's length is kept in pieces, "id#1", "id#2", …; by sequence too, as "#n" may end an id.
PIECE_OF = """CASE WHEN f.source_type = 'conversation' AND f.source_id ~ '#[0-9]+$'
            THEN regexp_replace(f.source_id, '#[0-9]+$', '') ELSE '' END"""
OF_THE_USER = ", ".join(f"'{source.value}'" for source in (SourceClass.USER_EXPLICIT, SourceClass.USER_IMPLICIT))
STANDING = f"""
    SELECT memories_fragment.id FROM memories_fragment
    WHERE memories_fragment.project_id = {PROJECT} AND memories_fragment.namespace_id = ANY (%s)
        AND memories_fragment.extra ? '{INSTRUCTION}' AND memories_fragment.source IN ({OF_THE_USER}) AND {{passing}}
    ORDER BY memories_fragment.created_at DESC, memories_fragment.id LIMIT %s"""
KEYS = """ARRAY(SELECT key_digest FROM memories_claim
            WHERE project_id = f.project_id AND fragment_id = f.id AND status = 'active')"""
NO_KEYS = "'{}'::bytea[]"  # where the claims come along, which have them
# Of the best by words it is asked whether they say all that the question says.
MOST_QUOTED = 3
BEST_BY_WORDS = f"f.id = ANY (ARRAY(SELECT fragment_id FROM words WHERE rank <= {MOST_QUOTED}))"
PLAIN = f"f.authority, NULL::uuid, CASE WHEN {BEST_BY_WORDS} THEN f.content ELSE '' END, NULL, NULL"
BARE = "f.authority, NULL::uuid, '', NULL, NULL"
SAID_BESIDE = "CASE WHEN jsonb_exists_any(f.extra, '{trigger,steps}') THEN f.extra::text END"
BELIEVED = f"""greatest(f.authority, {text_ruled("f")}), f.owner_id, f.content,
        (SELECT jsonb_agg(jsonb_build_array(m.subject, m.predicate, m.value, m.exclusive, encode(m.key_digest, 'hex'),
            m.authority, {claim_ruled("m")}, m.status = 'active') ORDER BY m.position)::text
        FROM memories_claim m WHERE m.project_id = f.project_id AND m.fragment_id = f.id
            AND (m.status = 'active' OR m.verdict = 'archived')),
        halfvec_send(e.vector)"""
VECTOR_HEAD = 4  # bytes before the numbers of a vector as Postgres sends it
MOST_INSTRUCTIONS = 50  # the newest, of which the nearest are taken
FEW_SCOPES = 8  # for each number of them a session keeps a plan
FEW_CLAIMS = 120  # of so many all are loaded, which takes less than asking once more for those that are sought
MOST_CLAIMS = 50  # that a question brings in by their keys, the strongest
QUOTED = """(SELECT bool_or(strpos(t.lowered, phrase) > 0)
    FROM (SELECT lower(f.content) AS lowered OFFSET 0) AS t, unnest(%s::text[]) AS phrase)"""
PASSES = """EXISTS (SELECT FROM memories_fragment
    WHERE memories_fragment.project_id = f.project_id AND memories_fragment.id = f.id AND {condition})"""
CLAIMED = """memories_claim.project_id = memories_fragment.project_id
    AND memories_claim.fragment_id = memories_fragment.id"""
TURNS = range(-(2**31), 2**31)  # what a turn's number can be: beside the last one stands none


@dataclass(frozen=True, slots=True)
class Found:
    """What one statement found: candidates, what was said beside the best, and the claims where these are few."""

    candidates: list[Candidate]
    words: KeywordHits
    has_all_claims: bool
    # Whom of the persons in the question the best by words show speaking.
    speaking: frozenset[str] = frozenset()

    def beside(self, best: Sequence[Candidate]) -> list[Candidate]:
        """Return what was said right before and after these."""
        places = _places_beside(best)
        return [candidate for candidate in self.candidates if candidate.is_beside and candidate.place in places]

    def instructions(self, *, most: int, nearness: float) -> list[Candidate]:
        """Return the standing instructions that are nearest to the question, at a cosine of so much at least."""
        near = [one for one in self.candidates if one.is_standing and (one.cosine or 0.0) >= nearness]
        return sorted(near, key=lambda one: (-(one.cosine or 0.0), one.id))[:most]

    @property
    def claims(self) -> list[Upheld] | None:
        """All claims that stand there; None where these are many."""
        held = (claim for candidate in self.candidates if candidate.is_held for claim in candidate.claims)
        return list(held) if self.has_all_claims else None

    def claiming(self, keys: Collection[bytes]) -> list[Candidate]:
        """Return those with a claim under one of these keys."""
        return [candidate for candidate in self.candidates if candidate.is_held and set(candidate.keys) & set(keys)]


def find_candidates(
    scopes: Sequence[SearchScope],
    search: Search,
    *,
    words: Query,
    near: NearestQuery | None,
    claiming: Sequence[SearchScope] = (),
    instructing: Sequence[SearchScope] = (),
) -> Found:
    """Return what words and vectors find, with the scores of the words; one statement. Without `near` words alone.

    Beside it the neighbours of the best, what is claimed in `claiming`, and standing instructions of `instructing`.
    """
    project_id = scopes[0].project_id
    asked = asked_beside_words(search, project_id=project_id)
    nearest = near or NearestQuery(NOBODY, [], {})
    nearest.hold_in_view()
    # Also where nothing is claimed or instructed: the text is the same then.
    beside, held = _beside(scopes, search), _held(claiming, search, project_id=project_id)
    standing = _standing(instructing, search, project_id=project_id)
    found = FOUND.format(
        project=PROJECT,
        words=words.statement,
        asked=asked.statement,
        near=nearest.statement,
        beside=beside.statement,
        held=held.statement,
        standing=standing.statement,
    )
    params = [*words.params, *asked.params, *nearest.params, *beside.params, *held.params, *standing.params]
    conditions = search.filters.conditions()
    # Whether an index or all vectors are the quicker way depends on how many pass: that is planned for each time.
    is_prepared = len(scopes) <= FEW_SCOPES and not (conditions and SearchWay.INDEX in nearest.scoped.values())
    rows = _load(scopes, search, found=Query(found, params), conditions=conditions, is_prepared=is_prepared)
    best, further, speaking, claims = orjson.loads(rows[0][-1]) if rows else ({}, {}, (), FEW_CLAIMS + 1)
    candidates = [_candidate(row) for row in rows]
    ids = {candidate.id.int: candidate.id for candidate in candidates}
    named = ((ids.get(int(which.replace("-", ""), 16)), float(score)) for which, score in best.items())
    hits = KeywordHits({which: score for which, score in named if which}, further)
    return Found(candidates, hits, claims <= FEW_CLAIMS, frozenset(speaking))


def _beside(scopes: Sequence[SearchScope], search: Search) -> Query:
    """Return the query for what was said right before and after the best by words and by meaning."""
    passing = _passing(search)
    project_id = scopes[0].project_id
    params = [project_id, search.neighboured, search.neighboured, project_id, project_id, *passing.params]
    return Query(BESIDE.format(project=PROJECT, passing=passing.statement), params)


def _held(scopes: Sequence[SearchScope], search: Search, *, project_id: uuid.UUID) -> Query:
    """Return the query for the fragments that claim something there: one more than is loaded, where there are more."""
    reach, times = reached(Claim, search.reach)
    params = [project_id, [scope.id for scope in scopes], *times, FEW_CLAIMS + 1]
    return Query(HELD.format(project=PROJECT, reach=reach), params)


def _standing(scopes: Sequence[SearchScope], search: Search, *, project_id: uuid.UUID) -> Query:
    """Return the query for the newest standing instructions there that pass every condition."""
    passing = _passing(search)
    params = [project_id, [scope.id for scope in scopes], *passing.params, MOST_INSTRUCTIONS]
    return Query(STANDING.format(passing=passing.statement), params)


def _passing(search: Search) -> Query:
    """Return the condition on a fragment's row that the question's filters and reach are."""
    condition, values = where(Fragment, search.filters.conditions())
    reach, times = reached(Claim, search.reach)
    statement = f"""memories_fragment.status = ANY (%s) AND
        coalesce((SELECT bool_or({reach}) FROM memories_claim WHERE {CLAIMED}), true)
        {f"AND {condition}" if condition else ""}"""
    return Query(statement, [search.filters.statuses, *times, *values])


def load(scopes: Sequence[SearchScope], ids: Iterable[uuid.UUID], search: Search) -> list[Candidate]:
    """Return what a score is made of, for these fragments; the cosine too, where there is a vector."""
    among = Query("= ANY (%s::uuid[])", [array_of(ids)])
    return [_candidate(row) for row in _load(scopes, search, among=among)]


def load_claims(scopes: Sequence[SearchScope], keys: Collection[bytes], search: Search) -> list[Candidate]:
    """Return the claims that stand under these keys, whatever the question found; also those that pass no condition."""
    if not keys:
        return []
    reach, times = reached(Claim, search.reach)
    among = f"""IN (SELECT fragment_id FROM memories_claim WHERE project_id = {PROJECT} AND namespace_id = ANY (%s)
        AND status = 'active' AND key_digest = ANY (%s) AND {reach} ORDER BY authority DESC, fragment_id LIMIT %s)"""
    params = [scopes[0].project_id, [scope.id for scope in scopes], list(keys), *times, MOST_CLAIMS]
    rows = _load(scopes, search, among=Query(among, params), conditions=search.filters.conditions())
    return [_candidate(row) for row in rows]


def _load(
    scopes: Sequence[SearchScope],
    search: Search,
    *,
    found: Query | None = None,
    among: Query | None = None,
    conditions: Q | None = None,
    is_prepared: bool = False,
) -> list[tuple[Any, ...]]:
    """Return the rows of what is `found`, or of the fragments `among` these; of claims, whether `conditions` hold."""
    phrases = search.cues.phrases
    passes, values = where(Fragment, conditions) if conditions else ("", [])
    roots = among_roots(scopes)
    only_claims = "f.id NOT IN (SELECT fragment_id FROM held) OR " if found else ""
    statement = LOADED.format(
        project=PROJECT,
        roots=roots.statement,
        speaker=BEGINNING,
        user=OF_THE_USER,
        piece_of=PIECE_OF,
        quoted=QUOTED if phrases else "false",
        keys=NO_KEYS if search.weighs_claims else KEYS,
        believed=BELIEVED if search.weighs_claims else PLAIN if found else BARE,
        beside=SAID_BESIDE if search.weighs_claims else "NULL",
        passes=only_claims + PASSES.format(condition=passes) if passes else "true",
        found=found.statement if found else "",
        ways=WAYS if found else "false, false, true, false",
        words=WORDS_FOUND if found else "NULL",
        asked="(SELECT vector FROM asked)" if found else "%s::halfvec",
        among=AMONG_FOUND if among is None else f"WHERE f.project_id = {PROJECT} AND f.id {among.statement}",
        **AGES,
    )
    project_id = scopes[0].project_id
    params = [*(found.params if found else ()), *[search.now] * len(AGES)]
    params += [*map(str, search.cues.period or ("infinity", "infinity")), *([phrases] if phrases else [])]
    params += [search.cues.keys, *values, *([search.most, search.most] if found else [])]
    params += [project_id, *([] if found else [search.vector]), project_id, *roots.params, search.model.id, project_id]
    params += [search.most, FEW_CLAIMS] if among is None else among.params
    return fetch_prepared(statement, params, binary=True) if is_prepared else fetch(statement, params)


def _candidate(row: Sequence[Any]) -> Candidate:
    found = Candidate(*row[:-2])
    stated, beside = row[CLAIMS], row[-2]
    found.speaker = speaker_of(found.speaker)
    if beside:
        found.wording = wording_of(found.wording, orjson.loads(beside))
    found.claims = []
    for *told, key, authority, ruled, stands in orjson.loads(stated) if stated else ():
        claim = (*told, bytes.fromhex(key), max(authority, ruled or 0), found.source, ruled or 0, found.vector)
        made = Upheld(found.id, found.namespace_id, *claim)
        if stands:
            found.claims.append(made)
        else:
            found.rejected[made.key] = made.value
    found.keys = found.keys or [claim.key for claim in found.claims]
    return found


CLAIMS = [each.name for each in fields(Candidate)].index("claims")


def load_neighbours(scopes: Sequence[SearchScope], candidates: Sequence[Candidate], search: Search) -> list[Candidate]:
    """What was said right before and after these, as far as it passes every condition and is no candidate itself."""
    beside = {place for place in _places_beside(candidates) if place[2] in TURNS}
    if not beside:
        return []
    passing = _passing(search)
    statement = f"""
        SELECT memories_fragment.id FROM memories_fragment
        WHERE memories_fragment.project_id = {PROJECT} AND memories_fragment.conversation_id <> ''
            AND (memories_fragment.namespace_id, conversation_id, sequence) IN (
                SELECT * FROM unnest(%s::uuid[], %s::varchar[], %s::int[]))
            AND {passing.statement}"""
    places = [list(column) for column in zip(*sorted(beside), strict=True)]
    ids = [row[0] for row in fetch(statement, [scopes[0].project_id, *places, *passing.params])]
    return load(scopes, ids, search) if ids else []


def _places_beside(candidates: Sequence[Candidate]) -> set[Place]:
    """Return the places right before and after these at which none of them stands."""
    beside = {place for candidate in candidates for place in (candidate.beside(-1), candidate.beside(1)) if place}
    return beside - {candidate.place for candidate in candidates}
