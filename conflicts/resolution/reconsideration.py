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
from memories.models.sql import fetch

# Of a memory f that was superseded, whether a person decided so: for the challenger, or for what was typed instead of
# it. Of decisions that were made elsewhere a copy has the ruling alone.
DECIDED_BY_A_PERSON = """(EXISTS (SELECT FROM conflicts_pendingconflict p
        CROSS JOIN LATERAL (SELECT p.newcomer_id UNION ALL
            SELECT made::uuid FROM jsonb_array_elements_text(p.before -> 'made') AS made) AS winner (id)
        WHERE p.project_id = f.project_id AND winner.id = f.superseded_by_id AND p.resolved_by IS NOT NULL
            AND (p.existing_id = f.id OR jsonb_exists(p.before -> 'fragments', f.id::text)))
    OR EXISTS (SELECT FROM conflicts_ruling r CROSS JOIN unnest(r.chosen_fragments) AS winner (id)
        CROSS JOIN unnest(r.ruled_out_fragments) AS loser (id)
        WHERE r.project_id = f.project_id AND winner.id = f.superseded_by_id AND loser.id = f.id))"""


def reinstate_replaced(
    principal: Principal, fragment_id: uuid.UUID, *, note: str = "", now: datetime.datetime
) -> list[PendingConflict]:
    """Let a replaced memory stand again; what stands against it yields, and a ruling holds that.

    Return the decisions, one for each claim against which something stands; undone, it waits in quarantine. Raise
    NotFound, NotPermitted, NotApplicable where nothing stands against it or a person decided so, and what `resolve`
    raises; nothing changes then.
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
    if fetch(f"SELECT FROM memories_fragment f WHERE f.id = %s AND {DECIDED_BY_A_PERSON}", [row.id]):
        raise NotApplicable("a person decided that another memory replaces it: undo that decision instead")
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
