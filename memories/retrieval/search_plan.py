"""Search plan: how the nearest vectors of a namespace are found. One pure function, a test per branch."""

from dataclasses import dataclass
from enum import StrEnum

# Up to here a scan of all vectors is fast enough and exact; above, a namespace has an index of its own.
CROSSOVER = 20_000
# An index is dropped only well below that, so that nobody builds and drops one in turns.
DROP_BELOW = 15_000
# So few fragments pass the filters that their vectors are fetched one by one.
FEW = 5_000


class SearchWay(StrEnum):
    """How vectors are searched."""

    NOTHING = "nothing"  # nothing passes
    SCAN = "scan"  # every vector of the namespace, exactly
    PICK = "pick"  # the vectors of the fragments that pass the filters, exactly
    INDEX = "index"  # the namespace's own HNSW index


@dataclass(frozen=True, slots=True)
class PlanGround:
    """What is known of a namespace before it is searched.

    `passing`: how many fragments pass the filters; None when there are none, or when many pass.
    """

    indexed: bool
    passing: int | None = None


def choose_search(ground: PlanGround) -> SearchWay:
    """Return the cheapest way that misses nothing: exact wherever no index stands, or where filters leave few."""
    if ground.passing == 0:
        return SearchWay.NOTHING
    if ground.passing is not None:
        return SearchWay.PICK
    return SearchWay.INDEX if ground.indexed else SearchWay.SCAN
