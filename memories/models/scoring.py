"""Scores: decay, weight and trust with their thresholds; Python and SQL are made of the same numbers.

Decay and weight go by the rates of a project, trust by constants. SQL expressions are over a fragment `f` and its
accesses `a`; the moment is the parameter `now` unless another is given, and each rate the parameter of its name.
Postgres refuses a product too small for a float, so the factors are kept above the smallest.
"""

import datetime
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.db.models import Case, F, FloatField, Value, When
from django.db.models.functions import Cast, Least

from memories.models.enums import SourceClass

# Of relevance. COLD: below it a memory moves to the cold tier; FADED: below it consolidation archives it.
COLD, FADED = settings.DECAY["cold_below"], settings.DECAY["archive_below"]
# What a read on a further day multiplies stability by, and the most of it; stability divides the rate of decay.
MORE_STABLE, MOST_STABLE = 1.3, 10.0
LEAST, MOST = 0.1, 1.0  # importance
DECIMALS = 12  # of what is added up and kept: beyond are only the errors of binary fractions

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


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast relevance decays in a project, and what its memories weigh: the installation's where it has no own."""

    decay_per_day: float = settings.DECAY["decay_per_day"]
    # Whether what is read on several days fades more slowly.
    decay_sm2: bool = field(default_factory=lambda: bool(settings.DECAY_SM2))
    # Importance at birth.
    weight_base: float = settings.WEIGHTS["base"]
    weight_entity: float = settings.WEIGHTS["entity"]
    weight_valence: float = settings.WEIGHTS["valence"]
    weight_manual: float = settings.WEIGHTS["manual"]
    weight_conversation: float = settings.WEIGHTS["conversation"]
    # Weight, as time and use go on.
    weight_access: float = settings.WEIGHTS["access"]
    weight_decay_per_day: float = settings.WEIGHTS["decay_per_day"]
    weight_emotion: float = settings.WEIGHTS["emotion"]
    weight_kept: float = settings.WEIGHTS["kept"]

    @classmethod
    def of(cls, own: Mapping[str, Any] | str) -> Self:
        """Return those in force in a project that has these of its own, by name; also as a statement answers them."""
        known = json.loads(own) if isinstance(own, str) else own
        return cls(**{name: known[name] for name in RATES if name in known}) if known else cls()

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the expressions in SQL."""
        return asdict(self)

    def decayed(self, base: float, *, days: float, kept: bool) -> float:
        """Return base · e^(−.05 · days), days since the last access ÷ stability; what is kept does not decay."""
        return base if kept else base * math.exp(-self.decay_per_day * days)

    def initial_importance(self, *, entities: int, valence: float, source_type: str) -> float:
        """Return the importance (.1 to 1) of a memory that was given none.

        .5 + .05 · entities + .2 · |valence| + bonus (manual .3, conversation .1).
        """
        bonus = {"manual": self.weight_manual, "conversation": self.weight_conversation}.get(source_type, 0.0)
        weight = self.weight_base + self.weight_entity * entities + self.weight_valence * abs(valence) + bonus
        return round(min(MOST, max(LEAST, weight)), DECIMALS)

    def effective_weight(
        self, *, importance: float, access_count: int, age_days: float, valence: float, pinned_or_anchor: bool
    ) -> float:
        """Return what a memory weighs at an age of `age_days` (days since its creation; before it counts as 0).

        importance · (1 + .1 · ln(n + 1)) · e^(−.1 · days) · (1 + .3 · |valence|), × 1.5 for pinned or anchored.
        """
        use = 1 + self.weight_access * math.log1p(access_count)
        age = math.exp(-self.weight_decay_per_day * max(0.0, age_days))
        feeling = 1 + self.weight_emotion * abs(valence)
        return importance * use * age * feeling * (self.weight_kept if pinned_or_anchor else 1.0)


RATES = [each.name for each in fields(Rates)]
# The own rates of the parameter `project`, in the statement that needs them.
OWN_RATES = "(SELECT p.rates FROM memories_project p WHERE p.id = %(project)s)"


def decayed_sql(base: str, *, days: str, stability: str = STABILITY, rate: str = "%(decay_per_day)s::float8") -> str:
    """Return SQL for what `decayed` says of a memory that is not kept."""
    return f"greatest({base}, 1e-100) * exp(greatest(-300, -{rate} * {days} / {stability}))"


def relevance_sql(*, now: str = "%(now)s", rate: str = "%(decay_per_day)s::float8") -> str:
    """Return SQL for the relevance of `f` at a moment."""
    return f"""CASE WHEN {KEPT} THEN f.base_relevance
        ELSE {decayed_sql("f.base_relevance", days=days_since(LAST_USED, now=now), rate=rate)} END"""


def relevance_of(row: str, *, now: str = "%(now)s", rate: str = "%(decay_per_day)s::float8") -> str:
    """Return SQL for the relevance of one fragment, by the name that its table has in the statement."""
    return f"""(SELECT {relevance_sql(now=now, rate=rate)} FROM (SELECT {row}.*) AS f
        LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id)"""


WEIGHT_SQL = f"""greatest(f.importance, 1e-100)
    * (1 + %(weight_access)s::float8 * ln(coalesce(a.access_count, 0) + 1))
    * exp(greatest(-300, -%(weight_decay_per_day)s::float8 * {days_since("f.created_at")}))
    * (1 + %(weight_emotion)s::float8 * greatest(abs(f.emotional_valence), 1e-100))
    * CASE WHEN {KEPT} THEN %(weight_kept)s::float8 ELSE 1 END"""
IMPORTANCE_SQL = f"""least({MOST}, greatest({LEAST}, %(weight_base)s::float8
    + %(weight_entity)s::float8 * jsonb_array_length(f.entities)
    + %(weight_valence)s::float8 * abs(f.emotional_valence)
    + CASE f.source_type WHEN 'manual' THEN %(weight_manual)s::float8
        WHEN 'conversation' THEN %(weight_conversation)s::float8 ELSE 0 END))"""


class TrustParts(NamedTuple):
    """What trust is made of: source + corroboration + feedback − age."""

    source: float
    corroboration: float
    feedback: float
    age: float

    @property
    def trust(self) -> float:
        """The sum, held within 0..1."""
        return _within_bounds(self.source + self.corroboration + self.feedback - self.age)


def _within_bounds(trust: float) -> float:
    return max(0.0, min(1.0, trust))


def trust_parts(
    *, source: str, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> TrustParts:
    """Return weight + min(.2, (c − 1) · .05) + (r − d)/(r + d) · .15 − min(.1, age/365 · .1), by parts."""
    votes = reinforcements + disputes
    return TrustParts(
        source=SOURCE_WEIGHT[source],
        corroboration=min(MOST_AGREEMENT, (corroboration - 1) * AGREEMENT),
        feedback=(reinforcements - disputes) / votes * FEEDBACK if votes else 0.0,
        age=_staleness(age_days),
    )


def _staleness(age_days: float) -> float:
    return min(MOST_STALENESS, max(0.0, age_days) / YEAR * MOST_STALENESS)


@lru_cache(maxsize=1024)  # few differ among the candidates of a search
def _timeless_trust(source: str, corroboration: int, reinforcements: int, disputes: int) -> float:
    """Return the sum of the parts that time does nothing to."""
    parts = trust_parts(source=source, corroboration=corroboration, reinforcements=reinforcements, disputes=disputes)
    return parts.source + parts.corroboration + parts.feedback


def trust(
    *, source: str, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> float:
    """Return how far a memory is to be trusted, 0 to 1: for ranking and display; the gate never asks for it."""
    return _within_bounds(_timeless_trust(source, corroboration, reinforcements, disputes) - _staleness(age_days))


def trust_expression() -> Any:
    """Return the sum that `trust` holds within 0..1, without its age part, as an expression over fragments."""
    votes = F("reinforcements") + F("disputes")
    balance = Cast(F("reinforcements") - F("disputes"), FloatField()) / votes * FEEDBACK
    return (
        Case(*[When(source=source, then=Value(weight)) for source, weight in SOURCE_WEIGHT.items()])
        + Least(Value(MOST_AGREEMENT), Cast(F("corroboration") - 1, FloatField()) * AGREEMENT)
        + Case(When(reinforcements=0, disputes=0, then=Value(0.0)), default=balance)
    )
