"""Stated claims: what a text was read to say, and which of it its fragment claims."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conflicts.authority import SOURCE_RANK
from conflicts.public import ClaimDraft, Statement
from memories.extraction.abstentions import OPPOSED, OPPOSITES, abstentions
from memories.extraction.claims import Extracted, extract
from memories.extraction.deeds import PASSING
from memories.models import Fragment
from memories.models.claim import MOST_CLAIMS
from memories.models.enums import MATERIAL, SourceClass
from memories.models.fragment import procedure_of

AGAIN = re.compile(r"\s(?:again|once more|now(?=\s*(?:[.!,;]|$)))", re.IGNORECASE)
TASTE_ENDS = re.compile(r"\s*(?:[.!]|$)|\s(?:any ?more|any longer)\b", re.IGNORECASE)  # at all times
# Which diets leave out a food.
EXCLUDING = {
    **dict.fromkeys(("meat", "chicken", "beef", "pork", "steak"), ("vegetarian", "vegan", "pescatarian")),
    **dict.fromkeys(("fish", "seafood"), ("vegetarian", "vegan")),
    **dict.fromkeys(("cheese", "eggs", "dairy", "milk", "butter", "honey"), ("vegan",)),
    **dict.fromkeys(("gluten", "bread", "wheat"), ("gluten-free",)),
}
FROM_THE_USER = {SourceClass.USER_EXPLICIT, SourceClass.USER_IMPLICIT}


def is_of_the_user(fragment: Fragment) -> bool:
    """Return whether the user wrote a text, and nothing of it may be somebody else's word."""
    return fragment.source in FROM_THE_USER and not fragment.extra.get(MATERIAL)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text states for certain, and the statements among them that become its fragment's claims."""

    statements: Sequence[Statement] = ()
    claims: Sequence[Extracted] = ()

    def statements_of(self, fragment: Fragment) -> list[Statement]:
        """Return the statements; only the user takes back what stands."""
        own = fragment.source in FROM_THE_USER
        return [replace(statement, retracts=statement.retracts and own) for statement in self.statements]

    def claims_for(self, fragment: Fragment) -> list[ClaimDraft]:
        """Return the claims; what the user said of themselves is believed as the fragment is, all else as an inference.

        They replace others only where the registry says that there is one value. What somebody says of themselves comes
        first: of two that exclude each other the first one counts.
        """
        first = sorted(self.claims, key=lambda statement: not statement.first_person)
        return [self._draft(statement, fragment) for statement in first[:MOST_CLAIMS]]

    def _draft(self, extracted: Extracted, fragment: Fragment) -> ClaimDraft:
        own = extracted.first_person and fragment.source in FROM_THE_USER
        return ClaimDraft(
            subject=extracted.subject,
            predicate=extracted.predicate,
            value=extracted.value,
            exclusive=False,
            authority=None if own else SOURCE_RANK[SourceClass.INFERENCE],
            span=extracted.span,
        )


NOTHING = Reading()


def read_text(
    content: str,
    extra: Mapping[str, Any],
    *,
    speaker: str | None = None,
    read_before: Sequence[Extracted] | None = None,
    claim: bool = True,
) -> Reading:
    """Return what a text and what stands beside it state; with `claim` also the claims that the text makes.

    `speaker` says who "I" is; `read_before` is what was read in it with all around it.
    """
    extracted = extract(content, speaker=speaker) if read_before is None else read_before
    found = [statement for statement in extracted if statement.certain]
    found = [*found, *abstentions(content, found)]
    claims = [statement for statement in found if not statement.negated and not statement.quoted]
    parts = [part for part in procedure_of(extra) if part not in content]
    beside = [statement for part in parts for statement in extract(part) if statement.certain]
    # What is denied in so many words is among what was found.
    resumed = _resumed(content, [one for one in claims if one in extracted]) if claim else ()
    return Reading(
        statements=[*resumed]
        + [
            Statement(
                statement.subject,
                statement.predicate,
                statement.value,
                statement.negated,
                claim and statement.negated and statement.first_person,
            )
            for statement in found
        ]
        + [
            Statement(statement.subject, statement.predicate, statement.value, statement.negated)
            for statement in beside
        ],
        claims=claims if claim else (),
    )


def _resumed(content: str, claims: Sequence[Extracted]) -> Iterator[Statement]:
    """Return what somebody took back who says of themselves that they like something, or eat something again."""
    for claim in claims:
        again = claim.predicate in OPPOSITES and AGAIN.match(content, claim.span[1])
        opposite = OPPOSITES[claim.predicate] if again else OPPOSED.get(claim.predicate)
        if opposite is None or not claim.first_person or not (again or TASTE_ENDS.match(content, claim.span[1])):
            continue
        yield Statement(claim.subject, opposite, claim.value, negated=True, retracts=True)
        for diet in EXCLUDING.get(claim.value.lower(), ()) if claim.predicate == "eats" else ():
            yield Statement(claim.subject, "diet", diet, negated=True, retracts=True)


def certain_claims(content: str, extra: Mapping[str, Any]) -> Sequence[Statement]:
    """What a stored memory's text, and what stands beside it, states for certain; it takes nothing back any more."""
    return read_text(content, extra, claim=False).statements


def restated_claims(fragment: Fragment) -> Reading:
    """What a stored text states; see `read_text`. In material nobody can say any more whose word a part of it is."""
    return restated(fragment.content, fragment.extra)


def restated(content: str, extra: Mapping[str, Any]) -> Reading:
    """Return what `restated_claims` does, for a text and what stands beside it."""
    extracted = [statement for statement in extract(content) if statement.predicate not in PASSING]
    if extra.get(MATERIAL):
        extracted = [replace(statement, first_person=False) for statement in extracted]
    return read_text(content, extra, read_before=extracted)
