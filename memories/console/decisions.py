"""A reviewer's decisions, as the room takes them, and what to tell where it refuses."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conflicts.enums import Action, Keep, Resolution
from conflicts.keys import says_something
from conflicts.resolution import (
    AlreadyResolved,
    BulkOutcome,
    NotApplicable,
    Settlement,
    resolve_all,
    undo_all,
    visible_conflict,
)
from conflicts.resolution.review_queue import AT_ONCE
from conflicts.search_index import BlockedByErasure
from memories import access, ingest
from memories.access import NotFound, NotPermitted, Principal
from memories.console.errors import Refusal, error_sentence
from memories.console.explorer_query import normalise_newlines
from memories.console.review_items import OUTCOMES, names_of
from memories.errors import NovaError, StaleRevision
from memories.models.fragment import CONTENT_LIMIT

NOTE_LIMIT, VALUE_LIMIT = 1_000, 1_000


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """A decision: the action, how both are kept, and what the strip says of it."""

    action: str
    keep: str
    said: str
    protect: bool = False


ACTIONS = {
    "accept": DecisionForm(Action.SUPERSEDE, Keep.PAIR, "Accepted"),
    "reject": DecisionForm(Action.REJECT, Keep.PAIR, "Rejected"),
    "keep": DecisionForm(Action.REJECT, Keep.PAIR, "Kept what stood", protect=True),
    "pair": DecisionForm(Action.KEEP_BOTH, Keep.PAIR, "Kept both"),
    "period": DecisionForm(Action.KEEP_BOTH, Keep.PERIOD, "Kept both, one after the other"),
    "predicate": DecisionForm(Action.KEEP_BOTH, Keep.PREDICATE, "Kept both: several values are allowed"),
}


@dataclass(frozen=True, slots=True)
class DecisionNotice:
    """What became of one decision, for a person."""

    conflict_id: uuid.UUID
    refusal: Refusal | None = None


def resolve_each(
    principal: Principal,
    seen: Sequence[tuple[uuid.UUID, int]],
    action: str,
    note: str,
    *,
    now: datetime.datetime,
) -> list[DecisionNotice]:
    """Settle each conflict on the revision that was seen; what one can't do stops no other."""
    if "\0" in note:
        refused = NotApplicable("a note can’t hold the character U+0000")
        return [_describe_outcome(principal, BulkOutcome(conflict_id, refused), now=now) for conflict_id, _ in seen]
    way = ACTIONS[action]
    wishes = [(i, Settlement(way.action, revision, way.keep, note, protect=way.protect)) for i, revision in seen]
    return [_describe_outcome(principal, outcome, now=now) for outcome in resolve_all(principal, wishes, now=now)]


def undo_each(
    principal: Principal, conflict_ids: Sequence[uuid.UUID], *, now: datetime.datetime
) -> list[DecisionNotice]:
    """Take each decision back, the last first."""
    return [_describe_outcome(principal, outcome, now=now) for outcome in undo_all(principal, conflict_ids, now=now)]


def resolve_with_edit(
    principal: Principal, seen: Sequence[tuple[uuid.UUID, int]], form: Mapping[str, str], *, now: datetime.datetime
) -> list[DecisionNotice]:
    """Settle it for what the person typed: a memory of their own; the challenger is archived as it was written."""
    conflict_id, revision = seen[0]
    try:
        content, value = read_typed(form)
        settlement = Settlement(Action.SUPERSEDE, revision, note=form.get("note", "")[:NOTE_LIMIT])
        ingest.corrections.correct(principal, conflict_id, settlement, content=content, value=value, now=now)
    except (NotFound, NotPermitted, StaleRevision, AlreadyResolved, NotApplicable, BlockedByErasure) as error:
        return [_describe_outcome(principal, BulkOutcome(conflict_id, error), now=now)]
    return [DecisionNotice(conflict_id)]


def read_typed(form: Mapping[str, str]) -> tuple[str, str]:
    """Return the text and the value that the form holds. Raise NotApplicable."""
    content, value = normalise_newlines(form.get("content", "")), form.get("value", "").strip()
    good = 0 < len(content) <= CONTENT_LIMIT and "\0" not in content + form.get("note", "")
    if not good or (value and not (len(value) <= VALUE_LIMIT and says_something(value) and "\0" not in value)):
        raise NotApplicable("a text of 1 to 2000 characters and a value are needed")
    return content, value


def too_many_text(seen: Sequence[tuple[uuid.UUID, int]]) -> DecisionNotice:
    """Return what to tell whoever decides more than the room takes in one go."""
    return DecisionNotice(
        seen[0][0], Refusal("This is too much at once", f"{len(seen)} conflicts; {AT_ONCE} are the most.")
    )


UNTITLED: dict[type[NovaError], str] = {NotFound: "It is gone", NotPermitted: "You may not settle this"}


def _describe_outcome(principal: Principal, outcome: BulkOutcome, *, now: datetime.datetime) -> DecisionNotice:
    error = outcome.refused
    if error is None:
        return DecisionNotice(outcome.conflict_id)
    title = error.title or UNTITLED[type(error)]
    if isinstance(error, AlreadyResolved):
        detail = _who_was_first(principal, outcome.conflict_id, now=now)
    else:
        detail = "" if isinstance(error, NotFound) else error_sentence(str(error))
    return DecisionNotice(outcome.conflict_id, Refusal(title, detail))


def _who_was_first(principal: Principal, conflict_id: uuid.UUID, *, now: datetime.datetime) -> str:
    """Such as: alice rejected this 8 s ago. Nothing was overwritten."""
    with access.enter(principal, why="console"):
        row = visible_conflict(principal, conflict_id)
        names = names_of(principal, [row.resolved_by])
    did = OUTCOMES.get(row.resolution, "") + (" of" if row.resolution == Resolution.KEEP_BOTH else "")
    if row.resolved_at is None or not did:
        return "There is nothing left to decide."
    return already_decided(names.get(row.resolved_by, "Somebody"), did, row.resolved_at, now)


def already_decided(who: str, did: str, at: datetime.datetime, now: datetime.datetime) -> str:
    """Return what to tell who comes second."""
    seconds = int((now - at).total_seconds())
    ago = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
    return f"{who} {did} this {ago} ago. Nothing was overwritten."
