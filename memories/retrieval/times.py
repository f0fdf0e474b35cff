"""Which time a question means: a day, a month, a year, or one told from now. English; pure."""

import datetime
import re

from dateutil.relativedelta import relativedelta

from memories.language.dates import A_MONTH, A_WEEKDAY, MONTHS, WEEKDAYS

Period = tuple[datetime.datetime, datetime.datetime]

NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5}
NUMBERS |= {"six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
NUMBER = rf"\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
UNIT = "day|week|month|year"
# Of questions in lower case.
ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({A_MONTH})\.?,? (\d{{4}})\b")
MONTH_FIRST = re.compile(rf"\b({A_MONTH})\.? (?:(\d{{1,2}})(?:st|nd|rd|th)?,? )?(\d{{4}})\b")
YEAR = re.compile(r"\b(?:in|of|since|during) (\d{4})\b")
AGO = re.compile(rf"\b({NUMBER}) ({UNIT})s? ago\b")
LATELY = re.compile(rf"\b(?:last|past) ({NUMBER}) ({UNIT})s\b")
DAY_OF_A_YEAR = re.compile(
    rf"\b(?:on|of|from) (?:the )?(?:({A_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({A_MONTH}))\b(?!\.?,? \d)"
)
IN_THE_PAST = re.compile(r"\b(?:did|was|were|had|happened|have|has)\b")
RELATIVE = re.compile(rf"\b(the day before yesterday|today|yesterday|last night|(?:this|last) (?:{UNIT}))\b")
WEEKDAY = re.compile(rf"\b(?:(last)|on|this) ({A_WEEKDAY})\b")
MONTH_ALONE = re.compile(rf"\b(?:(last)|in|during|this) ({A_MONTH})\b(?!\.?,? \d)")
DAY = datetime.timedelta(days=1)


def period_of(question: str, *, now: datetime.datetime) -> Period | None:
    """The first time that is named, from its beginning to before its end, in the time zone of `now`; None for none."""
    lowered = question.lower()
    return _absolute(lowered, now) or _told_from(lowered, now)


def _absolute(question: str, now: datetime.datetime) -> Period | None:
    if found := ISO.search(question):
        year, month, day = found.groups()
        return _period(now, int(year), int(month), int(day) if day else None)
    if found := DAY_FIRST.search(question):
        day, name, year = found.groups()
        return _period(now, int(year), MONTHS[name], int(day))
    if found := MONTH_FIRST.search(question):
        name, day, year = found.groups()
        return _period(now, int(year), MONTHS[name], int(day) if day else None)
    found = YEAR.search(question)
    return _period(now, int(found.group(1))) if found else None


def _period(now: datetime.datetime, year: int, month: int | None = None, day: int | None = None) -> Period | None:
    try:
        start = datetime.datetime(year, month or 1, day or 1, tzinfo=now.tzinfo)
        return start, start + _span("day" if day else "month" if month else "year")
    except (ValueError, OverflowError):
        return None  # no such day


def _told_from(question: str, now: datetime.datetime) -> Period | None:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if found := AGO.search(question):
        number, unit = found.groups()
        return _around(today - _span(unit, _number(number)), unit)
    if found := LATELY.search(question):
        number, unit = found.groups()
        return today - _span(unit, _number(number)), today + DAY
    if found := RELATIVE.search(question):
        which, _, unit = found[1].partition(" ")
        if which == "the":
            return _around(today - 2 * DAY, "day")
        if which in ("yesterday", "today") or unit == "night":
            return _around(today if which == "today" else today - DAY, "day")
        return _around(today - _span(unit, which == "last"), unit)
    if found := DAY_OF_A_YEAR.search(question):
        month, day = MONTHS[found[1] or found[4]], int(found[2] or found[3])
        of_this = _period(now, now.year, month, day)
        is_over = IN_THE_PAST.search(question) and of_this and of_this[0] > now
        return _period(now, now.year - 1, month, day) if is_over else of_this
    if found := WEEKDAY.search(question):
        back = (today.weekday() - WEEKDAYS[found[2]]) % 7
        return _around(today - (back or 7 * bool(found[1])) * DAY, "day")
    if found := MONTH_ALONE.search(question):
        back = (today.month - MONTHS[found[2]]) % 12
        return _around(today - _span("month", back or 12 * bool(found[1])), "month")
    return None


def _number(text: str) -> int:
    return NUMBERS.get(text) or int(text)


def _span(unit: str, number: int = 1) -> relativedelta:
    weeks, months = number * (unit == "week"), number * (unit == "month")
    return relativedelta(days=number * (unit == "day"), weeks=weeks, months=months, years=number * (unit == "year"))


def _around(moment: datetime.datetime, unit: str) -> Period:
    """Return the day, week, month or year in which a day lies."""
    if unit == "week":
        moment -= moment.weekday() * DAY
    elif unit != "day":
        moment = moment.replace(day=1, month=1 if unit == "year" else moment.month)
    return moment, moment + _span(unit)
