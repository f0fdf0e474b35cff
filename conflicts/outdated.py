"""Outdated: what was said before what stands, but is heard after it, comes out as in the order of saying."""

import uuid
from collections.abc import Sequence

from conflicts.claims import assertion_from
from conflicts.evaluation import Assessment, ClaimAssessment, Evaluation, place_of
from conflicts.gate import why_not_replaced
from memories.models.enums import ClaimScope, Status


def settle_outdated(evaluation: Evaluation, case: Assessment) -> None:
    """Let what a turn that is told late claims yield to what was said since. Claims for a time go by their periods."""
    if case.told_late is None:
        return
    for one in case.said:
        if one.claim.scope != ClaimScope.TEMPORAL and not one.settled:
            _settle(one, _newer(evaluation, one, case))


def name_successors(cases: Sequence[Assessment]) -> dict[uuid.UUID, uuid.UUID]:
    """Return by fragment who took the place of a turn of which nothing stands; the fragment names it from here on."""
    for case in cases:
        if case.told_late and case.fragment.status == Status.SUPERSEDED:
            case.fragment.superseded_by_id = next(c.superseded_by_id for c in case.claims if c.superseded_by_id)
    return {case.fragment.id: by for case in cases if (by := case.fragment.superseded_by_id)}


def outdated_claims(evaluation: Evaluation, case: Assessment) -> uuid.UUID | None:
    """Return who outdates all that a text claims; of several claims those that are outdated have yielded already."""
    newer = {assessment.claim.id: _newer(evaluation, assessment, case) for assessment in case.said}
    if newer and all(newer.values()):
        return next(iter(newer.values()))
    for assessment in case.said:
        _settle(assessment, newer[assessment.claim.id])
    return None


def _settle(assessment: ClaimAssessment, later: uuid.UUID | None) -> None:
    if later:
        assessment.claim.verdict, assessment.claim.superseded_by_id = Status.SUPERSEDED, later


def _newer(evaluation: Evaluation, assessment: ClaimAssessment, case: Assessment) -> uuid.UUID | None:
    """Return who stands against a claim, was said later, and would have replaced it then; the last of them."""
    key_state, assertion = evaluation.key_states[place_of(assessment.claim)], assertion_from(assessment.claim)
    may = [
        other
        for other in key_state.opponents(assertion)
        if why_not_replaced(other, assertion, assessment.policy) is None
    ]
    said = [(row.said_at(), row.id) for row in (evaluation.claims[other.id].fragment for other in may)]
    last = max(said, default=None)
    return last[1] if last and last[0] > (case.told_late or case.fragment.said_at()) else None
