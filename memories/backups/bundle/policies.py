"""Which memories a backup holds: explicit, versioned, every choice with the reason for it."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memories.backups.bundle.records import CHANGED, Selection
from memories.models.enums import ExportPolicy
from memories.models.sql import fetch

VERSION = 1
MOST = 500  # of a bucket that is limited

# What makes an agent who it is: (bucket, reason, categories, how many, which first); no categories: what is an anchor.
IDENTITY: tuple[tuple[str, str, tuple[str, ...], int | None, str], ...] = (
    ("anchors", "anchor", (), None, "f.created_at, f.id"),
    ("narrative_checkpoints", "checkpoint", ("narrative_checkpoint",), None, "f.created_at, f.id"),
    ("reflections", "recent", ("reflection", "lesson"), MOST, "f.created_at DESC, f.id DESC"),
    ("knowledge", "important", ("knowledge",), MOST, "f.importance DESC, f.created_at DESC, f.id DESC"),
)
BUCKETS = {category: bucket for bucket, _, categories, *_ in IDENTITY for category in categories}
# Conflicts do not come along: nobody could ever settle what waits in one.
HEARD = "f.status <> 'quarantined'"
HERE = "f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s)"


@dataclass(frozen=True, slots=True)
class Choice:
    """The fragments of a backup, None for all, and how many each bucket holds, with the reason."""

    fragments: tuple[uuid.UUID, ...] | None
    counts: list[dict[str, Any]]


def choose(policy: str, selection: Selection) -> Choice:
    """Return what the policy takes of the selection; a memory counts in the first bucket that takes it."""
    return POLICIES[policy](selection)


def _full(selection: Selection) -> Choice:
    bucket, reason, changed = "everything", "full", ""
    if selection.since:
        bucket, reason, changed = "changed", "increment", f"AND ({CHANGED})"
    ((count,),) = fetch(f"SELECT count(*) FROM memories_fragment f WHERE {HERE} {changed}", selection.values)
    return Choice(None, [{"bucket": bucket, "reason": reason, "count": count}])


def _identity(selection: Selection) -> Choice:
    chosen: dict[uuid.UUID, None] = {}
    counts = []
    for bucket, reason, categories, most, order in IDENTITY:
        condition = "f.category = ANY (%(categories)s)" if categories else "f.is_anchor"
        limit = "" if most is None else f"LIMIT {most}"
        rows = fetch(
            f"SELECT f.id FROM memories_fragment f WHERE {HERE} AND {condition} AND {HEARD} AND f.id <> ALL (%(taken)s)"
            f" ORDER BY {order} {limit}",
            {**selection.values, "taken": list(chosen), "categories": list(categories)},
        )
        chosen |= dict.fromkeys(row[0] for row in rows)
        counts.append({"bucket": bucket, "reason": reason, "count": len(rows)})
    return Choice(tuple(chosen), counts)


def identity_bucket(row: Mapping[str, Any]) -> str:
    """Return the bucket of an identity in which a fragment counts, by its row; empty when none takes it."""
    return "anchors" if row["is_anchor"] else BUCKETS.get(row["category"], "")


POLICIES: Mapping[str, Callable[[Selection], Choice]] = {
    ExportPolicy.FULL: _full,
    ExportPolicy.IDENTITY: _identity,
}
