"""Rebuilding what is derived from the canonical fragments: nothing seen through the API changes ([2] ADR-001)."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from conflicts.front import index_keywords
from memories import access
from memories.access import Principal
from memories.ingest import embed_pending
from memories.models import Embedding, Fragment, Operation, PendingEmbedding
from memories.operations import Progress
from memories.providers import active_model

BATCH = 500


def rebuild(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Rebuilds `options.target` batch by batch; goes on after the saved cursor. The report counts fragments."""
    target = operation.options["target"]
    step = TARGETS[target]
    done, after = operation.done, operation.cursor
    with access.enter(principal, why="rebuild"):
        rows = _rows(operation)
        total = rows.count()
    while True:
        with access.enter(principal, why="rebuild"):
            batch = list((rows.filter(id__gt=uuid.UUID(after)) if after else rows)[:BATCH])
        if not batch:
            return {"target": target, "rebuilt": done}
        step(principal, batch)
        done, after = done + len(batch), str(batch[-1].id)
        progress.report(stage=target, done=done, total=total, cursor=after)


def _rows(operation: Operation) -> Any:
    rows = Fragment.objects.within(operation.project_id).order_by("id")
    return rows.filter(namespace=operation.namespace) if operation.namespace else rows


def _keywords(principal: Principal, batch: Sequence[Fragment]) -> None:
    with access.enter(principal, why="rebuild"):
        index_keywords([fragment.id for fragment in batch])


def _embeddings(principal: Principal, batch: Sequence[Fragment]) -> None:
    """Embeds the fragments that lack a vector of the active model; what fails stays marked as waiting."""
    from django.utils import timezone

    model = active_model()
    with access.enter(principal, why="rebuild"):
        ids = [fragment.id for fragment in batch]
        mine = {"project_id": principal.project_id, "model": model}
        present = set(Embedding.objects.filter(**mine, fragment__in=ids).values_list("fragment_id", flat=True))
        missing = [i for i in ids if i not in present]
        PendingEmbedding.objects.bulk_create(
            [PendingEmbedding(project_id=principal.project_id, fragment_id=i, model=model) for i in missing],
            ignore_conflicts=True,
        )
    while embed_pending(principal, now=timezone.now())[0]:
        pass


TARGETS: dict[str, Callable[[Principal, Sequence[Fragment]], None]] = {"keywords": _keywords, "embeddings": _embeddings}
