"""Reports: what a run did, or would do, in numbers. The same function tells of a plan and of its run."""

import datetime
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conflicts.reevaluation import Fate
from memories.models.enums import Status
from memories.upkeep.consolidation.plan_state import counts
from memories.upkeep.consolidation.steps import Phase, StepDraft, of_phase

RESOLVED = {Fate.WINS, Fate.REPEATS, Fate.OUTDATED, Fate.ANSWERED, Fate.RETURNS, Fate.BARRED}
LEAVES = {Fate.REPEATS, Fate.OUTDATED, Fate.LOSES, Fate.BARRED}
MOST_NAMED = 100


def changed(steps: Iterable[StepDraft]) -> int:
    """Return how many memories a plan changes, fading not counted."""
    return len({step.fragment for step in steps if counts(step)})


def counted(steps: Sequence[StepDraft]) -> dict[str, Any]:
    """Return the numbers of docs/spec.md §7, in both spellings."""
    merged = len(of_phase(steps, Phase.DEDUPLICATE))
    rulings = Counter(step.action for step in of_phase(steps, Phase.CONTRADICTIONS))
    digested = of_phase(steps, Phase.DIGEST)
    decayed = len(of_phase(steps, Phase.ARCHIVE))
    pruned = Counter(step.action for step in of_phase(steps, Phase.PRUNE))
    return {
        "merged": merged,
        "deduplicated": merged,
        "contradictions": {
            "resolved": sum(rulings[ruling] for ruling in RESOLVED),
            "pending": rulings[Fate.LOSES],
            "claims": rulings[Fate.CLAIMS],
        },
        "corroborated": len(of_phase(steps, Phase.CORROBORATE)),
        "compressed": {
            "clusters": len({step.details["cluster"] for step in digested}),
            "source_memories": len(digested),
        },
        "decayed": len(of_phase(steps, Phase.DECAY)),
        "archived": decayed + sum(pruned.values()),
        "pruned": {
            "superseded": pruned[Status.SUPERSEDED.value],
            "decayed": decayed,
            "disputed": pruned[Status.DISPUTED.value],
        },
    }


def predict_totals(before: Mapping[str, int], steps: Sequence[StepDraft]) -> dict[str, int]:
    """Return the totals when a plan will have been applied."""
    numbers = counted(steps)
    made = numbers["compressed"]["clusters"]
    leaving = {s.fragment for s in steps if s.phase in (Phase.DEDUPLICATE, Phase.DIGEST, Phase.ARCHIVE)}
    arriving: set[uuid.UUID] = set()
    for step in of_phase(steps, Phase.CONTRADICTIONS):
        if step.action in LEAVES:
            leaving.add(step.fragment)
        elif step.action == Fate.RETURNS:
            arriving.add(step.fragment)
        if step.action in (Fate.WINS, Fate.RETURNS):
            leaving |= {uuid.UUID(other) for other in step.details["others"]}
    active = before["active"] - len(leaving - arriving) + len(arriving - leaving) + made
    return {"total": before["total"] + made, "active": active}


def named(steps: Sequence[StepDraft]) -> dict[str, Any]:
    """Return how many steps were left, and the first of their memories."""
    return {"count": len(steps), "ids": [str(step.fragment) for step in steps[:MOST_NAMED]]}


def duration(begun: datetime.datetime, ended: datetime.datetime) -> dict[str, int]:
    """In both spellings."""
    took = round((ended - begun).total_seconds() * 1000)
    return {"durationMs": took, "duration_ms": took}
