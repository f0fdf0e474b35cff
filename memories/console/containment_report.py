"""A containment in words: its ground, and what it reaches, with the first memories of each kind."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.resolution import visible_conflicts
from memories import containment
from memories.access import Principal
from memories.console.review_items import OUTCOMES, names_of
from memories.models import ApiKey, Containment, Fragment, Owner
from memories.models.enums import ContainmentKind, Verb

SHOWN = 10  # memories of each kind
# By kind of what is reached: heading, and why it is so.
SAID = {
    "written": ("Set aside", "All of these memories, whatever became of them."),
    "derived": ("Set aside with them", "Digests and other memories that were made of them."),
    "repeated": ("Set aside although others said it", "Somebody less trusted said the same, and may say it again."),
    "upheld": ("Stays", "Somebody else, at least as trusted, says the same, or a person chose it."),
    "restored": ("Stands again", "What they had taken the place of."),
    "released": ("Released", "It waited for review because of what is set aside, and stands now."),
}


@dataclass(frozen=True, slots=True)
class GroundWords:
    """By what memories were set aside: a key and its owner, an owner, or what a source or a text is called."""

    kind: str
    since: datetime.datetime | None
    key: str = ""
    owner: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory that a containment reaches, as it is now, and whose it is."""

    row: Fragment
    owner: str


@dataclass(frozen=True, slots=True)
class ReachedMemories:
    """The memories of one kind: how many, the first of them, and how many more there are."""

    name: str
    title: str
    why: str
    count: int
    memories: list[ShownMemory]

    @property
    def more(self) -> int:
        """How many are not shown: too many, or forgotten since."""
        return self.count - len(self.memories)


@dataclass(frozen=True, slots=True)
class ContainmentReport:
    """What a containment does or did; `count` memories are set aside."""

    count: int
    reached: list[ReachedMemories]
    votes: int
    keys: list[str]
    # Conflicts, each with what was decided, in a word.
    decisions: list[tuple[Any, str]]
    answers: int
    agents: int
    last_at: datetime.datetime | None

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.count or self.votes or self.keys)


def count_of(report: Mapping[str, Any]) -> int:
    """Return how many memories a report sets aside."""
    return int(report["written"]["count"] + report["derived"]["count"])


def report_of(principal: Principal, report: Mapping[str, Any]) -> ContainmentReport:
    """Return the report of a containment in words. Inside `access.enter`."""
    first = {name: [uuid.UUID(i) for i in report[name]["ids"][:SHOWN]] for name in SAID}
    wanted = {i for ids in first.values() for i in ids}
    rows = Fragment.objects.within(principal.project_id).select_related("namespace").in_bulk(wanted)
    newest = dict(sorted(rows.items(), key=lambda found: found[1].created_at, reverse=True))
    names = names_of(principal, [row.owner_id for row in rows.values()])
    shown = {i: ShownMemory(row, names.get(row.owner_id, "")) for i, row in newest.items()}
    reached = [
        ReachedMemories(name, title, why, report[name]["count"], [shown[i] for i in shown if i in first[name]])
        for name, (title, why) in SAID.items()
    ]
    keys = ApiKey.objects.within(principal.project_id).filter(id__in=report["keys"]).order_by("key_id")
    decisions = visible_conflicts(principal).filter(id__in=report["decisions"]).order_by("-resolved_at", "-id")
    carried, last = report["answers"], report["answers"]["last_at"]
    return ContainmentReport(
        count=count_of(report),
        reached=reached,
        votes=report["votes"],
        keys=[str(key) for key in keys],
        decisions=[(row, OUTCOMES.get(row.resolution, "taken back")) for row in decisions],
        answers=carried["answers"],
        agents=carried["agents"],
        last_at=datetime.datetime.fromisoformat(last) if last else None,
    )


def grounds_of(principal: Principal, rows: Sequence[Containment], *, said: str = "") -> list[GroundWords]:
    """Return by what each is told; `said` is the source or the text, which is not kept. Inside `access.enter`."""
    keys, owners = ContainmentKind.KEY, ContainmentKind.OWNER
    targets = {kind: {row.target_id for row in rows if row.kind == kind} for kind in (keys, owners)}
    by_key = ApiKey.objects.within(principal.project_id).select_related("owner").in_bulk(targets[keys])
    by_owner = Owner.objects.within(principal.project_id).in_bulk(targets[owners])
    found = []
    for row in rows:
        key = by_key.get(row.target_id)
        owner = key.owner if key else by_owner.get(row.target_id)
        name = owner.name.removeprefix("user:") if owner else ""
        found.append(GroundWords(row.kind, row.since, str(key or ""), name, said))
    return found


def containing(principal: Principal, fragment_id: uuid.UUID) -> uuid.UUID | None:
    """Return the containment that set a memory aside, for whom it is to see. Inside `access.enter`."""
    if Verb.ADMIN not in principal.verbs:
        return None
    rows = containment.containments(principal).filter(undone_at=None, journal__after__has_key=str(fragment_id))
    found: uuid.UUID | None = rows.order_by("-applied_at", "-id").values_list("id", flat=True).first()
    return found
