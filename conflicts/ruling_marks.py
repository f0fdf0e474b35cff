"""Ruling marks: which rulings were in force on what a memory says, and until when (docs/spec.md §4.5)."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q

from conflicts.models import Ruling
from conflicts.rulings import names_of_deciders
from memories.models import Claim, Fragment


class RulingVerb(StrEnum):
    """What a ruling did with a value."""

    CHOSEN = "chosen"
    RULED_OUT = "ruled_out"


@dataclass(frozen=True, slots=True)
class RulingMark:
    """A ruling as one value sees it: whether it was chosen, by whom, and when another replaced it (None: not yet)."""

    ruling_id: uuid.UUID
    conflict_id: uuid.UUID | None
    decision: RulingVerb
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
    """What rulings are looked up for: a value of a key where it is claimed; of a free text the memory."""

    namespace_id: uuid.UUID
    session_id: str = ""
    key_digest: bytes = b""
    value_digest: bytes = b""
    fragment_id: uuid.UUID | None = None

    def decision_of(self, ruling: Ruling) -> RulingVerb | None:
        """Return what a ruling did with it, None for nothing."""
        if self.fragment_id:
            return _decision(self.fragment_id, ruling.chosen_fragments, ruling.ruled_out_fragments)
        namespace = ruling.namespace_id, ruling.session_id, bytes(ruling.key_digest)
        if namespace != (self.namespace_id, self.session_id, self.key_digest):
            return None
        return _decision(self.value_digest.hex(), ruling.chosen, ruling.ruled_out)


def _decision(decision: object, chosen: Collection[object], ruled_out: Collection[object]) -> RulingVerb | None:
    return RulingVerb.CHOSEN if decision in chosen else RulingVerb.RULED_OUT if decision in ruled_out else None


def ruling_marks(project_id: uuid.UUID, subjects: Sequence[Subject]) -> Mapping[Subject, list[RulingMark]]:
    """Return the marks by subject, oldest first, replaced ones among them. Two queries."""
    found: dict[Subject, list[RulingMark]] = {subject: [] for subject in subjects}
    if not found:
        return found
    rows = Ruling.objects.within(project_id).filter(_about(subjects)).select_related("replaced_by")
    rulings = list(rows.order_by("decided_at", "id"))
    names = names_of_deciders(project_id, rulings)
    for subject, marks in found.items():
        pairs = [(row, subject.decision_of(row)) for row in rulings]
        marks += [_mark(row, decision, names) for row, decision in pairs if decision]
    return found


def ruling_marks_of(fragment: Fragment) -> list[RulingMark]:
    """Return what was ever ruled on a memory, on its text or on what it claims, oldest first."""
    claims = Claim.objects.by_fragment(fragment.project_id, [fragment.id]).get(fragment.id, [])
    namespace = fragment.namespace_id
    subjects = [Subject(namespace, c.session_id, bytes(c.key_digest), bytes(c.value_digest)) for c in claims]
    found = ruling_marks(fragment.project_id, [*subjects, Subject(namespace, fragment_id=fragment.id)])
    once = {mark.ruling_id: mark for marks in found.values() for mark in marks}
    return sorted(once.values(), key=lambda mark: (mark.at, mark.ruling_id))


def latest_mark(marks: Iterable[RulingMark], at: datetime.datetime | None = None) -> RulingMark | None:
    """Return the last of the marks that bound at a moment; None is now."""
    return next((mark for mark in reversed(list(marks)) if mark.is_in_force(at)), None)


def _about(subjects: Sequence[Subject]) -> Q:
    keys = {subject.key_digest for subject in subjects if subject.key_digest}
    about = Q(namespace__in={subject.namespace_id for subject in subjects}, key_digest__in=keys)
    ids = [subject.fragment_id for subject in subjects if subject.fragment_id]
    if ids:
        about |= Q(chosen_fragments__overlap=ids) | Q(ruled_out_fragments__overlap=ids)
    return about


def _mark(row: Ruling, decision: RulingVerb, names: Mapping[uuid.UUID, str]) -> RulingMark:
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
