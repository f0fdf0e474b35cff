"""One memory with everything known about it: provenance, neighbours, former texts, changes."""

import datetime
import uuid
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from memories import access
from memories.access import NotFound, Principal
from memories.console.showing import Trust, trust_in_parts
from memories.models import Claim, Fragment, Owner, Revision

# What may change in a fragment's life and says something to a person.
TOLD = (
    "status",
    "tier",
    "compression",
    "revision",
    "type",
    "importance",
    "base_relevance",
    "is_pinned",
    "is_anchor",
    "outcome",
    "corroboration",
    "reinforcements",
    "disputes",
)


@dataclass(frozen=True, slots=True)
class Change:
    """What was one value and is another."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Event:
    """A moment in a memory's life: who did what, and why."""

    at: datetime.datetime
    is_birth: bool
    who: str
    why: str
    changes: list[Change]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another memory that this one is joined to."""

    kind: str
    id: uuid.UUID


@dataclass(frozen=True, slots=True)
class Detail:
    """One memory, opened."""

    fragment: Fragment
    claim: Claim | None
    trust: Trust
    relevance: float
    owner: str
    neighbours: list[Neighbour]
    revisions: list[Revision]
    events: list[Event]


def read(principal: Principal, fragment_id: uuid.UUID, *, now: datetime.datetime) -> Detail:
    """The memory. Raises NotFound: unknown and foreign look the same."""
    with access.enter(principal, why="console"):
        row = Fragment.objects.within(principal.project_id).for_answers().filter(id=fragment_id).first()
        if row is None or not principal.covers_reading(row.namespace.name):
            raise NotFound("fragment")
        owner = Owner.objects.within(principal.project_id).filter(id=row.owner_id).first() if row.owner_id else None
        return Detail(
            fragment=row,
            claim=getattr(row, "claim", None),
            trust=trust_in_parts(row, now=now),
            relevance=row.relevance_at(now),
            owner=owner.name if owner else "",
            neighbours=_neighbours(row),
            revisions=list(Revision.objects.within(principal.project_id).filter(fragment=row).order_by("-revision")),
            events=_events(list(row.events.order_by("pgh_id"))),
        )


def _neighbours(row: Any) -> list[Neighbour]:
    found = [Neighbour("superseded by", row.superseded_by_id)] if row.superseded_by_id else []
    found += [Neighbour("supersedes", uuid.UUID(other)) for other in row.replaced]
    found += [Neighbour("derived from", parent) for parent in row.parents]
    known = {neighbour.id for neighbour in found}
    linked = [(kind, uuid.UUID(other)) for other, kind, _ in row.linked]
    return found + [Neighbour(kind.replace("_", " "), other) for kind, other in linked if other not in known]


def _events(rows: list[Any]) -> list[Event]:
    """The events, latest first, each with what it changed."""
    events = [_event(row, []) for row in rows[:1]]
    for before, after in pairwise(rows):
        pairs = [Change(name, getattr(before, name), getattr(after, name)) for name in TOLD]
        events.append(_event(after, [change for change in pairs if change.before != change.after]))
    return events[::-1]


def _event(row: Any, changes: list[Change]) -> Event:
    context = row.pgh_context or {}
    return Event(
        at=row.pgh_created_at,
        is_birth=row.pgh_label == "insert",
        who=context.get("kind", "unknown"),
        why=context.get("why", ""),
        changes=changes,
    )
