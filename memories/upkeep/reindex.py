"""Reindexing what is derived from the canonical fragments: nothing seen through the API changes."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q

from conflicts.search_index import embeddings, index_keywords
from memories import access
from memories.access import Principal
from memories.models import Archive, Claim, Embedding, EmbeddingModel, Fragment, Operation, PendingEmbedding
from memories.models.bulk import insert
from memories.operations import BadOptions, Options, Progress
from memories.providers import active_model, embed
from memories.upkeep import graph
from memories.upkeep.failures import SetAside

# Rebuilds one target for an operation, saving progress; how many fragments that were.
Rebuild = Callable[[Principal, Operation, Progress, SetAside], int]
Write = Callable[[Sequence[Fragment], Any], None]
Finish = Callable[[Operation], None]


def check_target(options: Options) -> None:
    """Raise BadOptions unless they name a target."""
    if set(options) != {"target"} or options["target"] not in list(TARGETS):
        raise BadOptions("options", f"Give a target: {', '.join(TARGETS)}.")


def rebuild(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Rebuild `options.target`; the report counts fragments."""
    name, aside = operation.options["target"], SetAside("rebuild")
    return {"target": name, "rebuilt": TARGETS[name](principal, operation, progress, aside), **aside.report()}


@dataclass(frozen=True, slots=True)
class Batches:
    """A target that is rebuilt batch by batch; it goes on after the saved cursor.

    `prepare` works something out for a batch before the transaction, `write` writes it in it, `finish` takes away what
    belongs to no fragment.
    """

    size: int
    write: Write
    prepare: Callable[[Sequence[Fragment]], Any] | None = None
    finish: Finish | None = None

    def __call__(self, principal: Principal, operation: Operation, progress: Progress, aside: SetAside) -> int:
        """Return how many fragments were rebuilt."""
        done, after = operation.done, operation.cursor
        with access.enter(principal, why="rebuild"):
            total = _rows(operation).count()
        while batch := _batch(principal, operation, after, size=self.size):
            prepared = self.prepare(batch) if self.prepare else None
            done, after = done + len(batch), str(batch[-1].id)
            with access.enter(principal, why="rebuild"):
                aside.together(batch, partial(self._write, prepared), name=lambda row: row.id)
                progress.save(stage=operation.options["target"], done=done, total=total, cursor=after)
            progress.check()
        if self.finish:
            with access.enter(principal, why="rebuild"):
                self.finish(operation)
        return done

    def _write(self, prepared: Any, batch: Sequence[Fragment]) -> None:
        if batch:
            self.write(batch, prepared)


def _rows(operation: Operation) -> Any:
    rows = Fragment.objects.within(operation.project_id).order_by("id")
    place = operation.namespace
    return rows.filter(Q(namespace=place) | Q(namespace__parent=place)) if place else rows


def _batch(principal: Principal, operation: Operation, after: str | None, *, size: int) -> list[Fragment]:
    with access.enter(principal, why="rebuild"):
        rows = _rows(operation)
        batch = list((rows.filter(id__gt=uuid.UUID(after)) if after else rows)[:size])
        return with_what_was_said(principal.project_id, batch)


def _write_keywords(batch: Sequence[Fragment], _: None) -> None:
    index_keywords([fragment.id for fragment in batch])


def _embed(batch: Sequence[Fragment]) -> tuple[EmbeddingModel, dict[uuid.UUID, Any]]:
    model = active_model()
    return model, embed_said(batch, model=model)


def with_what_was_said(project_id: uuid.UUID, batch: list[Any]) -> list[Any]:
    """Set `originals` on each: its text before it was compacted, None where nobody knows that any more."""
    originals = Archive.objects.within(project_id).said(batch)
    for fragment in batch:
        fragment.said = originals[fragment.id]
    return batch


def embed_said(batch: Sequence[Any], *, model: EmbeddingModel) -> dict[uuid.UUID, Any]:
    """Return vectors of what the fragments said, by id; None where nobody knows that."""
    vectors = iter(embed([fragment.said for fragment in batch if fragment.said is not None], model=model))
    return {fragment.id: None if fragment.said is None else next(vectors) for fragment in batch}


def write_embeddings(batch: Sequence[Fragment], embedded: tuple[EmbeddingModel, Mapping[uuid.UUID, Any]]) -> None:
    """Replace the vectors of texts that are still the same. Without an embedder old ones stay, missing ones wait."""
    model, vector_of = embedded
    text_of = {fragment.id: fragment.content for fragment in batch}
    project_id = batch[0].project_id
    locked = Fragment.objects.within(project_id).select_for_update(no_key=True, of=("self",)).order_by("id")
    current = [row for row in locked.filter(id__in=text_of) if row.content == text_of[row.id]]
    key = {"project_id": project_id, "model": model}
    fresh = [row for row in current if vector_of[row.id] is not None]
    claims = Claim.objects.by_fragment(project_id, [row.id for row in fresh])
    for table in (Embedding, PendingEmbedding):
        table.objects.filter(**key, fragment__in=fresh).delete()
    insert(embeddings([(row, vector_of[row.id], claims.get(row.id, [])) for row in fresh], model=model))
    kept = set(Embedding.objects.filter(**key, fragment__in=current).values_list("fragment_id", flat=True))
    PendingEmbedding.objects.bulk_create(
        [PendingEmbedding(**key, fragment=row) for row in current if row.id not in kept], ignore_conflicts=True
    )


TARGETS: Mapping[str, Rebuild] = {
    "keywords": Batches(500, _write_keywords),
    "embeddings": Batches(64, write_embeddings, prepare=_embed),
    # Canonical columns, too, but made of the text by the rules of the day.
    "entities": Batches(250, graph.write_routing, prepare=graph.route_said, finish=graph.drop_unmentioned),
    "links": Batches(250, graph.relink),
    "graph": Batches(500, graph.rebuild_graph, finish=graph.drop_unmentioned),
    "episodes": Batches(500, graph.rebuild_episodes, finish=graph.drop_unspoken),
    # No row of it fails alone.
    "clusters": lambda principal, operation, progress, _: graph.rebuild_clusters(principal, operation, progress),
}
