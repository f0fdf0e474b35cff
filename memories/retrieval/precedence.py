"""Precedence: in which order candidates answer where claims stand, and how many places each may hold (ADR 0092). Pure.

A claim that is asked for has a place, and stands before weaker texts that speak of its key: of several scopes' claims
the one that hides the others. What states another value than a stronger claim that holds for it never stands above it.
Other namespaces, and each weaker owner where a claim is asked for, hold half of the places at most while others are
left to fill them; the pieces of one message hold one.
"""

import heapq
import uuid
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from conflicts.free_text import ClaimsAtHand, Told, Upheld, Vector
from conflicts.nearness import nearest_first
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
class NearestClaims:
    """The claims at hand, by key and by how near their scopes are to that of a text.

    A user's text is held against what is claimed in the user's scope, the namespace and the shared one; what is told
    for all also against what the question's own users and namespaces claim, for whom it is read. Of these scopes one
    speaks for each key: the one whose claim an answer would show (docs/decisions/0010). What others claim neither
    holds against the text nor vouches for it.
    """

    at_hand: ClaimsAtHand
    places: Places
    # By scope of a text the namespace that it belongs to.
    roots: Mapping[uuid.UUID, uuid.UUID]
    _standing: dict[uuid.UUID, list[Upheld]] = field(default_factory=dict)

    @cached_property
    def by_key(self) -> dict[bytes, list[Upheld]]:
        """Return the claims of each key, those first that go before the others in an answer to the question."""
        found = defaultdict[bytes, list[Upheld]](list)
        for claim in sorted(self.at_hand.claims, key=lambda one: one.fragment_id):
            found[claim.key].append(claim)
        return {key: self._ordered(claims) for key, claims in found.items()}

    def standing_for(self, scope: uuid.UUID) -> Sequence[Upheld]:
        """Return the claims that a text in a scope is held against."""
        if scope not in self._standing:
            self._standing[scope] = [one for claims in self.by_key.values() for one in self._speaking(claims, scope)]
        return self._standing[scope]

    def is_read_with(self, claim: Upheld, scope: uuid.UUID) -> bool:
        """Return whether a claim may be about whom a text in a scope is about."""
        return any(claim.namespace_id in circle for circle in self._circles(scope))

    def _speaking(self, claims: Sequence[Upheld], scope: uuid.UUID) -> list[Upheld]:
        """Return of the claims of one key those of the scope that speaks for it, and what may stand beside them."""
        for circle in self._circles(scope):
            if near := [claim for claim in claims if claim.namespace_id in circle]:
                first = self._ordered(near, user=scope if self.roots[scope] != scope else None)[0]
                return [one for one in near if one.namespace_id == first.namespace_id or not one.exclusive]
        return []

    def _circles(self, scope: uuid.UUID) -> tuple[set[uuid.UUID], set[uuid.UUID]]:
        """Return the scopes that a text in this one is about, and those that count where none of them claims a key."""
        own, shared, root = self.places.own, self.places.commons, self.roots[scope]
        if self.places.is_foreign(scope):
            return {each.id for each in own}, {scope}
        readers = {each.id for each in own if scope in (each.id, each.root_id, shared)}
        about = {scope, root, *readers} | ({shared} if shared else set())
        asked = {each.id for each in own if each.id == each.root_id}
        return about, asked if scope == root else set()

    def _ordered(self, claims: Sequence[Upheld], *, user: uuid.UUID | None = None) -> list[Upheld]:
        nearest = self.places.nearest | ({user} if user else set())
        return nearest_first(claims, places=self.places.ranks, nearest=nearest)


@dataclass
class Seating:
    """Fills the places of an answer from scored candidates; whose share is full waits until nobody else is left."""

    scores: dict[uuid.UUID, float]
    candidates: Sequence[Candidate]
    places: Places
    top_k: int
    near: NearestClaims | None = None
    seats: dict[uuid.UUID, RankedSeat] = field(default_factory=dict)
    waiting: list[Candidate] = field(default_factory=list)
    _taken: Counter[Group] = field(default_factory=Counter)

    def fill(self) -> list[RankedSeat]:
        """Return the seats, best first."""
        self._shown = self._first_shown()
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
        if self.near is None:
            return {}
        keys = dict.fromkeys(claim.key for claim in self.near.at_hand.asked_for)
        found = sorted((self._shown[key] for key in keys if key in self._shown), key=lambda claim: -claim.rank)
        return {claim.fragment_id: claim for claim in found[: min(MOST_RESERVED, max(1, self.top_k // 2))]}

    def _first_shown(self) -> dict[bytes, Upheld]:
        """Return by key the claim among the candidates that goes before the others."""
        by_key = self.near.by_key.values() if self.near else ()
        stands = {(one.id, claim.key) for one in self.candidates for claim in one.claims if claim.key not in one.lost}
        shown = ((claim for claim in claims if (claim.fragment_id, claim.key) in stands) for claims in by_key)
        return {claim.key: claim for claims in shown if (claim := next(claims, None))}

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
        if self.near is None:
            return Held(), []
        stronger = [claim for claim in self._reserved.values() if claim.rank > candidate.rank]
        requested = [
            claim
            for claim in self._unsettled(stronger, candidate, self.near)
            if self.near.is_read_with(claim, candidate.namespace_id)
        ]
        held = self._held(candidate, self.near)
        before = [held.contradicts, held.on_record if held.on_record in requested else None]
        named = self.near.at_hand.named_by(candidate.wording, requested) if requested else []
        above = dict.fromkeys(claim.fragment_id for claim in [*before, *named] if claim)
        return held, [i for i in above if i in self._by_id]

    def _held(self, candidate: Candidate, near: NearestClaims) -> Held:
        """Return what a text says against stronger claims, and against those to which its own give or gave way."""
        there = near.standing_for(candidate.namespace_id)
        outdone = [self._shown[key] for key in candidate.lost if key in self._shown]
        # Whoever said it: what was rejected stands below what stands, were that weaker.
        outdone += [one for one in there if one.exclusive and near.at_hand.is_settled(one, candidate.rejected)]
        if outdone:
            asked = {claim.key for claim in near.at_hand.asked_for}
            return Held(max(outdone, key=lambda claim: (claim.key in asked, claim.rank)))
        standing = [claim for claim in there if claim.rank > candidate.rank]
        if stronger := self._unsettled(standing, candidate, near):
            triples = [(claim.subject, claim.predicate, claim.value) for claim in candidate.claims]
            held = claims_against(candidate.wording, candidate.vector, triples, stronger, near.at_hand)
            if held != Held():
                return held
        return self._own_word(candidate, near)

    def _own_word(self, candidate: Candidate, near: NearestClaims) -> Held:
        """Return what a text says against a claim of its owner that is asked for: once, or as a mere remark later."""
        told = {claim.predicate for claim in candidate.claims if claim.key not in candidate.lost}
        own = [
            claim
            for claim in self._reserved.values()
            if claim.rank == candidate.rank and claim.fragment_id != candidate.id and claim.predicate not in told
            if self._is_of_the_same(candidate, self._by_id[claim.fragment_id])
        ]
        claim = near.at_hand.contradicted_by(candidate.wording, own) if own else None
        if claim is None:
            return Held()
        was_so = self._by_id[claim.fragment_id].age < candidate.age and near.at_hand.denies(candidate.wording, claim)
        return Held(contradicts=claim) if was_so else Held(on_record=claim)

    @staticmethod
    def _is_of_the_same(one: Candidate, other: Candidate) -> bool:
        return (one.owner_id, one.namespace_id) == (other.owner_id, other.namespace_id)

    @staticmethod
    def _unsettled(claims: Sequence[Upheld], candidate: Candidate, near: NearestClaims) -> list[Upheld]:
        """Return the claims against which the text has no claim of its own that the gate has let stand."""
        own = {claim.key: claim.value for claim in candidate.claims if claim.key not in candidate.lost}
        return [claim for claim in claims if not near.at_hand.is_settled(claim, own)]


def claims_against(
    text: str, vector: Vector | None, triples: Sequence[Told], stronger: Sequence[Upheld], claims: ClaimsAtHand
) -> Held:
    """Return what a text, and what is claimed beside it, say against claims that are stronger."""
    if contradicted := claims.contradicted_by(text, stronger):
        return Held(contradicts=contradicted)
    return Held(on_record=claims.in_doubt_of(text, vector, stronger) or claims.rivalled_by(triples, stronger))


def claims_against_fragments(
    fragments: Sequence[Fragment], claims: ClaimsAtHand, places: Places
) -> dict[uuid.UUID, Held]:
    """Return what fragments say against stronger claims, by id; their vectors are not at hand."""
    near = NearestClaims(claims, places, {row.namespace_id: row.namespace.root_id for row in fragments})

    def said(row: Fragment) -> Held:
        first: Claim | None = getattr(row, "claim", None)
        own = {bytes(first.key_digest): first.value} if first else {}
        triples = [(first.subject, first.predicate, first.value)] if first else []
        stronger = [
            one
            for one in near.standing_for(row.namespace_id)
            if one.rank > row.authority and not claims.is_settled(one, own)
        ]
        return claims_against(row.wording, None, triples, stronger, claims) if stronger else Held()

    return {row.id: said(row) for row in fragments}
