"""Rivals: claims of one key that can't both be true, and which of them an answer shows.

Inside a namespace the gate sees to it that one value stands. An answer draws on several namespaces, and on a session
besides: of values that exclude each other it shows one (SPEC §6).
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from conflicts.front import exclude_each_other
from memories.models import Claim, Namespace
from memories.models.words import Status
from memories.retrieval.questions import Reach


def outdone(
    ids: Iterable[uuid.UUID],
    *,
    namespaces: Sequence[Namespace],
    reach: Reach,
    shows: Callable[[Claim], bool],
) -> set[uuid.UUID]:
    """Those among the fragments whose claim gives way to another one that stands in the namespaces.

    Of lasting claims the one of most authority is shown, of equals that of the namespace that comes first, then the
    newer. A session's claim is shown instead when it has as much authority or the same owner: nobody weaker hides in a
    session what a stronger one said. `shows` tells whether a rival may be part of the answer at all.
    """
    if not namespaces:
        return set()
    claims = Claim.objects.within(namespaces[0].project_id).filter(status=Status.ACTIVE)
    keys = {bytes(key) for key in claims.filter(fragment__in=list(ids)).values_list("key_digest", flat=True)}
    if not keys:
        return set()
    place = {namespace.id: n for n, namespace in enumerate(namespaces)}
    rivals = defaultdict(list)
    rows = claims.filter(reach.conditions(), key_digest__in=keys, namespace__in=namespaces)
    for claim in rows.select_related("fragment__access"):
        if shows(claim):
            rivals[bytes(claim.key_digest)].append(claim)

    def strength(claim: Claim) -> tuple[int, int, datetime.datetime, uuid.UUID]:
        return claim.authority, -place[claim.namespace_id], claim.fragment.updated_at, claim.fragment_id

    hidden: set[uuid.UUID] = set()
    for group in rivals.values():
        group.sort(key=strength, reverse=True)
        hidden |= {claim.fragment_id for claim in group} - {claim.fragment_id for claim in _shown(group)}
    return hidden


def _shown(group: Sequence[Claim]) -> list[Claim]:
    """The claims of a key that an answer shows; the strongest come first."""
    lasting = _compatible([claim for claim in group if not claim.session_id])
    here = _compatible([claim for claim in group if claim.session_id])
    return [
        *(one for one in lasting if not any(exclude_each_other(one, own) and _overrides(own, one) for own in here)),
        *(own for own in here if all(_overrides(own, one) or not exclude_each_other(one, own) for one in lasting)),
    ]


def _compatible(claims: Sequence[Claim]) -> list[Claim]:
    """Each unless it excludes a stronger one of another namespace; inside a namespace a person kept both."""
    shown: list[Claim] = []
    for claim in claims:
        if not any(claim.namespace_id != other.namespace_id and exclude_each_other(claim, other) for other in shown):
            shown.append(claim)
    return shown


def _overrides(own: Claim, lasting: Claim) -> bool:
    return own.authority >= lasting.authority or own.fragment.owner_id == lasting.fragment.owner_id
