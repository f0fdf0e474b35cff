"""Scores: decay, weight and trust with their thresholds; Python and SQL are made of the same constants.

SQL expressions are over a fragment `f` and its accesses `a`; the moment is the parameter `now` unless another is
given. Postgres refuses a product too small for a float, so the factors are kept above the smallest.
"""

import datetime
import math
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Case, F, FloatField, Value, When
from django.db.models.functions import Cast, Least

from memories.models.enums import SourceClass

# Decay of relevance. COLD: below it a memory moves to the cold tier; FADED: below it consolidation archives it.
DECAY_PER_DAY: float = settings.DECAY["decay_per_day"]
COLD, FADED = settings.DECAY["cold_below"], settings.DECAY["archive_below"]
# What a read on a further day multiplies stability by, and the most of it; stability divides the rate of decay.
MORE_STABLE, MOST_STABLE = 1.3, 10.0

# Weight: at birth, and as time and use go on.
WEIGHTS: dict[str, float] = settings.WEIGHTS
BASE, PER_ENTITY, PER_VALENCE = (WEIGHTS[name] for name in ("base", "entity", "valence"))
SOURCE_BONUS = {name: WEIGHTS[name] for name in ("manual", "conversation")}
LEAST, MOST = 0.1, 1.0
PER_ACCESS, LIGHTER_PER_DAY, FEELING, KEPT_ON_PURPOSE = (
    WEIGHTS[name] for name in ("access", "decay_per_day", "emotion", "kept")
)

# From this importance on upkeep neither shortens nor evicts; the most that a weak writer may give.
PROTECTED: float = settings.PROTECTED_IMPORTANCE
MOST_OF_THE_WEAK = round(PROTECTED - 0.01, 4)

# Trust: what each class of source weighs; what each further independent source adds, and all of them at the most; what
# votes sway; what a year takes away.
SOURCE_WEIGHT: dict[str, float] = {
    SourceClass.USER_EXPLICIT.value: 1.0,
    SourceClass.SYSTEM.value: 0.95,
    SourceClass.TOOL_OUTPUT.value: 0.85,
    SourceClass.USER_IMPLICIT.value: 0.7,
    SourceClass.DOCUMENT.value: 0.6,
    SourceClass.INFERENCE.value: 0.5,
}
AGREEMENT, MOST_AGREEMENT, FEEDBACK, MOST_STALENESS = 0.05, 0.2, 0.15, 0.1
YEAR = 365

KEPT = "(f.is_pinned OR f.is_anchor)"
STABILITY = "coalesce(a.stability, 1)"
LAST_USED = "greatest(f.created_at, a.last_accessed_at)"


def days_between(then: datetime.datetime, now: datetime.datetime) -> float:
    """Return the days from `then` to `now`, never below zero."""
    return max(0.0, (now - then).total_seconds() / 86_400)


def days_since(moment: str, *, now: str = "%(now)s") -> str:
    """Return SQL for the days from a moment to `now`, never below zero."""
    return f"greatest(0, extract(epoch FROM {now} - {moment})::float8 / 86400)"


def decayed(base: float, *, days: float, kept: bool) -> float:
    """Return base · e^(−.05 · days), days since the last access ÷ stability; what is kept does not decay."""
    return base if kept else base * math.exp(-DECAY_PER_DAY * days)


def decayed_sql(base: str, *, days: str, stability: str = STABILITY) -> str:
    """Return SQL for what `decayed` says of a memory that is not kept."""
    return f"greatest({base}, 1e-100) * exp(greatest(-300, -{DECAY_PER_DAY} * {days} / {stability}))"


def relevance_sql(*, now: str = "%(now)s") -> str:
    """Return SQL for the relevance of `f` at a moment."""
    return f"""CASE WHEN {KEPT} THEN f.base_relevance
        ELSE {decayed_sql("f.base_relevance", days=days_since(LAST_USED, now=now))} END"""


def relevance_of(row: str, *, now: str = "%(now)s") -> str:
    """Return SQL for the relevance of one fragment, by the name that its table has in the statement."""
    return f"""(SELECT {relevance_sql(now=now)} FROM (SELECT {row}.*) AS f
        LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id)"""


def initial_importance(*, entities: int, valence: float, source_type: str) -> float:
    """Return the importance (.1 to 1) of a memory that was given none.

    .5 + .05 · entities + .2 · |valence| + bonus (manual .3, conversation .1).
    """
    weight = BASE + PER_ENTITY * entities + PER_VALENCE * abs(valence) + SOURCE_BONUS.get(source_type, 0.0)
    return min(MOST, max(LEAST, weight))


def effective_weight(
    *, importance: float, access_count: int, age_days: float, valence: float, pinned_or_anchor: bool
) -> float:
    """Return what a memory weighs at an age of `age_days` (days since its creation; before it counts as 0).

    importance · (1 + .1 · ln(n + 1)) · e^(−.1 · days) · (1 + .3 · |valence|), × 1.5 for pinned or anchored.
    """
    use = 1 + PER_ACCESS * math.log1p(access_count)
    age = math.exp(-LIGHTER_PER_DAY * max(0.0, age_days))
    feeling = 1 + FEELING * abs(valence)
    return importance * use * age * feeling * (KEPT_ON_PURPOSE if pinned_or_anchor else 1.0)


WEIGHT_SQL = f"""greatest(f.importance, 1e-100) * (1 + {PER_ACCESS} * ln(coalesce(a.access_count, 0) + 1))
    * exp(greatest(-300, -{LIGHTER_PER_DAY} * {days_since("f.created_at")}))
    * (1 + {FEELING} * greatest(abs(f.emotional_valence), 1e-100))
    * CASE WHEN {KEPT} THEN {KEPT_ON_PURPOSE} ELSE 1 END"""


class TrustParts(NamedTuple):
    """What trust is made of: source + corroboration + feedback − age."""

    source: float
    corroboration: float
    feedback: float
    age: float

    @property
    def trust(self) -> float:
        """The sum, held within 0..1."""
        return max(0.0, min(1.0, self.source + self.corroboration + self.feedback - self.age))


def trust_parts(
    *, source: str, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> TrustParts:
    """Return weight + min(.2, (c − 1) · .05) + (r − d)/(r + d) · .15 − min(.1, age/365 · .1), by parts."""
    votes = reinforcements + disputes
    return TrustParts(
        source=SOURCE_WEIGHT[source],
        corroboration=min(MOST_AGREEMENT, (corroboration - 1) * AGREEMENT),
        feedback=(reinforcements - disputes) / votes * FEEDBACK if votes else 0.0,
        age=min(MOST_STALENESS, max(0.0, age_days) / YEAR * MOST_STALENESS),
    )


def trust(
    *, source: str, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> float:
    """Return how far a memory is to be trusted, 0 to 1: for ranking and display; the gate never asks for it."""
    return trust_parts(
        source=source,
        corroboration=corroboration,
        reinforcements=reinforcements,
        disputes=disputes,
        age_days=age_days,
    ).trust


def trust_expression() -> Any:
    """Return the sum that `trust` holds within 0..1, without its age part, as an expression over fragments."""
    votes = F("reinforcements") + F("disputes")
    balance = Cast(F("reinforcements") - F("disputes"), FloatField()) / votes * FEEDBACK
    return (
        Case(*[When(source=source, then=Value(weight)) for source, weight in SOURCE_WEIGHT.items()])
        + Least(Value(MOST_AGREEMENT), Cast(F("corroboration") - 1, FloatField()) * AGREEMENT)
        + Case(When(reinforcements=0, disputes=0, then=Value(0.0)), default=balance)
    )
