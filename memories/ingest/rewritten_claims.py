"""Rewritten claims: what a memory claims once its text is another one, and nobody named its claims."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conflicts.authority import SOURCE_RANK
from conflicts.free_text import agrees, standing_of
from conflicts.keys import Naming, canonical_key, naming
from conflicts.public import ClaimDraft
from memories.extraction import (
    FROM_THE_USER,
    Extracted,
    Reading,
    Said,
    amended,
    carries_material,
    is_amendment,
    read_text,
)
from memories.models import Claim, Fragment
from memories.models.claim import MOST_CLAIMS
from memories.models.enums import MATERIAL, ClaimScope, SourceClass, SourceType


def placed(claims: Sequence[ClaimDraft], content: str, extra: Mapping[str, Any]) -> list[ClaimDraft]:
    """Return claims that somebody named for a text, those that come out of one with their places in this one."""
    places: dict[tuple[str, str, str], tuple[int, int]] = {}
    if any(claim.span for claim in claims):
        places = {_words(claim): claim.span for claim in read_text(content, extra).claims}
    return [replace(claim, span=places.get(_words(claim))) if claim.span else claim for claim in claims]


def reread(
    fragment: Fragment, claims: Sequence[ClaimDraft], content: str, extra: Mapping[str, Any], *, former: str
) -> list[ClaimDraft]:
    """Return what a memory claims with this text, of what it claimed with its former one.

    What was read, which has a place in the text, is read anew; what a caller named stays, unless the new text states
    another value of a key that has only one: that is believed as what was named. Where nothing was claimed nothing is
    read.
    """
    if not claims:
        return []
    read = [claim for claim in claims if claim.span]
    before = [Said(claim.subject, claim.predicate) for claim in read]
    speaker = _speaker(fragment, read, before, former)
    anew = _read(fragment, content, extra, before, speaker).claims_for(fragment)
    pasted = _is_pasted(fragment, content)
    if pasted:
        lesser = SOURCE_RANK[SourceClass.USER_IMPLICIT]
        anew = [replace(claim, authority=min(lesser, claim.authority or lesser)) for claim in anew]
    named = [claim for claim in claims if not claim.span]
    stated = {_words(claim) for claim in _read(fragment, former, extra, before, speaker).claims_for(fragment)}
    news = [claim for claim in anew if _words(claim) not in stated]
    replaced = _replaced(fragment, named, news) if named and news else {}
    kept = [claim for claim in named if claim not in replaced]
    found = anew if read else [claim for claim in anew if claim in replaced.values()]
    heirs = (
        {} if pasted or extra.get(MATERIAL) else {_words(other): claim.authority for claim, other in replaced.items()}
    )
    found = [replace(one, authority=heirs.get(_words(one), one.authority)) for one in found]
    return [*kept, *(_as_before(fragment, claim, read) for claim in found)][:MOST_CLAIMS]


def _read(
    fragment: Fragment, content: str, extra: Mapping[str, Any], before: Sequence[Said], speaker: str | None
) -> Reading:
    """Return what is read in a text of this fragment; what only amends amends what was read there `before`."""
    reading = read_text(content, extra, speaker=speaker)
    own = fragment.source in FROM_THE_USER and not extra.get(MATERIAL)
    if reading.claims or not own or not is_amendment(content):
        return reading
    return read_text(content, extra, read_before=amended(content, before, speaker=speaker))


def _speaker(fragment: Fragment, read: Sequence[ClaimDraft], before: Sequence[Said], former: str) -> str | None:
    """Return who "I" is in a memory's text: with whom most of what was read in it is read again; None is the user."""
    known = {_words(claim) for claim in read}

    def told(speaker: str | None) -> int:
        found = _read(fragment, former, {}, before, speaker).claims_for(fragment)
        return len(known & {_words(claim) for claim in found})

    if told(None) == len(known):
        return None
    return max([None, *sorted({claim.subject for claim in read})], key=told)


def _words(claim: ClaimDraft | Extracted) -> tuple[str, str, str]:
    return canonical_key(claim.subject), canonical_key(claim.predicate), canonical_key(claim.value)


def _is_pasted(fragment: Fragment, content: str) -> bool:
    """Return whether a text that takes the place of a user's attested turn would not have been attested."""
    attested = fragment.source == SourceClass.USER_EXPLICIT and fragment.source_type == SourceType.CONVERSATION
    return attested and carries_material(content)


def _as_before(fragment: Fragment, claim: ClaimDraft, read: Sequence[ClaimDraft]) -> ClaimDraft:
    """Return a claim with what became of it, where it was read before and is believed as much."""
    authority = fragment.authority if claim.authority is None else min(claim.authority, fragment.authority)
    for one in read:
        if _words(one) == _words(claim) and one.authority == authority:
            return replace(one, subject=claim.subject, predicate=claim.predicate, value=claim.value, span=claim.span)
    return claim


def _replaced(
    fragment: Fragment, named: Sequence[ClaimDraft], news: Sequence[ClaimDraft]
) -> dict[ClaimDraft, ClaimDraft]:
    """Return the named claims of lasting keys with one value whose place what was read takes, and what that is."""
    names = naming(fragment.project_id, [fragment.namespace_id])[fragment.namespace_id]
    return {
        claim: other
        for claim in named
        if claim.scope == ClaimScope.GLOBAL and not claim.valid_until
        if names.exclusive(claim.predicate, said_exclusive=False)
        for other in reversed(news)  # of two values the first one counts
        if _is_another_value(claim, other, names)
    }


def _is_another_value(claim: ClaimDraft, other: ClaimDraft, names: Naming) -> bool:
    if names.key(claim.subject, claim.predicate).both != names.key(other.subject, other.predicate).both:
        return False
    same = names.value(claim.predicate, claim.value) == names.value(other.predicate, other.value)
    standing = Claim(subject=claim.subject, predicate=claim.predicate, value=claim.value)
    return not same and not agrees(other.value, standing_of(standing, names))
