"""Conflict filter: claims of one key that can't both be true, and which of them an answer shows.

Inside a namespace the gate sees to it that one value stands. An answer draws on several namespaces, and on a session
besides: of values that exclude each other it shows one (docs/spec.md §6).
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.authority import may_protect
from conflicts.public import exclude_each_other
from conflicts.rulings import with_rank
from memories.models import Claim
from memories.models.enums import Status

FOREIGN = 1000  # from here on namespaces of other agents


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
    """Return which claims of hits give way to those of other hits. `places` ranks their namespaces, 0 first.

    What the question's user said (in a scope of `nearest`) hides what is said for all, where it is no weaker than
    that or no less than `user_implicit`, and no ruling speaks for that with more; what several users say of
    themselves is no rivalry. Of other lasting claims those of the asked namespaces and the shared one go before other
    agents', then authority decides (that of a ruling too), then the order of the namespaces, then the newer. A
    session's claim is shown when the gate would let it replace the lasting one: nobody weaker hides in a session what
    a stronger one said.
    """
    rivals, claimed = defaultdict(list), defaultdict[uuid.UUID, set[bytes]](set)
    claims = Claim.objects.within(project_id).filter(status=Status.ACTIVE, fragment__in=list(ids))
    for claim in with_rank(claims.select_related("fragment")):
        # Scopes that have no rank are of all users, each of which speaks of themselves.
        apart = None if claim.namespace_id in places else claim.namespace_id
        rivals[bytes(claim.key_digest), apart].append(claim)
        claimed[claim.fragment_id].add(bytes(claim.key_digest))

    def strength(claim: Any) -> tuple[bool, bool, int, int, datetime.datetime, uuid.UUID]:
        namespace = places.get(claim.namespace_id, 0)
        near = claim.namespace_id in nearest and (may_protect(claim.rank) or claim.rank >= for_all)
        near = near and claim.rank >= ruled
        return near, namespace < FOREIGN, claim.rank, -namespace, claim.fragment.updated_at, claim.fragment_id

    lost = defaultdict[uuid.UUID, set[bytes]](set)
    for (key, _), group in rivals.items():
        for_all = max((claim.rank for claim in group if claim.namespace_id not in nearest), default=0)
        ruled = max((claim.ruled for claim in group if claim.namespace_id not in nearest), default=0)
        group.sort(key=strength, reverse=True)
        for fragment_id in {claim.fragment_id for claim in group} - {
            claim.fragment_id for claim in _shown_claims(group)
        }:
            lost[fragment_id].add(key)
    return Rivalry(claimed, lost)


def _shown_claims(group: Sequence[Claim]) -> list[Claim]:
    """Return the claims of a key that an answer shows; the strongest come first."""
    lasting = _compatible([claim for claim in group if not claim.session_id])
    here = _compatible([claim for claim in group if claim.session_id])
    return [
        *(one for one in lasting if not any(exclude_each_other(one, own) and _overrides(own, one) for own in here)),
        *(own for own in here if all(_overrides(own, one) or not exclude_each_other(one, own) for one in lasting)),
    ]


def _compatible(claims: Sequence[Claim]) -> list[Claim]:
    """Return each unless it excludes a stronger one of another namespace; inside a namespace a person kept both."""
    shown: list[Claim] = []
    for claim in claims:
        if not any(claim.namespace_id != other.namespace_id and exclude_each_other(claim, other) for other in shown):
            shown.append(claim)
    return shown


def _overrides(own: Any, lasting: Any) -> bool:
    if own.rank == lasting.rank:
        same_owner: bool = own.fragment.owner_id == lasting.fragment.owner_id
        return same_owner
    stronger: bool = own.rank > lasting.rank
    return stronger
