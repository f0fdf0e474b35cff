"""Admission: the one way by which fragments come to stand in the memory."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from memories.models import Embedding, EmbeddingModel, Erasure, Fragment, PendingEmbedding
from memories.models.bulk import insert


class BlockedByErasure(Exception):
    """The text was forgotten on purpose and may not come back."""

    def __init__(self, *, index: int) -> None:
        super().__init__("this text was forgotten; an administrator may lift the erasure")
        self.index = index


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A fragment that wants to be believed, with its unit vector, or None while it still waits for one."""

    fragment: Fragment
    vector: Any = None


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of a newcomer."""

    fragment: Fragment
    deduplicated: bool = False
    superseded: list[uuid.UUID] = field(default_factory=list)
    pending_conflicts: list[uuid.UUID] = field(default_factory=list)


def admit(newcomers: Sequence[Newcomer], *, model: EmbeddingModel) -> list[Admission]:
    """Stores the newcomers with what search needs of them, in the open transaction, all or nothing.

    Raises BlockedByErasure for the first whose text was forgotten.
    """
    _refuse_forgotten([newcomer.fragment for newcomer in newcomers])
    insert([newcomer.fragment for newcomer in newcomers])
    index_keywords([newcomer.fragment.id for newcomer in newcomers])
    place_vectors(newcomers, model=model)
    return [Admission(newcomer.fragment) for newcomer in newcomers]


def replace_text(changed: Newcomer, *, model: EmbeddingModel) -> None:
    """Saves a standing fragment with its new text; the old vectors go, the old text stays as a revision (trigger)."""
    fragment = changed.fragment
    _refuse_forgotten([fragment])
    fragment.save()
    fragment.refresh_from_db(fields=["revision"])
    for table in (PendingEmbedding, Embedding):
        table.objects.filter(project_id=fragment.project_id, fragment_id=fragment.id).delete()
    index_keywords([fragment.id])
    place_vectors([changed], model=model)


def _refuse_forgotten(fragments: Sequence[Fragment]) -> None:
    if fragments and (forgotten := forgotten_texts(fragments[0].project_id, [f.content for f in fragments])):
        raise BlockedByErasure(index=forgotten[0])


def forgotten_texts(project_id: uuid.UUID, texts: Sequence[str]) -> list[int]:
    """Which of these texts were forgotten, by index."""
    if not texts or not Erasure.objects.within(project_id).exists():
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH asked AS MATERIALIZED (
                   SELECT nova_fingerprint(%s, t.content) AS fingerprint, t.index
                   FROM unnest(%s::text[]) WITH ORDINALITY AS t (content, index)
               )
               SELECT asked.index FROM asked
               JOIN memories_erasure e ON e.project_id = %s AND e.fingerprint = asked.fingerprint
               ORDER BY asked.index""",
            [project_id, list(texts), project_id],
        )
        return [row[0] - 1 for row in cursor]


def index_keywords(fragment_ids: Sequence[uuid.UUID]) -> None:
    """Writes the keyword rows of these fragments anew."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nova_index_keywords(%s::uuid[])", [list(fragment_ids)])


def place_vectors(newcomers: Sequence[Newcomer], *, model: EmbeddingModel) -> None:
    """Stores the vectors that are there and marks the others as waiting."""
    insert(
        [
            Embedding(
                project_id=n.fragment.project_id,
                namespace_id=n.fragment.namespace_id,
                fragment_id=n.fragment.id,
                model_id=model.id,
                status=n.fragment.status,
                vector=n.vector,
            )
            for n in newcomers
            if n.vector is not None
        ]
    )
    insert(
        [
            PendingEmbedding(project_id=n.fragment.project_id, fragment_id=n.fragment.id, model_id=model.id)
            for n in newcomers
            if n.vector is None
        ]
    )
