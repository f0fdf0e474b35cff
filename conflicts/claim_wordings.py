"""Claim wordings: what claims said in words, at a time of which row history keeps digests only."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from conflicts.keys import Naming
from memories.models import Claim, Revision


@dataclass(frozen=True, slots=True)
class Words:
    """What a claim says or said, with the digests of its key and value."""

    subject: str
    predicate: str
    value: str
    key: bytes
    value_digest: bytes
    # Of the claim that says so now.
    claim_id: uuid.UUID | None = None

    @classmethod
    def of_claim(cls, claim: Claim) -> Self:
        """Return what it says now."""
        digests = bytes(claim.key_digest), bytes(claim.value_digest)
        return cls(claim.subject, claim.predicate, claim.value, *digests, claim_id=claim.id)

    @classmethod
    def of_revision(cls, kept: Mapping[str, str], names: Naming) -> Self:
        """Return what it said before it was changed."""
        key = names.key(kept["subject"], kept["predicate"]).both
        digest = bytes.fromhex(kept["value_digest"])
        return cls(kept["subject"], kept["predicate"], kept["value"], key, digest)


def wordings(
    project_id: uuid.UUID, fragments: Sequence[Any], names: Mapping[uuid.UUID, Naming]
) -> dict[uuid.UUID, list[Words]]:
    """Return all that the claims of these fragments say and said, the newest first, by fragment."""
    places = {row.id: names[row.namespace_id] for row in fragments}
    claims = Claim.objects.by_fragment(project_id, places)
    found = {row.id: [Words.of_claim(claim) for claim in claims.get(row.id, [])] for row in fragments}
    revisions = Revision.objects.within(project_id).filter(fragment__in=list(places), claim__isnull=False)
    for revision in revisions.order_by("-revision"):
        names_there = places[revision.fragment_id]
        for kept in (revision.claim, *revision.claim.get("others", ())):
            found[revision.fragment_id].append(Words.of_revision(kept, names_there))
    return found


def words_of_event(event: Any, words: Iterable[Words]) -> Words | None:
    """The words of an event: those whose digests agree best, for digests follow the rules of predicates, which change.

    None when nobody kept any.
    """

    def agreement(worded: Words) -> tuple[bool, bool, bool]:
        same = worded.value_digest == bytes(event.value_digest), worded.key == bytes(event.key_digest)
        return *same, worded.claim_id == event.pgh_obj_id

    return max(words, key=agreement, default=None)
