"""Claims on their way in: the row of a draft, and the assertion that it is to the gate."""

import datetime
from dataclasses import replace

from conflicts.authority import USER_RANK
from conflicts.claim_drafts import ClaimDraft
from conflicts.gate import Assertion, Period
from conflicts.keys import Naming
from memories.models import Claim, Fragment
from memories.models.enums import SourceClass


def claim_of(
    draft: ClaimDraft, fragment: Fragment, *, naming: Naming, now: datetime.datetime, position: int = 0
) -> Claim:
    """Return the row of a claim, named by its namespace's rules; never of more authority than its fragment."""
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


def assertion_from(claim: Claim) -> Assertion:
    """Return a claim as the gate sees it; its fragment has to be at hand."""
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
        attested=claim.authority == USER_RANK and claim.fragment.source == SourceClass.USER_EXPLICIT,
        said_at=claim.fragment.created_at,
        claim_id=claim.id,
    )


def free_assertion(fragment: Fragment, value: bytes, *, now: datetime.datetime) -> Assertion:
    """Return what a free text says, from now on."""
    attested = fragment.authority == USER_RANK and fragment.source == SourceClass.USER_EXPLICIT
    assertion = Assertion(fragment.id, fragment.owner_id, fragment.authority, value, period=Period(now, None))
    return replace(assertion, attested=attested, said_at=fragment.created_at)
