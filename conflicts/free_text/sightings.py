"""Sightings: where a passage names amounts, numbers, dates, places and names, and whether that is a known value."""

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from conflicts.enums import Normaliser
from conflicts.free_text.passages import Passage
from conflicts.keys import CURRENCIES, canonical_value
from memories.language.dates import A_MONTH, A_WEEKDAY, AN_ORDINAL, CALENDAR, MONTHS, ORDINALS, WEEKDAYS
from memories.language.gazetteers import GIVEN_NAMES, PLACES
from memories.language.word_lists import OPENERS, entries, listed, word_list


@dataclass(frozen=True, slots=True)
class Sighting:
    """A value in a passage, in the form in which it compares; `sure` when it can be nothing but one of its kind."""

    form: str
    start: int
    end: int
    sure: bool = True


UNITS = {name: number for number, name in enumerate(entries(__file__, "units"))}
UNITS |= {"nil": 0, "nought": 0, "nothing": 0, "zilch": 0, "no": 0, "a": 1, "an": 1}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
SCALES = {"hundred": 100, "thousand": 1_000, "grand": 1_000, "million": 1_000_000, "k": 1_000}
SPELLED = re.compile(
    rf"\b(?:(?:{'|'.join([*UNITS, *TENS, *SCALES])}|and)(?:[ -]+|\b(?!')))+", re.IGNORECASE
)  # fmt: skip
MONEY_WORD = (
    r"(?:us )?dollars?|bucks?|quid|euros?|pounds?(?: sterling)?|yen|francs?|rupees?|cents?"
    r"|usd|eur|gbp|chf|jpy|cad|aud|inr"
)
AMOUNT = re.compile(
    rf"(?:(?P<sign>(?:US|CA|AU|A|C)?[$€£¥₹]) ?)?(?P<number>\d(?:[\d.,' ]*\d)?)"
    rf"(?P<scale> ?(?:k|thousand|grand|m|million)\b)?"
    rf"(?P<unit> ?(?:{MONEY_WORD})\b| ?[€£$](?!\d))?",
    re.IGNORECASE,
)
CODE_BEFORE = re.compile(r"\b(?:usd|eur|gbp|chf|jpy|cad|aud|inr) ?$", re.IGNORECASE)
UNIT_AFTER = re.compile(rf"(?:{MONEY_WORD})\b", re.IGNORECASE)
NUMBER = re.compile(r"(?:(?<![\w.,$€£/-])|(?<=\btcp/)|(?<=\budp/))\d+(?:,\d{3})*(?:\.\d+)?(?![\w%]|[.,/-]\d)")
OTHER_UNIT = re.compile(
    r"\s?-?(?:%|percent|people|person|guests?|nights?|days?|weeks?|months?|years?|hours?|minutes?|seconds?|ms|mb|gb|tb"
    r"|times?|items?|users?|connections?|requests?|workers?|threads?|replicas?|servers?|km|miles|am\b|pm\b|st\b|nd\b"
    r"|rd\b|th\b|retries|clients?|instances?|rows?|tables?|entries|attempts?|pages?|points?|x\b|ports?\b)",
    re.IGNORECASE,
)
MONTH = rf"(?P<month>{A_MONTH})\b\.?"
DAY = rf"(?P<day>\d{{1,2}}(?:st|nd|rd|th)?|{AN_ORDINAL})"
DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})[-/.](?P<number>\d{1,2})[-/.](?P<day>\d{1,2})(?:\b|(?=T\d))",
        r"\b(?P<year>20\d{2})(?P<number>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])\b",
        r"\b(?P<one>\d{1,2})[-/.](?P<two>\d{1,2})(?:[-/.](?P<year>\d{4}|\d{2}))?\b(?![/.,-]?\d)",
        rf"\b{DAY} (?:day )?(?:of )?{MONTH}(?:,? (?P<year>\d{{4}}))?",
        rf"\b{MONTH} (?:the )?{DAY}\b(?:,? (?P<year>\d{{4}}))?",
        rf"\b(?:mid-?|early |late |end of |beginning of |start of )?{MONTH}(?: (?P<year>\d{{4}}))?",
        rf"\b(?:next |this |coming )?(?P<weekday>{A_WEEKDAY})\b",
        r"\b(?P<relative>tomorrow|tonight|today|yesterday|next (?:week|month|year)|this (?:week|weekend|month)"
        r"|(?:christmas|new year's) (?:eve|day)|new year|christmas|easter)\b",
        r"\b(?P<year>20\d{2})\b",
    )
)
NO_PLACE = CALENDAR | word_list(__file__, "no_places")
CAPITALS = re.compile(r"\b[A-ZÀ-Þ][\w'&.-]*[\w](?: (?:(?:de|da|do|del|la|of|the|von|am) )?[A-ZÀ-Þ][\w'&-]*[\w])*")
SMALL_PLACE = re.compile(r"\b(?:in|to|at) ([^\W\d_]{3,})\b", re.IGNORECASE)
PLACE = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, PLACES), key=len, reverse=True))})\b", re.IGNORECASE)
DEMONYM = re.compile(r"\w+(?:ian|ish|ese)")
FRUIT = listed("oranges plums peaches limes olives corals")
INDEFINITE = listed("us reading nice mobile split")


def money(passage: Passage) -> Iterator[Sighting]:
    """Amounts; those without a currency are unsure."""
    text = passage.text
    for match in AMOUNT.finditer(text):
        unit = match["sign"] or match["unit"] or CODE_BEFORE.search(text, 0, match.start())
        number = _plain_number(match["number"])
        if number is None:
            continue
        after = text[match.end() :]
        if not unit and (OTHER_UNIT.match(after) or _in_date(text, match.start("number"), match.end("number"))):
            continue
        scale = {"k": 3, "t": 3, "g": 3, "m": 6}[match["scale"].strip()[0].lower()] if match["scale"] else 0
        yield Sighting(_amount(number * 10**scale), match.start(), match.end(), bool(unit))
    for match in SPELLED.finditer(text):
        value = _spelled(match.group())
        if value is None:
            continue
        unit = UNIT_AFTER.match(text, match.end())
        vague = match.group().lower().strip() in {"a", "an", "no", "one", "nothing"}
        if unit or not vague:
            yield Sighting(_amount(value), match.start(), unit.end() if unit else match.end(), bool(unit))


def numbers(passage: Passage) -> Iterator[Sighting]:
    """Plain numbers, without those that count something else; spelled ones are unsure."""
    days = [match.span() for pattern in DATES[:5] for match in pattern.finditer(passage.text)]
    for match in NUMBER.finditer(passage.text):
        if any(start <= match.start() < end for start, end in days):
            continue
        if not OTHER_UNIT.match(passage.text[match.end() :]):
            yield Sighting(_amount(float(match.group().replace(",", ""))), *match.span())
    for match in SPELLED.finditer(passage.text):
        value = _spelled(match.group())
        if value is not None and value > 1:
            yield Sighting(_amount(value), *match.span(), sure=False)


def dates(passage: Passage) -> Iterator[Sighting]:
    """Dates as far as they are told: year, month, day, each maybe `?`; weekdays and others by their name."""
    taken: list[tuple[int, int]] = []
    for pattern in DATES:
        for match in pattern.finditer(passage.text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            if (form := _date(match)) is not None:
                taken.append(match.span())
                yield Sighting(form, *match.span())


def places(passage: Passage) -> Iterator[Sighting]:
    """Known places in any case, and capitalised names that may be places (unsure)."""
    taken = []
    for match in PLACE.finditer(passage.text):
        if match.group().lower() not in INDEFINITE or match.group().istitle():
            taken.append(match.span())
            yield Sighting(match.group().casefold(), *match.span())
    for one in names(passage):
        if not DEMONYM.fullmatch(one.form) and not any(one.start < end and start < one.end for start, end in taken):
            yield Sighting(one.form, one.start, one.end, sure=False)


def small_places(passage: Passage) -> Iterator[Sighting]:
    """Return what stands where a place would, in a sentence that writes no name large (unsure)."""
    if not CAPITALS.search(passage.text, 1):
        for match in SMALL_PLACE.finditer(passage.text):
            if match[1].lower() not in NO_PLACE | OPENERS:
                yield Sighting(match[1].casefold(), *match.span(1), sure=False)


def names(passage: Passage) -> Iterator[Sighting]:
    """Capitalised names that are no ordinary words."""
    for match in CAPITALS.finditer(passage.text):
        words = match.group().split()
        at = match.start()
        while words and (words[0].lower().removesuffix("'s") in NO_PLACE | OPENERS):
            at += len(words.pop(0)) + 1
        text = " ".join(words).removesuffix("'s")
        if text and not text.isdigit():
            yield Sighting(text.casefold(), at, at + len(text), sure=False)


def listed_words(passage: Passage, known: frozenset[str]) -> Iterator[Sighting]:
    """Return the words of a closed list."""
    for word in passage.words:
        if (word.stem in known or word.text.lower() in known) and word.text.lower() not in FRUIT:
            yield Sighting("gray" if word.stem == "grey" else word.stem, word.start, word.end)


def same_date(one: str, other: str) -> bool:
    """Return whether two dates may be one: what both tell agrees."""
    own, theirs = _possible(one), _possible(other)
    return any(_agree(a, b) for a, b in product(own, theirs))


ANY_DAY = (2000, 1, 1)


def _possible(form: str) -> list[tuple[str, ...]]:
    """Return the (year, month, day) that a form may mean."""
    if form.startswith("/"):
        _, first, second, year = form.split("/")
        return [day for day in ((year, first, second), (year, second, first)) if _is_a_day(day)]
    if form.count("-") != 2:
        return [(form,)]
    day = tuple(form.split("-"))
    return [day] if _is_a_day(day) else []


def _is_a_day(day: tuple[str, ...]) -> bool:
    """Return whether there is such a day, as far as it is told."""
    try:
        datetime.date(*(int(part) if part.isdecimal() else any_ for part, any_ in zip(day, ANY_DAY, strict=True)))
    except ValueError:
        return False
    return True


def _agree(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if len(one) == len(other):
        return all("?" in pair or pair[0] == pair[1] for pair in zip(one, other, strict=True))
    day, named = (one, other) if len(one) == 3 else (other, one)
    if named[0] in WEEKDAYS and "?" not in day:
        return datetime.date(*map(int, day)).weekday() == WEEKDAYS[named[0]]
    return False


def _date(match: re.Match[str]) -> str | None:
    found = match.groupdict()
    if found.get("weekday") or found.get("relative"):
        return (found.get("weekday") or found["relative"]).lower()
    year = found.get("year") or "?"
    year = f"20{year}" if len(year) == 2 else year
    if found.get("one"):
        first, second = int(found["one"]), int(found["two"])
        if not (1 <= first <= 31 and 1 <= second <= 31 and min(first, second) <= 12):
            return None
        return f"/{first}/{second}/{year}"
    if not found.get("month") and not found.get("number"):
        return f"{year}-?-?"
    month = str(MONTHS[found["month"].lower()] if found.get("month") else int(found["number"]))
    if found.get("month") and not found.get("day") and found["month"].lower() in {"may", "mar", "march", "dec"}:
        if not found["month"][0].isupper() or found["month"].lower() != "march" and found["month"] != "May":
            return None
        if year == "?" and match.string[match.end() : match.end() + 1] == " " and found["month"] == "May":
            return None
    day = (found.get("day") or "?").lower()
    number = str(ORDINALS[day]) if day in ORDINALS else re.sub(r"\D", "", day).lstrip("0") or "?"
    return f"{year}-{month}-{number}"


def _in_date(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - 12) : end + 14].lower()
    number = text[start:end]
    there = max(0, min(12, start))
    days = (m for p in DATES[:5] for m in p.finditer(around) if m.start() <= there < m.end())
    return any(_date(m) is not None for m in days) or bool(re.fullmatch(r"(?:19|20)\d\d", number))


def _plain_number(text: str) -> float | None:
    value = canonical_value(text=text.strip(), normaliser=Normaliser.NUMBER)
    return float(value.removeprefix("number:")) if value.startswith("number:") else None


def _amount(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


MOST_WORDS = 24  # of a number: more would be above all that anybody counts


def _spelled(text: str) -> float | None:
    """Return the number that words spell: "seven hundred and fifty"; None when they spell none."""
    words = re.split(r"[ -]+", text.lower().strip())
    digits = [UNITS.get(word, 10) for word in words]
    if len(words) > MOST_WORDS:
        return None
    if len(digits) > 2 and max(digits) < 10:  # "five four three two"
        return float("".join(map(str, digits)))
    total, current, any_word = 0, 0, False
    for word in words:
        if word == "and" or not word:
            continue
        any_word = True
        if word in UNITS:
            current += UNITS[word]
        elif word in TENS:  # "seven fifty", "fifty-four thirty-three"
            current = current * 100 + TENS[word] if 0 < current < 100 else current + TENS[word]
        elif word == "hundred":
            current = max(1, current) * 100
        elif word in SCALES:
            total, current = total + max(1, current) * SCALES[word], 0
    return float(total + current) if any_word else None


def known_currency(text: str) -> bool:
    """Return whether a text names a currency."""
    return any(part in CURRENCIES for part in re.split(r"[\s\d.,]+", text.lower()) if part)


def is_given_name(word: str) -> bool:
    """Return whether a word is somebody's first name."""
    return word.lower().removesuffix("'s") in GIVEN_NAMES


CODE = re.compile(r"(?<!\w)(?=[A-Za-z-]*\d)[A-Za-z\d][A-Za-z\d.-]*[A-Za-z\d]|(?<!\w)\d(?!\w)")


def codes(passage: Passage) -> Iterator[Sighting]:
    """Words with digits in them; what else they could be nobody knows."""
    for match in CODE.finditer(passage.text):
        yield Sighting(match.group().casefold(), *match.span(), sure=False)
