"""Containment: everything that a ground brought in is set aside, and belief is as if it had not been written."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Q

from conflicts import containment as belief
from conflicts.authority import rank_of, ranks_of, refuse_below
from conflicts.bulk_changes import waiting_against
from conflicts.former_periods import cut_by
from conflicts.public import lock_belief, reopen_periods
from conflicts.resolution import CannotUndo
from conflicts.rulings import with_protection
from conflicts.search_index import refuse_forgotten_words
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.containment.grounds import ContainmentGround, derived, written
from memories.erasure import CountDiffers, digests_of, reinstate, release_waiting, return_originals
from memories.errors import NovaError
from memories.models import ApiKey, Claim, Containment, Exchange, Fragment, Receipt
from memories.models.enums import STANDING, ContainmentKind, Status
from memories.models.fragment import CONTAINED
from memories.models.operation import Carried

MOST = 5_000  # memories that are set aside in one transaction
MOST_NAMED = 100
NEVER = datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC)
WRITING = ("id", "owner_id", "grant_id", "created_at")
REACHED = ("written", "derived", "upheld", "repeated", "restored", "released")


class ExtentTooLarge(NovaError):
    """More memories than one transaction sets aside."""

    code = "too_many"
    title = "Nothing was set aside"


class ExtentDiffers(CountDiffers):
    """Other memories than the caller expects would be set aside: by their number."""

    title = "Nothing was set aside"
    outcome = "look again"


@dataclass(slots=True)
class Extent:
    """What a containment reaches: memories of its ground, what was made of them, and what others vouch for.

    Afterwards what stands again for them, what waited because of them and stands, and which votes count no more.
    """

    written: list[uuid.UUID]
    derived: list[uuid.UUID]
    upheld: list[uuid.UUID]
    repeated: list[uuid.UUID]
    restored: list[uuid.UUID] = field(default_factory=list)
    released: list[uuid.UUID] = field(default_factory=list)
    votes: list[uuid.UUID] = field(default_factory=list)
    decisions: list[uuid.UUID] = field(default_factory=list)
    keys: list[uuid.UUID] = field(default_factory=list)
    answers: Carried = field(default_factory=Carried)

    @property
    def contained(self) -> list[uuid.UUID]:
        """What is set aside."""
        return sorted({*self.written, *self.derived})

    def report(self) -> dict[str, Any]:
        """In JSON's terms; of each kind how many, and the first."""
        kinds = {name: getattr(self, name) for name in REACHED}
        named = {name: {"count": len(ids), "ids": [str(i) for i in ids[:MOST_NAMED]]} for name, ids in kinds.items()}
        last = self.answers.last_at
        carried = {"answers": self.answers.answers, "agents": self.answers.agents, "last_at": last and last.isoformat()}
        rest = {"decisions": [str(i) for i in self.decisions[:MOST_NAMED]], "keys": [str(i) for i in self.keys]}
        return {**named, "votes": len(self.votes), **rest, "answers": carried}


def contain(
    principal: Principal,
    ground: ContainmentGround,
    *,
    now: datetime.datetime,
    note: str = "",
    expected: int | None = None,
) -> Containment:
    """Set aside what a ground brought in and what was made of it, and let everybody else be heard as without it.

    Keys are revoked, votes count no more. What somebody else vouches for stays. Raise NotPermitted for who is no admin,
    or below what would be set aside, NotFound for whom only a part of the project is there; ExtentTooLarge,
    ExtentDiffers, BlockedByErasure for the note; nothing changes then.
    """
    with _entered(principal, why="contain") as everybody:
        extent, journal = _apply(everybody, ground, expected=expected, now=now)
        for place in _places(principal.project_id, extent.contained) if note else ():
            refuse_forgotten_words(principal.project_id, place, [note], authority=rank_of(principal))
        row: Containment = Containment.objects.create(
            project_id=principal.project_id,
            kind=ground.kind,
            target_id=ground.target_id,
            since=ground.since,
            note=note,
            written=len(extent.contained),
            report=extent.report(),
            journal=journal,
            applied_by=principal.owner_id,
            applied_at=now,
        )
        return row


def preview(principal: Principal, ground: ContainmentGround, *, now: datetime.datetime) -> dict[str, Any]:
    """Return the report that `contain` would give; nothing changes. Raise as `contain`."""
    with _entered(principal, why="contain") as everybody, transaction.atomic():
        extent, _ = _apply(everybody, ground, expected=None, now=now)
        transaction.set_rollback(True)
    return extent.report()


def undo(principal: Principal, containment_id: uuid.UUID, *, now: datetime.datetime) -> Containment:
    """Let everything be as before a containment; keys that it revoked work again, what was forgotten since stays so.

    Raise NotFound, NotPermitted as `contain`, and CannotUndo with what stands in the way.
    """
    with _entered(principal, why="undo containment") as everybody:
        rows = Containment.objects.within(principal.project_id)
        found = rows.filter(id=containment_id).first()
        if found is None:
            raise NotFound("containment")
        lock_belief(_places(principal.project_id, map(uuid.UUID, found.journal["after"])))
        row: Containment = rows.select_for_update().get(id=containment_id)
        if row.undone_at:
            raise CannotUndo("it was taken back before")
        _refuse_weak_undo(everybody, row)
        _refuse_other_grounds(row)
        belief.take_back(row.project_id, row.journal, applied_at=row.applied_at, now=now)
        keys = ApiKey.objects.within(row.project_id).filter(id__in=row.report["keys"], revoked_at=row.applied_at)
        owners, contained = _targets(Containment.objects.in_force(row.project_id).exclude(id=row.id))
        keys.exclude(Q(owner__in=owners) | Q(id__in=contained)).update(revoked_at=None)
        said = Exchange.objects.within(row.project_id).filter(not_before=NEVER)
        said.exclude(Q(key__owner__in=owners) | Q(key__in=contained)).update(not_before=now)
        row.undone_by, row.undone_at = principal.owner_id, now
        row.save(update_fields=["undone_by", "undone_at"])
        _release_returned(row, now=now)
        return row


def _release_returned(row: Containment, *, now: datetime.datetime) -> None:
    """Let what came back from the archive while it was in force stand, as far as nobody opposes it."""
    grants = ApiKey.objects.within(row.project_id).filter(id=row.target_id).values("grant")
    rows = Fragment.objects.within(row.project_id).filter(archived_reason=CONTAINED)
    rows = rows.filter(Q(owner_id=row.target_id) | Q(grant_id__in=grants))
    writings = list(rows.values_list(*WRITING))
    left = {which for which, *_ in writings} - Containment.objects.reaching(row.project_id, writings)
    claims = Claim.objects.by_fragment(row.project_id, left)
    rows.filter(id__in=left).update(status=Status.SUPERSEDED, archived_reason="")
    reinstate(row.project_id, {which: [claim.id for claim in claims.get(which, ())] for which in left}, now=now)


def containments(principal: Principal) -> Any:
    """Return the containments of the project; none for whom only a part of it is there. Raise NotPermitted."""
    principal.require("admin")
    rows = Containment.objects.within(principal.project_id)
    return rows if principal.asks_for_all else rows.none()


@contextmanager
def _entered(principal: Principal, *, why: str) -> Iterator[Principal]:
    """With the users of every namespace. Raise NotPermitted, NotFound."""
    principal.require("admin")
    if not principal.asks_for_all:
        raise NotFound("containment")
    everybody = principal.of_everybody()
    with access.enter(everybody, why=why):
        yield everybody


def _apply(
    principal: Principal, ground: ContainmentGround, *, expected: int | None, now: datetime.datetime
) -> tuple[Extent, dict[str, Any]]:
    """Set it aside, in the open transaction. Return what it reached, and the journal."""
    project_id = principal.project_id
    _refuse_stronger(principal, ground.owners)
    access.hold_writers(key.id for key in ground.keys)
    keys = ApiKey.objects.within(project_id).filter(id__in=[key.id for key in ground.keys], revoked_at=None)
    revoked = list(keys.select_for_update(of=("self",)).order_by("id").values_list("id", flat=True))
    keys.filter(id__in=revoked).update(revoked_at=now)
    # What was said in chats and is no memory yet waits until that is taken back.
    said = Exchange.objects.within(project_id).filter(key__in=[key.id for key in ground.keys])
    (said.filter(said_at__gte=ground.since) if ground.since else said).update(not_before=NEVER)
    extent, originals = _held_extent(project_id, ground)
    extent.keys = revoked
    _refuse(principal, extent, expected=expected)
    extent.answers = Receipt.objects.carrying([extent.contained]).get(0, Carried())
    waiting = waiting_against(project_id, extent.contained)
    losers = belief.replaced_by(project_id, extent.contained)
    recording = belief.Recording(project_id, {*extent.contained, *originals, *waiting, *losers})
    key_id = ground.target_id if ground.kind == ContainmentKind.KEY else None
    for owner_id in ground.owners:
        extent.decisions = belief.decided(project_id, owner_id, key_id=key_id, since=ground.since)
        extent.votes = belief.discount_votes(project_id, owner_id, key_id=key_id, since=ground.since, now=now)
    if ground.source_id:
        extent.votes = belief.discount_source(project_id, ground.source_id, now=now)
    belief.set_aside(project_id, extent.contained, now=now)
    extent.restored = _reinstated(project_id, extent.contained, losers, originals, now=now)
    extent.released = release_waiting(project_id, waiting, losers, now=now)
    extent.restored = _standing(project_id, extent.restored)  # what waited may be newer
    more = {"votes": [str(i) for i in extent.votes], "upheld": [str(i) for i in extent.upheld]}
    return extent, {**recording.journal(), **more}


def set_aside_returned(project_id: uuid.UUID, ids: Sequence[uuid.UUID], *, now: datetime.datetime) -> list[uuid.UUID]:
    """Set aside again what came back and a containment in force reaches, as if it had not been written; return that.

    The caller holds their namespaces.
    """
    rows = Fragment.objects.within(project_id).filter(id__in=ids).exclude(archived_reason=CONTAINED)
    reached = Containment.objects.reaching(project_id, list(rows.values_list(*WRITING)))
    if not reached:
        return []
    digests = digests_of(project_id, sorted(reached))
    contained = sorted({*reached, *digests})
    originals = {i for digest in digests.values() if digest.stands for i in digest.parents} - {*contained}
    waiting, losers = waiting_against(project_id, contained), belief.replaced_by(project_id, contained)
    belief.set_aside(project_id, contained, now=now)
    _reinstated(project_id, contained, losers, originals, now=now)
    release_waiting(project_id, waiting, losers, now=now)
    return contained


def _reinstated(
    project_id: uuid.UUID,
    contained: Sequence[uuid.UUID],
    losers: dict[uuid.UUID, list[uuid.UUID]],
    originals: set[uuid.UUID],
    *,
    now: datetime.datetime,
) -> list[uuid.UUID]:
    """Let stand again what these had taken the place of, and the originals of digests; return those that do."""
    belief.release(project_id, contained, losers)
    restored = [*return_originals(project_id, originals, now=now), *reinstate(project_id, losers, now=now)]
    reopen_periods(project_id, cut_by(project_id, contained), now=now)
    return restored


def _held_extent(project_id: uuid.UUID, ground: ContainmentGround) -> tuple[Extent, set[uuid.UUID]]:
    """Return what a ground reaches, in namespaces that are held, and the originals of digests that go with it."""
    held: set[uuid.UUID] = set()
    while True:
        extent, originals = _extent(project_id, ground)
        places = _places(project_id, [*extent.contained, *originals])
        if places <= held:
            return extent, originals
        held |= places
        lock_belief(held)


def _extent(project_id: uuid.UUID, ground: ContainmentGround) -> tuple[Extent, set[uuid.UUID]]:
    in_force = Containment.objects.in_force(project_id)
    contained, keys = _targets(in_force)
    of_keys = ApiKey.objects.within(project_id).filter(id__in=keys).values_list("owner_id", flat=True)
    owners = [*ground.owners, *contained.values_list("target_id", flat=True), *of_keys]
    own = written(project_id, ground)
    if ground.owners:  # what they upheld when somebody else was contained may have nobody left
        former = {i for journal in in_force.values_list("journal", flat=True) for i in journal["upheld"]}
        rows = Fragment.objects.within(project_id).filter(id__in=former).exclude(archived_reason=CONTAINED)
        own |= set(rows.values_list("id", flat=True))
    # A text is contained whoever vouches for it.
    by_text = ground.kind == ContainmentKind.CONTENT
    whose = belief.vouched(project_id, own, owners=owners, source_id=ground.source_id)
    kept = set() if by_text else whose.upheld
    own -= kept
    made = derived(project_id, own) if own else set()
    chosen = belief.vouched(project_id, made, owners=owners, source_id=ground.source_id).upheld
    digests = digests_of(project_id, [*own, *(made - chosen)])
    standing = {i for i, digest in digests.items() if digest.stands}
    made = (made - chosen) | standing - own
    originals = {i for i in standing for i in digests[i].parents} - own - made
    upheld, repeated = kept | chosen - standing, whose.repeated if not by_text else set()
    return Extent(sorted(own), sorted(made), sorted(upheld), sorted(repeated)), originals


def _places(project_id: uuid.UUID, ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    rows = Fragment.objects.within(project_id).filter(id__in=list(ids))
    return set(rows.values_list("namespace_id", flat=True).distinct())


def _refuse_stronger(principal: Principal, owners: Collection[uuid.UUID]) -> None:
    """Raise NotPermitted for who would silence or bring back a stronger one, or decide on themselves."""
    if principal.owner_id in owners:
        raise NotPermitted("nobody decides on their own containment: another administrator does")
    ranks = ranks_of(principal.project_id, owners)
    refuse_below(principal, ranks.values(), what="what this owner says")


def _refuse_weak_undo(principal: Principal, row: Containment) -> None:
    """Raise NotPermitted for who could not have set this aside, or whose own it is."""
    of_key = ApiKey.objects.within(row.project_id).filter(id=row.target_id).values_list("owner_id", flat=True)
    owners = {
        ContainmentKind.OWNER: [row.target_id],
        ContainmentKind.KEY: list(of_key),
    }.get(ContainmentKind(row.kind), [])
    _refuse_stronger(principal, owners)
    rows = Fragment.objects.within(row.project_id).filter(id__in=row.journal["after"])
    ranks = with_protection(rows).values_list("rank", flat=True)
    refuse_below(principal, ranks, what="some of what this would bring back")


def _refuse(principal: Principal, extent: Extent, *, expected: int | None) -> None:
    """Raise as `contain`."""
    count = len(extent.contained)
    if expected is not None and count != expected:
        raise ExtentDiffers(count=count, expected=expected)
    if count > MOST:
        raise ExtentTooLarge(f"these are {count:,} memories: contain the last {MOST:,} first, since a later time")
    rows = Fragment.objects.within(principal.project_id).filter(id__in=extent.contained)
    ranks = with_protection(rows).values_list("rank", flat=True)
    refuse_below(principal, ranks, what="some of what this would set aside")


def _standing(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    rows = Fragment.objects.within(project_id).filter(id__in=ids, status__in=STANDING)
    stand = set(rows.values_list("id", flat=True))
    return [which for which in ids if which in stand]


def _refuse_other_grounds(row: Containment) -> None:
    """Raise CannotUndo where a later containment in force would set aside the same."""
    owners, keys = _targets(Containment.objects.in_force(row.project_id).filter(applied_at__gt=row.applied_at))
    grants = ApiKey.objects.within(row.project_id).filter(id__in=keys).values("grant")
    rows = Fragment.objects.within(row.project_id).filter(id__in=row.journal["after"], archived_reason=CONTAINED)
    same = rows.filter(Q(owner_id__in=owners) | Q(grant_id__in=grants))
    if found := list(same.values_list("id", flat=True)):
        raise CannotUndo("a later containment reaches these, too", found, then="take that back first")


def _targets(rows: Any) -> tuple[Any, Any]:
    """Return the owners and the keys that these contain."""
    owners, keys = (rows.filter(kind=kind) for kind in (ContainmentKind.OWNER, ContainmentKind.KEY))
    return owners.values("target_id"), keys.values("target_id")
