"""Candidates: what the scores of fragments are made of: those found, those said beside them, and claims asked for."""

import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import Q

from conflicts.free_text import Upheld, Vector
from conflicts.rulings import claim_ruled, text_ruled
from memories.models import Claim, Fragment
from memories.models.enums import SourceClass
from memories.models.fragment import wording_of
from memories.models.scoring import LAST_USED, STABILITY, days_since, decayed
from memories.models.sql import fetch
from memories.retrieval.candidate_search import (
    BEGINNING,
    NOBODY,
    KeywordHits,
    NearestQuery,
    Query,
    Search,
    asked_vector,
    speaker_of,
)
from memories.retrieval.search_scopes import SearchScope, literals, reached, where

Place = tuple[uuid.UUID, str, int]
Message = tuple[uuid.UUID, str, int | None, str]


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
    vector: Vector | None = None
    # The keys under which its claim gives way to another candidate's.
    lost: Collection[bytes] = ()
    # Whether it passes every condition; a claim that does not is no answer, and what contradicts it still says so.
    passes: bool = True
    # Whether the search for the nearest vectors found it.
    is_near: bool = False

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

    @property
    def relevance_score(self) -> float:
        """Its relevance now, decayed."""
        return decayed(self.base_relevance, days=self.unread, kept=self.kept)


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
        {quoted}, f.topics && %s::varchar[], {keys}, e.cosine, {believed}, {is_near}, {passes}, {words}
    FROM memories_fragment f
    LEFT JOIN LATERAL (
        SELECT access_count, last_accessed_at, stability FROM memories_access
        WHERE project_id = %s AND fragment_id = f.id OFFSET 0
    ) AS a ON true
    LEFT JOIN LATERAL (
        SELECT -(vector <#> {asked}) AS cosine, vector FROM memories_embedding
        WHERE project_id = %s AND fragment_id = f.id AND root_id IN ({roots}) AND namespace_id = f.namespace_id
            AND model_id = '{model}' OFFSET 0
    ) AS e ON true
    {among}"""
# What words and vectors find.
FOUND = """WITH words (fragment_id, score, rank, beginning) AS MATERIALIZED ({words}),
    {asked}, near (fragment_id, cosine) AS MATERIALIZED ({near})"""
# As an array, as which ids come from outside, too: joined, a database without statistics reads a project for each.
AMONG_FOUND = """WHERE f.project_id = %s
    AND f.id = ANY (ARRAY(SELECT fragment_id FROM words WHERE rank <= %s UNION SELECT fragment_id FROM near))"""
# In the first row only: what words found, and behind whom.
WORDS_FOUND = """CASE WHEN row_number() OVER () = 1 THEN (
    SELECT json_agg(json_build_array(fragment_id, score, rank, beginning) ORDER BY score DESC, fragment_id) FROM words
    )::text END"""
# A message beyond a fragment's length is kept in pieces, "id#1", "id#2", …; by sequence too, as "#n" may end an id.
PIECE_OF = """CASE WHEN f.source_type = 'conversation' AND f.source_id ~ '#[0-9]+$'
            THEN regexp_replace(f.source_id, '#[0-9]+$', '') ELSE '' END"""
OF_THE_USER = ", ".join(f"'{source.value}'" for source in (SourceClass.USER_EXPLICIT, SourceClass.USER_IMPLICIT))
KEYS = """ARRAY(SELECT key_digest FROM memories_claim
            WHERE project_id = f.project_id AND fragment_id = f.id AND status = 'active')"""
PLAIN = "f.authority, f.owner_id, '', NULL, NULL, NULL"
SAID_BESIDE = "CASE WHEN jsonb_exists_any(f.extra, '{trigger,steps}') THEN f.extra END"
BELIEVED = f"""greatest(f.authority, {text_ruled("f")}), f.owner_id, f.content, {SAID_BESIDE},
        (SELECT jsonb_agg(jsonb_build_array(m.subject, m.predicate, m.value, m.exclusive, encode(m.key_digest, 'hex'),
            greatest(m.authority, {claim_ruled("m")})) ORDER BY m.position)
        FROM memories_claim m WHERE m.project_id = f.project_id AND m.fragment_id = f.id AND m.status = 'active'),
        halfvec_send(e.vector)"""
VECTOR_HEAD = 4  # bytes before the numbers of a vector as Postgres sends it
MOST_CLAIMS = 50  # that a question brings in by their keys, the strongest
QUOTED = """(SELECT bool_or(strpos(t.lowered, phrase) > 0)
    FROM (SELECT lower(f.content) AS lowered OFFSET 0) AS t, unnest(%s::text[]) AS phrase)"""
PASSES = """EXISTS (SELECT FROM memories_fragment
    WHERE memories_fragment.project_id = f.project_id AND memories_fragment.id = f.id AND {condition})"""
CLAIMED = """memories_claim.project_id = memories_fragment.project_id
    AND memories_claim.fragment_id = memories_fragment.id"""
TURNS = range(-(2**31), 2**31)  # what a turn's number can be: beside the last one stands none


def find_candidates(
    scopes: Sequence[SearchScope], search: Search, *, words: Query, near: NearestQuery | None
) -> tuple[list[Candidate], KeywordHits]:
    """Return what words and vectors find, and the scores of the words; one statement. Without `near` words alone."""
    asked = asked_vector(search, beside_words=True)
    nearest = near or NearestQuery(NOBODY, [], {})
    nearest.hold_in_view()
    found = FOUND.format(words=words.statement, asked=asked.statement, near=nearest.statement)
    params = [*words.params, *asked.params, *nearest.params]
    rows = _load(scopes, search, found=Query(found, params))
    scores = json.loads(rows[0][-1] or "[]") if rows else []
    hits = KeywordHits.of(((uuid.UUID(which), *scored) for which, *scored in scores), search)
    return [_candidate(row) for row in rows], hits


def load(scopes: Sequence[SearchScope], ids: Iterable[uuid.UUID], search: Search) -> list[Candidate]:
    """Return what a score is made of, for these fragments; the cosine too, where there is a vector."""
    # As text: adapting each id takes longer than reading it.
    among = Query("= ANY (%s::uuid[])", [f"{{{','.join(map(str, ids))}}}"])
    return [_candidate(row) for row in _load(scopes, search, among=among)]


def load_claims(scopes: Sequence[SearchScope], keys: Collection[bytes], search: Search) -> list[Candidate]:
    """Return the claims that stand under these keys, whatever the question found; also those that pass no condition."""
    if not keys:
        return []
    reach, times = reached(Claim, search.reach)
    among = f"""IN (SELECT fragment_id FROM memories_claim WHERE project_id = %s AND namespace_id = ANY (%s)
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
) -> list[tuple[Any, ...]]:
    """Return the rows of what is `found`, or of the fragments `among` these."""
    phrases = search.cues.phrases
    passes, values = where(Fragment, conditions) if conditions else ("", [])
    statement = LOADED.format(
        roots=literals(scope.root_id for scope in scopes),
        model=search.model.id,
        speaker=BEGINNING,
        user=OF_THE_USER,
        piece_of=PIECE_OF,
        quoted=QUOTED if phrases else "false",
        keys=KEYS,
        believed=BELIEVED if search.weighs_claims else PLAIN,
        passes=PASSES.format(condition=passes) if passes else "true",
        found=found.statement if found else "",
        is_near="f.id IN (SELECT fragment_id FROM near)" if found else "false",
        words=WORDS_FOUND if found else "NULL",
        asked="(SELECT vector FROM asked)" if found else "%s::halfvec",
        among=AMONG_FOUND if among is None else f"WHERE f.project_id = %s AND f.id {among.statement}",
        **AGES,
    )
    project_id = scopes[0].project_id
    params = [*(found.params if found else ()), *[search.now] * len(AGES)]
    params += [*(search.cues.period or ("infinity", "infinity")), *([phrases] if phrases else [])]
    params += [search.cues.keys, *values]
    params += [project_id, *([] if found else [search.vector]), project_id, project_id]
    return fetch(statement, [*params, *([search.most] if among is None else among.params)])


def _candidate(row: tuple[Any, ...]) -> Candidate:
    *scored, rank, owner_id, content, beside, claims, sent, is_near, passes, _ = row
    found = Candidate(*[*scored, rank, owner_id, wording_of(content, json.loads(beside or "{}"))])
    found.is_near, found.passes = is_near, passes
    found.vector = None if sent is None else np.frombuffer(sent, ">f2", offset=VECTOR_HEAD).astype(np.float32)
    found.speaker = speaker_of(found.speaker)
    for subject, predicate, value, exclusive, key, claimed in json.loads(claims or "[]"):
        claim = (subject, predicate, value, exclusive, bytes.fromhex(key), claimed, found.source, found.vector)
        found.claims.append(Upheld(found.id, found.namespace_id, *claim))
    return found


def load_neighbours(scopes: Sequence[SearchScope], candidates: Sequence[Candidate], search: Search) -> list[Candidate]:
    """What was said right before and after these, as far as it passes every condition and is no candidate itself."""
    known = {candidate.place for candidate in candidates}
    beside = {place for c in candidates for place in (c.beside(-1), c.beside(1)) if place} - known
    beside = {place for place in beside if place[2] in TURNS}
    if not beside:
        return []
    condition, values = where(Fragment, search.filters.conditions())
    reach, times = reached(Claim, search.reach)
    statement = f"""
        SELECT memories_fragment.id FROM memories_fragment
        WHERE memories_fragment.project_id = %s AND memories_fragment.status = ANY (%s)
            AND memories_fragment.conversation_id <> ''
            AND (memories_fragment.namespace_id, conversation_id, sequence) IN (
                SELECT * FROM unnest(%s::uuid[], %s::varchar[], %s::int[]))
            AND (EXISTS (SELECT FROM memories_claim WHERE {CLAIMED} AND {reach})
                OR NOT EXISTS (SELECT FROM memories_claim WHERE {CLAIMED})) {f"AND {condition}" if condition else ""}"""
    places = [list(column) for column in zip(*sorted(beside), strict=True)]
    params = [scopes[0].project_id, search.filters.statuses, *places, *times, *values]
    ids = [row[0] for row in fetch(statement, params)]
    return load(scopes, ids, search) if ids else []
