"""Which memories a backup holds ([2] ADR-003): explicit, versioned, every choice with the reason for it."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memories.models.raw import fetch
from memories.models.words import ExportPolicy

VERSION = 1
MOST = 500  # of a bucket that is limited

# What makes an agent who it is: (bucket, reason, condition, how many, which first).
IDENTITY = (
    ("anchors", "anchor", "f.is_anchor", None, "f.created_at, f.id"),
    ("narrative_checkpoints", "checkpoint", "f.category = 'narrative_checkpoint'", None, "f.created_at, f.id"),
    ("reflections", "recent", "f.category IN ('reflection', 'lesson')", MOST, "f.created_at DESC, f.id DESC"),
    ("knowledge", "important", "f.category = 'knowledge'", MOST, "f.importance DESC, f.created_at DESC, f.id DESC"),
)
# Conflicts do not come along: nobody could ever settle what waits in one.
HEARD = "f.status <> 'quarantined'"
HERE = "f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s)"


@dataclass(frozen=True, slots=True)
class Choice:
    """The fragments of a backup, None for all, and how many each bucket holds, with the reason."""

    fragments: tuple[uuid.UUID, ...] | None
    counts: list[dict[str, Any]]


def choose(policy: str, project_id: uuid.UUID, places: list[uuid.UUID]) -> Choice:
    """What the policy takes of these namespaces; a memory counts in the first bucket that takes it."""
    return POLICIES[policy]({"project": project_id, "places": places})


def _full(values: dict[str, Any]) -> Choice:
    ((count,),) = fetch(f"SELECT count(*) FROM memories_fragment f WHERE {HERE}", values)
    return Choice(None, [{"bucket": "everything", "reason": "full", "count": count}])


def _identity(values: dict[str, Any]) -> Choice:
    chosen: dict[uuid.UUID, None] = {}
    counts = []
    for bucket, reason, condition, most, order in IDENTITY:
        limit = "" if most is None else f"LIMIT {most}"
        rows = fetch(
            f"SELECT f.id FROM memories_fragment f WHERE {HERE} AND {condition} AND {HEARD} AND f.id <> ALL (%(taken)s)"
            f" ORDER BY {order} {limit}",
            {**values, "taken": list(chosen)},
        )
        chosen |= dict.fromkeys(row[0] for row in rows)
        counts.append({"bucket": bucket, "reason": reason, "count": len(rows)})
    return Choice(tuple(chosen), counts)


POLICIES: Mapping[str, Callable[[dict[str, Any]], Choice]] = {
    ExportPolicy.FULL: _full,
    ExportPolicy.IDENTITY: _identity,
}
