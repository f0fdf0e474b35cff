"""Claims on their way in: what a newcomer says, and the assertion that this is."""

import datetime
import uuid
from dataclasses import dataclass, replace
from typing import Self

from conflicts.authority import SOURCE_RANK
from conflicts.gate import Assertion, Period
from conflicts.keys import Naming
from memories.models import Claim, Fragment
from memories.models.enums import ClaimScope, SourceClass

USER = SOURCE_RANK[SourceClass.USER_EXPLICIT]


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
        """What a stored claim says, and what became of it."""
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


def claim_of(
    draft: ClaimDraft, fragment: Fragment, *, naming: Naming, now: datetime.datetime, position: int = 0
) -> Claim:
    """The row of a claim, named by its namespace's rules; never of more authority than its fragment."""
    key = naming.key(draft.subject, draft.predicate)
    authority = fragment.authority if draft.authority is None else min(draft.authority, fragment.authority)
    return Claim(
        fragment=fragment,
        position=position,
        project_id=fragment.project_id,
        namespace_id=fragment.namespace_id,
        subject=draft.subject,
        predicate=draft.predicate,
        value=draft.value,
        subject_digest=key.subject,
        predicate_digest=key.predicate,
        key_digest=key.both,
        value_digest=naming.value(draft.predicate, draft.value),
        exclusive=naming.exclusive(draft.predicate, draft.exclusive),
        scope=draft.scope,
        session_id=draft.session_id,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        authority=authority,
        last_seen_at=now,
        verdict=draft.verdict,
        superseded_by_id=draft.superseded_by,
        span_start=draft.span[0] if draft.span else None,
        span_end=draft.span[1] if draft.span else None,
        status=fragment.status,
    )


def assertion_of(claim: Claim) -> Assertion:
    """A claim as the gate sees it; its fragment has to be at hand."""
    return Assertion(
        fragment_id=claim.fragment_id,
        owner_id=claim.fragment.owner_id,
        authority=claim.authority,
        value=bytes(claim.value_digest),
        scope=claim.scope,
        session_id=claim.session_id,
        period=Period(claim.valid_from, claim.valid_until),
        exclusive=claim.exclusive,
        slot=claim.slot,
        keyed=bool(claim.fragment.key),
        attested=claim.authority == USER and claim.fragment.source == SourceClass.USER_EXPLICIT,
        claim_id=claim.id,
    )


def exclude_each_other(one: Claim, other: Claim) -> bool:
    """Whether two claims of one key can't both be the answer; their fragments have to be at hand."""
    return assertion_of(one).excludes(assertion_of(other))


def free_assertion(fragment: Fragment, value: bytes, *, now: datetime.datetime) -> Assertion:
    """What a free text says, from now on."""
    attested = fragment.authority == USER and fragment.source == SourceClass.USER_EXPLICIT
    assertion = Assertion(fragment.id, fragment.owner_id, fragment.authority, value, period=Period(now, None))
    return replace(assertion, attested=attested)
