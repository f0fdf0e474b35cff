"""Fragments that wait for their vector: embedded in batches, retried with growing pauses; and for a reader."""

import datetime
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from conflicts.public import Admission
from conflicts.search_index import embeddings
from memories import access
from memories.access import Principal
from memories.extraction import asked_to_forget
from memories.models import Archive, Claim, Embedding, EmbeddingModel, Fragment, PendingEmbedding, PendingReading
from memories.models.bulk import insert
from memories.models.enums import Status
from memories.providers import active_model, current_sidecar, embed

BATCH = 64
SAMPLE, WORD = 16, "the "  # texts by which the time of one is measured, and what they are made of
CLAIM = datetime.timedelta(minutes=2)  # how long a worker may take before others try
FIRST_PAUSE, LONGEST_PAUSE = datetime.timedelta(seconds=10), datetime.timedelta(hours=1)


def embed_pending(
    principal: Principal, *, now: datetime.datetime, limit: int = BATCH, model: EmbeddingModel | None = None
) -> tuple[int, int]:
    """Embed up to `limit` fragments of the project that wait for the model, by default the active; (embedded, failed).

    What failed before comes in ever smaller groups, so that one text that can't be embedded holds up no others.
    """
    model = model or active_model()
    with access.enter(principal, why="embed"):
        due = list(
            PendingEmbedding.objects.within(principal.project_id)
            .select_for_update(skip_locked=True)
            .filter(model=model, not_before__lte=now)
            .order_by("not_before", "id")[:limit]
        )
        due = due[: max(1, limit >> due[0].attempts)] if due else []
        PendingEmbedding.objects.filter(id__in=[row.id for row in due]).update(not_before=now + CLAIM)
        rows_due = Fragment.objects.within(principal.project_id).filter(id__in=[row.fragment_id for row in due])
        texts = _to_embed(principal, list(rows_due.only("id", "content", "compression")))
    vectors = embed([texts[row.fragment_id] for row in due], model=model)
    done = {row.id: vector for row, vector in zip(due, vectors, strict=True) if vector is not None}
    failed = [row for row in due if row.id not in done]
    for row in failed:
        row.attempts += 1
        row.not_before = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(row.attempts, 20))
    return access.retry_on_contention(partial(_write, principal, model, due, done, failed)), len(failed)


def _write(
    principal: Principal,
    model: EmbeddingModel,
    due: Sequence[PendingEmbedding],
    done: Mapping[uuid.UUID, Any],
    failed: Sequence[PendingEmbedding],
) -> int:
    """Write the vectors of those that still wait, and when the others are due again; how many were embedded."""
    with access.enter(principal, why="embed"):
        # Fragments first, in the order in which everybody locks them.
        wanted = [row.fragment_id for row in due if row.id in done]
        locked = Fragment.objects.within(principal.project_id).filter(id__in=wanted).order_by("id")
        current = {row.id: row for row in locked.select_for_update(no_key=True, of=("self",))}
        claims = Claim.objects.by_fragment(principal.project_id, current)
        # Deleting decides: a worker whose claim ran out meanwhile finds nothing left.
        claimed = PendingEmbedding.objects.claim(project_id=principal.project_id, ids=list(done))
        rows = {row.id: row for row in due}
        fresh = [
            (fragment, done[pending_id], claims.get(fragment.id, []))
            for pending_id in claimed
            if (fragment := current.get(rows[pending_id].fragment_id))
        ]
        Embedding.objects.filter(
            project_id=principal.project_id, model=model, fragment_id__in=[row.id for row, _, _ in fresh]
        ).delete()
        insert(embeddings(fresh, model=model))
        PendingEmbedding.objects.bulk_update(failed, ["attempts", "not_before"])
    return len(claimed)


def _to_embed(principal: Principal, fragments: list[Fragment]) -> dict[uuid.UUID, str]:
    """Return what was said; of a compacted memory whose copy has expired, what is left of it."""
    originals = Archive.objects.within(principal.project_id).said(fragments)
    return {row.id: originals[row.id] or row.content for row in fragments}


def count_waiting(principal: Principal) -> int:
    """Return how many memories of a project wait for their vector under the active model."""
    with access.enter(principal, why="count"):
        found: int = PendingEmbedding.objects.within(principal.project_id).filter(model=active_model()).count()
        return found


def seconds_for_text(characters: float, *, model: EmbeddingModel) -> float | None:
    """Return what a text of that length takes the embedder; None where it fails. For a thread of its own.

    Measured by words of no meaning: nobody's text is sent anywhere for it.
    """
    text = WORD * max(1, round(characters / len(WORD)))
    if embed([text], model=model)[0] is None:  # loads the model
        return None
    began = time.monotonic()
    vectors = embed([text] * SAMPLE, model=model)
    return None if any(vector is None for vector in vectors) else (time.monotonic() - began) / SAMPLE


def queue_reading(admissions: Sequence[Admission]) -> None:
    """Let what claims nothing yet wait for a language model to read it, if there is one; in the open transaction.

    What asks to forget something waits in any case.
    """
    rows = [one.fragment for one in admissions if not one.deduplicated and one.fragment.status == Status.ACTIVE]
    if current_sidecar() is None:
        rows = [row for row in rows if asked_to_forget(row.content)]
    if not rows:
        return
    claims = Claim.objects.filter(project_id__in={row.project_id for row in rows}, fragment__in=[r.id for r in rows])
    waiting = PendingReading.objects.filter(fragment__in=[row.id for row in rows])
    out = {*claims.values_list("fragment_id", flat=True), *waiting.values_list("fragment_id", flat=True)}
    insert([PendingReading(project_id=row.project_id, fragment=row) for row in rows if row.id not in out])
