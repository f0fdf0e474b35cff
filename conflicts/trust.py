"""Trust: a float for ranking and display, by the formula of [3]; it never takes part in the gate."""

import datetime
from typing import NamedTuple

from conflicts.authority import SOURCE_WEIGHT
from memories.models import Fragment, days_between

YEAR = 365
WEIGHT: dict[str, float] = {str(source): weight for source, weight in SOURCE_WEIGHT.items()}
# What each further independent source adds, and all of them at the most; what votes sway; what a year takes away.
AGREEMENT, MOST_AGREEMENT, FEEDBACK, MOST_STALENESS = 0.05, 0.2, 0.15, 0.1


class Worth(NamedTuple):
    """What trust is made of: source + corroboration + feedback − age."""

    source: float
    corroboration: float
    feedback: float
    age: float

    @property
    def trust(self) -> float:
        """The sum, held within 0..1."""
        return max(0.0, min(1.0, self.source + self.corroboration + self.feedback - self.age))


def worth(
    *, source: str, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> Worth:
    """weight + min(.2, (c − 1)·.05) + (r − d)/(r + d)·.15 − min(.1, age/365·.1), by parts (SPEC §4)."""
    votes = reinforcements + disputes
    return Worth(
        source=WEIGHT[source],
        corroboration=min(MOST_AGREEMENT, (corroboration - 1) * AGREEMENT),
        feedback=(reinforcements - disputes) / votes * FEEDBACK if votes else 0.0,
        age=min(MOST_STALENESS, max(0.0, age_days) / YEAR * MOST_STALENESS),
    )


def trust(
    *, source: str, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> float:
    """The sum of what `worth` says, held within 0..1."""
    return worth(
        source=source,
        corroboration=corroboration,
        reinforcements=reinforcements,
        disputes=disputes,
        age_days=age_days,
    ).trust


def worth_of(fragment: Fragment, *, now: datetime.datetime | None) -> Worth:
    """The fragment's trust at `now`, by parts; without its age part when `now` is None."""
    return worth(
        source=fragment.source,
        corroboration=fragment.corroboration,
        reinforcements=fragment.reinforcements,
        disputes=fragment.disputes,
        age_days=days_between(fragment.created_at, now) if now else 0.0,
    )


def trust_of(fragment: Fragment, *, now: datetime.datetime | None) -> float:
    """The fragment's trust at `now`; without its age part when `now` is None."""
    return worth_of(fragment, now=now).trust
