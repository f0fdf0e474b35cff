"""Corrections: what a person types in place of a challenger becomes a memory of their own (docs/spec.md §4.5)."""

import datetime
import uuid
from dataclasses import replace

from conflicts.authority import lowered_source
from conflicts.public import ClaimDraft, Newcomer, PendingConflict
from conflicts.resolution import AlreadyResolved, Correction, NotApplicable, Settlement, resolve, visible_conflict
from memories import access
from memories.access import Principal
from memories.errors import StaleRevision
from memories.ingest.drafts import Draft
from memories.ingest.pipeline import build_fragment, prepare
from memories.models import Claim, Fragment
from memories.models.enums import SourceClass, SourceType


def correct(
    principal: Principal,
    conflict_id: uuid.UUID,
    settlement: Settlement,
    *,
    content: str,
    value: str,
    now: datetime.datetime,
    says: ClaimDraft | None = None,
) -> PendingConflict:
    """Settle a conflict for what was typed; the challenger is archived as it was written.

    What is typed claims what the challenger does with another value, or what it `says`. What changes neither text nor
    value only accepts it. Raises as `resolve`, and NotApplicable without a challenger.
    """
    with access.enter(principal, why="resolve"):
        row = visible_conflict(principal, conflict_id)
        if row.resolved_at is not None:
            raise AlreadyResolved(f"this conflict was settled: {row.resolution}")
        if row.revision != settlement.revision:
            raise StaleRevision("conflict", current=row.revision)
        challenger: Fragment | None = row.newcomer
        if challenger is None:
            raise NotApplicable("there is no challenger to edit")
        rows = Claim.objects.within(row.project_id).filter(id=row.challenger)
        namespace, claim = row.namespace, rows.first()
    if (claim or says) and not value:
        raise NotApplicable("a value is needed beside the text")
    if says is None and content == challenger.content and (claim is None or value == claim.value):
        return resolve(principal, conflict_id, settlement, now=now)
    source = lowered_source(source=SourceClass.USER_EXPLICIT, ceiling=principal.ceiling)
    draft = Draft(
        namespace=namespace.name,
        content=content,
        type=challenger.type,
        source=source,
        source_type=SourceType.MANUAL,
        agent_id=challenger.agent_id,
    )
    prepared = prepare([draft])
    fragment = build_fragment(principal, prepared, namespace, rates=row.project.rates_in_force, now=now)
    claimed = says or (replace(ClaimDraft.of(claim).says, authority=None) if claim else None)
    drafts = [replace(claimed, value=value)] if claimed else []
    typed = Correction(Newcomer(fragment, prepared.vectors[0], drafts), prepared.model)
    return resolve(principal, conflict_id, replace(settlement, correction=typed), now=now)
