"""Nearness: of claims of one key in several scopes, and of a session, which one is believed (docs/spec.md §2.2, §6).

Inside a namespace the gate sees to it that one value stands. Whoever reads several of them, and a session besides, is
shown of values that exclude each other one.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from conflicts.authority import may_protect
from conflicts.claims import assertion_from
from conflicts.gate import Assertion, why_not_replaced

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
class Contender:
    """A claim beside those of other scopes: where it stands, of which key, and what the gate sees of it."""

    namespace_id: uuid.UUID
    key: bytes
    assertion: Assertion

    @classmethod
    def of(cls, claim: Any) -> Self:
        """Return a claim that `with_rank` read, with its fragment."""
        assertion = replace(assertion_from(claim), ruling=claim.ruled)
        return cls(claim.namespace_id, bytes(claim.key_digest), assertion)

    @property
    def rank(self) -> int:
        """How far it may be believed, the ruling on it counted."""
        return self.assertion.rank

    @property
    def ruled(self) -> int:
        """The authority of the ruling that chose it; 0 without one."""
        return self.assertion.ruling


def outdone(
    claims: Iterable[Contender], *, places: Mapping[uuid.UUID, int], nearest: Collection[uuid.UUID] = ()
) -> list[Contender]:
    """Return the claims that give way to others of their keys.

    Of lasting claims the first by `nearest_first` stand; what several users say of themselves is no rivalry. A
    session's claim stands when the gate would let it replace the lasting one: nobody weaker hides in a session what a
    stronger one said.
    """
    rivals = defaultdict[Any, list[Contender]](list)
    for claim in claims:
        # Scopes that have no rank are of all users, each of which speaks of themselves.
        rivals[claim.key, None if claim.namespace_id in places else claim.namespace_id].append(claim)
    found = []
    for group in rivals.values():
        shown = {claim.assertion.id for claim in _shown(nearest_first(group, places=places, nearest=nearest))}
        found += [claim for claim in group if claim.assertion.id not in shown]
    return found


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


def _shown(claims: Sequence[Contender]) -> list[Contender]:
    """Return the claims of a key that stand beside each other; the strongest come first."""
    lasting = _compatible([claim for claim in claims if not claim.assertion.session_id])
    here = _compatible([claim for claim in claims if claim.assertion.session_id])
    rivals = [(own, one) for own in here for one in lasting if own.assertion.excludes(one.assertion)]
    yielding = [own if why_not_replaced(own.assertion, one.assertion) else one for own, one in rivals]
    return [claim for claim in (*lasting, *here) if claim not in yielding]


def _compatible(claims: Sequence[Contender]) -> list[Contender]:
    """Return each unless it excludes a stronger one of another namespace; inside a namespace a person kept both."""
    shown: list[Contender] = []
    for claim in claims:
        others = (other for other in shown if claim.namespace_id != other.namespace_id)
        if not any(claim.assertion.excludes(other.assertion) for other in others):
            shown.append(claim)
    return shown
