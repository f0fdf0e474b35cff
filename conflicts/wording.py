"""Wording: what claims said in words, at a time of which row history keeps digests only."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from conflicts.naming import Naming
from memories.models import Claim, Revision


@dataclass(frozen=True, slots=True)
class Words:
    """What a claim says or said, with the digests of its key and value."""

    subject: str
    predicate: str
    value: str
    key: bytes
    value_digest: bytes

    @classmethod
    def of_claim(cls, claim: Claim) -> Self:
        """What it says now."""
        return cls(claim.subject, claim.predicate, claim.value, bytes(claim.key_digest), bytes(claim.value_digest))

    @classmethod
    def of_revision(cls, kept: Mapping[str, str], names: Naming) -> Self:
        """What it said before it was changed."""
        key = names.key(kept["subject"], kept["predicate"]).both
        digest = bytes.fromhex(kept["value_digest"])
        return cls(kept["subject"], kept["predicate"], kept["value"], key, digest)


def wordings(
    project_id: uuid.UUID, fragments: Sequence[Any], names: Mapping[uuid.UUID, Naming]
) -> dict[uuid.UUID, list[Words]]:
    """All that the claims of these fragments say and said, the newest first, by fragment."""
    places = {row.id: names[row.namespace_id] for row in fragments}
    found = {row.id: [Words.of_claim(row.claim)] if hasattr(row, "claim") else [] for row in fragments}
    revisions = Revision.objects.within(project_id).filter(fragment__in=list(places), claim__isnull=False)
    for revision in revisions.order_by("-revision"):
        found[revision.fragment_id].append(Words.of_revision(revision.claim, places[revision.fragment_id]))
    return found


def worded(event: Any, words: Iterable[Words]) -> Words | None:
    """The words of an event: those whose digests agree best, for digests follow the rules of predicates, which change.

    None when nobody kept any.
    """

    def agreement(said: Words) -> tuple[bool, bool]:
        return said.value_digest == bytes(event.value_digest), said.key == bytes(event.key_digest)

    return max(words, key=agreement, default=None)
