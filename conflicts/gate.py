"""The gate: who may replace whom; one pure function decides once for the whole set of opponents (docs/spec.md §4)."""

import datetime
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from conflicts.enums import ConflictReason, Policy
from memories.models.enums import ClaimScope


class GateOutcome(StrEnum):
    """What becomes of a newcomer."""

    ADMITTED = "admitted"  # nobody opposes it
    WON = "won"  # the opponents yield
    LOST = "lost"  # quarantined, a person decides
    RESTATED = "restated"  # the same value, said by somebody of more authority
    DEDUPLICATED = "deduplicated"  # the same value stands already


@dataclass(frozen=True, slots=True)
class Period:
    """When a claim holds: half-open, None means without end on that side."""

    start: datetime.datetime | None = None
    end: datetime.datetime | None = None

    def overlaps(self, other: "Period") -> bool:
        """Return whether both hold at some instant."""
        return (self.start is None or other.end is None or self.start < other.end) and (
            other.start is None or self.end is None or other.start < self.end
        )

    def contains(self, other: "Period") -> bool:
        """Return whether the other holds only while this one does."""
        begins = self.start is None or (other.start is not None and self.start <= other.start)
        return begins and (self.end is None or (other.end is not None and other.end <= self.end))

    def is_over(self, now: datetime.datetime) -> bool:
        """Return whether it ended by then."""
        return self.end is not None and self.end <= now

    def starts_after(self, other: "Period") -> bool:
        """Return whether this one begins later; a period without a beginning began before all others."""
        return self.start is not None and (other.start is None or other.start < self.start)


@dataclass(frozen=True, slots=True)
class Assertion:
    """One side of a question: who says what, for when, with which authority."""

    fragment_id: uuid.UUID
    owner_id: uuid.UUID | None
    authority: int
    value: bytes
    scope: str = ClaimScope.GLOBAL
    session_id: str = ""
    period: Period = Period()
    exclusive: bool = True
    slot: int = 0
    # Bears a key of its caller's: it stands for itself, whoever says the same.
    keyed: bool = False
    # The authority of the ruling that chose this value, and whose it is; 0 without one.
    ruling: int = 0
    ruled_by: uuid.UUID | None = None
    # The user's own words, heard as they were said.
    attested: bool = False
    # When it was said; None is now.
    said_at: datetime.datetime | None = None
    # Of several claims of one fragment which one; None for the first, and for a text that claims nothing.
    claim_id: uuid.UUID | None = None

    @property
    def id(self) -> uuid.UUID:
        """By what key states know it: the claim's id, which the first one has from its fragment."""
        return self.claim_id or self.fragment_id

    @property
    def is_ruled(self) -> bool:
        """Whether a ruling speaks for it, as strongly as its writer or more."""
        return self.ruling >= self.authority

    @property
    def rank(self) -> int:
        """How far it may be believed, the ruling on it counted."""
        return max(self.authority, self.ruling)

    @property
    def speaker(self) -> uuid.UUID | None:
        """Who may change it with as much authority: whoever ruled on it, else whoever wrote it."""
        return self.ruled_by if self.is_ruled else self.owner_id

    def is_no_weaker_than(self, repetition: "Assertion") -> bool:
        """Whether a repetition adds nothing: of no more authority, or of less than a ruling on all of its time."""
        ruled = repetition.authority < self.ruling and self.period.contains(repetition.period)
        return ruled or repetition.authority <= self.authority

    def meets(self, other: "Assertion") -> bool:
        """Return whether both speak in the same place and time; session claims only meet those of their session."""
        return self.session_id == other.session_id and self.period.overlaps(other.period)

    def opposes(self, other: "Assertion") -> bool:
        """Return whether both can't be true at one time in one place."""
        return self.excludes(other) and self.meets(other)

    def excludes(self, other: "Assertion") -> bool:
        """Whether one value is all there is. How many a key takes is the stronger one's to say, of equals either's."""
        if self.rank == other.rank:
            exclusive = self.exclusive or other.exclusive
        else:
            exclusive = max(self, other, key=lambda assertion: assertion.rank).exclusive
        return exclusive and self.value != other.value

    def repeats(self, other: "Assertion") -> bool:
        """Return whether both say the same, in the same scope, session and time, and neither has a key of its own."""
        if self.keyed or other.keyed:
            return False
        return self.value == other.value and self.scope == other.scope and self.meets(other)


@dataclass(frozen=True, slots=True)
class Binding:
    """A ruling as the gate sees it: which values it chose and ruled out, where and when."""

    ruling_id: uuid.UUID
    authority: int
    decided_by: uuid.UUID | None
    chosen: frozenset[bytes]
    ruled_out: frozenset[bytes]
    session_id: str = ""
    period: Period = Period()
    decided_at: datetime.datetime | None = None

    def protects(self, assertion: Assertion) -> bool:
        """Return whether it chose what the assertion says."""
        here = self.session_id == assertion.session_id and self.period.overlaps(assertion.period)
        return assertion.value in self.chosen and here

    def bars(self, assertion: Assertion) -> bool:
        """Return whether it ruled out what the assertion says, of whichever period.

        The user's own later words open the case again instead.
        """
        said, decided = assertion.said_at, self.decided_at
        is_later = said is None or decided is None or said >= decided
        outranks = (assertion.attested and is_later) or assertion.authority > self.authority
        return assertion.value in self.ruled_out and self.session_id == assertion.session_id and not outranks


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What the gate decides: the outcome, whom it concerns, and with which reason for each."""

    outcome: GateOutcome
    twin: Assertion | None = None
    yielding: tuple[Assertion, ...] = ()
    # Whom it leaves only a part of their period, with that.
    closing: tuple[Assertion, ...] = ()
    opponents: tuple[tuple[Assertion, ConflictReason], ...] = ()


def decide(
    newcomer: Assertion,
    standing: Sequence[Assertion],
    *,
    policy: str = Policy.REVIEW,
    beside: bool = False,
    contesting: Collection[uuid.UUID] = (),
    now: datetime.datetime | None = None,
) -> GateDecision:
    """Decide once for all standing claims of the key. All or nothing: whoever loses to one replaces none.

    A newcomer wins when its authority is above every opponent's, or equal and of the same owner (the newer wins), or
    equal where the predicate's policy says that the newest wins. Where it keeps both, equals of other owners are no
    opponents. Who repeats one of two values that a person kept opposes neither; those in `contesting` stand without
    that, until somebody decides. What is said `beside` other things is
    no repetition: it stands beside those that say the same. What was over by `now` replaces nothing that goes on.
    """
    twins = tuple(other for other in standing if newcomer.repeats(other))
    if (covering := [twin for twin in twins if twin.is_no_weaker_than(newcomer)]) and not beside:
        twin = max(covering, key=lambda other: (other.rank, other.authority))
        return GateDecision(GateOutcome.DEDUPLICATED, twin=twin)
    opponents = [
        other
        for other in standing
        if newcomer.opposes(other)
        and not is_kept(newcomer, other, policy)
        and (other.id in contesting or not any(_stays_beside(newcomer, twin, other) for twin in twins))
    ]
    objections = {other: reason for other in opponents if (reason := why_not_replaced(newcomer, other, policy))}
    if objections:
        first = next(iter(objections.values()))
        return GateDecision(
            GateOutcome.LOST, opponents=tuple((other, objections.get(other, first)) for other in opponents)
        )
    left = {other: _period_left(newcomer, other, now) for other in opponents}
    closing = tuple(replace(other, period=period) for other, period in left.items() if period)
    yielding = tuple(other for other, period in left.items() if not period)
    restated = () if beside else tuple(twin for twin in twins if twin.rank <= newcomer.authority)
    outcome = GateOutcome.RESTATED if restated else GateOutcome.WON if opponents else GateOutcome.ADMITTED
    return GateDecision(outcome, yielding=(*yielding, *restated), closing=closing)


def _stays_beside(newcomer: Assertion, twin: Assertion, other: Assertion) -> bool:
    """Whether the newcomer says no more than one that somebody kept beside the other: both stand, though opposed."""
    return twin.opposes(other) and twin.period.contains(newcomer.period)


def is_kept(newcomer: Assertion, other: Assertion, policy: str) -> bool:
    """Return whether both stand because the predicate keeps what equals of several owners say."""
    equals = newcomer.rank == other.rank and newcomer.owner_id != other.speaker
    return policy == Policy.KEEP_BOTH and equals


def why_not_replaced(newcomer: Assertion, other: Assertion, policy: str = Policy.REVIEW) -> ConflictReason | None:
    """Return why the newcomer may not replace the other; None when it may. What a person ruled is no mere reading."""
    if newcomer.rank < other.rank:
        return ConflictReason.AUTHORITY
    if newcomer.rank > other.rank or (policy == Policy.NEWEST and not other.is_ruled):
        return None
    return None if newcomer.owner_id == other.speaker else ConflictReason.OTHER_OWNER


def _period_left(newcomer: Assertion, other: Assertion, now: datetime.datetime | None) -> Period | None:
    """Return what a temporal claim leaves of the standing one's period; None where it takes its place.

    One that is over by now leaves what still holds, one that begins later what was before.
    """
    period, standing = newcomer.period, other.period
    if newcomer.scope != ClaimScope.TEMPORAL:
        return None
    if now is not None and period.is_over(now) and not standing.is_over(now):
        return Period(period.end, standing.end)
    return Period(standing.start, period.start) if period.starts_after(standing) else None


def clipped_period(newcomer: Assertion, standing: Sequence[Assertion]) -> Period:
    """Return the newcomer's period; one that begins earlier and is open-ended ends where a standing claim begins."""
    period = newcomer.period
    if newcomer.scope != ClaimScope.TEMPORAL or period.end is not None:
        return period
    later = [
        other.period.start
        for other in standing
        if other.period.start is not None and newcomer.opposes(other) and other.period.starts_after(period)
    ]
    return Period(period.start, min(later, default=None))
