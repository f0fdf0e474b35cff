"""What the page of proposals shows: what waits, both texts side by side, and what else was proposed lately."""

import datetime
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories import access, governance
from memories.access import Principal
from memories.console.presenters import Trust, trust_in_parts
from memories.console.review_items import names_of
from memories.console.text_diff import Piece, words_apart
from memories.models import ApiKey, Claim, Fragment, LlmCall, Namespace, Proposal

CARDS, LATELY = 10, 50


@dataclass(frozen=True, slots=True)
class ProposalSide:
    """One of the two memories. `keys` are those under whose grant it was written."""

    name: str
    fragment: Fragment
    pieces: list[Piece]
    trust: Trust
    owner: str
    keys: list[str]


@dataclass(frozen=True, slots=True)
class Card:
    """A supersession that waits. `obstacle` says why it can't be accepted; `seen` is what a decision carries."""

    row: Proposal
    sides: tuple[ProposalSide, ProposalSide]
    why: str
    obstacle: str
    calls: list[LlmCall]

    @property
    def seen(self) -> str:
        """The proposal's id and both revisions."""
        return ":".join([str(self.row.id), *(str(side.fragment.revision) for side in self.sides)])


@dataclass(frozen=True, slots=True)
class ProposalLine:
    """One that does not wait: what it is about, the memories that it speaks of, and who decided."""

    row: Proposal
    text: str
    memories: list[Fragment]
    decided_by: str
    calls: list[LlmCall]


@dataclass(frozen=True, slots=True)
class ProposalFilters:
    """What the list is narrowed to."""

    namespace: str = ""
    kind: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """As the query of the page's URL."""
        return {name: value for name, value in (("namespace", self.namespace), ("kind", self.kind)) if value}


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """The page. `left` is how many wait in all, `all_lines` how many do not."""

    cards: list[Card]
    left: int
    lines: list[ProposalLine]
    all_lines: int
    places: Sequence[Namespace]


def load_list(principal: Principal, filters: ProposalFilters, *, now: datetime.datetime) -> ProposalRow:
    """Return the oldest that wait and the newest that do not, in a fixed number of queries. Raise NotFound."""
    with access.enter(principal, why="console"):
        namespaces = access.all_readable(principal)
        within = access.readable_scopes(principal, [filters.namespace] if filters.namespace else None)
        rows = Proposal.objects.within(principal.project_id).filter(namespace__in=within).select_related("namespace")
        if filters.kind:
            rows = rows.filter(kind=filters.kind)
        waiting = rows.filter(waiting=True).order_by("created_at", "id")
        left = waiting.count()
        first = list(waiting[:CARDS])
        past = rows.filter(waiting=False).lasting(now=now)
        lately = list(past.order_by("-created_at", "-id")[:LATELY])
        number = past.count() if len(lately) == LATELY else len(lately)
        about = _about(principal, first, lately)
        cards = [about.card(row, now=now) for row in first if about.has(row)]
        return ProposalRow(
            cards, left - (len(first) - len(cards)), [about.line(row) for row in lately], number, namespaces
        )


@dataclass(frozen=True, slots=True)
class ProposalAbout:
    """Everything beside the proposals, read for all at once."""

    memories: Mapping[uuid.UUID, Fragment]
    claiming: set[uuid.UUID]
    rewritten: set[uuid.UUID]
    calls: Mapping[uuid.UUID, LlmCall]
    names: Mapping[uuid.UUID | None, str]
    keys: Mapping[uuid.UUID | None, list[str]]

    def has(self, row: Proposal) -> bool:
        """Return whether both memories are there."""
        return len(row.about) == 2 and all(i in self.memories for i in row.about)

    def card(self, row: Proposal, *, now: datetime.datetime) -> Card:
        """Return one that waits."""
        older, newer = (self.memories[i] for i in row.about)
        ours, theirs = words_apart(older.content, newer.content)
        sides = self._side("older", older, ours, now=now), self._side("newer", newer, theirs, now=now)
        claims, rewritten = older.id in self.claiming, row.id in self.rewritten
        why = governance.why_not_replaceable(older, newer, claims=claims, rewritten=rewritten)
        return Card(row, sides, _proposed_text(row, "reason"), why, self._calls(row))

    def line(self, row: Proposal) -> ProposalLine:
        """Return one that does not."""
        spoken_of = [row.fragment_id] if row.fragment_id else row.about if row.decision else []
        memories = [self.memories[i] for i in spoken_of if i in self.memories]
        text = next(filter(None, (_proposed_text(row, name) for name in ("title", "summary", "reason", "value"))), "")
        return ProposalLine(row, text, memories, self.names.get(row.decided_by, "the operator"), self._calls(row))

    def _side(self, name: str, row: Fragment, pieces: list[Piece], *, now: datetime.datetime) -> ProposalSide:
        owner = self.names.get(row.owner_id, "the service itself")
        return ProposalSide(name, row, pieces, trust_in_parts(row, now=now), owner, self.keys.get(row.grant_id, []))

    def _calls(self, row: Proposal) -> list[LlmCall]:
        return [self.calls[i] for i in row.calls if i in self.calls]


def _about(principal: Principal, waiting: Sequence[Proposal], lately: Sequence[Proposal]) -> ProposalAbout:
    every = [*waiting, *lately]
    wanted = {i for row in every for i in (*(row.about if row.waiting or row.decision else ()), row.fragment_id) if i}
    memories = Fragment.objects.within(principal.project_id).in_bulk(wanted)
    claims = Claim.objects.within(principal.project_id).filter(fragment__in={row.about[0] for row in waiting})
    calls = LlmCall.objects.within(principal.project_id).in_bulk({i for row in every for i in row.calls})
    owners: Iterable[Any] = [*(row.owner_id for row in memories.values()), *(row.decided_by for row in lately)]
    keys: dict[uuid.UUID | None, list[str]] = {}
    grants = {row.grant_id for row in memories.values() if row.grant_id}
    for key in ApiKey.objects.within(principal.project_id).filter(grant__in=grants).order_by("created_at"):
        keys.setdefault(key.grant_id, []).append(str(key))
    claiming = set(claims.values_list("fragment_id", flat=True))
    rewritten = governance.find_rewritten(waiting)
    return ProposalAbout(memories, claiming, rewritten, calls, names_of(principal, owners), keys)


def _proposed_text(row: Proposal, name: str) -> str:
    """Return a text in what the model proposed."""
    value = (row.proposal or {}).get(name, "")
    return value if isinstance(value, str) else ""
