"""Claim drafts: what a newcomer says, before it is a row."""

import datetime
import uuid
from dataclasses import dataclass, replace
from typing import Self

from memories.models import Claim
from memories.models.enums import ClaimScope


@dataclass(frozen=True, slots=True)
class ClaimDraft:
    """A claim as asked for. `exclusive` None leaves it to the predicate's rule; `authority` None is the fragment's."""

    subject: str
    predicate: str
    value: str
    exclusive: bool | None = None
    scope: str = ClaimScope.GLOBAL
    session_id: str = ""
    valid_from: datetime.datetime | None = None
    valid_until: datetime.datetime | None = None
    authority: int | None = None
    # Which claim of its fragment it is, where it is stored.
    position: int | None = None
    # Where the text says it, when it was read out of the text.
    span: tuple[int, int] | None = None
    # What became of it by itself, and through whom; not heard again then.
    verdict: str = ""
    superseded_by: uuid.UUID | None = None

    @classmethod
    def of(cls, claim: Claim) -> Self:
        """Return what a stored claim says, and what became of it."""
        return cls(
            claim.subject,
            claim.predicate,
            claim.value,
            exclusive=claim.exclusive,
            scope=claim.scope,
            session_id=claim.session_id,
            valid_from=claim.valid_from,
            valid_until=claim.valid_until,
            authority=claim.authority,
            position=claim.position,
            span=None if claim.span_start is None or claim.span_end is None else (claim.span_start, claim.span_end),
            verdict=claim.verdict,
            superseded_by=claim.superseded_by_id,
        )

    @property
    def says(self) -> Self:
        """It, with nothing but what it says."""
        return replace(self, position=None, span=None, verdict="", superseded_by=None)

    @property
    def words(self) -> tuple[str, ...]:
        """Return what it says, of whichever period, and how far it is believed left out."""
        return self.subject, self.predicate, self.value, self.scope, self.session_id


@dataclass(frozen=True, slots=True)
class Statement:
    """What a free text was read to say; it claims nothing, but may contradict what stands.

    Said not to be so (`negated`) by who may say it (`retracts`), it ends what stands: "I no longer live in Oslo".
    """

    subject: str
    predicate: str
    value: str
    negated: bool = False
    retracts: bool = False
