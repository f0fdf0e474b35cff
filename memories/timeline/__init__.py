"""Timeline: what was decided and done in a project on one line, and what two points of it differ in."""

from memories.timeline.differences import KeyDifference, StatusChange, TimelineDifference, compare, difference
from memories.timeline.entries import PLACE, Entry, TimelineKind, TimelinePage, entries

__all__ = [
    "PLACE",
    "TimelineDifference",
    "Entry",
    "KeyDifference",
    "StatusChange",
    "TimelineKind",
    "TimelinePage",
    "compare",
    "difference",
    "entries",
]
