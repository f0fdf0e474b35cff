"""Reconciliation: what was said and decided meanwhile meets what an undo lets stand again."""

import datetime
import uuid
from collections.abc import Collection
from dataclasses import replace

from conflicts.evaluation import Evaluation, place_of
from conflicts.locks import Place
from conflicts.persistence import ensure_conflicts, face_what_stands
from conflicts.snapshots import CannotUndo, refuse_rivals
from memories.models import Claim
from memories.models.sql import fetch

# Rulings in force of meanwhile that would bind nobody: of what they chose something does not stand, or what they ruled
# out does.
BROKEN = """
    SELECT DISTINCT n.id FROM conflicts_ruling r CROSS JOIN LATERAL (
        SELECT c.id, true AS chosen FROM unnest(r.chosen_fragments) AS c (id)
        UNION ALL SELECT o.id, false FROM unnest(r.ruled_out_fragments) AS o (id)) AS n
    WHERE r.project_id = %(project)s AND r.replaced_by_id IS NULL AND r.decided_at > %(since)s
        AND n.id = ANY (%(ids)s) AND n.chosen <> EXISTS (SELECT FROM memories_fragment f
            WHERE f.project_id = r.project_id AND f.id = n.id
                AND (f.status = 'active' OR n.chosen AND f.status = 'disputed'))"""
# Keys of these on which others came, or changed, or somebody decided, meanwhile.
MET = """
    WITH keys AS MATERIALIZED (SELECT DISTINCT namespace_id, key_digest FROM memories_claim
        WHERE project_id = %(project)s AND fragment_id = ANY (%(ids)s))
    SELECT c.namespace_id, c.key_digest FROM memories_claim c
    JOIN memories_fragment f ON f.project_id = c.project_id AND f.id = c.fragment_id
    WHERE c.project_id = %(project)s AND f.updated_at > %(since)s AND c.fragment_id <> ALL (%(ids)s)
        AND f.status IN ('active', 'disputed', 'quarantined') AND (c.namespace_id, c.key_digest) IN (TABLE keys)
    UNION SELECT r.namespace_id, r.key_digest FROM conflicts_ruling r
    WHERE r.project_id = %(project)s AND r.replaced_by_id IS NULL AND r.decided_at > %(since)s
        AND (r.namespace_id, r.key_digest) IN (TABLE keys)
    UNION SELECT p.namespace_id, p.key_digest FROM conflicts_pendingconflict p
    WHERE p.project_id = %(project)s AND p.resolved_at IS NULL AND p.created_at > %(since)s
        AND (p.namespace_id, p.key_digest) IN (TABLE keys)"""
DECIDED, UNDECIDE = "people decided on these memories since", "undo those decisions first"


def evaluation_of(project_id: uuid.UUID, fragment_ids: Collection[uuid.UUID], *, now: datetime.datetime) -> Evaluation:
    """Return the keys of these memories as they stand."""
    claims = Claim.objects.within(project_id).filter(fragment__in=fragment_ids)
    return _evaluation(project_id, {place_of(claim) for claim in claims}, now=now)


def _evaluation(project_id: uuid.UUID, places: set[Place], *, now: datetime.datetime) -> Evaluation:
    evaluation = Evaluation(project_id, {namespace_id for namespace_id, _ in places}, claims=0, now=now)
    evaluation.read(places)
    return evaluation


def refuse_decided(evaluation: Evaluation, restored: Collection[uuid.UUID], *, since: datetime.datetime) -> None:
    """Raise CannotUndo where a decision of meanwhile would not hold, as these memories are by now.

    What it chose stands no more, or what it ruled out does.
    """
    values = {"project": evaluation.project_id, "ids": list(restored), "since": since}
    broken = {i for (i,) in fetch(BROKEN, values)}
    for key_state in evaluation.key_states.values():
        for assertion in [one for one in key_state.standing.values() if one.fragment_id in restored]:
            said_at = evaluation.claims[assertion.id].fragment.created_at
            bar = key_state.bar(replace(assertion, said_at=said_at))
            if bar and bar.decided_at and bar.decided_at > since:
                broken.add(assertion.fragment_id)
    if broken:
        raise CannotUndo(DECIDED, broken, then=UNDECIDE)


def reconcile(
    project_id: uuid.UUID, fragment_ids: Collection[uuid.UUID], *, since: datetime.datetime, now: datetime.datetime
) -> None:
    """Let what came meanwhile wait against what stands again; these memories are as they were. Their scopes are held.

    Raise CannotUndo where a decision of meanwhile would not hold, or something that came stands beside them.
    """
    values = {"project": project_id, "ids": list(fragment_ids), "since": since}
    places = {(namespace_id, bytes(key)) for namespace_id, key in fetch(MET, values)}
    evaluation = _evaluation(project_id, places, now=now)
    refuse_decided(evaluation, fragment_ids, since=since)
    refuse_rivals(evaluation, fragment_ids, known=fragment_ids, since=since)
    ensure_conflicts(evaluation, places)
    face_what_stands(evaluation, places)
