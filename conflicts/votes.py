"""Votes: what owners say of a fragment, once each, and the trust that follows (docs/spec.md §4, feedback)."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from conflicts.authority import SOURCE_RANK, bounded_importance
from conflicts.enums import Ballot, ConflictKind, ConflictReason, Resolution, Uncounted
from conflicts.models import PendingConflict, Vote
from conflicts.rulings import protection
from conflicts.search_index import refuse_forgotten_words
from memories import access
from memories.access import NotFound, Principal
from memories.models import Access, Claim, Fragment
from memories.models.enums import SourceClass, Status
from memories.models.scoring import DECIMALS

DISPUTE_THRESHOLD: float = settings.DISPUTE_THRESHOLD  # of trust
OUTVOTED = 5  # owners who dispute, when nobody supports
RELEVANCE_GAIN, IMPORTANCE_GAIN = 0.1, 0.05


@dataclass(frozen=True, slots=True)
class Voter:
    """Who votes: the owner, and the rank up to which the owner may be believed."""

    owner_id: uuid.UUID | None
    rank: int
    roots: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Counted:
    """What a vote did: whether it counts, else why not, and the review that it opened."""

    fragment: Fragment
    uncounted: Uncounted | None = None
    conflict: PendingConflict | None = None

    @property
    def counted(self) -> bool:
        """Whether trust follows it."""
        return self.uncounted is None


def vote(
    principal: Principal,
    fragment_id: uuid.UUID,
    ballot: str,
    *,
    now: datetime.datetime,
    reason: str = "",
    source_id: str = "",
) -> Counted:
    """Return an owner's vote on a fragment that it reads. Raise NotFound, NotPermitted, BlockedByErasure."""
    with access.enter(principal, why=ballot):
        fragment = _locked(principal, fragment_id)
        roots = frozenset({source_id} if source_id else ())
        voter = Voter(principal.owner_id, SOURCE_RANK[SourceClass(principal.ceiling)], roots)
        refuse_forgotten_words(fragment.project_id, fragment.namespace_id, [reason], authority=voter.rank)
        if ballot == Ballot.DISPUTE:
            return dispute(fragment, voter, reason=reason, now=now)
        return (
            reinforce(fragment, voter, now=now) if ballot == Ballot.REINFORCE else corroborate(fragment, voter, now=now)
        )


def withdraw(principal: Principal, fragment_id: uuid.UUID, *, now: datetime.datetime) -> Counted:
    """Take back that a memory helped or is wrong; a review that was opened stays. Raise NotFound, NotPermitted."""
    with access.enter(principal, why="withdraw"):
        fragment = _locked(principal, fragment_id)
        _former(fragment, principal.owner_id).delete()
        _recount(fragment, now=now)
        return Counted(fragment, Uncounted.OWN_MEMORY if principal.owner_id == fragment.owner_id else None)


def _locked(principal: Principal, fragment_id: uuid.UUID) -> Fragment:
    """Return what is voted on. Raise NotFound, NotPermitted."""
    rows = Fragment.objects.within(principal.project_id).select_related("namespace")
    fragment: Fragment | None = rows.select_for_update(no_key=True, of=("self",)).filter(id=fragment_id).first()
    if fragment is None or not principal.covers_reading(fragment.namespace.name):
        raise NotFound("fragment")
    principal.require("write")
    principal.require_covered(fragment.namespace.name)
    return fragment


def _former(fragment: Fragment, owner_id: uuid.UUID | None) -> Any:
    """Return the owner's vote that it helped or is wrong, if there is one."""
    cast = Vote.objects.within(fragment.project_id).filter(fragment=fragment, owner_id=owner_id)
    return cast.exclude(ballot=Ballot.CORROBORATE)


def roots_of(fragment: Fragment) -> frozenset[str]:
    """Return where what a fragment says comes from: it repeats its ancestors and the source it names."""
    named = {fragment.provenance_source_id} if fragment.provenance_source_id else set()
    return frozenset({str(root) for root in fragment.roots} | named)


def reinforce(fragment: Fragment, voter: Voter, *, now: datetime.datetime) -> Counted:
    """It helped: the fragment is fresher and weighs more each time; trust counts each owner once."""
    fresher = fragment.base_relevance + RELEVANCE_GAIN * (1 - fragment.base_relevance)
    fragment.base_relevance = round(fresher, DECIMALS)
    heavier = round(min(1.0, fragment.importance + IMPORTANCE_GAIN), DECIMALS)
    fragment.importance = bounded_importance(heavier, rank=voter.rank, standing=fragment.importance)
    Access.objects.count_up(fragment.project_id, {fragment.id: 0}, {fragment.id: now})
    foreign = voter.owner_id != fragment.owner_id
    if foreign:
        _cast(fragment, voter, Ballot.REINFORCE, counted=True, now=now)
    _recount(fragment, now=now)
    return Counted(fragment, None if foreign else Uncounted.OWN_MEMORY)


def dispute(fragment: Fragment, voter: Voter, *, reason: str, now: datetime.datetime) -> Counted:
    """It is wrong. A weaker owner's dispute only opens a review; else the fragment is disputed below the threshold."""
    if voter.owner_id == fragment.owner_id:
        return Counted(fragment, Uncounted.OWN_MEMORY)
    may = voter.rank >= max(fragment.authority, protection(fragment.project_id, fragment.id))
    _cast(fragment, voter, Ballot.DISPUTE, counted=may, reason=reason, now=now)
    _recount(fragment, now=now)
    opens = not may and fragment.status == Status.ACTIVE
    review = _review(fragment, voter, now=now) if opens else None
    return Counted(fragment, None if may else Uncounted.CEILING_BELOW_AUTHORITY, review)


def corroborate(fragment: Fragment, voter: Voter, *, now: datetime.datetime) -> Counted:
    """Somebody else says so too; counted once per owner and lineage root, never for the writer or its ancestors."""
    if voter.owner_id == fragment.owner_id:
        return Counted(fragment, Uncounted.OWN_MEMORY)
    roots_heard = roots_of(fragment) | {str(fragment.id)}
    owners = set()
    cast = Vote.objects.within(fragment.project_id).filter(fragment=fragment, ballot=Ballot.CORROBORATE)
    for vote in cast:
        if vote.counted:
            owners.add(vote.owner_id)
        # A source that is contained is heard through nobody else either.
        if vote.counted or vote.owner_id != voter.owner_id:
            roots_heard |= set(vote.roots)
    if voter.owner_id in owners:
        return Counted(fragment, Uncounted.OWNER_VOTED_BEFORE)
    if voter.roots & roots_heard:
        return Counted(fragment, Uncounted.SOURCE_HEARD_BEFORE)
    cast.filter(owner_id=voter.owner_id).delete()
    _cast(fragment, voter, Ballot.CORROBORATE, counted=True, now=now)
    fragment.updated_at = now
    _recount(fragment, now=now)
    return Counted(fragment)


def _cast(
    fragment: Fragment, voter: Voter, ballot: Ballot, *, counted: bool, now: datetime.datetime, reason: str = ""
) -> None:
    """The owner's vote, in place of its former one of that kind."""
    if ballot != Ballot.CORROBORATE:
        _former(fragment, voter.owner_id).delete()
    Vote.objects.create(
        project_id=fragment.project_id,
        fragment=fragment,
        owner_id=voter.owner_id,
        ballot=ballot,
        counted=counted,
        roots=sorted(voter.roots),
        reason=reason,
        created_at=now,
    )


def is_disputed(fragment: Fragment) -> bool:
    """Return whether votes or a person keep it disputed."""
    return bool(disputed_among([fragment]))


def disputed_among(fragments: Sequence[Fragment]) -> set[uuid.UUID]:
    """Return those of one project that votes or a person keep disputed."""
    return {row.id for row in fragments if _is_low(row)} | _disputed_by_persons(fragments)


def _is_low(fragment: Fragment) -> bool:
    return fragment.disputes > 0 and (fragment.trust_at(None) < DISPUTE_THRESHOLD or _is_outvoted(fragment))


def _is_outvoted(fragment: Fragment) -> bool:
    """Return whether enough owners, each as strong as the fragment, dispute it and nobody supports it."""
    supported = fragment.reinforcements > 0 or fragment.corroboration > 1
    return fragment.source != SourceClass.USER_EXPLICIT and fragment.disputes >= OUTVOTED and not supported


def drop_support(fragment: Fragment, *, now: datetime.datetime) -> None:
    """Let nobody have supported what a memory says by now: they read other words. Who disputed it goes on to.

    These votes are kept, for a rollback to the former words.
    """
    cast = Vote.objects.within(fragment.project_id).filter(fragment=fragment, counted=True)
    if cast.exclude(ballot=Ballot.DISPUTE).update(counted=False):
        _recount(fragment, now=now)


def discount(rows: Any, *, counted: bool, now: datetime.datetime) -> list[uuid.UUID]:
    """Let votes count no more, or again with `counted`; trust and what is disputed follow. Return which those were."""
    held = list(rows.filter(counted=not counted).order_by("id"))
    rows.filter(id__in=[vote.id for vote in held]).update(counted=counted)
    if held:
        about = Fragment.objects.within(held[0].project_id).filter(id__in={vote.fragment_id for vote in held})
        for fragment in about.select_for_update(no_key=True, of=("self",)).order_by("id"):
            _recount(fragment, now=now)
    return [vote.id for vote in held]


def _recount(fragment: Fragment, *, now: datetime.datetime) -> None:
    """Count the votes anew; below the threshold an active fragment is disputed, above it one is active again."""
    ballots = list(
        Vote.objects.within(fragment.project_id)
        .filter(fragment=fragment, counted=True)
        .values_list("ballot", flat=True)
    )
    fragment.reinforcements = ballots.count(Ballot.REINFORCE)
    fragment.disputes = ballots.count(Ballot.DISPUTE)
    fragment.corroboration = 1 + ballots.count(Ballot.CORROBORATE)
    low = _is_low(fragment)
    if fragment.status == Status.ACTIVE and low:
        fragment.status, fragment.updated_at = Status.DISPUTED, now
    elif fragment.status == Status.DISPUTED and not low and not _disputed_by_persons([fragment]):
        fragment.status, fragment.updated_at = Status.ACTIVE, now
    fragment.save(
        update_fields=[
            "reinforcements",
            "disputes",
            "corroboration",
            "base_relevance",
            "importance",
            "status",
            "updated_at",
        ]
    )


def _disputed_by_persons(fragments: Sequence[Fragment]) -> set[uuid.UUID]:
    """What a person decided no vote takes back."""
    rows = PendingConflict.objects.within(fragments[0].project_id).filter(kind=ConflictKind.DISPUTE)
    rows = rows.filter(existing__in=[row.id for row in fragments], resolution=Resolution.SUPERSEDE)
    return set(rows.values_list("existing_id", flat=True))


def _review(fragment: Fragment, voter: Voter, *, now: datetime.datetime) -> PendingConflict:
    """Return the pending review of a fragment, opened when there is none."""
    pending = PendingConflict.objects.within(fragment.project_id).pending()
    found: PendingConflict | None = pending.filter(existing=fragment, kind=ConflictKind.DISPUTE).first()
    if found:
        return found
    claim = Claim.objects.within(fragment.project_id).filter(fragment=fragment).order_by("position").first()
    made: PendingConflict = PendingConflict.objects.create(
        project_id=fragment.project_id,
        namespace_id=fragment.namespace_id,
        kind=ConflictKind.DISPUTE,
        reason=ConflictReason.DISPUTED,
        existing=fragment,
        existing_claim=claim.id if claim else None,
        subject_digest=claim.subject_digest if claim else b"",
        predicate_digest=claim.predicate_digest if claim else b"",
        key_digest=claim.key_digest if claim else b"",
        new_authority=voter.rank,
        existing_authority=fragment.authority,
        existing_trust=round(fragment.trust_at(now), 4),
        created_at=now,
    )
    return made
