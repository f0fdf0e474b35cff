"""Selection: which of the candidates answer, and in which order: what is far, stale, refused or outdone drops out."""

import math
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from django.conf import settings

from conflicts.free_text import ClaimsAtHand
from memories.access import Principal
from memories.retrieval import ranking
from memories.retrieval.candidates import Candidate, Column
from memories.retrieval.conflict_filter import Rivalry, rivalry
from memories.retrieval.floor import common_points, quoted, reaches_floor, reaching
from memories.retrieval.precedence import NearestClaims, RankedSeat, Seating
from memories.retrieval.questions import Question
from memories.retrieval.scope import Places
from memories.retrieval.trace import Stage, Trail

# Standing instructions stand behind the best five at the earliest, or the better half of fewer. Measured:
# docs/decisions/0131.
BEFORE_INSTRUCTIONS = 5


def select(
    principal: Principal,
    question: Question,
    places: Places,
    found: Sequence[Candidate],
    claims: ClaimsAtHand | None,
    trail: Trail,
    *,
    relevance: Mapping[uuid.UUID, float],
    by_meaning: bool,
) -> list[tuple[RankedSeat, dict[str, float]]]:
    """Return the seats of the candidates that pass every condition, with their signals, best first, ties by id.

    Not `by_meaning`: the question has no vector, and no cosine is asked for.
    """
    common = common_points(len(found))  # of all that was found: what conditions take away was there by chance, too
    left = _passing(question, found, places, trail, by_meaning=by_meaning)
    left = _relevant(question, left, places, claims, trail, common=common)
    left = _undisputed(principal, question, left, places, trail)
    profile = profile_of(question)
    near = reaching(left, bm25=trail.bm25, floor=trail.floor or 0.0, common=common) if question.first else set()
    first = {i for i in near if trail.paths[i].source}

    def signals(candidates: Sequence[Candidate], names: Iterable[str]) -> dict[str, Column]:
        worth = [relevance[one.id] for one in candidates]
        return ranking.signals(candidates, rates=places.rates, relevance=worth, by_meaning=by_meaning, names=names)

    ids = [one.id for one in left]
    worth = profile.score(signals(left, profile.needs)) + [one in first for one in ids]
    scores = {which: round(score, 6) for which, score in zip(ids, worth.tolist(), strict=True)}
    standing = {i for i, path in trail.paths.items() if path.instruction and "relevance" in profile.needs} & set(ids)
    scores |= ranking.lifted(standing, scores, behind=min(BEFORE_INSTRUCTIONS, -(-question.top_k // 2)))
    claimed = NearestClaims(claims, places, places.roots(one.namespace_id for one in left)) if claims else None
    seating = Seating(scores, left, places, question.top_k, claimed)
    seats = seating.fill()
    trail.seat(seats, {one.id for one in seating.waiting}, scores)
    columns = signals([seat.candidate for seat in seats], ranking.NAMES)
    shown = zip(*(column.tolist() for column in columns.values()), strict=True)
    marks = partial(ranking.marks, first=first, standing=standing)
    return [
        (seat, dict(zip(columns, values, strict=True)) | marks(seat.candidate.id))
        for seat, values in zip(seats, shown, strict=True)
    ]


def profile_of(question: Question) -> ranking.Profile:
    """Return by what the answers to a question are ranked."""
    return ranking.weighed(question.weights) if question.weights else ranking.PROFILES[question.profile]


def freshness_bound(question: Question, *, foreign: bool) -> float:
    """Return the least relevance that a memory may have now; another agent's has to be fresh."""
    return max(question.filters.min_relevance, settings.RETRIEVAL_CROSS_AGENT_THRESHOLD if foreign else 0.0)


def _passing(
    question: Question, found: Sequence[Candidate], places: Places, trail: Trail, *, by_meaning: bool
) -> list[Candidate]:
    """Return those that are like enough and fresh enough.

    What its key brought in needs no likeness that the caller does not ask for.
    """
    like, is_lax = question.min_similarity if by_meaning else -math.inf, question.min_similarity <= 0
    unlike = {one.id for one in found if (one.cosine or 0.0) < like and not (is_lax and trail.paths[one.id].claim)}
    fresh = {foreign: freshness_bound(question, foreign=foreign) for foreign in (False, True)}
    stale = {
        one.id
        for one in found
        if (bound := fresh[places.is_foreign(one.namespace_id)]) and one.relevance_score(places.rates) < bound
    }
    trail.stop_all(stale, Stage.FRESHNESS)
    trail.stop_all(unlike, Stage.SIMILARITY)  # this is told of what is both
    return [one for one in found if one.id not in unlike and one.id not in stale]


def _relevant(
    question: Question,
    left: list[Candidate],
    places: Places,
    claims: ClaimsAtHand | None,
    trail: Trail,
    *,
    common: float,
) -> list[Candidate]:
    """Return those that have enough to do with the question; none of them where the best has not."""
    # What the question itself asks for, not what the texts that it found speak of.
    asked_for = [claim.fragment_id for claim in claims.asked_for] if claims and trail.floor else []
    asked_for += [i for i, path in trail.paths.items() if path.part]  # near enough to the part that they answer
    # Who names somebody that speaks there asks about them; without their names little is left to be alike.
    floor = 0.0 if trail.speakers else trail.floor or 0.0
    if left and not (
        reaches_floor(left, bm25=trail.bm25, asked_for=asked_for, floor=floor, common=common)
        or (question.floor is None and quoted(left, question=trail.cues.reduced, bm25=trail.bm25))
    ):
        trail.nothing_relevant = True
        trail.stop_all([one.id for one in left], Stage.FLOOR)
        return []
    # Nobody asked those in particular: what is no answer by itself is chatter.
    near = reaching(left, bm25=trail.bm25, floor=floor, common=common) if floor and places.others else set()
    chatter = {c.id for c in left if near and places.is_foreign(c.namespace_id)} - near
    trail.stop_all(chatter, Stage.FLOOR)
    return [candidate for candidate in left if candidate.id not in chatter]


def _undisputed(
    principal: Principal, question: Question, left: list[Candidate], places: Places, trail: Trail
) -> list[Candidate]:
    """Return those that were not said in the prompt already, and of claims that exclude each other one."""
    spoken: Collection[uuid.UUID] = question.spoken.among([c.id for c in left], project_id=principal.project_id)
    if spoken:
        trail.stop_all(spoken, Stage.SPOKEN)
        left = [candidate for candidate in left if candidate.id not in spoken]
    if question.filters.include_all:
        return left
    found = _rivalry(question, left, places, principal)
    if outdone := found.outdone:
        trail.stop_all(outdone, Stage.RIVALS)
        left = [candidate for candidate in left if candidate.id not in outdone]
    for candidate in left if found.lost else ():
        candidate.lost = found.lost.get(candidate.id, set())
    return left


def _rivalry(question: Question, found: Sequence[Candidate], places: Places, principal: Principal) -> Rivalry:
    """Return whose claims give way; inside a namespace only a session's stand against others, as the gate saw to it."""
    held = defaultdict[bytes, set[uuid.UUID]](set)
    for candidate in found:
        for key in candidate.keys:
            held[key].add(candidate.id if question.session_id else candidate.namespace_id)
    rivals = [candidate.id for candidate in found if any(len(held[key]) > 1 for key in candidate.keys)]
    if not rivals:
        return Rivalry({}, {})
    return rivalry(rivals, project_id=principal.project_id, places=places.ranks, nearest=places.nearest)
