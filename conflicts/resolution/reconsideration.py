"""Reconsideration: what another memory replaced by the rules alone stands again, because a person says so."""

import datetime
import uuid

from conflicts import authority
from conflicts.enums import Resolution
from conflicts.evaluation import Evaluation, place_of
from conflicts.locks import lock_namespace
from conflicts.models import PendingConflict
from conflicts.persistence import ensure_conflicts
from conflicts.resolution.actions import NotApplicable
from conflicts.resolution.decisions import Settlement, resolve
from conflicts.verdicts import VerdictChange, claim_status, save_verdicts
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.models import Claim, Fragment, Link
from memories.models.enums import LinkKind, Status, Verb


def reinstate_replaced(
    principal: Principal, fragment_id: uuid.UUID, *, note: str = "", now: datetime.datetime
) -> list[PendingConflict]:
    """Let a replaced memory stand again; what stands against it yields, and a ruling holds that.

    Return the decisions, which can be undone: it waits in quarantine then. Raise NotFound, NotPermitted, NotApplicable
    where nothing stands against what it claims, and what `resolve` raises; nothing changes then.
    """
    principal.require(Verb.REVIEW)
    with access.enter(principal, why="reinstate"):
        former = _replaced(principal, fragment_id)
        waiting = _let_wait(former, now=now)
        if not waiting:
            raise NotApplicable("nothing stands against what it claims: there is nothing to take back")
        settled = []
        for row in waiting:
            row.refresh_from_db()
            if row.resolved_at is None:
                settlement = Settlement(Resolution.SUPERSEDE, row.revision, note=note, ruling=True)
                settled.append(resolve(principal, row.id, settlement, now=now))
        return settled


def _replaced(principal: Principal, fragment_id: uuid.UUID) -> Fragment:
    """Return the memory with its namespace held, and then itself: in the order in which writers do."""
    rows = Fragment.objects.within(principal.project_id).filter(namespace__in=access.readable_scopes(principal))
    known: Fragment | None = rows.select_related("namespace").filter(id=fragment_id).first()
    if known is None:
        raise NotFound("fragment")
    if not principal.covers(known.namespace.name):
        raise NotPermitted("this key only reads here")
    lock_namespace(known.namespace_id)
    row: Fragment | None = rows.select_for_update(no_key=True, of=("self",)).filter(id=fragment_id).first()
    if row is None:
        raise NotFound("fragment")
    if row.status != Status.SUPERSEDED or row.superseded_by_id is None:
        raise NotApplicable("no other memory replaced it")
    authority.refuse_below(principal, [row.authority], what="what this decides on")
    return row


def _let_wait(former: Fragment, *, now: datetime.datetime) -> list[PendingConflict]:
    """Let the claims that were replaced wait again. Return the conflicts with what stands against them."""
    claims = [
        claim
        for claim in Claim.objects.within(former.project_id).filter(fragment=former.id).order_by("position")
        if claim_status(claim, former.status) == Status.SUPERSEDED
    ]
    if not claims:
        return []
    Link.objects.within(former.project_id).filter(other=former.id, kind=LinkKind.SUPERSEDES).delete()
    changes = {claim.id: VerdictChange(Status.QUARANTINED) for claim in claims}
    save_verdicts(former.project_id, changes, now=now)
    Fragment.objects.within(former.project_id).filter(id=former.id).update(superseded_by=None)
    evaluation = Evaluation(former.project_id, [former.namespace_id], claims=0, now=now)
    places = {place_of(claim) for claim in claims}
    evaluation.read(places, hold=True)
    return [row for row in ensure_conflicts(evaluation, places)[former.id] if row.resolved_at is None]
