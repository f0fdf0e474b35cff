"""Rebuilding what is derived from the canonical fragments: nothing seen through the API changes ([2] ADR-001)."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.front import embedding, index_keywords
from memories import access
from memories.access import Principal
from memories.models import Embedding, EmbeddingModel, Fragment, Operation, PendingEmbedding
from memories.models.bulk import insert
from memories.operations import Progress
from memories.providers import active_model, embed


@dataclass(frozen=True, slots=True)
class Target:
    """Something derived: what is worked out for a batch before the transaction, and how it is written in it."""

    batch: int
    prepare: Callable[[Sequence[Fragment]], Any]
    write: Callable[[Sequence[Fragment], Any], None]


def rebuild(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Rebuilds `options.target` batch by batch; goes on after the saved cursor. The report counts fragments."""
    name = operation.options["target"]
    target = TARGETS[name]
    done, after = operation.done, operation.cursor
    with access.enter(principal, why="rebuild"):
        total = _rows(operation).count()
    while batch := _batch(principal, operation, after, size=target.batch):
        prepared = target.prepare(batch)
        done, after = done + len(batch), str(batch[-1].id)
        with access.enter(principal, why="rebuild"):
            target.write(batch, prepared)
            progress.save(stage=name, done=done, total=total, cursor=after)
        progress.check()
    return {"target": name, "rebuilt": done}


def _rows(operation: Operation) -> Any:
    rows = Fragment.objects.within(operation.project_id).order_by("id")
    return rows.filter(namespace=operation.namespace) if operation.namespace else rows


def _batch(principal: Principal, operation: Operation, after: str | None, *, size: int) -> list[Fragment]:
    with access.enter(principal, why="rebuild"):
        rows = _rows(operation)
        return list((rows.filter(id__gt=uuid.UUID(after)) if after else rows)[:size])


def _nothing(batch: Sequence[Fragment]) -> None:
    """Keywords are worked out by the database."""


def _write_keywords(batch: Sequence[Fragment], _: None) -> None:
    index_keywords([fragment.id for fragment in batch])


def _embed(batch: Sequence[Fragment]) -> tuple[EmbeddingModel, list[Any]]:
    model = active_model()
    return model, embed([fragment.content for fragment in batch], model=model)


def write_embeddings(batch: Sequence[Fragment], embedded: tuple[EmbeddingModel, list[Any]]) -> None:
    """Replaces the vectors of texts that are still the same. Without an embedder old ones stay, missing ones wait."""
    model, vectors = embedded
    vector_of = {fragment.id: vector for fragment, vector in zip(batch, vectors, strict=True)}
    text_of = {fragment.id: fragment.content for fragment in batch}
    project_id = batch[0].project_id
    rows = Fragment.objects.within(project_id).select_related("claim")
    locked = rows.select_for_update(no_key=True, of=("self",)).order_by("id")
    current = [row for row in locked.filter(id__in=text_of) if row.content == text_of[row.id]]
    mine = {"project_id": project_id, "model": model}
    fresh = [row for row in current if vector_of[row.id] is not None]
    for table in (Embedding, PendingEmbedding):
        table.objects.filter(**mine, fragment__in=fresh).delete()
    insert([embedding(row, vector_of[row.id], getattr(row, "claim", None), model=model) for row in fresh])
    kept = set(Embedding.objects.filter(**mine, fragment__in=current).values_list("fragment_id", flat=True))
    PendingEmbedding.objects.bulk_create(
        [PendingEmbedding(**mine, fragment=row) for row in current if row.id not in kept], ignore_conflicts=True
    )


TARGETS = {
    "keywords": Target(500, _nothing, _write_keywords),
    "embeddings": Target(64, _embed, write_embeddings),
}
