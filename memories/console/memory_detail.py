"""One memory with everything known about it: provenance, neighbours, former texts, changes."""

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from django.db.models import Subquery

from conflicts.public import Ruling
from conflicts.ruling_marks import RulingMark, ruling_marks_of
from conflicts.rulings import ruled_on, with_words
from memories import access
from memories.access import NotFound, Principal
from memories.console.containment_report import containing
from memories.console.presenters import Trust, trust_in_parts
from memories.console.review_items import names_of
from memories.models import ApiKey, Claim, Fragment, Owner, Receipt, Revision
from memories.models.answer_rows import load_answer_rows
from memories.models.fragment import CONTAINED
from memories.models.history import actor_of
from memories.upkeep.thresholds import Thresholds

LAST, SHOWN = 5_000, 50  # receipts that are looked through, and retrievals that are shown
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
class MemoryChange:
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
    changes: list[MemoryChange]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another memory that this one is joined to, as far as it still stands and may be read."""

    kind: str
    id: uuid.UUID
    similarity: float | None = None
    fragment: Fragment | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """An answer that contained the memory: with how many others, and for which key."""

    at: datetime.datetime
    namespace: str
    memories: int
    tokens: int
    key: str


@dataclass(frozen=True, slots=True)
class Detail:
    """One memory, opened."""

    fragment: Fragment
    claims: list[Claim]
    trust: Trust
    relevance: float
    owner: str
    # The ruling that chose it, or ruled it out.
    ruling: Ruling | None = None
    # The containment that set it aside, for whom it is to see.
    containment: uuid.UUID | None = None
    # What the tab shows; empty on the others.
    neighbours: list[Neighbour] = field(default_factory=list)
    retrievals: list[Retrieval] = field(default_factory=list)
    all_retrievals: int = 0
    revisions: list[Revision] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    # What people ruled on it or on what it claims, latest first.
    rulings: list[RulingMark] = field(default_factory=list)
    # The relevance of the next 90 days as points of a drawing, 0 at the bottom.
    curve: str = ""
    # Those of its project.
    thresholds: Thresholds = field(default_factory=Thresholds)

    @property
    def bounds(self) -> list[float]:
        """Below which relevance makes cold, and archives, as heights of the drawing."""
        return [100 - 100 * least for least in (self.thresholds.cold_below, self.thresholds.archive_below)]

    @property
    def is_contained(self) -> bool:
        """Whether a containment set it aside."""
        return bool(self.fragment.archived_reason == CONTAINED)

    @property
    def claim(self) -> Claim | None:
        """The first claim, which the form edits."""
        return next(iter(self.claims), None)


def read(principal: Principal, fragment_id: uuid.UUID, *, tab: str = "", now: datetime.datetime) -> Detail:
    """Return the memory with what one tab shows. Raise NotFound: unknown and foreign look the same."""
    with access.enter(principal, why="console"):
        row = next(iter(load_answer_rows(principal.project_id, [fragment_id])), None)
        if row is None or not principal.covers_reading(row.namespace.name):
            raise NotFound("fragment")
        owner = Owner.objects.within(principal.project_id).filter(id=row.owner_id).first() if row.owner_id else None
        return Detail(
            fragment=row,
            claims=list(row.claims.order_by("position")),
            trust=trust_in_parts(row, now=now),
            relevance=row.relevance_at(now),
            owner=owner.name if owner else "",
            ruling=next(iter(with_words(principal, list(ruled_on(principal, [row.id]).values()))), None),
            containment=containing(principal, row.id) if row.archived_reason == CONTAINED else None,
            **_tab(principal, row, tab, now),
        )


def _tab(principal: Principal, row: Any, tab: str, now: datetime.datetime) -> dict[str, Any]:
    match tab:
        case "trust":
            return {"curve": _curve(row, now), "thresholds": Thresholds.of(row.project.thresholds)}
        case "links":
            return {"neighbours": _neighbours(principal, row)}
        case "retrievals":
            return _retrievals(principal, row)
        case "history":
            revisions = Revision.objects.within(principal.project_id).filter(fragment=row).order_by("-revision")
            events = _events(principal, list(row.events.order_by("pgh_id")))
            return {"revisions": list(revisions), "events": events, "rulings": ruling_marks_of(row)[::-1]}
    return {}


def _curve(row: Fragment, now: datetime.datetime) -> str:
    days = range(0, 91, 5)
    return " ".join(f"{day},{100 - 100 * row.relevance_at(now + datetime.timedelta(days=day)):.1f}" for day in days)


def _neighbours(principal: Principal, row: Any) -> list[Neighbour]:
    joined = [("superseded by", row.superseded_by_id)] if row.superseded_by_id else []
    joined += [("supersedes", uuid.UUID(other)) for other in row.replaced]
    joined += [("derived from", parent) for parent in row.parents]
    known = {other for _, other in joined}
    found = [(kind, other, None) for kind, other in joined]
    linked = [(kind, uuid.UUID(other), similarity) for other, kind, similarity in row.linked]
    found += [(kind.replace("_", " "), other, near) for kind, other, near in linked if other not in known]
    others = Fragment.objects.within(principal.project_id).select_related("namespace").in_bulk([i for _, i, _ in found])
    seen = {i: other for i, other in others.items() if principal.covers_reading(other.namespace.name)}
    return [Neighbour(kind, other, near, seen.get(other)) for kind, other, near in found]


def _retrievals(principal: Principal, row: Any) -> dict[str, Any]:
    """Return the newest of the last answers, as far as their receipts are kept, and how many there are."""
    receipts = Receipt.objects.within(principal.project_id)
    last = receipts.order_by("-created_at").values("id")[:LAST]
    namespaces = access.readable_scopes(principal)
    held = receipts.filter(id__in=Subquery(last), fragment_ids__contains=[row.id], namespace__in=namespaces)
    found = list(held.select_related("namespace").order_by("-created_at", "-id")[:SHOWN])
    keys = ApiKey.objects.within(principal.project_id).in_bulk({one.key_id for one in found if one.key_id})
    entries = [
        Retrieval(
            one.created_at, one.namespace.name, len(one.fragment_ids), one.tokens, str(keys.get(one.key_id) or "")
        )
        for one in found
    ]
    return {"retrievals": entries, "all_retrievals": held.count() if len(found) == SHOWN else len(found)}


def _events(principal: Principal, rows: list[Any]) -> list[Event]:
    """Return the events, latest first, each with who made it and what it changed."""
    names = names_of(principal, [actor_of(row) for row in rows])
    events = [_event(row, [], names) for row in rows[:1]]
    for before, after in pairwise(rows):
        pairs = [MemoryChange(name, getattr(before, name), getattr(after, name)) for name in TOLD]
        events.append(_event(after, [change for change in pairs if change.before != change.after], names))
    return events[::-1]


def _event(row: Any, changes: list[MemoryChange], names: Mapping[uuid.UUID | None, str]) -> Event:
    context = row.pgh_context or {}
    return Event(
        at=row.pgh_created_at,
        is_birth=row.pgh_label == "insert",
        who=names.get(actor_of(row)) or context.get("kind", "unknown"),
        why=context.get("why", ""),
        changes=changes,
    )
