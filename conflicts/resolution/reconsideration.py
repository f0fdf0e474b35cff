"""Reconsideration: what another memory replaced by the rules alone stands again, because a person says so."""

import datetime
import uuid

from conflicts import authority
from conflicts.claims import assertion_from
from conflicts.enums import Resolution
from conflicts.evaluation import Evaluation, place_of
from conflicts.locks import Place, lock_namespace
from conflicts.models import PendingConflict
from conflicts.persistence import ensure_conflicts
from conflicts.resolution.actions import NotApplicable
from conflicts.resolution.decisions import Settlement, resolve
from conflicts.verdicts import VerdictChange, claim_status, save_verdicts
from memories import access
from memories.access import NotFound, Principal
from memories.models import Claim, Fragment, Link
from memories.models.enums import LinkKind, Status, Verb


def reinstate_replaced(
    principal: Principal, fragment_id: uuid.UUID, *, note: str = "", now: datetime.datetime
) -> list[PendingConflict]:
    """Let a replaced memory stand again; what stands against it yields, and a ruling holds that.

    Return the decisions, one for each claim against which something stands; undone, it waits in quarantine. Raise
    NotFound, NotPermitted, NotApplicable where nothing stands against it, and what `resolve` raises; nothing changes
    then.
    """
    principal.require(Verb.REVIEW)
    with access.enter(principal, why="reinstate"):
        former = _replaced(principal, fragment_id)
        settled = []
        # One after the other: a decision takes back what waits elsewhere and its own owner took back since.
        for claim in Claim.objects.within(former.project_id).filter(fragment=former.id).order_by("position"):
            if claim_status(claim, former.status) == Status.SUPERSEDED and (row := _contest(former, claim, now=now)):
                settlement = Settlement(Resolution.SUPERSEDE, row.revision, note=note, ruling=True)
                settled.append(resolve(principal, row.id, settlement, now=now))
        if not settled:
            raise NotApplicable("nothing stands against what it claims: there is nothing to take back")
        return settled


def _replaced(principal: Principal, fragment_id: uuid.UUID) -> Fragment:
    """Return the memory with its namespace held, and then itself: in the order in which writers do."""
    rows = Fragment.objects.within(principal.project_id).filter(namespace__in=access.readable_scopes(principal))
    known: Fragment | None = rows.select_related("namespace").filter(id=fragment_id).first()
    if known is None:
        raise NotFound("fragment")
    principal.require_covered(known.namespace.name)
    lock_namespace(known.namespace_id)
    row: Fragment | None = rows.select_for_update(no_key=True, of=("self",)).filter(id=fragment_id).first()
    if row is None:
        raise NotFound("fragment")
    if row.status != Status.SUPERSEDED or row.superseded_by_id is None:
        raise NotApplicable("no other memory replaced it")
    authority.refuse_below(principal, [row.authority], what="what this decides on")
    return row


def _contest(former: Fragment, claim: Claim, *, now: datetime.datetime) -> PendingConflict | None:
    """Let a claim that was replaced wait again. Return a conflict with what stands against it; None without any."""
    place = place_of(claim)
    if not _evaluation(former, place, now=now).key_states[place].opponents(assertion_from(claim)):
        return None
    save_verdicts(former.project_id, {claim.id: VerdictChange(Status.QUARANTINED)}, now=now)
    Fragment.objects.within(former.project_id).filter(id=former.id).update(superseded_by=None)
    Link.objects.within(former.project_id).filter(other=former.id, kind=LinkKind.SUPERSEDES).delete()
    conflicts = ensure_conflicts(_evaluation(former, place, now=now), {place})[former.id]
    return next((row for row in conflicts if row.newcomer_claim == claim.id), None)


def _evaluation(former: Fragment, place: Place, *, now: datetime.datetime) -> Evaluation:
    evaluation = Evaluation(former.project_id, [former.namespace_id], claims=0, now=now)
    evaluation.read({place}, hold=True)
    return evaluation
