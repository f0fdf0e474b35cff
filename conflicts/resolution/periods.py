"""Periods: two values of one key become two periods, one after the other. Pure."""

import datetime
import math
import uuid
from collections.abc import Sequence
from dataclasses import replace

from conflicts.gate import Assertion, Period
from memories.errors import NovaError


class CannotSplit(NovaError):
    """No instant lies between the two."""

    code = "cannot_split"
    title = "The periods can’t be split"


def split(
    newcomer: Assertion, opponents: Sequence[Assertion], *, at: datetime.datetime
) -> tuple[Period, dict[uuid.UUID, Period]]:
    """Return the newcomer's period and each opponent's, so that none overlap.

    Whoever begins later ends the other there; of two that begin alike the newcomer begins `at`. Raise CannotSplit.
    Of opponents that begin alike the longest counts, so that the order in which they stand decides nothing.
    """
    period, periods = newcomer.period, {}
    for other in sorted(opponents, key=lambda other: _earliest_and_longest_first(other.period)):
        if not period.overlaps(other.period):
            continue
        if period.starts_after(other.period):
            periods[other.id] = Period(other.period.start, period.start)
        elif other.period.starts_after(period):
            period = Period(period.start, other.period.start)
        else:
            # What ends before it would be cut is not prolonged: the newcomer begins where it ends.
            cut = at if other.period.end is None else min(at, other.period.end)
            later = replace(period, start=cut)
            if not (later.starts_after(other.period) and _runs_forward(later)):
                raise CannotSplit("both begin at the same instant: keep them as a pair, or decide for one")
            period = later
            periods[other.id] = Period(other.period.start, cut)
    return period, periods


def _earliest_and_longest_first(period: Period) -> tuple[float, float]:
    start = -math.inf if period.start is None else period.start.timestamp()
    return start, -math.inf if period.end is None else -period.end.timestamp()


def _runs_forward(period: Period) -> bool:
    return period.start is None or period.end is None or period.start < period.end
