"""The life of a memory: how close at hand it is kept, how much of it is left, when it leaves and how it returns."""

from memories.upkeep.lifecycle.archival import archive_old, check_putting_away, expire_copies
from memories.upkeep.lifecycle.capacity import Capacity, after_storing, capacities
from memories.upkeep.lifecycle.compaction import (
    check_compaction,
    compact,
    compact_one,
    undo_compaction,
)
from memories.upkeep.lifecycle.eviction import (
    candidates,
    check_eviction,
    evict,
    excesses,
)
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from memories.upkeep.lifecycle.restoration import bring_back, restore, undo_leaving, visible_tombstone
from memories.upkeep.lifecycle.schedule import count_due, due
from memories.upkeep.lifecycle.tiers import check_tiering, move_one, sizes, tier

__all__ = [
    "Capacity",
    "Cause",
    "after_storing",
    "bring_back",
    "candidates",
    "capacities",
    "check_compaction",
    "check_eviction",
    "check_putting_away",
    "check_tiering",
    "compact",
    "compact_one",
    "count_due",
    "due",
    "evict",
    "excesses",
    "expire_copies",
    "remove_fragments",
    "move_one",
    "archive_old",
    "restore",
    "sizes",
    "tier",
    "undo_compaction",
    "undo_leaving",
    "visible_tombstone",
]
