"""What a merge or a rollback would do or did, memory by memory.

What a merge did not make yet is told as it stands in the branch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conflicts.enums import PRECEDENT_REJECTED, REJECTED
from memories.access import Principal
from memories.console.reports import MERGED, MERGES, ROLLBACKS, ROLLED_BACK
from memories.models import Fragment
from memories.models.fragment import BY_PERSON

NAMED = 36  # of each list; the counts tell of all
# Left out for another one of their source, or for their own newer words.
SAME_SOURCE = {
    "same_source": "as good",
    "relevance": "less relevant",
    "authority": "of less authority",
    "older": "changed earlier",
}
REASONS = SAME_SOURCE | {
    "repeats": "says the same",
    "evicted": "left memory here before",
    PRECEDENT_REJECTED: "a person rejected the like",
    REJECTED: "a person rejected it here",
    BY_PERSON: "a person archived it here",
    "too_many_waiting": "its owner has a hundred values waiting on this key",
}
SAYS = MERGES | {"kept": "Same source: one stays", "skipped": "Left out"}
SAID = {name: MERGED.get(name, says) for name, says in SAYS.items()} | {"kept": "Same source: one stayed"}
# How the memory beside one is called.
BESIDE = {
    "superseded": "in its place",
    "kept": "stays",
    "conflicting": "stands against",
    "skipped": "stands already",
}


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A memory, why it is left out, and the one that it is about."""

    row: Fragment
    because: str
    beside: Fragment | None


@dataclass(frozen=True, slots=True)
class MemoryList:
    """What becomes of some memories: how many they are, and the first of them."""

    says: str
    beside_says: str
    count: int
    lines: list[MemoryLine]

    @property
    def more(self) -> int:
        """How many are not told."""
        return self.count - len(self.lines)


def report_lists(principal: Principal, report: Mapping[str, Any], *, done: bool = False) -> list[MemoryList]:
    """Return the lists of a merge's report that hold anything. Inside `access.enter`."""
    ids, counts = _by_list(report)
    sources, beside, reasons = (report.get(name) or {} for name in ("sources", "beside", "reasons"))
    named = {name: these[:NAMED] for name, these in ids.items()}
    wanted = {one for these in named.values() for i in these for one in (i, sources.get(i, i), beside.get(i, i))}
    found = {str(row.id): row for row in Fragment.objects.within(principal.project_id).filter(id__in=wanted)}

    def line(i: str) -> MemoryLine | None:
        row, why = found.get(i) or found.get(sources.get(i, i)), reasons.get(i, "")
        return MemoryLine(row, REASONS.get(why, why.replace("_", " ")), found.get(beside.get(i, ""))) if row else None

    return [
        MemoryList(says, BESIDE.get(name, ""), counts[name], [text for i in named[name] if (text := line(i))])
        for name, says in (SAID if done else SAYS).items()
        if counts[name]
    ]


def _by_list(report: Mapping[str, Any]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the ids and their numbers; what was left out for its source is a list of its own."""
    ids: dict[str, list[str]] = {name: list(report.get(name) or []) for name in MERGES}
    counts = {name: (report.get("counts") or {}).get(name, 0) for name in MERGES}
    because, reasons = report.get("skipped_because") or {}, report.get("reasons") or {}
    ids["kept"] = [i for i in ids["skipped"] if reasons.get(i) in SAME_SOURCE]
    ids["skipped"] = [i for i in ids["skipped"] if reasons.get(i) not in SAME_SOURCE]
    counts["kept"] = sum(n for reason, n in because.items() if reason in SAME_SOURCE)
    counts["skipped"] -= counts["kept"]
    return ids, counts


def rollback_lists(principal: Principal, report: Mapping[str, Any], *, done: bool = False) -> list[MemoryList]:
    """Return the lists of a rollback's report that hold anything. Inside `access.enter`."""
    says, counts = ROLLED_BACK if done else ROLLBACKS, report.get("counts") or {}
    named = {name: list(report.get(name) or [])[:NAMED] for name in says}
    wanted = {i for ids in named.values() for i in ids}
    found = {str(row.id): row for row in Fragment.objects.within(principal.project_id).filter(id__in=wanted)}
    return [
        MemoryList(words, "", counts[name], [MemoryLine(found[i], "", None) for i in named[name] if i in found])
        for name, words in says.items()
        if counts.get(name)
    ]
