"""Digests: one memory that says what several said; the originals go to the archive."""

import datetime
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import F

from conflicts.authority import SOURCE_RANK, lowered_source
from conflicts.bulk_changes import end_waiting_of_many
from conflicts.public import Admission, Newcomer, admit
from memories.access import Principal
from memories.errors import NovaError
from memories.governance.digests import NoDigest
from memories.language import route
from memories.language.extracts import extract, sentences
from memories.models import EmbeddingModel, Fragment, Namespace
from memories.models.enums import LinkKind, SourceClass, SourceType, Status
from memories.models.scoring import Rates
from memories.providers import embed

LEAST, MOST = 3, 50  # members of a cluster
# A conversation's turns as they were said, the rest from the oldest on.
TOLD_IN_ORDER = (F("sequence").asc(nulls_last=True), "created_at", "id")
DIGEST = "digest"
DIGESTED = "digested"
LINK = """
    INSERT INTO memories_link (id, project_id, fragment_id, other_id, kind, similarity)
    SELECT gen_random_uuid(), %(project)s, e.one, e.other, e.kind, 1 FROM unnest(%(ids)s::uuid[]) AS t (id)
    CROSS JOIN LATERAL (VALUES (%(digest)s, t.id, %(of)s), (t.id, %(digest)s, %(into)s)) AS e (one, other, kind)
"""


class CannotDigest(NovaError):
    """Some of the memories have to stay as they are; `reasons` says why by the place in the request."""

    code = "cannot_digest"

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__("some of these memories have to stay as they are")
        self.reasons = dict(reasons)

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return which have to stay, and why."""
        return [{"field": f"ids[{n}]", "message": why} for n, why in sorted(self.reasons.items())]


def extracted(texts: Sequence[str], *, model: EmbeddingModel) -> str:
    """Return the best sentences of some texts, by their vectors where there is an embedder; in no transaction."""
    vectors = embed([sentence.content for sentence in sentences(texts)], model=model)
    return extract(texts, None if any(vector is None for vector in vectors) else np.asarray(vectors))


@dataclass(frozen=True, slots=True)
class DigestPlace:
    """Where, when and by whom a digest is made, and the rates by which memories weigh there."""

    principal: Principal
    namespace: Namespace
    model: EmbeddingModel
    now: datetime.datetime
    rates: Rates


@dataclass(frozen=True, slots=True)
class DigestDraft:
    """A digest made before the transaction: its text and vector (None without an embedder).

    `origin`: the calls of a language model that it came of, and who judged it; it is
    believed as an inference then, at the most.
    """

    id: uuid.UUID
    text: str
    vector: Any
    origin: Mapping[str, Any] = field(default_factory=dict)


def store(place: DigestPlace, draft: DigestDraft, members: Sequence[Fragment]) -> Admission:
    """Store a digest of these fragments of one namespace, oldest first, and archive them; in the open transaction.

    The caller holds the namespace and the fragments. Raise BlockedByErasure, NoDigest (a model's) and CannotDigest
    (theirs) where it would not stand in their place; nothing is stored then.
    """
    project_id, ids = place.namespace.project_id, [row.id for row in members]
    with transaction.atomic():
        (admission,) = admit(
            [Newcomer(_fragment(place, draft, members), draft.vector)], model=place.model, now=place.now
        )
        _refuse_unbelieved(admission, draft, members)
    end_waiting_of_many(project_id, ids, now=place.now)
    Fragment.objects.within(project_id).filter(id__in=ids).update(
        status=Status.ARCHIVED, archived_reason=DIGESTED, updated_at=place.now
    )
    kinds = {"of": LinkKind.DIGEST_OF.value, "into": LinkKind.DIGESTED_INTO.value}
    with connection.cursor() as cursor:
        cursor.execute(LINK, {"project": project_id, "ids": ids, "digest": draft.id, **kinds})
    return admission


def _refuse_unbelieved(admission: Admission, draft: DigestDraft, members: Sequence[Fragment]) -> None:
    """Raise NoDigest or CannotDigest where the gate did not let a digest stand: nothing is archived for it."""
    status = admission.fragment.status
    if status == Status.ACTIVE and not admission.deduplicated:
        return
    why = "their digest would repeat what stands" if admission.deduplicated else f"their digest would be {status}"
    if draft.origin:
        raise NoDigest(why)
    raise CannotDigest(dict.fromkeys(range(len(members)), f"{why[0].upper()}{why[1:]}."))


def _fragment(place: DigestPlace, draft: DigestDraft, parents: Sequence[Fragment]) -> Fragment:
    """Return the digest: no more believed than its weakest parent, and no more than whoever makes it."""
    routing = route(draft.text)
    weakest = min(parents, key=lambda row: (row.authority, row.source))
    source = lowered_source(source=weakest.source, ceiling=place.principal.ceiling)
    if draft.origin:
        source = lowered_source(source=source, ceiling=SourceClass.INFERENCE)
    importance = place.rates.initial_importance(
        entities=len(routing.entities), valence=routing.valence, source_type=SourceType.DIGEST
    )
    return Fragment(
        id=draft.id,
        project_id=place.namespace.project_id,
        namespace=place.namespace,
        agent_id=place.namespace.agent,
        type=Counter(row.type for row in parents).most_common(1)[0][0],
        content=draft.text,
        category=DIGEST,
        source_type=SourceType.DIGEST,
        source_ids=list(dict.fromkeys(source for row in parents for source in row.source_ids)),
        tags=list(dict.fromkeys([place.namespace.agent, *(tag for row in parents for tag in row.tags)])),
        entities=list({e["text"]: e for row in parents for e in row.entities}.values()),
        topics=routing.topics,
        importance=max(importance, *(row.importance for row in parents)),
        emotional_valence=routing.valence,
        **_said(parents),
        created_at=place.now,
        updated_at=place.now,
        source=source,
        authority=min(SOURCE_RANK[SourceClass(source)], weakest.authority),
        grant_id=place.principal.grant_id,
        owner_id=place.principal.owner_id,
        extra=dict(draft.origin),
        parents=[row.id for row in parents],
        roots=sorted({root for row in parents for root in row.roots or [row.id]}),
    )


def _said(parents: Sequence[Fragment]) -> dict[str, Any]:
    """Return where and when was said what all of them say in one conversation: the digest stands for them there."""
    first = parents[0]
    if not first.conversation_id or any(row.conversation_id != first.conversation_id for row in parents):
        return {}
    times = [row.event_at for row in parents if row.event_at]
    return {
        "conversation_id": first.conversation_id,
        "sequence": first.sequence,
        "event_at": min(times, default=None),
    }
