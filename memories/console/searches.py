"""How searches went: how long they took and how many found nothing, by day."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from memories.access import Principal
from memories.console.charts import Chart, bars
from memories.models import SEARCH_BOUNDS, SearchDay


@dataclass(frozen=True, slots=True)
class Searches:
    """Of the shown days together; `middle` and `slow` tell the p50 and p95 latency by bounds in milliseconds."""

    number: int
    empty: int
    middle: str
    slow: str
    took: Chart
    found_nothing: Chart

    @property
    def empty_share(self) -> str:
        """The zero-result rate, in percent."""
        return f"{100 * self.empty / self.number:.0f}" if self.number else ""


def searches_of(principal: Principal, days: Sequence[datetime.date]) -> Searches:
    """Of these days. Inside `access.enter`."""
    rows = {row.day: row for row in SearchDay.objects.within(principal.project_id).filter(day__gte=days[0])}
    together = [sum(places) for places in zip(*(row.took for row in rows.values()), strict=True)]
    number, empty = (sum(getattr(row, name) for row in rows.values()) for name in ("searches", "empty"))
    slow = [(str(day), _bound(rows[day].took, 0.95) or 2.0 * SEARCH_BOUNDS[-1] if day in rows else 0.0) for day in days]
    rates = [(str(day), round(100 * rows[day].empty / rows[day].searches, 1) if day in rows else 0.0) for day in days]
    return Searches(
        number,
        empty,
        _latency_text(together, 0.5),
        _latency_text(together, 0.95),
        bars(slow, says="search p95 latency, by day", unit=" ms"),
        bars(rates, says="zero-result rate of searches, by day", unit=" %"),
    )


def _bound(took: Sequence[int], share: float) -> int | None:
    """Return the first bound that so many kept; None behind them all."""
    left = share * sum(took)
    for bound, number in zip(SEARCH_BOUNDS, took, strict=False):
        left -= number
        if left <= 0:
            return bound
    return None


def _latency_text(took: Sequence[int], share: float) -> str:
    if not sum(took):
        return ""
    bound = _bound(took, share)
    return f"within {bound} ms" if bound else f"in more than {SEARCH_BOUNDS[-1]} ms"
