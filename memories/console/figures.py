"""The figures of all memories at one time, looked at once: each is counted in everything that it counts in."""

import datetime
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db.models import (
    BigIntegerField,
    BooleanField,
    Case,
    Count,
    ExpressionWrapper,
    F,
    FloatField,
    Func,
    IntegerField,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Exp, Floor, Greatest, Least, TruncDate

from memories.models.enums import Status
from memories.models.scoring import trust, trust_expression
from memories.upkeep.thresholds import Thresholds

WEEK = datetime.timedelta(days=7)
CROSSINGS = {"cooling": "cold_below", "fading": "archive_below"}
FAINT = 0.05  # a relevance in the lowest tenth
OLDEST = 36_500  # days: what counts as unread for longer counts as so long
STABILITY = Coalesce(F("access__stability"), Value(1.0))
BELIEVED = ("source", "corroboration", "reinforcements", "disputes")


@dataclass(slots=True)
class Figures:
    """Counts of memories, and the octets of their texts."""

    total: int = 0
    octets: int = 0
    # New ones in quarantine in the last week.
    held: int = 0
    status: Counter[str] = field(default_factory=Counter)
    stored: Counter[datetime.date] = field(default_factory=Counter)
    # Active ones by tenth of trust (0 to 9) and source, without the age part.
    trusted: Counter[tuple[int, str]] = field(default_factory=Counter)
    # Active ones that fade, by tenth of relevance now (0 to 9).
    relevant: Counter[int] = field(default_factory=Counter)
    # Those that will cross a threshold within a week.
    cooling: int = 0
    fading: int = 0


def figures_of(rows: Any, *, since: datetime.datetime, now: datetime.datetime, own: Thresholds) -> Figures:
    """Of these memories; those stored by day from `since` on. One query, which goes through them once."""
    found, groups = Figures(), _groups(rows, since, now, own)
    for group in groups:
        number = group["n"]
        found.total += number
        found.octets += group["octets"]
        found.status[group["status"]] += number
        if group["made"]:
            found.stored[group["made"]] += number
            recent = group["made"] > (now - WEEK).date()
            found.held += number if recent and group["status"] == Status.QUARANTINED else 0
        if group["status"] == Status.ACTIVE:
            _believe(found, group)
            _fade(found, group, own)
    return found


def _groups(rows: Any, since: datetime.datetime, now: datetime.datetime, own: Thresholds) -> Any:
    active = Q(status=Status.ACTIVE)
    each = rows.order_by().annotate(
        made=Case(When(created_at__gte=since, then=TruncDate("created_at"))),
        kept=ExpressionWrapper(Q(is_pinned=True) | Q(is_anchor=True), output_field=BooleanField()),
        unread=Case(When(active, then=_unread_days(now.date(), own))),
        stability=Case(When(active, then=STABILITY)),
        tenths=Cast(F("base_relevance") * 10, IntegerField()),  # rounds
        octet=Func(F("content"), function="octet_length", output_field=BigIntegerField()),
    )
    groups = each.values("status", *BELIEVED, "made", "kept", "unread", "stability", "tenths")
    return groups.annotate(n=Count("id"), octets=Sum("octet"))


def _believe(found: Figures, group: dict[str, Any]) -> None:
    worth = trust(**{name: group[name] for name in BELIEVED})
    found.trusted[tenth(worth), group["source"]] += group["n"]


def _fade(found: Figures, group: dict[str, Any], own: Thresholds) -> None:
    if group["kept"]:
        return
    unread, base, number, decayed = group["unread"], group["tenths"] / 10, group["n"], own.rates.decayed
    is_, will = (decayed(base, days=days / group["stability"], kept=False) for days in (unread, unread + WEEK.days))
    found.relevant[tenth(is_)] += number
    found.cooling += number if is_ >= own.cold_below > will else 0
    found.fading += number if is_ >= own.archive_below > will else 0


def tenth(share: float) -> int:
    """Return which tenth of 0..1 a share lies in: 0 to 9."""
    return min(9, int(10 * share + 1e-9))


def in_tenth_of_trust(rows: Any, wanted: int) -> Any:
    """Return the rows that count in a tenth of `Figures.trusted`, of any status: its sum in SQL."""
    return rows.alias(tenth_of_trust=_tenth(trust_expression())).filter(tenth_of_trust=wanted)


def in_tenth_of_relevance(rows: Any, wanted: int, *, now: datetime.datetime, own: Thresholds) -> Any:
    """Return the rows that count in a tenth of `Figures.relevant`, of any status."""
    fading = rows.filter(is_pinned=False, is_anchor=False)
    return fading.alias(tenth_of_relevance=_tenth(_relevance(now.date(), own))).filter(tenth_of_relevance=wanted)


def crossing(rows: QuerySet[Any], which: str, *, now: datetime.datetime, own: Thresholds) -> QuerySet[Any]:
    """Return the rows that count in `Figures.cooling` or `Figures.fading`, of any status."""
    bound, fading = getattr(own, CROSSINGS[which]), rows.filter(is_pinned=False, is_anchor=False)
    is_, will = (_relevance(now.date(), own, later=days) for days in (0, WEEK.days))
    found: QuerySet[Any] = fading.alias(is_now=is_, will_be=will).filter(is_now__gte=bound, will_be__lt=bound)
    return found


def _unread_days(today: datetime.date, own: Thresholds) -> Any:
    """Whole days since each was last used, from 0 to as many as have faded it."""
    used = TruncDate(Coalesce("access__last_accessed_at", "created_at"))
    days = Func(Value(today), used, template="(%(expressions)s)", arg_joiner=" - ", output_field=IntegerField())
    return Least(Greatest(Value(0), days), Cast(STABILITY * _oldest(own), IntegerField()))


def _oldest(own: Thresholds) -> int:
    """Return after how many days, times its stability, a memory has faded below every threshold and stays there."""
    least = min([FAINT, *filter(None, (getattr(own, name) for name in CROSSINGS.values()))])
    rate = own.rates.decay_per_day
    return min(OLDEST, math.ceil(-math.log(least) / rate)) if rate else OLDEST


def _relevance(today: datetime.date, own: Thresholds, *, later: int = 0) -> Any:
    """Return the relevance that is left of each, today or so many days later."""
    base = Cast(Cast(F("base_relevance") * 10, IntegerField()), FloatField()) / 10.0
    days = Cast(_unread_days(today, own) + later, FloatField())
    return base * Exp(days * -own.rates.decay_per_day / STABILITY)


def _tenth(share: Any) -> Any:
    held = Least(Value(1.0), Greatest(Value(0.0), share))
    return Least(Value(9), Cast(Floor(held * 10.0 + 1e-9), IntegerField()), output_field=IntegerField())
