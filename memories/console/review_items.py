"""What the review queue shows: the items, both sides of the opened one, and what accepting it would do."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from conflicts.enums import ConflictKind, ConflictReason, Resolution
from conflicts.public import PendingConflict, Ruling
from conflicts.resolution import KeyCandidate, candidates, repetitions, visible_conflict
from conflicts.resolution.review_queue import (
    Fold,
    fold_of,
    foresee_acceptance,
    forked,
    from_source,
    queue,
    reserved,
    single_fold,
)
from conflicts.rulings import binding_on, held_when_challenged, of_conflicts, with_words
from memories.access import Principal
from memories.console.presenters import Trust, trust_in_parts
from memories.console.text_diff import Piece, words_apart
from memories.console.voices import SERVICE, RivalClaim, Voice, agreeing, agreeing_owners, rivals_of
from memories.models import ApiKey, Fragment, Link, Owner
from memories.models.enums import LinkKind, SourceClass

SIMILAR, TURNS = 3, 12
OUTCOMES: dict[str, str] = {
    Resolution.SUPERSEDE: "accepted",
    Resolution.REJECT: "rejected",
    Resolution.KEEP_BOTH: "kept both",
}
EDITED, PROTECTED = "edited", "rejected, and protected what holds"
# Who speaks, and what was said, in the line that names the rule.
SPEAKER = {
    SourceClass.USER_EXPLICIT: ("what a person wrote", "what the user said"),
    SourceClass.SYSTEM: ("the system", "what the system states"),
    SourceClass.TOOL_OUTPUT: ("a tool", "what a tool reported"),
    SourceClass.USER_IMPLICIT: ("what was understood from the user", "what was understood from the user"),
    SourceClass.DOCUMENT: ("a document", "what a document says"),
    SourceClass.INFERENCE: ("an inference", "what was inferred"),
}


def outcome_of(conflict: PendingConflict, ruling: Ruling | None) -> str:
    """Return in words what was decided, with the ruling that the decision left, if any; empty where nothing was."""
    if ruling and ruling.edited:
        return EDITED
    if ruling and ruling.chosen and conflict.resolution == Resolution.REJECT:
        return PROTECTED
    return OUTCOMES.get(conflict.resolution, "")


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One line of the queue."""

    fold: Fold
    subject: str
    predicate: str
    value: str
    source: str
    held_by: str

    @property
    def row(self) -> Any:
        """The conflict that stands for the fold."""
        return self.fold.row

    @property
    def seen(self) -> str:
        """The ids and revisions that a decision on the line carries."""
        return " ".join(form_fields(zip(self.fold.ids, self.fold.revisions, strict=True)))


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """A memory in a conflict, with all that helps to judge it."""

    name: str
    fragment: Fragment
    claim: Any
    trust: Trust
    pieces: list[Piece]
    owner: str
    keys: list[str]
    voices: list[Voice]
    # How often its owner said it in all, and when last; None for once.
    said: tuple[int, datetime.datetime] | None
    parents: list[Fragment]
    similar: list[Fragment]
    # What was said just before it, in the same message and just after it, in its conversation.
    turns: list[Fragment]

    @property
    def value(self) -> str:
        """What it claims, or all that it says."""
        return str(self.claim.value) if self.claim else ""


@dataclass(frozen=True, slots=True)
class Opened:
    """The conflict before the reviewer. `seen` are the ids and revisions that a decision carries.

    `same_source` are those of everything that waits from the challenger's source, as counted on the page.
    """

    row: Any
    fold: Fold
    held: ConflictSide | None
    new: ConflictSide | None
    rule: str
    replaced: list[Fragment]
    # What waits too, beside the fold, and is superseded along.
    along: list[Fragment]
    rivals: list[RivalClaim]
    seen: list[str]
    same_source: list[str]
    held_by: str
    decided_by: str
    # What a person decided before: the ruling that it opens again, or, once it is settled, the one that it left.
    ruling: Ruling | None = None

    @property
    def kind(self) -> str:
        """What it is about, in words."""
        return str(ConflictKind(self.row.kind).value)

    @property
    def is_dispute(self) -> bool:
        """Whether a memory itself is doubted: there is no challenger then."""
        return bool(self.row.kind == ConflictKind.DISPUTE)

    @property
    def source(self) -> str:
        """Whom `same_source` is of: the source that the challenger's writer named, else its owner."""
        named = self.row.newcomer and self.row.newcomer.provenance_source_id
        return str(named or (self.new.owner if self.new else ""))

    @property
    def is_claim(self) -> bool:
        """Whether the challenger claims something, so that both may be kept in other ways than side by side."""
        return bool(self.new and self.new.claim)

    @property
    def outcome(self) -> str:
        """What was decided, in a word or two."""
        return outcome_of(self.row, self.ruling if self.row.resolved_at else None)

    @property
    def has_two_sides(self) -> bool:
        """Whether both may be kept."""
        return bool(self.held and self.new and self.row.kind not in (ConflictKind.DISPUTE, ConflictKind.RESTORE))

    @property
    def has_others(self) -> bool:
        """Whether more waits from the challenger's source than what a decision settles anyway."""
        return len(self.same_source) > len(self.seen)


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of the queue; what waits in branches as copies, by branch; what moves up next and nobody looks at."""

    items: list[ReviewItem]
    left: int
    page: int
    pages: int
    branches: dict[str, int]
    after: uuid.UUID | None


def load_queue(
    principal: Principal, *, last: Collection[uuid.UUID], namespace: str, page: int, now: datetime.datetime
) -> Listed:
    """Return the queue, or that of one namespace. Inside `access.enter`. Raise NotFound."""
    found = queue(principal, last=last, namespace=namespace or None, page=page)
    rows = [fold.row for fold in found.folds]
    holders = reserved(principal, [*(row.id for row in rows), *([found.after] if found.after else [])], now=now)
    names = names_of(principal, holders.values())
    items = [_item(fold, names.get(holders.get(fold.row.id), "")) for fold in found.folds]
    after = None if found.after in holders else found.after
    return Listed(items, found.left, found.page, found.pages, {} if namespace else forked(principal), after)


def following(listed: Listed, opened: Opened) -> uuid.UUID | None:
    """The conflict below the opened one in the queue that nobody else looks at; None for the last, or outside it."""
    places = [place for place, item in enumerate(listed.items) if item.row.id == opened.fold.row.id]
    if not places:
        return None
    return next((item.row.id for item in listed.items[places[0] + 1 :] if not item.held_by), listed.after)


def _item(fold: Fold, held_by: str) -> ReviewItem:
    row = fold.row
    words, held = _words(row)
    subject, predicate = (words or held)[:2]
    value = words[2] if words else (row.existing.content if row.existing else "")
    source = (row.newcomer or row.existing).source if (row.newcomer or row.existing) else ""
    return ReviewItem(fold, subject, predicate, value, source, held_by)


def _words(row: Any) -> tuple[tuple[str, str, str] | None, tuple[str, str, str]]:
    """Subject, predicate and value of the challenger, if it has them, and of what is held."""
    triples = [(c.subject, c.predicate, c.value) for c in (row.new_claim, row.old_claim) if c]
    if row.statement:
        value = row.statement["value"]
        text = f"not {value}" if row.statement["negated"] else value
        return (row.statement["subject"], row.statement["predicate"], text), triples[-1] if triples else ("", "", "")
    return (triples[0] if row.new_claim else None), triples[-1] if triples else ("", "", "")


def names_of(principal: Principal, ids: Iterable[uuid.UUID | None]) -> dict[uuid.UUID | None, str]:
    """Owners' names as people read them. Inside `access.enter`."""
    rows = Owner.objects.within(principal.project_id).filter(id__in={i for i in ids if i})
    return {row.id: row.name.removeprefix("user:") for row in rows}


def load_conflict(principal: Principal, conflict_id: uuid.UUID, *, now: datetime.datetime) -> Opened:
    """Return the conflict. Inside `access.enter`. Raise NotFound: unknown and foreign look the same."""
    row = visible_conflict(principal, conflict_id)
    waits = row.resolved_at is None
    fold = fold_of(principal, row) if waits else single_fold(row)
    sides = [side for side in (row.existing, row.newcomer) if side]
    about = _about(principal, sides)
    holder = reserved(principal, [row.id], now=now).get(row.id)
    claimed = candidates(principal, row)
    names = names_of(principal, [holder, row.resolved_by, *about.owners, *(c.fragment.owner_id for c in claimed)])
    ours, theirs = words_apart(*(side.content if side else "" for side in (row.existing, row.newcomer)))
    same = [agreeing(claimed, side) for side in (row.existing, row.newcomer)]
    side = partial(about.side, names=names, now=now)
    foreseen = foresee_acceptance(principal, row, now=now) if waits else None
    held = side("held belief", row.existing, row.old_claim, ours, same[0]) if row.existing else None
    new = side("challenger", row.newcomer, row.new_claim, theirs, same[1]) if row.newcomer else None
    return Opened(
        row=row,
        fold=fold,
        held=held,
        new=new,
        rule=rule_of(row),
        replaced=foreseen.replaced if foreseen else [],
        along=[one for one in foreseen.waiting if one.id not in fold.newcomers] if foreseen else [],
        rivals=rivals_of([one for one in claimed if one not in (*same[0], *same[1])], names) if waits else [],
        seen=form_fields(zip(fold.ids, fold.revisions, strict=True)),
        same_source=form_fields(from_source(principal, row)) if waits else [],
        held_by=names.get(holder, ""),
        decided_by=names.get(row.resolved_by, "") if row.resolved_by else "",
        ruling=next(iter(with_words(principal, _rulings(row))), None),
    )


def _rulings(row: Any) -> list[Ruling]:
    """Return at most one."""
    found = binding_on([row]) if row.resolved_at is None else of_conflicts(row.project_id, [row.id])
    return list(found.values())


def form_fields(pairs: Iterable[tuple[uuid.UUID, int]]) -> list[str]:
    """Ids and revisions as a form carries them."""
    return [f"{conflict_id}:{revision}" for conflict_id, revision in pairs]


def headline_of(row: Any) -> str:
    """Return what a conflict is about, in one line."""
    words, held = _words(row)
    subject, predicate, value = words or held
    about = " · ".join(word for word in (subject, predicate) if word)
    return f"{about} = {value}" if about else (row.existing.content if row.existing else "")


def rule_of(row: Any) -> str:
    """Return why it waits, in one line."""
    held = SPEAKER[SourceClass(row.existing.source)][1] if row.existing else "what stands"
    new = SPEAKER[SourceClass(row.newcomer.source)][0] if row.newcomer else "the other side"
    match row.reason:
        case ConflictReason.AUTHORITY | ConflictReason.OTHER_OWNER if _is_ruled_against(row):
            return f"A person’s ruling blocks this: {new} may not replace what it chose."
        case ConflictReason.AUTHORITY:
            return _rule_of_authority(row, new, held)
        case ConflictReason.OTHER_OWNER:
            return f"Both have the same authority and other owners: neither may replace {held}."
        case ConflictReason.FREE_TEXT:
            return f"{new.capitalize()} contradicts {held} in plain words, and may not replace it."
        case ConflictReason.DISPUTED:
            return f"Somebody with less authority disputes {held}; that alone changes nothing."
    return "A backup held another version of the same time."


def _is_ruled_against(row: Any) -> bool:
    """Return whether a ruling alone stops it: its writer had as much authority as that of what stands, or more."""
    known = None not in (row.new_authority, row.existing_authority)
    return known and row.new_authority >= row.existing_authority and held_when_challenged(row)


def _rule_of_authority(row: Any, new: str, held: str) -> str:
    """The same of who had too little authority when it came; what it faces now came to stand by a decision since."""
    if None in (row.new_authority, row.existing_authority) or row.new_authority < row.existing_authority:
        return f"{new.capitalize()} may not replace {held}."
    if row.new_authority > row.existing_authority:
        return f"{new.capitalize()} has more authority than {held}, which came to stand while this waited: which holds?"
    if row.newcomer.owner_id != row.existing.owner_id:
        return f"Both have the same authority and other owners: neither may replace {held}."
    when = "earlier" if row.newcomer.created_at < row.existing.created_at else "later"
    return f"The same owner said both, this one {when}, and it waited while the other came to stand: which holds?"


@dataclass(frozen=True, slots=True)
class ConflictAbout:
    """Everything beside the memories of a conflict, read for both at once."""

    votes: dict[uuid.UUID, list[Any]]
    keys: dict[uuid.UUID | None, list[str]]
    parents: dict[uuid.UUID, Fragment]
    similar: dict[uuid.UUID, list[Fragment]]
    turns: dict[uuid.UUID, list[Fragment]]
    said: dict[uuid.UUID, tuple[int, datetime.datetime]]
    owners: set[uuid.UUID | None]

    def side(
        self,
        name: str,
        row: Fragment,
        claim: Any,
        pieces: list[Piece],
        same: Sequence[KeyCandidate],
        *,
        names: dict[uuid.UUID | None, str],
        now: datetime.datetime,
    ) -> ConflictSide:
        """Return one card."""
        return ConflictSide(
            name=name,
            fragment=row,
            claim=claim,
            trust=trust_in_parts(row, now=now),
            pieces=pieces,
            owner=names.get(row.owner_id, SERVICE),
            keys=self.keys.get(row.grant_id, []),
            voices=agreeing_owners(row, self.votes[row.id], same, names),
            said=self.said.get(row.id),
            parents=[self.parents[i] for i in row.parents if i in self.parents],
            similar=self.similar.get(row.id, []),
            turns=self.turns.get(row.id, []),
        )


def _about(principal: Principal, sides: list[Fragment]) -> ConflictAbout:
    ids = [side.id for side in sides]
    votes: dict[uuid.UUID, list[Any]] = {i: [] for i in ids}
    for side in sides:
        votes[side.id] = list(side.votes.filter(project=principal.project_id, ballot="corroborate").order_by("id"))
    keys: dict[uuid.UUID | None, list[str]] = {}
    for key in ApiKey.objects.within(principal.project_id).filter(grant__in={s.grant_id for s in sides if s.grant_id}):
        keys.setdefault(key.grant_id, []).append(str(key))
    rows = Fragment.objects.within(principal.project_id)
    parents = rows.in_bulk({parent for side in sides for parent in side.parents})
    links = Link.objects.within(principal.project_id).filter(fragment__in=ids, kind=LinkKind.SIMILAR)
    similar: dict[uuid.UUID, list[Fragment]] = {}
    for link in links.exclude(other__in=ids).select_related("other").order_by("-similarity", "other"):
        if len(near := similar.setdefault(link.fragment_id, [])) < SIMILAR:
            near.append(link.other)
    owners = {side.owner_id for side in sides} | {vote.owner_id for each in votes.values() for vote in each}
    turns = {side.id: _turns(principal, side) for side in sides}
    times_seen = {i: (times + 1, at) for i, (times, at) in repetitions(principal, ids).items()}
    return ConflictAbout(votes, keys, parents, similar, turns, times_seen, owners)


def _turns(principal: Principal, side: Fragment) -> list[Fragment]:
    """Return the messages around it, itself among them; none where its conversation is not known."""
    if not side.conversation_id or side.sequence is None:
        return []
    rows = Fragment.objects.within(principal.project_id).filter(namespace=side.namespace_id)
    beside = rows.filter(conversation_id=side.conversation_id, sequence__range=(side.sequence - 1, side.sequence + 1))
    return list(beside.order_by("sequence", "created_at", "id")[:TURNS])
