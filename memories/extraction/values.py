"""What values look like in English: places, employers, amounts, dates, people, things.

A reader takes the value that begins at a place of the text, and answers its span or None. All are bounded: what they
look at does not grow with the text.
"""

import re
from collections.abc import Callable

from conflicts.keys import CURRENCIES
from memories.language.dates import A_MONTH, A_WEEKDAY, CALENDAR
from memories.language.gazetteers import GIVEN_NAMES, KNOWN
from memories.language.word_lists import OPENERS, STOPWORDS, listed, word_list

Span = tuple[int, int]
Reader = Callable[[str, int, int], Span | None]

FLAGS = re.IGNORECASE
# A word and what may stand inside it: Node.js, O'Brien, 3.5, Europe/Lisbon; St. before a name.
WORD = re.compile(r"(?:St|Ste|Mt|Ft)\.(?=\s[A-Z])|(?:[^\s,;:!?()\"“”«».*<>`\[\]{}|=]|[.,:](?=\w)){1,60}")
GAP = re.compile(r"\s(?=\S)")
NUMBER = r"(?:\d{1,3}(?:[ '’]\d{3}(?!\d))+(?:[.,]\d{1,2})?|\d{1,12}(?:[.,]\d{1,6}){0,4})(?![.,]?\d)"
UNIT = r"(?:k|thousand|grand|million|m|bn|billion)"
_CODES = "|".join(sorted(name for name in CURRENCIES if len(name) == 3 and name.isascii() and name.isalpha()))
_NAMES = "|".join(sorted((name for name in CURRENCIES if len(name) != 3 and name.isalpha()), key=len, reverse=True))
# In small letters a code may be a word: "500 try", "mad", "pen".
MONEY = (
    rf"(?:dollars?|francs?|rupees?|kr|yen|usd|eur|gbp|chf|jpy|cad|aud|inr|sek|nok|dkk|pln|{_NAMES}"
    rf"|(?-i:{_CODES.upper()}))"
)
SIGN = r"(?:[a-z]{0,2}[$¥]|[€£₹₩₽₴₺₪₫₱₦฿])"
AMOUNT = re.compile(
    rf"(?:(?:{SIGN}\s?|{MONEY}\s){NUMBER}(?:\s?{UNIT}\b)?(?:\s{MONEY}\b)?|{NUMBER}(?:\s?{UNIT}\b)?(?:\s?{MONEY}\b|\s?{SIGN})?)"
    r"(?:\s?/\s?[a-z]{1,12}|\s(?:per|a|an|each)\s(?:person|head|night|day|week|month|year|hour|guest))?(?![\w%]|:\d|\s?(?:[-–—]|to\b|or\b)\s?[$€£¥₹]?\d|\s(?:lakhs?|crores?|hundred|dozen|percent)\b)",
    FLAGS,
)
MONTH = rf"(?:{A_MONTH})\.?"
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATE = re.compile(
    rf"(?:(?:{A_WEEKDAY}),?\s)?(?:{MONTH}\s{DAY}(?:,?\s\d{{4}})?|(?:the\s)?{DAY}\s(?:of\s)?{MONTH}(?:,?\s\d{{4}})?"
    rf"|{MONTH}\s\d{{4}}|\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}(?:[./]\d{{2,4}})?)(?!\w)"
    rf"|(?:(?:next|this)\s)?(?:{A_WEEKDAY})\b",
    FLAGS,
)
# What follows a street: towns, codes, countries.
FURTHER = re.compile(
    r",\s(?:[A-Z][\w'-]*(?:\s[A-Z][\w'-]*){0,3}(?:\s\d{3,10})?|\d{3,10}(?:\s[A-Z][\w'-]*){0,3})"
    r"(?=\s*(?:[,.;!?]|$)|\s(?:any ?more|any longer|now)\b)",
    re.MULTILINE,
)
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
PHONE = re.compile(r"\+?\(?\d[\d ().-]{4,20}\d(?!\w)")
ZONE = re.compile(
    r"(?:the )?((?:UTC|GMT)(?:\s?[+-]\d{1,2}(?::\d\d)?)?|[A-Z][a-z]{1,15}/[A-Z][A-Za-z_]{1,20}|[A-Z]{2,5}"
    r"|(?:Eastern|Pacific|Central|Mountain)(?: Standard| European)?(?: Time)?)(?!\w)"
)
AGE = re.compile(r"\d{1,3}(?=(?:[\s-]years?[\s-]old)?\s*(?:[,.;!?)]|$|and\b|but\b|now\b))(?!\.\d)", FLAGS)
QUOTED = re.compile(r"[\"“«']([^\"“”«»\n]{1,200}?)[\"”»'](?!\w)")
EDGE = re.compile(r"\s*(?:[,.;:!?)]|$|[-–—]|\b(?:and|but|from|here|by the way)\b)", FLAGS)

STOP = word_list(__file__, "stops")
PARTICLES = listed("of the de da del di la le van von upon und am el al den der")
NO_THING = word_list(__file__, "no_things")
NO_DEED = listed("think see know hear be say believe have get know do make find hope imagine point add thank")
NO_PLACE = word_list(__file__, "no_places")
DIETS = (
    r"(?:(?:a|an)\s)?(?:strict(?:ly)?\s)?((?:lacto-ovo\s)?vegetarian|vegan|pescatarian|pescetarian|flexitarian|omnivore|carnivore"
    r"|(?:gluten|dairy|lactose|sugar)[\s-]free|(?:lactose|gluten)[\s-]intolerant|c(?:o)?eliac|keto|paleo|halal|kosher)(?=\s*(?:[,.;!?)]|$)|\s(?:and|but|now|since|for|because|so|diet|any|anymore)\b)"
)
JOBS = word_list(__file__, "jobs")
DEMONYM = re.compile(r"(?:ian|ish|ese|[a-z]ican)$")
LANGUAGES = word_list(__file__, "languages")


def words(text: str, start: int, end: int, most: int) -> list[Span]:
    """Return the words from a place on that are a space apart; at most so many."""
    found: list[Span] = []
    while len(found) < most and (word := WORD.match(text, start, end)):
        found.append(word.span())
        gap = GAP.match(text, word.end(), end)
        if not gap or word.end() - word.start() >= 60:
            break
        start = gap.end()
    return found


def whole(pattern: re.Pattern[str], group: int = 0) -> Reader:
    """Return a reader of what a pattern matches."""

    def read(text: str, start: int, end: int) -> Span | None:
        match = pattern.match(text, start, end)
        return match.span(group) if match else None

    return read


def capitals(text: str, start: int, end: int, most: int = 4, joiners: frozenset[str] = PARTICLES) -> Span | None:
    """Return a run of capitalised words, with particles between them."""
    stop = None
    for at, to in words(text, start, end, most + 2):
        word = text[at:to]
        if word[0].isupper() and not (word.lower() in CALENDAR and stop) and word not in {"I", "I'm"}:
            stop = to
        elif word.lower() not in joiners or (stop is None and word.lower() != "the"):
            break
    first = next(iter(words(text, start, end, 2)), None)
    alone = first is not None and text[first[0] : first[1]].lower() == "the" and stop == first[1]
    return (start, stop) if stop and not alone else None


def lowly(text: str, start: int, end: int) -> Span | None:
    """Return a name in lower case: one on the lists, or up to three words in a text that has no capitals."""
    spans = words(text, start, end, 3)
    for length in range(len(spans), 0, -1):
        if text[start : spans[length - 1][1]].lower() in KNOWN:
            return start, spans[length - 1][1]
    span = thing(text, start, end, 3)
    ordinary = OPENERS | NO_PLACE
    if span is None or not text[max(0, start - 40) : end].islower():
        return None
    return None if any(word in ordinary for word in text[span[0] : span[1]].split()) else span


def place(text: str, start: int, end: int) -> Span | None:
    """Seattle; the Netherlands; Portland, Oregon; Rio de Janeiro."""
    span = capitals(text, start, end)
    if span is None:
        return lowly(text, start, end)
    region = re.compile(r",\s(?=\w)").match(text, span[1], end)
    further = region and capitals(text, region.end(), end, 3)
    if further and EDGE.match(text, further[1], end):
        name = text[further[0] : further[1]]
        if KNOWN.get(name.lower()) == "location" or (len(name) == 2 and name.isupper()):
            return start, further[1]
    return span


# Who stayed for a while only, or as a child.
STAYED = re.compile(
    r"\s(?:for\s\w+\s(?:\w+\s)?(?:days?|weeks?|months?|years?|summers?|while)(?!\s(?:now|ago)\b)|when\s(?:I|we)\s(?:was|were)"
    r"|as\san?\s(?:child|kid|baby|teen|teenager|student)|back\sin)\b",
    FLAGS,
)
OF_TOOLS = re.compile(
    rf"\s\d(?!\d*\s(?:{A_MONTH}|(?:\w+\s){{1,2}}ago\b))|\S*[a-z\d](?<!\bMc)(?<!\bMac)(?<!\bDe)(?<!\bDu)(?<!\bL[ae])[A-Z]"
)
TOOLS = ("misc", "organization")
FROM_WHAT = re.compile(r"\bfrom\s(\w+)[^.,;]{0,20}\sto\s$", FLAGS)


def new_home(text: str, start: int, end: int) -> Span | None:
    """Return the place somebody moved to: who moves to another tool, or moved for a while, lives there no more."""
    span = place(text, start, end)
    if span is None or STAYED.match(text, span[1], end):
        return None
    name, before = text[slice(*span)], text[max(0, start - 60) : start]
    if KNOWN.get(name.lower()) == "location" or "," in name:
        return span
    left = FROM_WHAT.search(before)
    is_tool = OF_TOOLS.match(text, span[1], end) or OF_TOOLS.search(name) or KNOWN.get(name.lower()) in TOOLS
    return None if is_tool or left and KNOWN.get(left[1].lower()) in TOOLS else span


def employer(text: str, start: int, end: int) -> Span | None:
    """Boeing; Barnes & Noble; the University of Leeds."""
    return capitals(text, start, end, 5, PARTICLES | {"&", "for"}) or lowly(text, start, end)


def person(text: str, start: int, end: int) -> Span | None:
    """Ana; Ana Lopez; Dr. Lin; in lower case only a given name."""
    title = re.compile(r"(?:dr|mr|mrs|ms|prof)\.\s", FLAGS).match(text, start, end)
    span = capitals(text, title.end() if title else start, end, 4, listed("de da del di la le van von el al den der"))
    if span:
        first = text[span[0] : span[1]].split()[0].lower()
        if first in GIVEN_NAMES:
            return start, span[1]
        odd = first in OPENERS or first.endswith("'s") or first in LANGUAGES or DEMONYM.search(first)
        return None if odd or KNOWN.get(first) == "misc" else (start, span[1])
    first_word = next(iter(words(text, start, end, 1)), None)
    return first_word if first_word and text[first_word[0] : first_word[1]] in GIVEN_NAMES else None


def introduced(text: str, start: int, end: int) -> Span | None:
    """Return a name behind "I'm", which needs evidence: a known given name and nothing behind it."""
    span = person(text, start, end)
    if span is None or not EDGE.match(text, span[1], end) or not text[start].isupper():
        return None
    return span if text[start : span[1]].split()[0].lower() in GIVEN_NAMES else None


def thing(text: str, start: int, end: int, most: int = 7) -> Span | None:
    """Return a few words up to the end of the clause; "jazz and blues" is one thing, "jazz and I hate opera" is not."""
    quoted = QUOTED.match(text, start, end)
    if quoted:
        return quoted.span(1)
    stop = None
    spans = words(text, start, end, most + 1)
    for number, (at, to) in enumerate(spans):
        word = text[at:to].lower()
        if word in STOP and number:
            pair = word in {"and", "or"} and number + 1 < len(spans) and spans[number + 1]
            return (start, pair[1]) if pair and _pairs(text, pair, end) else (start, stop or to)
        if word in {"-", "–", "—", "/", "+"} or re.match(r"--|[-–—]", word):
            break
        stop = to
    short = stop is not None and len(spans) <= most
    first = text[spans[0][0] : spans[0][1]].lower() if spans else ""
    return (start, stop) if short and stop and first not in STOP and any(c.isalnum() for c in first) else None


def _pairs(text: str, word: Span, end: int) -> bool:
    """Return whether the one word behind "and" belongs to the thing before it."""
    lower = text[word[0] : word[1]].lower()
    return lower not in OPENERS and "'" not in lower and bool(EDGE.match(text, word[1], end))


def liked(text: str, start: int, end: int) -> Span | None:
    """Return what somebody likes, owns or prefers; no pronouns, no "the idea", no "to think that"."""
    deed = re.compile(r"to\s", FLAGS).match(text, start, end)
    article = re.compile(r"(?:an?|the(?=\s(?-i:[A-Z])))\s", FLAGS).match(text, start, end)
    begin = (deed or article or re.compile("").match(text, start)).end()  # type: ignore[union-attr]
    span = thing(text, begin, end)
    if span is None:
        return None
    first = text[span[0] : span[1]].split()[0].lower()
    unfit = first in (NO_DEED if deed else frozenset()) or first.split("'")[0] in NO_THING
    return None if unfit else span


def role(text: str, start: int, end: int) -> Span | None:
    """Return an occupation, up to its head: a senior data engineer; the CEO."""
    article = re.compile(r"(?:an?|the)\s(?:(?:retired|former)\s)?", FLAGS).match(text, start, end)
    begin = article.end() if article else start
    if article and re.search("retired|former", article.group(), FLAGS):
        return None
    last = None
    for at, to in words(text, begin, end, 5):
        word = text[at:to].lower().rstrip("-")
        if word in STOP or word in {"of", "in", "on"} or word in NO_THING:
            break
        last = at + len(word) if word in JOBS else last
    return (begin, last) if last and (article or text[begin:last].isupper() or last == begin + 3) else None


def named(text: str, start: int, end: int) -> Span | None:
    """Return a value that shows what it is: in quotes, a name, a number, an address; nothing behind it."""
    quoted = QUOTED.match(text, start, end)
    if quoted:
        return quoted.span(1)
    for pattern in (EMAIL, DATE, AMOUNT):
        if match := pattern.match(text, start, end):
            return match.span() if EDGE.match(text, match.end(), end) else None
    article = re.compile(r"(?:an?|the)\s", FLAGS).match(text, start, end)
    span = thing(text, article.end() if article else start, end, 5)
    if span is None or text[span[0] : span[1]].split()[0].lower() in STOPWORDS:
        return None
    signs = any(word[0].isupper() or word[0].isdigit() for word in text[span[0] : span[1]].split())
    return span if signs else None


def address(text: str, start: int, end: int) -> Span | None:
    """Return an address, a street with its town, or whatever else shows what it is."""
    street = thing(text, start, end, 6) if text[start : start + 1].isdigit() else None
    is_street = street and EDGE.match(text, street[1], end) and not text[slice(*street)].islower()
    span = street if is_street else named(text, start, end)
    while span and (further := FURTHER.match(text, span[1], end)):
        span = start, further.end()
    return span


def language(text: str, start: int, end: int) -> Span | None:
    """Spanish; Brazilian Portuguese."""
    spans = words(text, start, end, 2)
    known = [to for at, to in spans if text[at:to].lower() in LANGUAGES]
    odd = len(spans) > 1 and known[:1] != [spans[0][1]] and not text[start : spans[0][1]][0].isupper()
    return (start, known[0]) if known and not odd else None


def allergen(text: str, start: int, end: int) -> Span | None:
    """Return one thing of a list: peanuts; tree nuts."""
    stop = None
    for at, to in words(text, start, end, 3):
        if text[at:to].lower() in STOP:
            break
        stop = to
    first = text[start : stop or start].split(" ")[0].lower()
    return (start, stop) if stop and first not in NO_THING - {"all"} else None
