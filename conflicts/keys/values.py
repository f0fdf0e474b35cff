"""Values: the one form in which they compare: "$750" is "750 USD" and neither "$7500" nor "€750" (docs/spec.md §4).

A parsed form begins with its kind, everything else with `text:`, so that both never meet. Where a reading is uncertain
(05/08/2023, €1.000) the value stays text: two spellings taken for two values go to a person, two values taken for one
would corroborate a lie.
"""

import datetime
import re
from collections.abc import Callable
from decimal import Context

from conflicts.enums import Normaliser
from conflicts.keys.normalization import visible
from memories.language.dates import A_MONTH, A_WEEKDAY, MONTHS, WEEKDAYS
from memories.language.word_lists import listed, word_list

LONGEST = 100  # characters of a value that is more than text
EXACT = Context(prec=4 * LONGEST)  # nothing that fits into LONGEST is ever rounded

FULL_STOPS = ".,;:!\u3002\u3001"
QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u201e": "\u201c"}
DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-")

TRUE = listed("yes y true t on 1 enabled")
FALSE = listed("no n false f off none 0 disabled")

# Beside the codes the signs that mean one currency, and "$" and "¥", which without a country are USD and JPY.
CODES = word_list(__file__, "currency_codes")
SIGNS = {
    **{
        "$": "usd",
        "us$": "usd",
        "€": "eur",
        "£": "gbp",
        "¥": "jpy",
        "jp¥": "jpy",
        "cn¥": "cny",
        "元": "cny",
        "₹": "inr",
    },
    **{"a$": "aud", "au$": "aud", "c$": "cad", "ca$": "cad", "nz$": "nzd", "hk$": "hkd", "nt$": "twd", "s$": "sgd"},
    **{"r$": "brl", "mx$": "mxn", "₩": "krw", "₽": "rub", "₴": "uah", "₺": "try", "₪": "ils", "₫": "vnd", "₱": "php"},
    **{"₦": "ngn", "฿": "thb", "zł": "pln", "kč": "czk", "₿": "btc"},
}
NAMES = {
    **dict.fromkeys(("dollar", "dollars", "us dollar", "us dollars", "bucks"), "usd"),
    **dict.fromkeys(("euro", "euros"), "eur"),
    **dict.fromkeys(("pound", "pounds", "pounds sterling", "british pounds"), "gbp"),
    **dict.fromkeys(("yen", "japanese yen"), "jpy"),
    **dict.fromkeys(("yuan", "rmb", "renminbi"), "cny"),
    **dict.fromkeys(("swiss franc", "swiss francs"), "chf"),
    **dict.fromkeys(("canadian dollar", "canadian dollars"), "cad"),
    **dict.fromkeys(("australian dollar", "australian dollars"), "aud"),
    **dict.fromkeys(("ruble", "rubles", "rouble", "roubles"), "rub"),
    **dict.fromkeys(("indian rupee", "indian rupees"), "inr"),
}
CURRENCIES = {code: code for code in CODES} | SIGNS | NAMES
# "$750 CAD" says which dollar "$" is.
DOLLARS = listed("usd cad aud nzd hkd twd sgd mxn")
SCALES = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}

NUMERAL = r"[0-9.](?:[0-9.,_' ]*[0-9])?"
NUMBER = re.compile(rf"(?P<minus>[-+]?) ?(?P<amount>{NUMERAL}) ?(?P<percent>(?:%|percent)?)")
MONEY = re.compile(
    rf"(?P<minus>-?) ?(?P<before>[^0-9.,+'-]*)(?P<inner>-?)(?P<amount>{NUMERAL}) ?(?P<after>[^0-9.,+'-]*)",
)
GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[1-9][0-9]{0,2}(?:[ '_][0-9]{3})+")

MONTH = rf"(?P<month>{A_MONTH})\.?"
DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
YEAR = r"(?P<year>[0-9]{4})"
DATES = tuple(
    re.compile(rf"(?:(?P<weekday>{A_WEEKDAY}),? )?(?:the )?(?:{pattern})")
    for pattern in (
        rf"{YEAR}-(?P<month>[0-9]{{2}})(?:-(?P<day>[0-9]{{2}}))?",
        rf"{YEAR}/(?P<month>[0-9]{{1,2}})/(?P<day>[0-9]{{1,2}})",
        rf"{MONTH} {DAY}(?:,? {YEAR})?",
        rf"{DAY} (?:of )?{MONTH}(?:,? {YEAR})?",
        rf"{MONTH},? {YEAR}",
        YEAR,
    )
)
SLASHED = re.compile(r"([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})")
LEAP = 2000  # the year in which a day without a year is looked up


def canonical_value(*, text: str, normaliser: str) -> str:
    """`text` as values of that kind are compared: `kind:form`, or `text:form` when it can't be read for certain.

    Total and linear. Raise ValueError for an unknown normaliser.
    """
    plain = _plain(text)
    read = READERS.get(Normaliser(normaliser))
    form = read(plain.translate(DASHES)) if read and len(plain) <= LONGEST else None
    return f"text:{plain}" if form is None else f"{normaliser}:{form}"


def _plain(text: str) -> str:
    """Without case, width, invisible characters, spare space, surrounding quotes and a full stop at the end."""
    folded = " ".join(visible(visible(text).casefold()).split())
    start, end = 0, len(folded)
    while True:
        before = start, end
        while end - start > 1 and folded[end - 1] in FULL_STOPS + " ":
            end -= 1
        while end - start > 1 and folded[start] == " ":
            start += 1
        if end - start > 2 and QUOTES.get(folded[start]) == folded[end - 1]:
            start, end = start + 1, end - 1
        if (start, end) == before:
            return folded[start:end]


def _boolean(text: str) -> str | None:
    """`true` or `false`."""
    return "true" if text in TRUE else "false" if text in FALSE else None


def _number(text: str) -> str | None:
    """A decimal number without idle zeros, `%` behind it if it is a percentage. "1,000" is 1000, "1.000" is 1."""
    match = NUMBER.fullmatch(text)
    digits = match and _digits(match["amount"])
    if not match or digits is None:
        return None
    return _decimal(match["minus"] + digits) + ("%" if match["percent"] else "")


def _money(text: str) -> str | None:
    """`currency amount`, the currency empty when none is named. An amount like 1.000 could be either and stays text."""
    match = MONEY.fullmatch(text)
    if not match or re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", match["amount"]) or (match["minus"] and match["inner"]):
        return None
    digits, named, scale = _digits(match["amount"]), *_unit(match["before"].strip(), match["after"].strip())
    if digits is None or named is None:
        return None
    return f"{named} {_decimal(match['minus'] + match['inner'] + digits, scale)}"


def _unit(before: str, after: str) -> tuple[str | None, int]:
    """The currency that the words around an amount name, None if they say anything else, and the power of ten."""
    scale = 0
    first, _, rest = after.partition(" ")
    if first in SCALES:
        scale, after = SCALES[first], rest
    words = {word for side in (before, after) for word in ([side] if side in NAMES else side.split())}
    if not words <= CURRENCIES.keys():
        return None, 0
    named = {CURRENCIES[word] for word in words if word != "$"}
    if "$" in words and (not named or not named <= DOLLARS):
        named.add("usd")
    return (None if len(named) > 1 else next(iter(named), "")), scale


def _digits(amount: str) -> str | None:
    """Return an amount in plain digits with a decimal point, None if its separators make no sense.

    Threes behind commas are thousands (1,000 and 1,234,567), as behind spaces, apostrophes, underscores or several
    points; of two kinds the last is the decimal one; a single comma before one or two digits is decimal (750,50).
    """
    if re.fullmatch(r"[0-9]*\.?[0-9]+", amount):
        return amount
    if GROUPED.fullmatch(amount):
        return re.sub("[^0-9]", "", amount)
    whole, mark, fraction = re.fullmatch(r"(.*?)(?:([.,])([0-9]+))?", amount).groups()  # type: ignore[union-attr]
    if not mark or mark in whole:
        return None
    if whole.isdecimal():
        return f"{whole}.{fraction}" if whole == "0" or len(fraction) <= 2 else None
    return f"{re.sub('[^0-9]', '', whole)}.{fraction}" if GROUPED.fullmatch(whole) else None


def _decimal(digits: str, scale: int = 0) -> str:
    """Return the number times ten to the `scale`, written in one way."""
    number = EXACT.create_decimal(digits).scaleb(scale, EXACT).normalize(EXACT)
    return format(number if number else abs(number), "f")


def _date(text: str) -> str | None:
    """ISO 8601: a day, a month (2023-05), a year, or a day of every year (--05-08)."""
    slashed = SLASHED.fullmatch(text)
    if slashed:
        return _either_order(int(slashed[1]), int(slashed[3]), int(slashed[4]))
    for pattern in DATES:
        match = pattern.fullmatch(text)
        if match:
            return _calendar(match.groupdict())
    return None


def _either_order(first: int, second: int, year: int) -> str | None:
    """Return the day that 25/12/2023 or 12/25/2023 means, None when both orders name a day and not the same one."""
    days = {_day(year, month, day) for month, day in ((first, second), (second, first))} - {None}
    return days.pop() if len(days) == 1 else None


def _calendar(parts: dict[str, str | None]) -> str | None:
    """Return what a matched date says, None when the calendar has no such day or it falls on another weekday."""
    year, month, day = parts["year"], parts.get("month"), parts.get("day")
    number = (MONTHS.get(month) or int(month)) if month else 1
    found = _day(int(year or LEAP), number, int(day or 1))
    if found is None or not _falls_on(found, parts["weekday"], whole=bool(year and day)):
        return None
    return f"--{found[5:]}" if not year else found if day else found[:7] if month else found[:4]


def _falls_on(day: str, weekday: str | None, *, whole: bool) -> bool:
    """Return whether a day that names its weekday names the right one, which only a whole date can."""
    return weekday is None or (whole and datetime.date.fromisoformat(day).weekday() == WEEKDAYS[weekday])


def _day(year: int, month: int, day: int) -> str | None:
    """Return the ISO form of a day, None if there is none."""
    try:
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        return None


READERS: dict[Normaliser, Callable[[str], str | None]] = {
    Normaliser.MONEY: _money,
    Normaliser.DATE: _date,
    Normaliser.BOOLEAN: _boolean,
    Normaliser.NUMBER: _number,
}
