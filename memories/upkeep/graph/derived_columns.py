"""Derived columns: entities, topics and mood are read in each stored text anew, and the graph of them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from memories.language import route_kept
from memories.models import Fragment
from memories.upkeep.graph.locks import lock_connections, lock_fragments
from memories.upkeep.graph.projection import project

Derived = Mapping[uuid.UUID, dict[str, Any]]
COLUMNS = ("entities", "topics", "emotional_valence")


def route_said(batch: Sequence[Any]) -> Derived:
    """Return what is read in the texts as they were said, by id; nothing of what nobody knows any more."""
    said = {row.id: row.said for row in batch if row.said is not None}
    return {which: one.derived for which, one in zip(said, route_kept(list(said.values())), strict=True)}


def write_routing(batch: Sequence[Fragment], derived: Derived) -> None:
    """Write it where the text is still the same. What was given and does not stand in the text is kept."""
    project_id, text_of = batch[0].project_id, {row.id: row.content for row in batch}
    said_in = {row.id: (getattr(row, "said", None) or row.content).casefold() for row in batch}
    lock_connections(project_id, patient=True)
    rows = [row for row in lock_fragments(project_id, list(text_of)) if row.content == text_of[row.id]]
    changed = []
    for row in rows:
        found = _with_given(row, derived.get(row.id), said_in[row.id])
        if any(getattr(row, name) != value for name, value in found.items()):
            changed.append(row)
            for name, value in found.items():
                setattr(row, name, value)
    Fragment.objects.bulk_update(changed, COLUMNS)
    project(rows)


def _with_given(row: Fragment, found: dict[str, Any] | None, text: str) -> dict[str, Any]:
    if found is None:
        return {}
    entities = [entity for entity in row.entities if entity["text"].casefold() not in text]
    topics = [topic for topic in row.topics if topic.casefold() not in text]
    return {**found, "entities": [*found["entities"], *entities], "topics": [*found["topics"], *topics]}
