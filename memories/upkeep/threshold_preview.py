"""What thresholds would do now to the memories of a namespace; nothing is changed."""

import datetime
from dataclasses import dataclass

from memories import access
from memories.access import Principal
from memories.models import Fragment, Namespace
from memories.upkeep import consolidation, lifecycle
from memories.upkeep.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class ThresholdPreview:
    """How many of the memories of a namespace (`total`) would go which way; `evicted` are the project's."""

    total: int
    archived: int
    cooled: int
    shortened: int
    evicted: int


def preview_thresholds(
    principal: Principal, namespace: Namespace, wanted: Thresholds, *, now: datetime.datetime
) -> ThresholdPreview:
    """Return what the next consolidation, tiering, compaction and eviction would find to do."""
    with access.enter(principal, why="preview"):
        archived = consolidation.count_fading(namespace, wanted, now=now)
        cooled, shortened, evicted = lifecycle.count_due(namespace, wanted, now=now)
        total = Fragment.objects.within(principal.project_id).filter(namespace=namespace).count()
    return ThresholdPreview(total, archived, cooled, shortened, evicted)
