"""Trust: a float for ranking and display, by the formula of [3]; it never takes part in the gate."""

import datetime

from conflicts.authority import SOURCE_WEIGHT
from memories.models import Fragment, days_between

YEAR = 365
WEIGHT: dict[str, float] = {str(source): weight for source, weight in SOURCE_WEIGHT.items()}


def trust(
    *, source: str, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> float:
    """clamp(weight + min(.2, (c − 1)·.05) + (r − d)/(r + d)·.15 − min(.1, age/365·.1)), in 0..1 (SPEC §4)."""
    votes = reinforcements + disputes
    agreement = min(0.2, (corroboration - 1) * 0.05)
    feedback = (reinforcements - disputes) / votes * 0.15 if votes else 0.0
    staleness = min(0.1, max(0.0, age_days) / YEAR * 0.1)
    return max(0.0, min(1.0, WEIGHT[source] + agreement + feedback - staleness))


def trust_of(fragment: Fragment, *, now: datetime.datetime | None) -> float:
    """The fragment's trust at `now`; without its age part when `now` is None."""
    return trust(
        source=fragment.source,
        corroboration=fragment.corroboration,
        reinforcements=fragment.reinforcements,
        disputes=fragment.disputes,
        age_days=days_between(fragment.created_at, now) if now else 0.0,
    )
