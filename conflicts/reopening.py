"""Reopening: a claim that ended where another began goes on once that begins there no more."""

import datetime
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from conflicts.evaluation import Evaluation, place_of
from conflicts.gate import Assertion, Period
from conflicts.key_state import KeyState
from conflicts.persistence import ensure_conflicts
from memories.models import Claim
from memories.models.enums import STANDING
from memories.models.fragment import CONTAINED
from memories.models.sql import fetch

# What stands and ends where these begin.
ENDED = """
    SELECT DISTINCT c.id FROM memories_claim k
    JOIN memories_claim c ON c.project_id = k.project_id AND c.namespace_id = k.namespace_id
        AND c.key_digest = k.key_digest AND c.session_id = k.session_id AND c.valid_until = k.valid_from
    WHERE k.project_id = %(project)s AND k.fragment_id = ANY (%(ids)s) AND c.fragment_id <> ALL (%(ids)s)
        AND c.status IN ('active', 'disputed')"""
# What of these stands and ends where nothing begins that is here and not contained.
ENDED_BY_NOTHING = f"""
    SELECT c.id FROM memories_claim c
    WHERE c.project_id = %(project)s AND c.fragment_id = ANY (%(ids)s) AND c.status IN ('active', 'disputed')
        AND c.valid_until IS NOT NULL AND NOT EXISTS (
            SELECT FROM memories_claim k
            JOIN memories_fragment f ON f.project_id = k.project_id AND f.id = k.fragment_id
            WHERE k.project_id = c.project_id AND k.namespace_id = c.namespace_id AND k.key_digest = c.key_digest
            AND k.session_id = c.session_id AND k.valid_from = c.valid_until AND k.fragment_id <> c.fragment_id
            AND f.archived_reason <> '{CONTAINED}')"""
# The ends that the writing of another claim, which begins there, gave to these, the last first; and those before.
CLOSED = """
    SELECT e.pgh_obj_id, e.valid_until, b.valid_until
    FROM memories_claimevent e
    JOIN LATERAL (
        SELECT p.valid_until FROM memories_claimevent p
        WHERE p.project_id = e.project_id AND p.pgh_obj_id = e.pgh_obj_id AND p.pgh_id < e.pgh_id
        ORDER BY p.pgh_id DESC LIMIT 1) AS b ON b.valid_until IS DISTINCT FROM e.valid_until
    WHERE e.project_id = %(project)s AND e.pgh_obj_id = ANY (%(claims)s) AND e.pgh_label = 'update'
        AND EXISTS (SELECT FROM memories_claimevent k
            WHERE k.project_id = e.project_id AND k.recorded_in = e.recorded_in AND k.pgh_label = 'insert'
            AND k.namespace_id = e.namespace_id AND k.key_digest = e.key_digest AND k.scope = 'temporal'
            AND k.valid_from = e.valid_until AND k.fragment_id <> e.fragment_id)
    ORDER BY e.pgh_id DESC"""


def ended_by(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Return the standing claims of others that end where claims of these memories begin."""
    return [i for (i,) in fetch(ENDED, {"project": project_id, "ids": list(fragment_ids)})]


def ended_by_nothing(project_id: uuid.UUID, fragment_ids: Collection[uuid.UUID]) -> list[uuid.UUID]:
    """Return the standing claims of these memories that end where nothing begins, for what did is gone."""
    return [i for (i,) in fetch(ENDED_BY_NOTHING, {"project": project_id, "ids": list(fragment_ids)})]


def reopen_periods(project_id: uuid.UUID, claim_ids: Collection[uuid.UUID], *, now: datetime.datetime) -> None:
    """Let claims that the writing of another ended go on, until what stands after them begins.

    None whose value a person ruled out. The caller holds their namespaces or keys; what ended them is gone by now.
    """
    rows = Claim.objects.within(project_id).filter(id__in=claim_ids, status__in=STANDING)
    ends: dict[uuid.UUID, datetime.datetime | None] = dict(rows.values_list("id", "valid_until"))
    closed = fetch(CLOSED, {"project": project_id, "claims": list(ends)}) if ends else []
    former = dict(ends)
    for claim_id, end, before in closed:
        if former[claim_id] == end:
            former[claim_id] = before
    claims = list(rows.filter(id__in=[i for i, end in ends.items() if former[i] != end]).order_by("id"))
    if not claims:
        return
    places = {place_of(claim) for claim in claims}
    evaluation = Evaluation(project_id, {namespace_id for namespace_id, _ in places}, claims=0, now=now)
    evaluation.read(places, hold=True)
    for claim in claims:
        _reopen(evaluation.key_states[place_of(claim)], claim, former[claim.id])
    ensure_conflicts(evaluation, places)


def _reopen(key_state: KeyState, claim: Claim, former: datetime.datetime | None) -> None:
    assertion, closed = key_state.standing.get(claim.id), claim.valid_until
    if assertion is None or closed is None:
        return
    end = min([*([former] if former else []), *_later_beginnings(key_state, assertion, closed)], default=None)
    longer = replace(assertion, period=Period(assertion.period.start, end))
    if (end is None or end > closed) and not key_state.bar(longer):
        Claim.objects.within(claim.project_id).filter(id=claim.id).update(valid_until=end)
        key_state.standing[claim.id] = longer


def _later_beginnings(key_state: KeyState, assertion: Assertion, closed: datetime.datetime) -> list[datetime.datetime]:
    """Return when what may not stand beside a claim begins, after it was closed; what met it before does so still."""
    others = [o for o in key_state.standing.values() if o.id != assertion.id and o.session_id == assertion.session_id]
    others = [o for o in others if o.exclusive or o.excludes(assertion)]
    return [o.period.start for o in others if o.period.start is not None and o.period.start >= closed]
