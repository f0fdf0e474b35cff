"""Conflict filter: claims of one key that can't both be true, and which of them an answer shows.

Of values that exclude each other it shows one (docs/spec.md §6): the rule is that of `conflicts.nearness`.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from conflicts.nearness import Contender, outdone
from conflicts.rulings import with_rank
from memories.models import Claim
from memories.models.enums import Status


@dataclass(frozen=True, slots=True)
class Rivalry:
    """By fragment the keys that it claims, and those under which its claim gives way to another's."""

    claimed: Mapping[uuid.UUID, set[bytes]]
    lost: Mapping[uuid.UUID, set[bytes]]

    @property
    def outdone(self) -> set[uuid.UUID]:
        """Those of which no claim is left."""
        return {which for which, keys in self.lost.items() if keys == self.claimed[which]}


def rivalry(
    ids: Iterable[uuid.UUID],
    *,
    project_id: uuid.UUID,
    places: Mapping[uuid.UUID, int],
    nearest: Collection[uuid.UUID] = (),
) -> Rivalry:
    """Return which claims of hits give way to those of other hits."""
    rows = Claim.objects.within(project_id).filter(status=Status.ACTIVE, fragment__in=list(ids))
    claims = [Contender.of(claim) for claim in with_rank(rows.select_related("fragment"))]
    yielding = {claim.assertion.id for claim in outdone(claims, places=places, nearest=nearest)}
    claimed, standing = defaultdict[uuid.UUID, set[bytes]](set), defaultdict[uuid.UUID, set[bytes]](set)
    for claim in claims:
        claimed[claim.assertion.fragment_id].add(claim.key)
        if claim.assertion.id not in yielding:
            standing[claim.assertion.fragment_id].add(claim.key)
    lost = {which: keys - standing[which] for which, keys in claimed.items()}
    return Rivalry(claimed, {which: keys for which, keys in lost.items() if keys})
