"""Understanding a question: whom it names, what it quotes, which time it means, what it is about. Pure."""

import calendar
import datetime
import re
from dataclasses import dataclass, field

from memories.language import route

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
WORD = re.compile(r"[^\W_]+")
QUOTED = re.compile(r"[\"“«]([^\"“”«»\n]{3,200})[\"”»]")
ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({MONTH})\.?,? (\d{{4}})\b", re.IGNORECASE)
MONTH_FIRST = re.compile(rf"\b({MONTH})\.? (?:(\d{{1,2}})(?:st|nd|rd|th)?,? )?(\d{{4}})\b", re.IGNORECASE)
YEAR = re.compile(r"\b(?:in|of|since|during) (\d{4})\b", re.IGNORECASE)
RELATIVE = re.compile(r"\b(today|yesterday|(?:this|last) (?:week|month|year))\b", re.IGNORECASE)
DAY = datetime.timedelta(days=1)

Period = tuple[datetime.datetime, datetime.datetime]


@dataclass(frozen=True, slots=True)
class Cues:
    """What in a question may tell the right memory from others that are as alike. `period` is half-open, in UTC."""

    words: frozenset[str] = frozenset()
    phrases: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    period: Period | None = None


def understand(question: str, *, now: datetime.datetime) -> Cues:
    """The cues of a question that is asked `now`; relative times count from there, in its time zone."""
    routing = route(question)
    return Cues(
        words=frozenset(WORD.findall(question.lower())),
        phrases=[phrase.lower() for phrase in QUOTED.findall(question)],
        keys=routing.query_keys,
        types=list(routing.search_types),
        period=period_of(question, now=now),
    )


def period_of(question: str, *, now: datetime.datetime) -> Period | None:
    """The first time that is named: a day, a month, a year, or one relative to `now`; None when there is none."""
    if found := ISO.search(question):
        year, month, day = found.groups()
        return _period(now, int(year), int(month), int(day) if day else None)
    if found := DAY_FIRST.search(question):
        day, name, year = found.groups()
        return _period(now, int(year), MONTHS[name.lower()], int(day))
    if found := MONTH_FIRST.search(question):
        name, day, year = found.groups()
        return _period(now, int(year), MONTHS[name.lower()], int(day) if day else None)
    if found := YEAR.search(question):
        return _period(now, int(found.group(1)))
    found = RELATIVE.search(question)
    return _relative(found.group(1).lower(), now) if found else None


def _period(now: datetime.datetime, year: int, month: int | None = None, day: int | None = None) -> Period | None:
    try:
        start = datetime.datetime(year, month or 1, day or 1, tzinfo=now.tzinfo)
        if day:
            return start, start + DAY
        return start, _next_month(start) if month else start.replace(year=year + 1)
    except (ValueError, OverflowError):
        return None  # no such day


def _relative(told: str, now: datetime.datetime) -> Period:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if told in ("today", "yesterday"):
        start = today if told == "today" else today - DAY
        return start, start + DAY
    last, unit = told.startswith("last"), told.split()[1]
    if unit == "week":
        start = today - today.weekday() * DAY - (7 * DAY if last else 0 * DAY)
        return start, start + 7 * DAY
    if unit == "month":
        start = today.replace(day=1)
        start = (start - DAY).replace(day=1) if last else start
        return start, _next_month(start)
    start = today.replace(month=1, day=1, year=today.year - last)
    return start, start.replace(year=start.year + 1)


def _next_month(start: datetime.datetime) -> datetime.datetime:
    return (start + 31 * DAY).replace(day=1)
