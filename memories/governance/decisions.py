"""What a person makes of a proposal that waits: the newer text replaces the older one, or it is not proposed again."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any

from conflicts.authority import rank_of
from conflicts.bulk_changes import replace, undo_replacement
from conflicts.public import lock_namespace
from conflicts.resolution import AlreadyResolved, CannotUndo, NotApplicable
from conflicts.rulings import protection, refuse_weaker
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.errors import StaleRevision
from memories.governance.history import REWRITTEN, find_rewritten
from memories.models import Claim, Fragment, Proposal
from memories.models.enums import Decision, Status, Verb

Sides = tuple[Fragment, Fragment]


def decide(
    principal: Principal,
    proposal_id: uuid.UUID,
    decision: str,
    *,
    now: datetime.datetime,
    seen: Sequence[int] | None = None,
) -> Proposal:
    """Accept or dismiss a supersession that waits. What is dismissed is not proposed again.

    `seen` are the revisions of the older and the newer memory that were read. Raise NotFound, NotPermitted,
    AlreadyResolved when it waits no more, NotApplicable when one of the memories does not stand as it did, or was
    rewritten since it was proposed, StaleRevision when one was changed since it was read; nothing changes then.
    """
    with access.enter(principal, why="decide"):
        row = _lock_proposal(principal, proposal_id)
        if not row.waiting:
            raise AlreadyResolved(
                f"this proposal does not wait: {row.decision or ', '.join(row.reasons) or row.outcome}"
            )
        older, newer = _sides(principal, row, refused=NotApplicable)
        for side, revision in zip((older, newer), seen or (), strict=seen is not None):
            if side.revision != revision:
                raise StaleRevision("fragment", current=side.revision)
        if decision == Decision.ACCEPTED:
            _refuse_unfit(row, older, newer)
            row.before = replace(row.project_id, row.namespace_id, older=older.id, newer=newer.id, now=now)
        rank = rank_of(principal)
        _note(row, decision=decision, decided_by=principal.owner_id, decided_rank=rank, decided_at=now)
        return row


def undo(principal: Principal, proposal_id: uuid.UUID, *, now: datetime.datetime) -> Proposal:
    """Take a decision back: both memories are as before it, and the proposal waits again.

    Raise NotFound, NotPermitted, CannotUndo with what stands in the way; nothing changes then.
    """
    with access.enter(principal, why="undo"):
        row = _lock_proposal(principal, proposal_id)
        if not row.decision:
            raise CannotUndo("there is no decision of a person to take back")
        refuse_weaker(principal, [(row.decided_rank or 0, row.decided_by)])
        _, newer = _sides(principal, row, refused=CannotUndo)
        if row.before is not None:
            if newer.status != Status.ACTIVE:
                raise CannotUndo("the newer memory does not stand any more")
            undo_replacement(row.project_id, row.before, now=now)
            row.before = None
        _note(row, decision="", decided_by=None, decided_rank=None, decided_at=None)
        return row


def _lock_proposal(principal: Principal, proposal_id: uuid.UUID) -> Proposal:
    """Return the proposal and its namespace, locked. Raise NotFound, NotPermitted."""
    rows = Proposal.objects.within(principal.project_id).select_related("namespace")
    row: Proposal | None = rows.filter(id=proposal_id, namespace__in=access.readable_scopes(principal)).first()
    if row is None:
        raise NotFound("proposal")
    principal.require(Verb.REVIEW)
    principal.require_covered(row.namespace.name)
    lock_namespace(row.namespace_id)
    held: Proposal | None = rows.select_for_update(of=("self",)).filter(id=proposal_id).first()
    if held is None:
        raise NotFound("proposal")
    return held


def _sides(principal: Principal, row: Proposal, *, refused: type[Exception]) -> Sides:
    """Return the older and the newer memory, held. Raise NotPermitted, and `refused` when one is gone."""
    held = Fragment.objects.within(row.project_id).select_for_update(no_key=True, of=("self",)).order_by("id")
    sides = {side.id: side for side in held.filter(id__in=row.about)}
    if len(sides) < 2:
        raise refused("one of the memories is gone")
    if principal.kind == "key" and principal.owner_id in {side.owner_id for side in sides.values()}:
        raise NotPermitted("a key can't decide on what its owner wrote: a person does")
    older, newer = (sides[one] for one in row.about)
    if rank_of(principal) < max(older.authority, protection(row.project_id, older.id)):
        raise NotPermitted("the older memory's authority is above this key's ceiling")
    return older, newer


def why_not_replaceable(older: Fragment, newer: Fragment, *, claims: bool, rewritten: bool) -> str:
    """Why the newer memory may not replace the older one, empty when it may; `claims`: whether the older one does.

    `rewritten`: whether one of them was since this was proposed.
    """
    if {older.status, newer.status} != {Status.ACTIVE}:
        return "one of the memories does not stand any more"
    if newer.authority < older.authority:
        return "the newer memory is believed less than the older one"
    if claims:
        return "the older memory claims something by now: the gate of belief decides on it"
    return REWRITTEN if rewritten else ""


def _refuse_unfit(row: Proposal, older: Fragment, newer: Fragment) -> None:
    claims = Claim.objects.within(older.project_id).filter(fragment=older.id).exists()
    if why := why_not_replaceable(older, newer, claims=claims, rewritten=bool(find_rewritten([row]))):
        raise NotApplicable(why)


def _note(row: Proposal, **words: Any) -> None:
    """Write down what was decided, by whom and when; what is undecided waits."""
    for name, value in words.items():
        setattr(row, name, value)
    row.waiting = not row.decision
    row.save(update_fields=["waiting", "before", *words])
