"""How full a project and its tiers are: .70 warns, .80 evicts down to .75, .95 down to .70."""

import math
import threading
import time
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count

from memories import access
from memories.access import Principal
from memories.models import EmbeddingModel, Fragment
from memories.models.enums import CapacityStatus, EvictionReason, Tier
from memories.upkeep.thresholds import Thresholds, thresholds_of

WARNING, AGGRESSIVE = settings.EVICTION["warning"], settings.EVICTION["aggressive"]
AFTER_AGGRESSIVE: float = settings.EVICTION["aggressive_target"]
INSTALLATION = Thresholds()
ALL = "all"
PER_VECTOR, PER_DIMENSION = 8, 2  # octets of half precision


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many fragments a project or a tier (`place`) holds of how many it may; a `limit` of 0 is none."""

    place: str
    fragments: int
    limit: int
    own: Thresholds = INSTALLATION

    @classmethod
    def of(cls, fragments: int, own: Thresholds) -> "Capacity":
        """Return how full a project is that holds so many fragments."""
        return cls(ALL, fragments, own.capacity, own)

    @property
    def vectors(self) -> int:
        """Octets of the vectors of so many fragments."""
        return self.fragments * vector_octets()

    @property
    def ratio(self) -> float:
        """Fragments / limit, 0 without a limit; above 1 when more are held than may be."""
        return self.fragments / self.limit if self.limit else 0.0

    @property
    def status(self) -> CapacityStatus:
        """What the ratio asks for."""
        steps = (
            (AGGRESSIVE, CapacityStatus.AGGRESSIVE_EVICTION_NEEDED),
            (self.own.eviction_start, CapacityStatus.EVICTION_NEEDED),
            (min(WARNING, self.own.eviction_start), CapacityStatus.WARNING),
        )
        return next((status for step, status in steps if self.ratio >= step), CapacityStatus.NORMAL)

    def excess(self, *, target: float | None = None) -> tuple[int, EvictionReason]:
        """Return how many fragments have to go, and why; with a `target` ratio down to that, whatever the status."""
        aggressive = self.status == CapacityStatus.AGGRESSIVE_EVICTION_NEEDED
        reason = EvictionReason.STORAGE_PRESSURE if aggressive else EvictionReason.LOW_WEIGHT
        if target is None:
            if not aggressive and self.status != CapacityStatus.EVICTION_NEEDED:
                return 0, reason
            target = AFTER_AGGRESSIVE if aggressive else self.own.eviction_target
        return (max(0, self.fragments - math.floor(target * self.limit)) if self.limit else 0), reason


def capacities(project_id: uuid.UUID, own: Thresholds | None = None) -> dict[str, Capacity]:
    """Of the whole project (`all`) and of each tier, counted now; by its own thresholds, or these."""
    own = own or thresholds_of(project_id)
    rows = Fragment.objects.within(project_id).order_by().values_list("tier").annotate(n=Count("id"))
    counts = dict.fromkeys(Tier.values, 0) | dict(rows)
    tiers = {tier: Capacity(tier, number, settings.CAPACITY[tier], own) for tier, number in counts.items()}
    return {ALL: Capacity.of(sum(counts.values()), own), **tiers}


def vector_octets() -> int:
    """Octets of one fragment's vectors: it has, or waits for, one of each live model."""
    return sum(PER_DIMENSION * model.dim + PER_VECTOR for model in EmbeddingModel.objects.live())


RECOUNT = 300.0  # seconds; counting two million rows is not for every write


@dataclass(slots=True)
class _Count:
    at: float
    fragments: int
    own: Thresholds


_counts: dict[uuid.UUID, _Count] = {}
_lock = threading.Lock()


def after_storing(principal: Principal, number: int) -> Capacity:
    """How full the project is once so many more were stored: a count now and then, and this process's stores since."""
    with _lock:
        known = _counts.get(principal.project_id)
        if known and time.monotonic() - known.at < RECOUNT:
            known.fragments += number
            return Capacity.of(known.fragments, known.own)
    with access.enter(principal, why="count"):
        counted = Fragment.objects.within(principal.project_id).count()
        own = thresholds_of(principal.project_id)
    with _lock:
        _counts[principal.project_id] = _Count(time.monotonic(), counted, own)
    return Capacity.of(counted, own)
