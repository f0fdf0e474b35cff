"""Ruling marks: which rulings were in force on what a memory says, and until when (SPEC §18.2)."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Q

from conflicts.models import Ruling
from conflicts.rulings import names_of_deciders
from memories.models import Fragment
from memories.models.words import ClaimScope


class Verb(StrEnum):
    """What a ruling did with a value."""

    CHOSEN = "chosen"
    RULED_OUT = "ruled_out"


@dataclass(frozen=True, slots=True)
class RulingMark:
    """A ruling as one value sees it: whether it was chosen, by whom, and when another replaced it (None: not yet)."""

    ruling_id: uuid.UUID
    conflict_id: uuid.UUID | None
    decision: Verb
    authority: int
    by: str | None
    decided_by: uuid.UUID | None
    at: datetime.datetime
    until: datetime.datetime | None
    note: str

    def is_in_force(self, at: datetime.datetime | None) -> bool:
        """Return whether it bound at a moment; None is now."""
        return self.until is None if at is None else self.at <= at and (self.until is None or at < self.until)


@dataclass(frozen=True, slots=True)
class Subject:
    """What rulings are looked up for: a memory, and what it claims where it claims something."""

    fragment_id: uuid.UUID
    namespace_id: uuid.UUID
    session_id: str = ""
    key_digest: bytes = b""
    value_digest: bytes = b""

    def decision_of(self, ruling: Ruling) -> Verb | None:
        """Return what a ruling did with it, None for nothing."""
        chosen, ruled_out = ruling.chosen_fragments, ruling.ruled_out_fragments
        on_key = self.key_digest and bytes(ruling.key_digest) == self.key_digest
        if on_key and (ruling.namespace_id, ruling.session_id) == (self.namespace_id, self.session_id):
            chosen, ruled_out = [*chosen, *ruling.chosen], [*ruled_out, *ruling.ruled_out]
        said = {self.fragment_id, self.value_digest.hex()}
        if said & set(chosen):
            return Verb.CHOSEN
        return Verb.RULED_OUT if said & set(ruled_out) else None


def subject_of(fragment: Any, state: Any) -> Subject:
    """Return what a fragment with a claim, or an event of one, is looked up as."""
    session = fragment.claim.session_id if state.scope == ClaimScope.SESSION else ""
    return Subject(fragment.id, fragment.namespace_id, session, bytes(state.key_digest), bytes(state.value_digest))


def ruling_marks(project_id: uuid.UUID, subjects: Sequence[Subject]) -> Mapping[uuid.UUID, list[RulingMark]]:
    """Return the marks by memory, oldest first, replaced ones among them. Two queries."""
    if not subjects:
        return {}
    rows = Ruling.objects.within(project_id).filter(_about(subjects)).select_related("replaced_by")
    rulings = list(rows.order_by("decided_at", "id"))
    names = names_of_deciders(project_id, rulings)
    found: dict[uuid.UUID, list[RulingMark]] = defaultdict(list)
    for subject in subjects:
        for row in rulings:
            decision = subject.decision_of(row)
            if decision:
                found[subject.fragment_id].append(_mark(row, decision, names))
    return found


def marks_of(fragment: Fragment) -> list[RulingMark]:
    """Return what was ever ruled on a memory, on its text or on what it claims, oldest first."""
    claim = getattr(fragment, "claim", None)
    subject = subject_of(fragment, claim) if claim else Subject(fragment.id, fragment.namespace_id)
    return ruling_marks(fragment.project_id, [subject]).get(fragment.id, [])


def latest_mark(marks: Iterable[RulingMark], at: datetime.datetime | None = None) -> RulingMark | None:
    """Return the last of the marks that bound at a moment; None is now."""
    return next((mark for mark in reversed(list(marks)) if mark.is_in_force(at)), None)


def _about(subjects: Sequence[Subject]) -> Q:
    ids = [subject.fragment_id for subject in subjects]
    keys = {subject.key_digest for subject in subjects if subject.key_digest}
    on_key = Q(namespace__in={subject.namespace_id for subject in subjects}, key_digest__in=keys)
    return on_key | Q(chosen_fragments__overlap=ids) | Q(ruled_out_fragments__overlap=ids)


def _mark(row: Ruling, decision: Verb, names: Mapping[uuid.UUID, str]) -> RulingMark:
    return RulingMark(
        ruling_id=row.id,
        conflict_id=row.conflict_id,
        decision=decision,
        authority=row.authority,
        by=names.get(row.decided_by) if row.decided_by else None,
        decided_by=row.decided_by,
        at=row.decided_at,
        until=row.replaced_by.decided_at if row.replaced_by else None,
        note=row.note,
    )
