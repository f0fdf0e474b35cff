"""Conflict filter: claims of one key that can't both be true, and which of them an answer shows.

Inside a namespace the gate sees to it that one value stands. An answer draws on several namespaces, and on a session
besides: of values that exclude each other it shows one (docs/spec.md §6).
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from conflicts.authority import may_protect
from conflicts.public import exclude_each_other
from conflicts.rulings import with_rank
from memories.models import Claim
from memories.models.enums import Status

FOREIGN = 1000  # from here on namespaces of other agents


class Ranked(Protocol):
    """A claim: in which scope, how far it may be believed, the authority of the ruling that chose it (0: none)."""

    @property
    def namespace_id(self) -> uuid.UUID: ...
    @property
    def rank(self) -> int: ...
    @property
    def ruled(self) -> int: ...


OfKey = TypeVar("OfKey", bound=Ranked)


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
    """Return which claims of hits give way to those of other hits.

    Of lasting claims the first by `nearest_first` stand, of equals the newer; what several users say of themselves is
    no rivalry. A session's claim is shown when the gate would let it replace the lasting one: nobody weaker hides in a
    session what a stronger one said.
    """
    rivals, claimed = defaultdict[Any, list[Any]](list), defaultdict[uuid.UUID, set[bytes]](set)
    claims = Claim.objects.within(project_id).filter(status=Status.ACTIVE, fragment__in=list(ids))
    for claim in with_rank(claims.select_related("fragment")):
        # Scopes that have no rank are of all users, each of which speaks of themselves.
        apart = None if claim.namespace_id in places else claim.namespace_id
        rivals[bytes(claim.key_digest), apart].append(claim)
        claimed[claim.fragment_id].add(bytes(claim.key_digest))

    lost = defaultdict[uuid.UUID, set[bytes]](set)
    for (key, _), group in rivals.items():
        group.sort(key=lambda claim: (claim.fragment.updated_at, claim.fragment_id), reverse=True)
        shown = _shown_claims(nearest_first(group, places=places, nearest=nearest))
        for fragment_id in {claim.fragment_id for claim in group} - {claim.fragment_id for claim in shown}:
            lost[fragment_id].add(key)
    return Rivalry(claimed, lost)


def nearest_first(
    claims: Sequence[OfKey], *, places: Mapping[uuid.UUID, int], nearest: Collection[uuid.UUID]
) -> list[OfKey]:
    """Return claims of one key, those first that go before the others; equals as they come. `places` ranks namespaces.

    What a user said (in a scope of `nearest`) hides what is said for all, where it is no weaker than that or no less
    than `user_implicit`, and no ruling speaks for that with more. Of others those of the asked namespaces and the
    shared one go before other agents', then authority decides (that of a ruling too), then the order of the namespaces.
    """
    wider = [claim for claim in claims if claim.namespace_id not in nearest]
    for_all = max((claim.rank for claim in wider), default=0)
    ruled = max((claim.ruled for claim in wider), default=0)

    def strength(claim: OfKey) -> tuple[bool, bool, int, int]:
        namespace = places.get(claim.namespace_id, 0)
        near = claim.namespace_id in nearest and (may_protect(claim.rank) or claim.rank >= for_all)
        return near and claim.rank >= ruled, namespace < FOREIGN, claim.rank, -namespace

    return sorted(claims, key=strength, reverse=True)


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
