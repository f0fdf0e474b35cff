"""The history of proposals: what became of each, bounded by task and by time, and which are about former words."""

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Max

from memories import access
from memories.access import Principal
from memories.governance.gate import OUTCOMES, ReductionRuling
from memories.governance.shapes import LONGEST
from memories.models import Fragment, LlmCall, Namespace, Proposal, Revision

REWRITTEN = "one of the memories was rewritten since this was proposed, and nobody judged its new words"


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


def find_rewritten(rows: Sequence[Proposal]) -> set[uuid.UUID]:
    """Return which of these proposals of a project are about a memory whose words or claims are others by now."""
    about = {i for row in rows for i in row.about}
    if not about:
        return set()
    former = Revision.objects.within(rows[0].project_id).filter(fragment__in=about).values_list("fragment_id")
    last = {i: (number, at) for i, number, at in former.annotate(Max("revision"), Max("recorded_at")).order_by()}
    return {
        row.id for row in rows if any(_is_rewritten(row, n, *last[i]) for n, i in enumerate(row.about) if i in last)
    }


def _is_rewritten(row: Proposal, place: int, number: int, at: datetime.datetime) -> bool:
    """Return whether the last former text is one that was read; older proposals note no revisions, but their time."""
    noted = (row.proposal or {}).get("revisions")
    return number >= noted[place] if noted else at > row.created_at


def lapse(principal: Principal, namespace: Namespace, task_id: str) -> None:
    """Let what waits of a task wait no more once a memory that it is about was rewritten: the task asks again."""
    with access.enter(principal, why="proposal"):
        waiting = Proposal.objects.within(principal.project_id).filter(waiting=True)
        rows = list(waiting.filter(namespace=namespace, task_id=task_id))
        for row in waiting.filter(id__in=find_rewritten(rows)).order_by("id").select_for_update(of=("self",)):
            row.waiting, row.reasons = False, [*row.reasons, REWRITTEN]
            row.save(update_fields=["waiting", "reasons"])


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
