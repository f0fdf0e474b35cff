"""Communities: memories that are more like one another than like others. Pure."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

Group = list[uuid.UUID]
MOST = 50  # members: of what hundreds have in common nobody can say what it is about


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two memories and how alike they are (cosine)."""

    one: uuid.UUID
    other: uuid.UUID
    cosine: float


def find_communities(pairs: Iterable[SimilarPair], *, most: int = MOST) -> list[Group]:
    """Return groups of at most `most` members, each sorted, by their first: the likest pairs come together first.

    Single linkage (Kruskal) with a bound on the size, so that no chain of neighbours joins everything.
    """
    above: dict[uuid.UUID, uuid.UUID] = {}
    size: dict[uuid.UUID, int] = {}

    def root(one: uuid.UUID) -> uuid.UUID:
        if one not in above:
            above[one], size[one] = one, 1
        while above[one] != one:
            above[one] = one = above[above[one]]
        return one

    for pair in sorted(pairs, key=lambda pair: (-pair.cosine, pair.one, pair.other)):
        first, second = sorted((root(pair.one), root(pair.other)))
        if first != second and size[first] + size[second] <= most:
            above[second] = first
            size[first] += size[second]
    groups: dict[uuid.UUID, Group] = {}
    for one in sorted(above):
        groups.setdefault(root(one), []).append(one)
    return list(groups.values())
