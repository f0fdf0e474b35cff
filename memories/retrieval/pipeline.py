"""From a question to the memories that answer it."""

import datetime
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.conf import settings
from prometheus_client import Histogram

from conflicts.free_text import ClaimsAtHand, keys_sought
from memories import access, usage_counters
from memories.access import Principal
from memories.models import EmbeddingModel, vector_text
from memories.models.answer_rows import load_answer_rows
from memories.models.enums import Status
from memories.providers import (
    RerankingFailed,
    active_model,
    current_reranker,
    embed_queries,
    embeds_here,
    model_named,
)
from memories.retrieval.candidate_search import (
    NearestQuery,
    Search,
    keyword_hits,
    keyword_query,
    nearest,
    nearest_query,
    passing,
)
from memories.retrieval.candidates import Candidate, Found, find_candidates, load, load_claims, load_neighbours
from memories.retrieval.decomposition import NotDecomposed, parts_of
from memories.retrieval.expectation import explain_expected
from memories.retrieval.fusion import best_of, fuse, reranked
from memories.retrieval.precedence import RankedSeat
from memories.retrieval.query_features import Cues, extract_cues
from memories.retrieval.questions import Filters, Hit, Question, Results
from memories.retrieval.scope import Places, places_of
from memories.retrieval.search_scopes import SearchScope
from memories.retrieval.selection import profile_of, select
from memories.retrieval.speakers import have_spoken, note_speakers
from memories.retrieval.terms import terms_of
from memories.retrieval.trace import Stage, Trail
from memories.stage_times import note_stages

POOL = 50  # candidates of each kind, at least
NEIGHBOURED = 40  # the best candidates, whose neighbours in their conversations become candidates too
# Standing instructions that a question may bring, of which only some cosine is asked: that share of the model's floor.
# Measured: docs/decisions/0131.
INSTRUCTIONS, INSTRUCTION_NEARNESS = 3, 0.5
PART_DEPTH = 20  # of what answers a part of the question
READ = 10  # the best by words and the best by meaning, of which keys they speak
TOOK = Histogram("nova_search_seconds", "How long searches take, by stage.", ["stage"])


@dataclass(frozen=True, slots=True)
class UnderstoodQuestion:
    """A question as it was read, with its vector, None without an embedder, and that without persons; milliseconds.

    `granted`: its persons were seen to speak there, and `vector` is the one without them.
    `pool`: how many candidates of each kind it draws; `parts`: the questions that it is made of, and `answering` how
    relevant what answers them is; `reranked`: the reranker's scores; `away`: what did not answer.
    """

    question: Question
    cues: Cues
    model: EmbeddingModel
    vector: Any
    impersonal: Any
    took: dict[str, float]
    pool: int
    parts: Sequence[str] = ()
    answering: Mapping[uuid.UUID, float] = field(default_factory=dict)
    reranked: Mapping[uuid.UUID, float] = field(default_factory=dict)
    away: tuple[str, ...] = ()
    granted: bool = False


def search(principal: Principal, question: Question, *, now: datetime.datetime) -> Results:
    """Return the best memories for a question, best first; three count as read. Raise NotFound, NoSuchModel."""
    results = find(principal, question, now=now)
    usage_counters.count_reads(principal.project_id, results.used(), at=now)
    usage_counters.count_search(principal.project_id, took=results.took_ms["total"], found=bool(results.hits), at=now)
    return results


def find(principal: Principal, question: Question, *, now: datetime.datetime) -> Results:
    """As `search`, without counting the hits as read."""
    return answer(principal, prepare_question(principal, question, now=now), now=now)


def prepare_question(
    principal: Principal, question: Question, *, now: datetime.datetime, model: EmbeddingModel | None = None
) -> UnderstoodQuestion:
    """Read, embed, take apart and rerank, before the transaction in which the question is answered.

    With a `model` by that one, although it is not ready for everybody's questions. Raise NoSuchModel, NotPermitted;
    with a reranker or parts NotFound, too.
    """
    understood = _understood(principal, question, model, now=now)
    if not question.rerank or not question.top_k or "relevance" not in profile_of(question).needs:
        return understood
    understood, reranker = _taken_apart(principal, understood, now=now), current_reranker()
    if not reranker:
        return understood
    took, pool = dict(understood.took), max(understood.pool, settings.RERANKER_DEPTH)
    try:
        with _timed(took, "rerank"):
            hits = _most_relevant(principal, replace(understood, pool=pool), settings.RERANKER_DEPTH, now=now)
            scores = reranker.scores(question.query, [hit.fragment.wording for hit in hits]) if hits else []
    except RerankingFailed:
        return replace(understood, took=took, away=(*understood.away, "reranker"))
    by_id = {hit.fragment.id: score for hit, score in zip(hits, scores, strict=True)}
    return replace(understood, took=took, pool=pool, reranked=by_id)


def _taken_apart(principal: Principal, understood: UnderstoodQuestion, *, now: datetime.datetime) -> UnderstoodQuestion:
    """Return the question with its parts and what answers them; as it was where it has none or nobody tells them."""
    question, took = understood.question, dict(understood.took)
    if not settings.QUERY_PARTS:
        return understood
    try:
        with _timed(took, "take_apart"):
            parts = parts_of(question.query)
    except NotDecomposed:
        return replace(understood, took=took, away=(*understood.away, "sidecar"))
    answering: dict[uuid.UUID, float] = {}
    with _timed(took, "parts"):
        for part in parts:
            asked = _understood(principal, replace(question, query=part), understood.model, now=now)
            for hit in _most_relevant(principal, asked, PART_DEPTH, now=now):
                answering[hit.fragment.id] = max(answering.get(hit.fragment.id, 0.0), hit.signals["relevance"])
    return replace(understood, took=took, parts=parts, answering=answering)


def _most_relevant(
    principal: Principal, question: UnderstoodQuestion, depth: int, *, now: datetime.datetime
) -> list[Hit]:
    """Return the most relevant of what may answer."""
    wanted = replace(question.question, top_k=depth, profile="relevance", weights=None, explain=False, expect=None)
    return _search(principal, replace(question, question=wanted), now=now).hits


def _understood(
    principal: Principal, question: Question, model: EmbeddingModel | None, *, now: datetime.datetime
) -> UnderstoodQuestion:
    principal.require("read")
    took: dict[str, float] = {}
    with _timed(took, "read"):
        cues = extract_cues(question.query, now=now)
    with _timed(took, "embed"):
        model = model or (model_named(question.model) if question.model else principal.active_model or active_model())
        granted = _is_granted(principal, question, cues, model)
        vector, impersonal = _vectors(cues, model, granted=granted)
    pool = max(POOL, 3 * question.top_k)
    return UnderstoodQuestion(question, cues, model, vector, impersonal, took, pool, granted=granted)


def _is_granted(principal: Principal, question: Question, cues: Cues, model: EmbeddingModel) -> bool:
    """Return whether who is named is taken to speak: was seen to, nothing is left out, and an error costs little."""
    if not cues.impersonal or question.filters != Filters() or question.session_id or question.as_of:
        return False
    return embeds_here(model) and have_spoken(principal, question, cues.persons)


def answer(principal: Principal, question: UnderstoodQuestion, *, now: datetime.datetime) -> Results:
    """Return what answers a question; a part of the transaction that is open, if one is. Raise NotFound."""
    results = _search(principal, question, now=now)
    for stage, milliseconds in results.took_ms.items():
        TOOK.labels(stage).observe(milliseconds / 1000)
    note_stages(results.took_ms)
    return results


def _search(principal: Principal, understood: UnderstoodQuestion, *, now: datetime.datetime) -> Results:
    question, model, vector, took = understood.question, understood.model, understood.vector, dict(understood.took)
    asks = question.explain or question.expect is not None
    trail = Trail(understood.cues, asks, parts=understood.parts)
    if vector is not None:
        trail.floor = model.floor if question.floor is None else question.floor
    with access.enter(principal, why="search", keeps_plans=True):
        places = places_of(principal, question, model)
        hits, claims = list[Hit](), None
        if (places.own or places.others) and question.top_k > 0:
            with _timed(took, "candidates"):
                found, claims = _candidates(principal, understood, places, trail, now=now)
            with _timed(took, "rank"):
                relevance, by_meaning = _relevance(understood, found, trail), vector is not None
                ranked = select(
                    principal, question, places, found, claims, trail, relevance=relevance, by_meaning=by_meaning
                )
            with _timed(took, "load"):
                hits = _loaded(principal, question, ranked, trail)
            if question.explain:
                read = replace(question, query=understood.cues.reduced)
                trail.terms = terms_of([*places.own, *places.others], read, trail.bm25, now=now)
        expected = explain_expected(principal, question, places, trail, now=now) if question.expect else None
    took["total"] = round(sum(took.values()), 3)
    return Results(
        hits,
        took,
        degraded=[*([] if vector is not None else ["embedder"]), *understood.away],
        model=model,
        places=places,
        claims=claims,
        nothing_relevant=trail.nothing_relevant,
        explanation=trail.told() if question.explain else None,
        expected=expected,
    )


def _vectors(cues: Cues, model: EmbeddingModel, *, granted: bool = False) -> tuple[Any, Any]:
    """Return the question's vector and that of the question without its persons, None where it names none.

    The turns of who speaks say "I": their vectors hold the name only where the text puts it before the turn, and then
    it outweighs what is said. Which of the two is asked shows when words found who speaks; they mostly did before.
    """
    if not cues.impersonal:
        return embed_queries([cues.reduced], model=model)[0], None
    if granted:
        (impersonal,) = embed_queries([cues.impersonal], model=model)
        return impersonal, impersonal
    vector, impersonal = embed_queries([cues.reduced, cues.impersonal], model=model)
    return vector, impersonal


@contextmanager
def _timed(took: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        took[stage] = round((time.perf_counter() - start) * 1000, 3)


def _candidates(
    principal: Principal, understood: UnderstoodQuestion, places: Places, trail: Trail, *, now: datetime.datetime
) -> tuple[list[Candidate], ClaimsAtHand | None]:
    """Whatever may answer, and the claims to hold it against, where something is claimed."""
    question, scopes = understood.question, [*places.own, *places.others]
    claiming = [scope for scope in places.own if scope.id in places.names]
    wanted, drawn = _drawn(principal, understood, places, trail, claiming, now=now)
    found = [candidate for candidate in drawn.candidates if candidate.id in trail.paths]
    if question.first:
        found += _draw_first(question.first, places, wanted, trail)
    nearness = INSTRUCTION_NEARNESS * (understood.model.floor or 0.0)
    instructions = drawn.instructions(most=INSTRUCTIONS, nearness=nearness)
    found += [one for one in instructions if one.id not in trail.paths]
    trail.by_instruction(one.id for one in instructions)
    if further := set(understood.answering) - {candidate.id for candidate in found}:
        found += load(scopes, further, wanted)
    trail.by_parts(candidate.id for candidate in found if candidate.id in understood.answering)
    if any(candidate.place for candidate in found):
        best = _best(found, trail)
        beside = load_neighbours(scopes, best, wanted) if question.first else drawn.beside(best)
        found += _not_yet(found, beside, trail)
    if not places.names:
        return found, None
    texts = [one.wording for one in found if trail.paths[one.id].is_near(READ)]
    keys = keys_sought(question.query, texts, places.names.values(), among=drawn.claims)
    sought = drawn.claiming(keys) if drawn.has_all_claims else load_claims(claiming, keys, wanted)
    return _with_claims(question, places, found, sought, trail)


def _drawn(
    principal: Principal,
    understood: UnderstoodQuestion,
    places: Places,
    trail: Trail,
    claiming: Sequence[SearchScope],
    *,
    now: datetime.datetime,
) -> tuple[Search, Found]:
    """Return what words and vectors find, and what was looked for, with the vector that was asked in the end.

    Each pool is drawn apart: others' memories can't crowd out one's own.
    """
    question, wanted, scopes = understood.question, _wanted(understood, places, now=now), [*places.own, *places.others]
    among = passing(scopes, wanted)
    words = keyword_query(places.own, wanted, others=places.others, among=among)
    near, instructing = None, list[SearchScope]()
    if understood.vector is not None:
        pools = [nearest_query(pool, wanted, indexed=places.indexed, among=among) for pool in places.pools]
        near = NearestQuery.joined(pools)
        trail.ways |= {scope.name: near.scoped[scope.id] for scope in scopes}
        # Of a namespace with all its users nobody's instructions are everybody's.
        instructing = [scope for scope in places.own if not scope.whole]
    draw = partial(find_candidates, scopes, words=words, near=near, claiming=claiming, instructing=instructing)
    drawn = draw(wanted)
    if understood.granted and not drawn.speaking:
        note_speakers(principal, question, understood.cues.persons, speak=False)
        named, _ = _vectors(understood.cues, understood.model)
        wanted = replace(wanted, vector=wanted.vector if named is None else vector_text(named))
        drawn = draw(wanted)
    if drawn.speaking:
        trail.speakers = drawn.speaking
        note_speakers(principal, question, drawn.speaking, speak=True)
        wanted = replace(wanted, vector=wanted.impersonal)
    _follow(trail, drawn, places, most=wanted.most)
    return wanted, drawn


def _wanted(understood: UnderstoodQuestion, places: Places, *, now: datetime.datetime) -> Search:
    """Return what is looked for."""
    question = understood.question
    vector = None if understood.vector is None else vector_text(understood.vector)
    impersonal = vector if understood.granted else None
    if impersonal is None and understood.impersonal is not None:
        impersonal = vector_text(understood.impersonal)
    return Search(
        understood.cues.reduced,
        vector,
        understood.model,
        question.filters,
        question.reach(now),
        understood.cues,
        now,
        understood.pool,
        bool(places.names),
        impersonal,
        NEIGHBOURED,
    )


def _follow(trail: Trail, drawn: Found, places: Places, *, most: int) -> None:
    """Write down who was found by words, and who are the nearest of each pool."""
    trail.by_words(drawn.words)
    trail.further = drawn.words.further
    near = [candidate for candidate in drawn.candidates if candidate.is_near]
    nearest_first = sorted(near, key=lambda c: (-(c.cosine or 0.0), c.id))
    for foreign in (False, True):
        trail.by_meaning([c.id for c in nearest_first if places.is_foreign(c.namespace_id) is foreign][:most])


def _draw_first(sources: Sequence[str], places: Places, wanted: Search, trail: Trail) -> list[Candidate]:
    """Return the best of these sources, however many of others are nearer, as far as they were not found before."""
    known, scopes = set(trail.paths), [*places.own, *places.others]
    wanted = replace(wanted, filters=replace(wanted.filters, source_type=list(sources)))
    among = passing(scopes, wanted)
    words = keyword_hits(places.own, wanted, others=places.others, among=among)
    pools = places.pools if wanted.vector else []
    near = [nearest(pool, wanted, indexed=places.indexed, among=among)[0] for pool in pools]
    trail.by_source(words, [one for found in near for one in found])
    return load(scopes, set(trail.paths) - known, wanted)


def _best(found: Sequence[Candidate], trail: Trail) -> list[Candidate]:
    """Return those whose neighbours answer, too."""
    relevance = fuse(found, bm25=trail.bm25, cues=trail.cues)
    return sorted(found, key=lambda candidate: (-relevance[candidate.id], candidate.id))[:NEIGHBOURED]


def _not_yet(found: Sequence[Candidate], beside: Sequence[Candidate], trail: Trail) -> list[Candidate]:
    """Return what was said beside the best, as far as it was not found itself."""
    known = {candidate.id for candidate in found}
    beside = [candidate for candidate in beside if candidate.id not in known]
    trail.by_neighbours(candidate.id for candidate in beside)
    return list(beside)


def _with_claims(
    question: Question, places: Places, found: list[Candidate], sought: Sequence[Candidate], trail: Trail
) -> tuple[list[Candidate], ClaimsAtHand]:
    """The candidates with the claims that are `sought`, found or not."""
    by_id = {candidate.id: candidate for candidate in (*sought, *found)}
    held = [claim for candidate in by_id.values() for claim in candidate.claims]
    answering = [one.id for one in sought if one.passes and Status.ACTIVE in question.filters.statuses]
    trail.by_claims(answering)
    return [by_id[i] for i in trail.paths], ClaimsAtHand(question.query, held, places.names)


def _relevance(understood: UnderstoodQuestion, found: Sequence[Candidate], trail: Trail) -> Mapping[uuid.UUID, float]:
    """Return how relevant each is to the question or to a part of it, or what the reranker says."""
    fused = best_of(fuse(found, bm25=trail.bm25, cues=trail.cues), understood.answering)
    relevance = reranked(fused, understood.reranked)
    trail.weigh(found, relevance, understood.reranked)
    return relevance


def _loaded(
    principal: Principal, question: Question, ranked: list[tuple[RankedSeat, dict[str, float]]], trail: Trail
) -> list[Hit]:
    """Return what was forgotten or changed its status since it was found is no answer any more."""
    ids = [seat.candidate.id for seat, _ in ranked]
    rows = load_answer_rows(principal.project_id, ids) if ids else []
    full = {row.id: row for row in rows if row.status in question.filters.statuses}
    trail.stop_all(set(ids) - set(full), Stage.GONE)
    return [
        Hit(full[seat.candidate.id], seat.score, signals, seat.contradicts, seat.reserved, seat.on_record)
        for seat, signals in ranked
        if seat.candidate.id in full
    ]
