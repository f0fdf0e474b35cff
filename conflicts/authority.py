"""Authority: how far a writer may be believed. Fixed when written; nothing later raises it (docs/spec.md §4)."""

import uuid
from collections.abc import Iterable

from memories.access import NotPermitted, Principal
from memories.errors import NovaError
from memories.models import ApiKey, Owner
from memories.models.enums import OwnerKind, SourceClass
from memories.models.scoring import MOST_OF_THE_WEAK, SOURCE_WEIGHT

# 6 for the strongest class down to 1 for the weakest.
SOURCE_RANK = {SourceClass(source): rank for rank, source in enumerate(reversed(SOURCE_WEIGHT), start=1)}
OF_THE_USER = {SourceClass.USER_EXPLICIT, SourceClass.USER_IMPLICIT}
USER_RANK = SOURCE_RANK[SourceClass.USER_EXPLICIT]


def rank_of(principal: Principal) -> int:
    """Return how far whoever acts may be believed."""
    return SOURCE_RANK[SourceClass(principal.ceiling)]


def ranks_of(project_id: uuid.UUID, owner_ids: Iterable[uuid.UUID | None]) -> dict[uuid.UUID, int]:
    """Return how far owners may be believed: as the strongest key that each ever had, a person who logs in most."""
    owners, known = Owner.objects.within(project_id).filter(id__in={i for i in owner_ids if i}), dict[uuid.UUID, int]()
    people = owners.filter(kind=OwnerKind.PERSON, user_id__isnull=False).values_list("id", flat=True)
    keys = ApiKey.objects.within(project_id).filter(owner__in=owners).values_list("owner_id", "grant__ceiling")
    for owner_id, ceiling in [*keys, *((i, SourceClass.USER_EXPLICIT) for i in people)]:
        known[owner_id] = max(known.get(owner_id, 0), SOURCE_RANK[SourceClass(ceiling)])
    return known


def refuse_below(principal: Principal, authorities: Iterable[int | None], *, what: str) -> None:
    """Raise NotPermitted when any of these is above the principal's ceiling; never for the operator."""
    if not principal.is_operator and max((rank or 0 for rank in authorities), default=0) > rank_of(principal):
        raise NotPermitted(f"{what} is believed more than this key's ceiling")


class CeilingExceeded(NovaError):
    """The writer asked for a source class above what its grant allows."""

    status = 403
    code = "authority_ceiling"

    def __init__(self, *, source: str, ceiling: str) -> None:
        super().__init__(f"source {source} is above this key's ceiling, {ceiling}")
        self.source, self.ceiling = source, ceiling


def granted_authority(*, source: str, ceiling: str, parents: Iterable[int] = ()) -> int:
    """min(source's rank, ceiling's rank, every parent's authority), 1..6. Raise CeilingExceeded."""
    rank, highest = SOURCE_RANK[SourceClass(source)], SOURCE_RANK[SourceClass(ceiling)]
    if rank > highest:
        raise CeilingExceeded(source=source, ceiling=ceiling)
    return min([rank, *parents])


def lowered_source(*, source: str, ceiling: str) -> str:
    """`source`, or the strongest class that the ceiling allows instead: for defaults, which a caller did not ask for.

    What was not the user's word becomes none of theirs.
    """
    highest = min(SOURCE_RANK[SourceClass(source)], SOURCE_RANK[SourceClass(ceiling)])
    barred = set() if source in OF_THE_USER else OF_THE_USER
    return max((rank, one) for one, rank in SOURCE_RANK.items() if rank <= highest and one not in barred)[1]


def may_protect(rank: int) -> bool:
    """Return whether the word of a writer whose ceiling has that rank is enough to keep a memory from upkeep."""
    return rank >= SOURCE_RANK[SourceClass.USER_IMPLICIT]


def bounded_importance(importance: float, *, rank: int, standing: float = 0.0) -> float:
    """Return the importance that a writer may give; a weak one protects nothing that was not (`standing`) before."""
    return importance if may_protect(rank) else min(importance, max(MOST_OF_THE_WEAK, standing))
