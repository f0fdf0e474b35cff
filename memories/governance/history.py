"""The history of proposals: what became of each, bounded by task and by time."""

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count

from memories import access
from memories.access import Principal
from memories.governance.gate import OUTCOMES, ReductionRuling
from memories.models import Fragment, LlmCall, Namespace, Proposal

LONGEST = 16 * 1024  # bytes of a proposal that is kept as the model said it


@dataclass(frozen=True, slots=True)
class ProposalEntry:
    """One proposal with its ruling. `about` are the memories it was made of, `fragment` is the one it became."""

    kind: str
    task_id: str
    ruling: ReductionRuling
    proposal: Mapping[str, Any] | None = None
    calls: Sequence[LlmCall] = ()
    about: Sequence[uuid.UUID] = ()
    fragment: Fragment | None = None
    waiting: bool = False
    id: uuid.UUID = field(default_factory=uuid.uuid4)


def record(
    principal: Principal, namespace: Namespace, entries: Sequence[ProposalEntry], *, now: datetime.datetime
) -> list[Proposal]:
    """Keep them, and lets go of what is beyond the bounds."""
    with access.enter(principal, why="proposal"):
        known = Fragment.objects.within(principal.project_id).filter(id__in={i for e in entries for i in e.about})
        there = set(known.values_list("id", flat=True))  # what was forgotten meanwhile is not spoken of
        rows = [_row(principal, namespace, entry, now=now) for entry in entries if set(entry.about) <= there]
        Proposal.objects.bulk_create(rows, batch_size=500)
        Proposal.objects.trim(principal.project_id, now=now)
    for entry in entries:
        OUTCOMES.labels(entry.kind, entry.ruling.outcome).inc()
    return rows


def _row(principal: Principal, namespace: Namespace, entry: ProposalEntry, *, now: datetime.datetime) -> Proposal:
    reasons, kept = [*entry.ruling.reasons], entry.proposal
    if kept is not None and len(json.dumps(kept)) > LONGEST:
        kept, reasons = None, [*reasons, "too long to be kept"]
    return Proposal(
        id=entry.id,
        project_id=principal.project_id,
        namespace=namespace,
        task_id=entry.task_id,
        kind=entry.kind,
        outcome=entry.ruling.outcome,
        proposal=kept,
        reasons=reasons,
        judge=entry.ruling.judge[:100],
        calls=[call.id for call in entry.calls],
        about=list(entry.about),
        fragment=entry.fragment,
        waiting=entry.waiting,
        created_at=now,
    )


def trim(principal: Principal, *, now: datetime.datetime) -> int:
    """Let go of what is beyond the bounds; how many."""
    with access.enter(principal, why="retention"):
        return Proposal.objects.trim(principal.project_id, now=now)


def size(namespaces: Sequence[Namespace], *, project_id: uuid.UUID, now: datetime.datetime) -> dict[str, int]:
    """Return how many entries of how many tasks are kept. To be asked inside `access.enter`."""
    rows = Proposal.objects.within(project_id).filter(namespace__in=namespaces).lasting(now=now)
    tasks = rows.values("namespace", "task_id").annotate(entries=Count("id")).order_by()
    counts = [row["entries"] for row in tasks]
    return {"total_entries": sum(counts), "task_count": len(counts)}
