"""Names that a speaker gives himself in a turn, or denies."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from memories.extraction.values import DIETS, EDGE, JOBS, LANGUAGES
from memories.language.dates import CALENDAR
from memories.language.gazetteers import GIVEN_NAMES, KNOWN, WORDY_NAMES
from memories.language.word_lists import NEGATIVE, OPENERS, POSITIVE, listed, word_list

STATES = POSITIVE | NEGATIVE | OPENERS | CALENDAR | JOBS | LANGUAGES | word_list(__file__, "states")
ADJECTIVE = re.compile(
    r"[a-z'-]+(?:ing|ed|ive|ous|ful|less|able|ible|ical|ish|ward|wards|wise|some|ly|ic|ial|ular|ior|ate|ense|ent|ant|ost)"
)
AM = r"(?<![\w'])(?:i(?:'m| am| ain't)|im)"
FILL = (
    r"(?:(?:actually|really|just|also|still|now|simply|only|better|best|mostly|usually|formally|legally|officially"
    r"|in fact|uh|um|er|well|btw|honestly|indeed|technically|currently|definitely|called|named|nicknamed|known"
    r"|(?:by the |the )?name of|as|by|dr|mr|mrs|ms|miss|prof|sir)\b\W+)*"
)
NAME = (
    r"\b(?:my|our)(?: (?:first|last|full|real|given|middle|family|legal|maiden|birth|christian|pen|user|preferred"
    r"|actual|true|own|other|new|old|stage|screen|account|login|nick))*"
    r" (?:name|first-?name|forename|surname|nickname|username|moniker|handle|alias|login)"
)
NOT = r"(?P<not>(?:(?:not|no longer|never|no)\b\W+)?)"
LEADS = re.compile(
    rf"(?:(?P<am>{AM})\b\W*|{NAME}(?:'s| is| was|\s*[=:])(?P<isnt>n't)?\W+|{NAME} isn't (?P<neither>)\W*"
    rf"|(?<![\w'])i\s*[,(–—-]\W*(?=\w)|\b(?:calls?|know|knows) me\b\W+"
    rf"|\bi(?: go|'ve always gone| answer) (?:by|to)\b\W+|\bintroduce myself\b\W*"
    r"|\b(?:me llamo|mi nombre es|je m'appelle|mon nom est|ich hei(?:ss|ß)e|mein name ist|mi chiamo|il mio nome è"
    r"|meu nome é|chamo-me|ik heet|mijn naam is|jag heter|jeg heter|jeg hedder)\b\W+)"
    rf"{FILL}{NOT}{FILL}(?P<name>[^\W\d_][\w'-]*)",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W\d_][\w'-]*")
SPEAK = r"(?:speak|talk|writ|typ|text|messag|post|reply|answer|chatt?|dictat|translat)"
ONE = r"(?P<name>[^\W\d_][\w'-]*)"
CLAUSE = r"(?:^|[.,;:!?(–—-]) ?"
ENDS = r"(?![\w'-])(?= ?(?:[^\w\s]|and\b|but\b|$))"
# What may tell of a thing as well, so that only a known given name is one.
LOOSE = (
    re.compile(
        rf"(?:{CLAUSE}(?:the |user ?)?name(?:'s\b| is\b|\s*[:=])|\b(?:it's|it is|this is) (?:(?:only|just) )?me\b"
        rf"|\b(?:soy|ich bin|je suis|sono|ik ben|sou|jag är|jeg er)\b)\W+(?P<not>){ONE}",
        re.IGNORECASE,
    ),
    # A clause of its own: "this is Bob", "not Bob", "Bob Miller here".
    re.compile(
        rf"(?:{CLAUSE}|\band (?=it|this))(?P<lead>(?:this|it)(?: is|'s) |(?=not ))?(?P<not>not )?{ONE}"
        rf"(?: (?-i:[A-Z])[\w'-]*)?(?(lead)(?: (?:here|again|{SPEAK}ing))?| (?:here|{SPEAK}ing)){ENDS}",
        re.IGNORECASE,
    ),
    re.compile(rf"[.!?,] ?(?:love|yours|xoxo)\W+(?P<not>){ONE}\W*$", re.IGNORECASE),
)
MACHINES = listed("chatgpt gpt")
MORE = re.compile(r"(?: |\. )(?:(?:de|da|del|di|la|le|van|von|al|el|der) ){0,2}([^\W\d_][\w'-]*)")
DIET = re.compile(DIETS, re.IGNORECASE)
MARKS = re.compile(r"[*_`\"“”«»<>~#]+|(?<!\w)'|'(?!\w)")


@dataclass(frozen=True, slots=True)
class SelfName:
    """A name by which a speaker calls himself, as lower-case words; `denied` when he says that he is not called so."""

    words: frozenset[str]
    denied: bool = False


def plain_text(text: str) -> str:
    """Return a text without marks around its words, and with one spelling of each apostrophe."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub("[’ʼ‘`´]", "'", text)
    return re.sub(r"\s+", " ", MARKS.sub(" ", text)).strip()


def self_names(text: str) -> Iterator[tuple[int, int, SelfName]]:
    """Yield the names that the speaker of a plain text gives himself or denies, each with its place."""
    shouts = text.isupper()
    for start, end, denied in (*_named(text), *_named_loosely(text)):
        if _is_name(text, start, end, shouts=shouts):
            words, end = _whole_name(text, start, end, shouts=shouts)
            yield start, end, SelfName(words, denied)


def is_given_name(word: str) -> bool:
    """Return whether a word is known for a given name; one that means something else, too, only with a capital."""
    return word.casefold() in GIVEN_NAMES or (word[0].isupper() and word.casefold() in WORDY_NAMES)


def _named(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where a word stands behind "I'm" or the like, and whether the speaker denies it."""
    for lead in LEADS.finditer(text):
        denied = lead["not"] or lead["isnt"] or lead["neither"] is not None or "ain't" in (lead["am"] or "").lower()
        yield *lead.span("name"), bool(denied)


def _named_loosely(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where a given name stands in words that need not tell of the speaker, and whether he denies it."""
    for leads in LOOSE:
        for lead in leads.finditer(text):
            if is_given_name(lead["name"]):
                yield *lead.span("name"), bool(lead["not"])


def _is_name(text: str, start: int, end: int, *, shouts: bool) -> bool:
    word = text[start:end]
    lower = word.casefold()
    if lower.endswith("'s"):
        return False
    if lower in GIVEN_NAMES:
        return word[0].isupper() and not shouts or lower not in STATES or bool(EDGE.match(text, end))
    if lower in WORDY_NAMES - CALENDAR - JOBS and word[0].isupper() and not shouts:
        return True
    if (
        lower in STATES
        or lower.split("-")[0] in STATES
        or (KNOWN.get(lower) == "misc" and lower not in MACHINES)
        or re.match(DIETS, text[start:], re.IGNORECASE)
    ):
        return False
    return (word[0].isupper() and not shouts) or not ADJECTIVE.fullmatch(lower)


def _whole_name(text: str, start: int, end: int, *, shouts: bool) -> tuple[frozenset[str], int]:
    """Return the name that begins with a word, in lower case, and its end; initials have a stop behind them."""
    words = [text[start:end]]
    while words[0][0].isupper() and not shouts and (more := MORE.match(text, end)):
        word = more[1]
        if (
            not word[0].isupper()
            or word.casefold() in OPENERS
            or word.endswith("'s")
            or word[:2] == "I'"
            or word == "I"
        ):
            break
        if text[end] == "." and len(words[-1]) > 2:
            break
        words.append(word)
        end = more.end()
    return frozenset(word.casefold() for word in words), end
