"""Precedence: in which order candidates answer where claims stand, and how many places each may hold (ADR 0092). Pure.

A claim that is asked for has a place, and stands before weaker texts that speak of its key. What states another value
than a stronger claim never stands above it. Other namespaces, and each weaker owner where a claim is asked for, hold
half of the places at most while others are left to fill them; the pieces of one message hold one.
"""

import heapq
import uuid
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from conflicts.free_text import ClaimsAtHand, Told, Upheld, Vector
from memories.models import Claim, Fragment
from memories.retrieval.candidates import Candidate
from memories.retrieval.scope import Places

MOST_RESERVED = 5
Group = tuple[str, Hashable]


@dataclass(frozen=True, slots=True)
class RankedSeat:
    """A place among the hits: whose, at which score, against which claim; `reserved` for a claim that is asked for.

    `on_record`: the claim of which it may state another value, where that is not sure.
    """

    candidate: Candidate
    score: float
    contradicts: Upheld | None = None
    reserved: bool = False
    on_record: Upheld | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What holding a text against stronger claims says: that it contradicts one, or may."""

    contradicts: Upheld | None = None
    on_record: Upheld | None = None


@dataclass
class Seating:
    """Fills the places of an answer from scored candidates; whose share is full waits until nobody else is left."""

    scores: dict[uuid.UUID, float]
    candidates: Sequence[Candidate]
    places: Places
    top_k: int
    claims: ClaimsAtHand | None = None
    seats: dict[uuid.UUID, RankedSeat] = field(default_factory=dict)
    waiting: list[Candidate] = field(default_factory=list)
    _taken: Counter[Group] = field(default_factory=Counter)

    def fill(self) -> list[RankedSeat]:
        """Return the seats, best first."""
        self._reserved = self._asked_for()
        self._strongest = max((claim.rank for claim in self._reserved.values()), default=0)
        self._by_id = {candidate.id: candidate for candidate in self.candidates}
        self._seat_all(self.candidates, capped=True)
        self._seat_all(self.waiting, capped=False)
        for claim in self._free_seats():
            self._seat(self._by_id[claim], self.scores[claim])
        return sorted(self.seats.values(), key=lambda seat: (-seat.score, bool(seat.contradicts or seat.on_record)))

    def _asked_for(self) -> dict[uuid.UUID, Upheld]:
        """Return the claims that have a reserved place, by fragment."""
        if self.claims is None:
            return {}
        here = {candidate.id for candidate in self.candidates}
        found = [claim for claim in self.claims.asked_for if claim.fragment_id in here]
        return {claim.fragment_id: claim for claim in found[: min(MOST_RESERVED, max(1, self.top_k // 2))]}

    def _free_seats(self) -> list[uuid.UUID]:
        return [claim for claim in self._reserved if claim not in self.seats]

    def _seat_all(self, candidates: Sequence[Candidate], *, capped: bool) -> None:
        queue = [(-self.scores[one.id], False, one.id) for one in candidates if one.id not in self.seats]
        heapq.heapify(queue)
        while queue and len(self.seats) + len(self._free_seats()) < self.top_k:
            cost, lowered, which = heapq.heappop(queue)
            if which in self.seats:
                continue
            candidate = self._by_id[which]
            if capped and which not in self._reserved and self._is_full(candidate):
                self.waiting.append(candidate)
                continue
            held, above = self._precedents(candidate)
            score = min([-cost, *(self.seats[i].score for i in above if i in self.seats)])
            missing = [i for i in above if i not in self.seats]
            if (lower := [i for i in missing if i not in self._reserved]) and not lowered:
                heapq.heappush(queue, (-min([score, *(self.scores[i] for i in lower)]), True, which))
                continue
            for claim in missing:
                if claim in self._reserved:
                    self._seat(self._by_id[claim], score)
            if len(self.seats) + len(self._free_seats()) < self.top_k:
                self._seat(candidate, score, held)

    def _seat(self, candidate: Candidate, score: float, held: Held = Held()) -> None:
        reserved = candidate.id in self._reserved
        self.seats[candidate.id] = RankedSeat(candidate, score, held.contradicts, reserved, held.on_record)
        self._taken.update(self._groups(candidate))

    def _is_full(self, candidate: Candidate) -> bool:
        half = -(-self.top_k // 2)
        return any(self._taken[group] >= (1 if group[0] == "message" else half) for group in self._groups(candidate))

    def _groups(self, candidate: Candidate) -> Iterator[Group]:
        """Return whose share of the places it takes."""
        if candidate.message:
            yield "message", candidate.message
        if self.places.is_beside(candidate.namespace_id):
            yield "beside", None
        if candidate.rank < self._strongest:
            yield "owner", candidate.owner_id

    def _precedents(self, candidate: Candidate) -> tuple[Held, list[uuid.UUID]]:
        """What a text says against claims, and the fragments among the candidates that have to stand before it."""
        if self.claims is None:
            return Held(), []
        own = {claim.key: claim.value for claim in candidate.claims if claim.key not in candidate.lost}
        stronger = [
            claim
            for claim in self.claims.claims
            if may_hold(claim, candidate, self.places, rank=candidate.rank) and not self.claims.is_settled(claim, own)
        ]
        if not stronger:
            return Held(), []
        outdone = [claim for claim in stronger if claim.key in candidate.lost]
        first = max(outdone, key=lambda claim: claim.rank, default=None)
        triples = [(claim.subject, claim.predicate, claim.value) for claim in candidate.claims]
        held = (
            Held(first)
            if first
            else claims_against(candidate.wording, candidate.vector, triples, stronger, self.claims)
        )
        requested = [claim for claim in stronger if claim.fragment_id in self._reserved]
        before = [claim for claim in (held.contradicts, held.on_record) if claim]
        before = [claim for claim in before if claim == held.contradicts or claim in requested]
        above = dict.fromkeys(
            claim.fragment_id for claim in [*before, *self.claims.named_by(candidate.wording, requested)]
        )
        return held, [i for i in above if i in self._by_id]


def claims_against(
    text: str, vector: Vector | None, triples: Sequence[Told], stronger: Sequence[Upheld], claims: ClaimsAtHand
) -> Held:
    """Return what a text, and what is claimed beside it, say against claims that are stronger."""
    if contradicted := claims.contradicted_by(text, stronger):
        return Held(contradicts=contradicted)
    return Held(on_record=claims.in_doubt_of(text, vector, stronger) or claims.rivalled_by(triples, stronger))


def may_hold(claim: Upheld, text: Candidate | Fragment, places: Places, *, rank: int) -> bool:
    """Return whether a claim is stronger than a text, and may be about the same person."""
    if claim.rank <= rank:
        return False
    own, theirs = places.user_of(claim.namespace_id), places.user_of(text.namespace_id)
    return own is None or own == theirs or theirs is None and claim.namespace_id in places.ranks


def claims_against_fragments(
    fragments: Sequence[Fragment], claims: ClaimsAtHand, places: Places
) -> dict[uuid.UUID, Held]:
    """Return what fragments say against stronger claims, by id; their vectors are not at hand."""

    def said(row: Fragment) -> Held:
        first: Claim | None = getattr(row, "claim", None)
        own = {bytes(first.key_digest): first.value} if first else {}
        triples = [(first.subject, first.predicate, first.value)] if first else []
        stronger = [
            one
            for one in claims.claims
            if may_hold(one, row, places, rank=row.authority) and not claims.is_settled(one, own)
        ]
        return claims_against(row.wording, None, triples, stronger, claims) if stronger else Held()

    return {row.id: said(row) for row in fragments}
