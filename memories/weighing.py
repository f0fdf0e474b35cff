"""How much a memory weighs: at birth, and as time and use go on (seed 4, task 2.4)."""

import math

BASE = 0.5
PER_ENTITY = 0.05
PER_VALENCE = 0.2
SOURCE_BONUS = {"manual": 0.3, "conversation": 0.1}
LEAST, MOST = 0.1, 1.0

PER_ACCESS = 0.1
DECAY_PER_DAY = 0.1
FEELING = 0.3
KEPT_ON_PURPOSE = 1.5


def initial_importance(*, entities: int, valence: float, source_type: str) -> float:
    """The importance (.1 to 1) of a memory that was given none.

    [4] 2.4: .5 + .05·entities + .2·|valence| + bonus (manual .3, conversation .1).
    """
    weight = BASE + PER_ENTITY * entities + PER_VALENCE * abs(valence) + SOURCE_BONUS.get(source_type, 0.0)
    return min(MOST, max(LEAST, weight))


def effective_weight(
    *, importance: float, access_count: int, age_days: float, valence: float, pinned_or_anchor: bool
) -> float:
    """What a memory weighs at an age of `age_days` (days since its creation; before it counts as 0).

    [4] 2.4: importance·(1 + .1·ln(n + 1))·e^(−.1·days)·(1 + .3·|valence|), × 1.5 for pinned or anchored.
    """
    use = 1 + PER_ACCESS * math.log1p(access_count)
    age = math.exp(-DECAY_PER_DAY * max(0.0, age_days))
    feeling = 1 + FEELING * abs(valence)
    return importance * use * age * feeling * (KEPT_ON_PURPOSE if pinned_or_anchor else 1.0)
