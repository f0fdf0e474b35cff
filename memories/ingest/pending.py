"""Fragments that wait for their vector: embedded in batches, retried with growing pauses."""

import datetime

from conflicts.front import embedding
from memories import access
from memories.access import Principal
from memories.models import Embedding, EmbeddingModel, Fragment, PendingEmbedding
from memories.models.bulk import insert
from memories.providers import active_model, embed

BATCH = 64
CLAIM = datetime.timedelta(minutes=2)  # how long a worker may take before others try
FIRST_PAUSE, LONGEST_PAUSE = datetime.timedelta(seconds=10), datetime.timedelta(hours=1)


def embed_pending(
    principal: Principal, *, now: datetime.datetime, limit: int = BATCH, model: EmbeddingModel | None = None
) -> tuple[int, int]:
    """Embeds up to `limit` fragments of the project that wait for the model, by default the active; (embedded, failed).

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
        texts = dict(Fragment.objects.filter(id__in=[row.fragment_id for row in due]).values_list("id", "content"))
    vectors = embed([texts[row.fragment_id] for row in due], model=model)
    done = {row.id: vector for row, vector in zip(due, vectors, strict=True) if vector is not None}
    with access.enter(principal, why="embed"):
        # Fragments first, in the order in which everybody locks them.
        wanted = [row.fragment_id for row in due if row.id in done]
        locked = Fragment.objects.within(principal.project_id).filter(id__in=wanted).order_by("id")
        rows_held = locked.select_related("claim").select_for_update(no_key=True, of=("self",))
        current = {row.id: row for row in rows_held}
        # Deleting decides: a worker whose claim ran out meanwhile finds nothing left.
        claimed = PendingEmbedding.objects.claim(project_id=principal.project_id, ids=list(done))
        rows = {row.id: row for row in due}
        fresh = [
            embedding(fragment, done[pending_id], getattr(fragment, "claim", None), model=model)
            for pending_id in claimed
            if (fragment := current.get(rows[pending_id].fragment_id))
        ]
        Embedding.objects.filter(
            project_id=principal.project_id, model=model, fragment_id__in=[row.fragment_id for row in fresh]
        ).delete()
        insert(fresh)
        failed = [row for row in due if row.id not in done]
        for row in failed:
            row.attempts += 1
            row.not_before = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(row.attempts, 20))
        PendingEmbedding.objects.bulk_update(failed, ["attempts", "not_before"])
    return len(claimed), len(failed)
