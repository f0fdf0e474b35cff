"""Vectors of a further model for all memories of a project, and taking a retired model's vectors away."""

import time
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import connection
from django.db.models import Exists

from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Embedding, EmbeddingModel, Fragment, Operation, PendingEmbedding, Project
from memories.models.enums import ModelState
from memories.models.search import LIVE
from memories.operations import BadOptions, Options, Progress
from memories.upkeep.failures import SetAside
from memories.upkeep.reindex import embed_said, with_what_was_said, write_embeddings

BATCH, DROP_BATCH = 64, 1000
PATIENCE = 60.0  # seconds for transactions that were open when the model was added
TRIES = 3  # batches in a row without a single vector


class EmbedderAway(NovaError):
    """The model's embedder answers nothing; what is done stays, a later backfill goes on."""

    status = 503
    code = "embedder_unavailable"


def check_backfill(options: Options) -> None:
    """Raise BadOptions unless they name a model that may be filled."""
    _check_model(options, LIVE)


def check_drop(options: Options) -> None:
    """Raise BadOptions unless they name a retired model."""
    _check_model(options, (ModelState.RETIRED,))


def _check_model(options: Options, fitting: tuple[ModelState, ...]) -> None:
    if set(options) != {"model"} or not isinstance(options["model"], str):
        raise BadOptions("options", "Give the name of a model.")
    if not EmbeddingModel.objects.filter(name=options["model"], state__in=fitting).exists():
        raise BadOptions("options", f"Give the name of a model that is {' or '.join(fitting)}.")


def backfill(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Embed every fragment that has no vector under the model; go on after the saved cursor.

    A text that can't be embedded now waits as others do. Raise EmbedderAway.
    """
    model = EmbeddingModel.objects.get(name=operation.options["model"])
    at = operation.cursor or {"after": None, "embedded": 0}
    done, failures, aside = operation.done, 0, SetAside("backfill")
    if operation.cursor is None:
        _await_writers(principal)
    total = _total(principal)
    while ids := _ids(principal, at["after"], size=BATCH):
        batch = _without_vector_of(principal, model, ids)
        vectors = embed_said(batch, model=model)
        found = sum(vector is not None for vector in vectors.values())
        failures = failures + 1 if batch and not found else 0
        if failures == TRIES:
            raise EmbedderAway(model.name)
        done, at = done + len(ids), {"after": str(ids[-1]), "embedded": at["embedded"] + found}
        with access.enter(principal, why="backfill"):
            aside.together(batch, partial(_write, model, vectors), name=lambda row: row.id)
            progress.save(stage="embeddings", done=done, total=total, cursor=at)
        progress.check()
    mark_ready(model)
    report = {"model": model.name, "embedded": at["embedded"], "missing": missing(principal, model)}
    return {**report, **aside.report()}


def _write(model: EmbeddingModel, vectors: Mapping[uuid.UUID, Any], batch: Sequence[Fragment]) -> None:
    if batch:
        write_embeddings(batch, (model, vectors))


def mark_ready(model: EmbeddingModel) -> None:
    """A building model is ready once each fragment of each project has its vector or waits for it."""
    if not any(_unmarked(access.system_principal(project), model) for project in Project.objects.all()):
        EmbeddingModel.objects.filter(id=model.id, state=ModelState.BUILDING).update(state=ModelState.READY)


def missing(principal: Principal, model: EmbeddingModel) -> int:
    """Return how many fragments of the project have no vector under the model."""
    with access.enter(principal, why="count"):
        found: int = _without_vector(principal, model).count()
        return found


def drop(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Delete a retired model's vectors in batches, and stops when the model is taken up again."""
    model = EmbeddingModel.objects.get(name=operation.options["model"])
    done, after = operation.done, operation.cursor
    total = _total(principal)
    while ids := _ids(principal, after, size=DROP_BATCH):
        done, after = done + len(ids), str(ids[-1])
        with access.enter(principal, why="retire"):
            if not EmbeddingModel.objects.filter(id=model.id, state=ModelState.RETIRED).exists():
                break
            for table in (PendingEmbedding, Embedding):
                table.objects.filter(project_id=principal.project_id, model=model, fragment_id__in=ids).delete()
            progress.save(stage="vectors", done=done, total=total, cursor=after)
        progress.check()
    return {"model": model.name, "fragments": done}


def _await_writers(principal: Principal) -> None:
    """Until the transactions that may not know of the model yet have ended; too long ones are left to a later count."""
    if connection.in_atomic_block:
        return  # nobody to wait for but oneself
    upto, end = _asked(principal, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"), time.monotonic() + PATIENCE
    while not _asked(principal, "SELECT nova_horizon() >= %s::xid8", upto):
        if time.monotonic() > end:
            return
        time.sleep(0.05)


def _asked(principal: Principal, question: str, *values: Any) -> Any:
    with access.enter(principal, why="backfill"), connection.cursor() as cursor:
        cursor.execute(question, values)
        return cursor.fetchone()[0]


def _without_vector(principal: Principal, model: EmbeddingModel) -> Any:
    return Fragment.objects.within(principal.project_id).filter(~Exists(Embedding.objects.of("id", model)))


def _unmarked(principal: Principal, model: EmbeddingModel) -> bool:
    """Return whether some fragment neither has a vector nor waits for it: who waits has none."""
    with access.enter(principal, why="count"):
        waiting = PendingEmbedding.objects.within(principal.project_id).filter(model=model).count()
        return missing(principal, model) > waiting


def _total(principal: Principal) -> int:
    with access.enter(principal, why="count"):
        found: int = Fragment.objects.within(principal.project_id).count()
        return found


def _ids(principal: Principal, after: str | None, *, size: int) -> list[uuid.UUID]:
    """Return the next fragments by id. Without a join, which would read all vectors for each batch anew."""
    with access.enter(principal, why="page"):
        rows = Fragment.objects.within(principal.project_id).order_by("id").values_list("id", flat=True)
        return list((rows.filter(id__gt=uuid.UUID(after)) if after else rows)[:size])


def _without_vector_of(principal: Principal, model: EmbeddingModel, ids: list[uuid.UUID]) -> list[Fragment]:
    """Return those of these fragments that have no vector under the model."""
    with access.enter(principal, why="backfill"):
        vectors = Embedding.objects.filter(project_id=principal.project_id, model=model, fragment_id__in=ids)
        there = set(vectors.values_list("fragment_id", flat=True))
        rows = Fragment.objects.within(principal.project_id).order_by("id")
        batch = list(rows.filter(id__in=[each for each in ids if each not in there]))
        return with_what_was_said(principal.project_id, batch)
