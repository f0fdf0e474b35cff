"""Preview: whom a conflict's newcomer would replace, if a person accepted it now. Nothing is locked or written."""

import datetime
import uuid

from conflicts.evaluation import Evaluation, place_of
from conflicts.models import PendingConflict
from memories import access
from memories.access import Principal
from memories.models import Claim, Fragment
from memories.models.enums import STANDING


def replaced_if_accepted(principal: Principal, row: PendingConflict, *, now: datetime.datetime) -> list[Fragment]:
    """The fragments of which a claim would be superseded, in the order of their ids."""
    if row.newcomer_id is None:
        return []
    with access.enter(principal, why="foresee"):
        mine = PendingConflict.objects.within(row.project_id).pending().filter(newcomer=row.newcomer_id)
        if row.newcomer_claim:
            mine = mine.filter(newcomer_claim=row.newcomer_claim)
        named: set[uuid.UUID] = {i for i in mine.values_list("existing_id", flat=True) if i}
        claim = Claim.objects.within(row.project_id).filter(id=row.challenger).first()
        if claim is not None:
            evaluation = Evaluation(row.project_id, [row.namespace_id], claims=0, now=now)
            evaluation.read({place_of(claim)})
            key_state = evaluation.key_states[place_of(claim)]
            assertion = key_state.waiting.get(claim.id)
            named |= {other.fragment_id for other in key_state.opponents(assertion)} if assertion else set()
        rows = Fragment.objects.within(row.project_id).filter(id__in=named, status__in=STANDING)
        return list(rows.order_by("id"))
