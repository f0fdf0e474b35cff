"""The key state of one key: what stands, what waits, what people ruled. Pure: it judges, it is written elsewhere."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from conflicts.enums import PRECEDENT_REJECTED, ConflictReason, Policy
from conflicts.gate import (
    Assertion,
    Binding,
    GateDecision,
    GateOutcome,
    Period,
    clipped_period,
    decide,
    why_not_replaced,
)
from memories.models.enums import Status

# Values of one owner that wait on a key: each is looked at whenever something changes there, and read by a person.
MOST_WAITING = 100


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a newcomer, and of whom it meets."""

    assertion: Assertion
    status: Status
    # The standing or waiting claim that says the same already.
    twin: uuid.UUID | None = None
    superseded: tuple[uuid.UUID, ...] = ()
    # Of whose period only a part is left, and which.
    closed: tuple[tuple[uuid.UUID, Period], ...] = ()
    opponents: tuple[tuple[uuid.UUID, ConflictReason], ...] = ()
    why: str = ""
    # The ruling that bars it.
    ruling_id: uuid.UUID | None = None
    # It stands beside what a person ruled, until somebody decides.
    contests: bool = False


@dataclass(slots=True)
class KeyState:
    """Assertions by claim."""

    standing: dict[uuid.UUID, Assertion] = field(default_factory=dict)
    waiting: dict[uuid.UUID, Assertion] = field(default_factory=dict)
    # Those that stand and wait for a decision besides: the user's words against a ruling.
    contesting: set[uuid.UUID] = field(default_factory=set)
    bindings: list[Binding] = field(default_factory=list)

    def judge(
        self,
        newcomer: Assertion,
        *,
        policy: str = Policy.REVIEW,
        by_a_person: bool = False,
        beside: bool = False,
        now: datetime.datetime | None = None,
    ) -> Verdict:
        """Decide on a newcomer and changes nothing; of what is said `beside` other things none is a repetition.

        No earlier ruling bars a person.
        """
        others = [assertion for assertion in self.standing.values() if assertion.fragment_id != newcomer.fragment_id]
        newcomer = replace(newcomer, period=clipped_period(newcomer, others))
        decision = decide(newcomer, others, policy=policy, beside=beside, contesting=self.contesting, now=now)
        if decision.outcome == GateOutcome.DEDUPLICATED:
            assert decision.twin is not None
            return Verdict(newcomer, Status.ACTIVE, twin=decision.twin.id)
        if not by_a_person and (bar := self.bar(newcomer)):
            return Verdict(newcomer, Status.ARCHIVED, why=PRECEDENT_REJECTED, ruling_id=bar.ruling_id)
        if not beside and (waiting := self._waiting_twin(newcomer)):
            return Verdict(newcomer, Status.QUARANTINED, twin=waiting)
        if decision.outcome == GateOutcome.LOST:
            return self._lost(newcomer, decision, policy=policy)
        return self._won(newcomer, decision.yielding, decision.closing)

    def _lost(self, newcomer: Assertion, decision: GateDecision, *, policy: str) -> Verdict:
        """It waits; but where only rulings stand in the way of the user's own words, these stand beside them."""
        opponents = tuple((other.id, reason) for other, reason in decision.opponents)
        yielding = [other for other, _ in decision.opponents if not why_not_replaced(newcomer, other, policy)]
        rivals = [other for other, _ in decision.opponents if other not in yielding]
        if not newcomer.attested or not all(other.is_ruled for other in rivals):
            if sum(other.owner_id == newcomer.owner_id for other in self.waiting.values()) >= MOST_WAITING:
                return Verdict(newcomer, Status.ARCHIVED, why="too_many_waiting")
            return Verdict(newcomer, Status.QUARANTINED, opponents=opponents)
        return replace(self._won(newcomer, yielding, ()), contests=True)

    def _won(self, newcomer: Assertion, yielding: Sequence[Assertion], closing: Sequence[Assertion]) -> Verdict:
        gone = {other.id for other in (*yielding, *closing)}
        return Verdict(
            replace(newcomer, slot=self.free_slot(newcomer, without=gone)),
            Status.ACTIVE,
            superseded=tuple(other.id for other in yielding),
            closed=tuple((other.id, other.period) for other in closing),
        )

    def free_slot(self, assertion: Assertion, *, without: set[uuid.UUID] | frozenset[uuid.UUID] = frozenset()) -> int:
        """Return the first slot in which nothing stands at the same time; of many values at once all may share one."""
        if not assertion.exclusive:
            return 0
        taken = {
            other.slot
            for other in self.standing.values()
            if other.id not in without | {assertion.id} and other.exclusive and other.meets(assertion)
        }
        return next(slot for slot in range(len(taken) + 1) if slot not in taken)

    def enter(self, verdict: Verdict) -> None:
        """Take a verdict in, so that the next newcomer meets it."""
        if verdict.twin is not None:
            return
        for claim_id in verdict.superseded:
            self.forget(claim_id)
        for claim_id, period in verdict.closed:
            self.close(claim_id, period)
        place = {Status.ACTIVE: self.standing, Status.QUARANTINED: self.waiting}.get(verdict.status)
        self.forget(verdict.assertion.id)
        if place is not None:
            place[verdict.assertion.id] = self.under_rulings(verdict.assertion)
        if verdict.contests:
            self.contesting.add(verdict.assertion.id)

    def under_rulings(self, assertion: Assertion) -> Assertion:
        """Return the assertion with the authority of the strongest ruling that chose what it says."""
        found = [binding for binding in self.bindings if binding.protects(assertion)]
        first = max(found, key=lambda binding: binding.authority, default=None)
        return replace(assertion, ruling=first.authority, ruled_by=first.decided_by) if first else assertion

    def bar(self, newcomer: Assertion) -> Binding | None:
        """Return the strongest ruling that keeps out what it says."""
        found = [binding for binding in self.bindings if binding.bars(newcomer)]
        return max(found, key=lambda binding: binding.authority, default=None)

    def close(self, claim_id: uuid.UUID, period: Period) -> None:
        """Leave a standing claim a part of its period."""
        self.standing[claim_id] = replace(self.standing[claim_id], period=period)

    def forget(self, claim_id: uuid.UUID) -> None:
        """Take a claim out."""
        self.standing.pop(claim_id, None)
        self.waiting.pop(claim_id, None)
        self.contesting.discard(claim_id)

    def forget_fragment(self, fragment_id: uuid.UUID) -> None:
        """Take all claims of a fragment out."""
        for book in (self.standing, self.waiting):
            for claim_id in [assertion.id for assertion in book.values() if assertion.fragment_id == fragment_id]:
                self.forget(claim_id)

    def opponents(self, assertion: Assertion) -> list[Assertion]:
        """Return whom an assertion opposes among those that stand."""
        return [o for o in self.standing.values() if o.fragment_id != assertion.fragment_id and assertion.opposes(o)]

    def replaced_by(self, waiting: Assertion) -> Assertion | None:
        """Return who says by now what a waiting assertion says, with at least its authority."""
        found = [o for o in self.standing.values() if waiting.repeats(o) and o.is_no_weaker_than(waiting)]
        return max(found, key=lambda other: other.rank, default=None)

    def contradicted(self, assertion: Assertion, *, negated: bool) -> list[Assertion]:
        """The standing claims of more authority, or that somebody else ruled, which a free text says not to be so."""
        held = [o for o in self.standing.values() if o.fragment_id != assertion.fragment_id and assertion.meets(o)]
        held = [
            o
            for o in held
            if o.rank > assertion.authority or (assertion.attested and is_ruled_by_another(o, assertion))
        ]
        return [o for o in held if (o.value == assertion.value) == negated and (negated or o.exclusive)]

    def _waiting_twin(self, newcomer: Assertion) -> uuid.UUID | None:
        return next(
            (
                claim_id
                for claim_id, old in self.waiting.items()
                if old.fragment_id != newcomer.fragment_id
                and newcomer.repeats(old)
                and old.owner_id == newcomer.owner_id
                and newcomer.authority <= old.authority
            ),
            None,
        )


def is_ruled_by_another(assertion: Assertion, speaker: Assertion) -> bool:
    """Return whether nothing but somebody else's ruling lets an assertion hold against the user's own words."""
    by_another = assertion.is_ruled and assertion.ruled_by != speaker.owner_id
    return by_another and assertion.authority <= speaker.authority


@dataclass(frozen=True, slots=True)
class Pairing:
    """What has to be done so that each waiting newcomer has one pending conflict per opponent."""

    missing: list[tuple[Assertion, ConflictReason]]
    # (conflict, its new opponent)
    moved: list[tuple[uuid.UUID, Assertion, ConflictReason]]
    obsolete: list[uuid.UUID]


def pair_conflicts(
    waiting: Assertion, opponents: Sequence[Assertion], pending: Sequence[tuple[uuid.UUID, uuid.UUID | None]]
) -> Pairing:
    """Compare a waiting newcomer's pending conflicts (id, existing claim) with its opponents as they stand now.

    A conflict whose opponent is gone moves to a new one, so that a person sees what stands today; with nobody left to
    oppose it stays as it is, for a person or for consolidation.
    """
    here = {opponent.id: opponent for opponent in opponents}
    known = {existing for _, existing in pending}
    idle = [conflict for conflict, existing in pending if existing not in here]
    new = [opponent for opponent in opponents if opponent.id not in known]
    reasons = [why_not_replaced(waiting, opponent) or ConflictReason.AUTHORITY for opponent in new]
    moved = list(zip(idle, new, reasons, strict=False))
    rest = len(moved)
    return Pairing(
        missing=list(zip(new[rest:], reasons[rest:], strict=True)),
        moved=moved,
        obsolete=idle[rest:] if here else [],
    )
