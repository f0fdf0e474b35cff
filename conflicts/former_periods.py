"""Former periods: what a claim had before the writing of another took a part of it, from its history."""

import datetime
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from conflicts.gate import Assertion, Period
from conflicts.key_state import KeyState
from memories.models import Claim
from memories.models.fragment import CONTAINED
from memories.models.sql import fetch

TOUCHES = """k.project_id = c.project_id AND k.namespace_id = c.namespace_id AND k.key_digest = c.key_digest
    AND k.session_id = c.session_id AND k.fragment_id <> c.fragment_id AND {edge}"""
ENDS, BEGINS = "k.valid_from = c.valid_until", "k.valid_until = c.valid_from"
# What stands and ends where these begin, or begins where these end.
BESIDE = f"""
    SELECT DISTINCT c.id FROM memories_claim k
    JOIN memories_claim c ON {TOUCHES.format(edge=f"({ENDS} OR {BEGINS})")}
    WHERE k.project_id = %(project)s AND k.fragment_id = ANY (%(ids)s) AND c.fragment_id <> ALL (%(ids)s)
        AND c.status IN ('active', 'disputed')"""
# What of these stands and has an edge that nothing touches that is here and not contained.
BESIDE_NOTHING = """
    SELECT c.id FROM memories_claim c
    WHERE c.project_id = %(project)s AND c.fragment_id = ANY (%(ids)s) AND c.status IN ('active', 'disputed') AND (
        c.valid_until IS NOT NULL AND NOT EXISTS ({ends}) OR c.valid_from IS NOT NULL AND NOT EXISTS ({begins}))"""
HERE = f"""
    SELECT FROM memories_claim k JOIN memories_fragment f ON f.project_id = k.project_id AND f.id = k.fragment_id
    WHERE {TOUCHES} AND f.archived_reason <> '{CONTAINED}'"""
BESIDE_NOTHING = BESIDE_NOTHING.format(ends=HERE.format(edge=ENDS), begins=HERE.format(edge=BEGINS))
# The edges that the writing of another claim, which touches them, gave to these, the last first; and those before.
MOVED = """
    SELECT e.pgh_obj_id, e.{own}, b.{own}
    FROM memories_claimevent e
    JOIN LATERAL (
        SELECT p.{own} FROM memories_claimevent p
        WHERE p.project_id = e.project_id AND p.pgh_obj_id = e.pgh_obj_id AND p.pgh_id < e.pgh_id
        ORDER BY p.pgh_id DESC LIMIT 1) AS b ON b.{own} IS DISTINCT FROM e.{own}
    WHERE e.project_id = %(project)s AND e.pgh_obj_id = ANY (%(claims)s) AND e.pgh_label = 'update'
        AND EXISTS (SELECT FROM memories_claimevent k
            WHERE k.project_id = e.project_id AND k.recorded_in = e.recorded_in AND k.pgh_label = 'insert'
            AND k.namespace_id = e.namespace_id AND k.key_digest = e.key_digest AND k.scope = 'temporal'
            AND k.{theirs} = e.{own} AND k.fragment_id <> e.fragment_id)
    ORDER BY e.pgh_id DESC"""
MOVED_STARTS = MOVED.format(own="valid_from", theirs="valid_until")
MOVED_ENDS = MOVED.format(own="valid_until", theirs="valid_from")
Moment = datetime.datetime | None


def cut_by(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Return the standing claims of others that end where claims of these memories begin, or begin where they end."""
    return [i for (i,) in fetch(BESIDE, {"project": project_id, "ids": list(fragment_ids)})]


def cut_by_nothing(project_id: uuid.UUID, fragment_ids: Collection[uuid.UUID]) -> list[uuid.UUID]:
    """Return the standing claims of these memories with an edge at which nothing is, for what was there is gone."""
    return [i for (i,) in fetch(BESIDE_NOTHING, {"project": project_id, "ids": list(fragment_ids)})]


def former_periods(project_id: uuid.UUID, claims: Sequence[Claim]) -> dict[uuid.UUID, Period]:
    """Return the periods that these had before others took a part of them; of those of which nobody did, not any."""
    starts = _former(MOVED_STARTS, project_id, {claim.id: claim.valid_from for claim in claims})
    ends = _former(MOVED_ENDS, project_id, {claim.id: claim.valid_until for claim in claims})
    former = ((claim, Period(starts[claim.id], ends[claim.id])) for claim in claims)
    return {claim.id: period for claim, period in former if period != Period(claim.valid_from, claim.valid_until)}


def _former(query: str, project_id: uuid.UUID, edges: dict[uuid.UUID, Moment]) -> dict[uuid.UUID, Moment]:
    """Return what these edges were before others moved them."""
    found = dict(edges)
    for claim_id, edge, before in fetch(query, {"project": project_id, "claims": list(edges)}) if edges else ():
        if found[claim_id] == edge:
            found[claim_id] = before
    return found


def lengthen(key_state: KeyState, claim: Claim, former: Period) -> None:
    """Let a claim have of its former period what nothing has taken since; not one whose value a person ruled out."""
    if (assertion := key_state.standing.get(claim.id)) is None:
        return
    longer = replace(assertion, period=_free(key_state, assertion, former))
    if longer != assertion and longer.period.contains(assertion.period) and not key_state.bar(longer):
        rows = Claim.objects.within(claim.project_id).filter(id=claim.id)
        rows.update(valid_from=longer.period.start, valid_until=longer.period.end)
        key_state.standing[claim.id] = longer


def _free(key_state: KeyState, assertion: Assertion, former: Period) -> Period:
    """Return of a claim's former period what nothing has taken since; what met it before does so still."""
    others = [o for o in key_state.standing.values() if o.id != assertion.id and o.session_id == assertion.session_id]
    periods = [o.period for o in others if o.exclusive or o.excludes(assertion)]
    own = assertion.period
    before = [p.end for p in periods if own.start and p.end and p.end <= own.start]
    after = [p.start for p in periods if own.end and p.start and p.start >= own.end]
    return Period(
        max([*before, *([former.start] if former.start else [])], default=None),
        min([*after, *([former.end] if former.end else [])], default=None),
    )
