"""What one sentence states: a subject, a verb that is known, and a value that its reader accepts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from conflicts.keys import USER
from memories.extraction import deeds, grammar, patterns, values
from memories.extraction.patterns import COMPLEMENTS, FIRST, THIRD, Pattern
from memories.extraction.values import Span
from memories.language.dates import CALENDAR
from memories.language.gazetteers import GIVEN_NAMES
from memories.language.word_lists import OPENERS, listed

LONGEST_CLAUSE, LONGEST_LINK = 400, 40
LONGEST_LIST = 10
NEW_CLAUSE = listed("love like hate live work have am prefer enjoy dislike speak own i'm")
EVENTS = listed("trip project wedding party event renovation vacation holiday conference move launch campaign")
# What is the speaker's when no owner is named.
GENERAL = listed("budget deadline")
ORDINARY = (OPENERS - GIVEN_NAMES) | CALENDAR | grammar.LABELS | grammar.MACHINES
TASTES = listed("likes dislikes owns eats drinks")
NAME_WORD = re.compile(r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\. )?[^\W\d_][\w-]{0,30}")
PRONOUN = re.compile(r"(?:he|she|they)\b", re.IGNORECASE)
POSSESSIVE = re.compile(r"(?:his|her|their)\s", re.IGNORECASE)
CONNECTS = re.compile(r"(?:in|for)\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of `text` from `start` to `end`, and what holds for all of it.

    `me` is who speaks, None when that is a machine; `whose` is whom "he" and "their" mean in reported speech.
    """

    text: str
    start: int
    end: int
    me: str | None
    reported: int
    whose: str | None
    doubtful: bool
    later: bool


@dataclass(frozen=True, slots=True)
class FoundStatement:
    """A statement before it is judged: where it is, what it says, and how."""

    start: int
    subject: str
    predicate: str
    value: Span
    mine: bool = False
    negated: bool = False
    unsure: bool = False
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Who:
    """Whom a clause is about, where that is said, and where it goes on; `mine` when it says I or my."""

    subject: str
    start: int
    end: int
    mine: bool = False
    third: bool = True


def statements(sentence: Sentence) -> Iterator[FoundStatement]:
    """Return the statements of a sentence, in its order."""
    last: FoundStatement | None = None
    for start in _starts(sentence):
        clause = list(_clause(sentence, start, last)) or list(_talk(sentence, start))
        last = clause[-1] if clause else last
        yield from clause
    for match in grammar.ASIDE.finditer(sentence.text, sentence.start, sentence.end):
        yield from _talk(sentence, match.end(), aside=True)


def _talk(sentence: Sentence, start: int, *, aside: bool = False) -> Iterator[FoundStatement]:
    """Return what the speaker tells of themselves behind I, my, or at the beginning without either."""
    text, end, me = sentence.text, min(sentence.end, start + LONGEST_CLAUSE), sentence.me
    if me is None:
        return
    if match := grammar.I_SUBJECT.match(text, start, end):
        for predicate, value in () if aside else deeds.ended(text, match.end(), end):
            if deeds.UNSETTLED.search(text, max(sentence.start, start - LONGEST_CLAUSE), end):
                continue
            yield FoundStatement(start, me, predicate, value, mine=True, negated=True)
        found = deeds.told(text, match.end(), end)
    elif start == sentence.start:
        found = chain(deeds.told_of_mine(text, start, end), deeds.told_without(text, start, end))
    else:
        found = deeds.told_of_mine(text, start, end)
    for predicate, value in found:
        yield FoundStatement(start, me, predicate, value, mine=True, goes_on=True)


def _starts(sentence: Sentence) -> Iterator[int]:
    yield sentence.start
    for match in grammar.STARTS.finditer(sentence.text, sentence.start, sentence.end):
        if match.end() < sentence.end:
            yield match.end()


def _clause(sentence: Sentence, start: int, last: FoundStatement | None) -> Iterator[FoundStatement]:
    """What stands at one place; without a subject it goes on about the last one's, as in "and work at Boeing"."""
    text, end = sentence.text, min(sentence.end, start + LONGEST_CLAUSE)
    if found := list(_directives(text, start, end, sentence.me)):
        yield from found
        return
    owner = _owner(sentence, start, end)
    if owner:
        yield from _possession(text, owner, end)
        return
    who = _who(sentence, start, end)
    if who is None and last and last.goes_on and _continues(text, last.value[1], start):
        who = Who(last.subject, start, start - 1, last.mine, not last.mine)
    if who:
        yield from _action(text, who, end)
    elif the := grammar.THE.match(text, start, end):
        yield from _thing(sentence, start, the.end(), end)
    elif sentence.me and start == sentence.start:
        alone = grammar.NOUN.match(text, start, end)
        if alone and snake(alone.group()) in GENERAL:
            yield from _becomes(text, Who(sentence.me, start, alone.end()), snake(alone.group()), end)


def _continues(text: str, end: int, start: int) -> bool:
    """Return whether nothing but "and" or "but" stands between a value and what follows."""
    return start - end <= LONGEST_LINK and bool(grammar.AGAIN.fullmatch(text[end:start].rstrip() + " "))


def _directives(text: str, start: int, end: int, me: str | None) -> Iterator[FoundStatement]:
    """Call me Al; email me at al@example.com; I raised my budget to $650."""
    if me is None:
        return
    if (match := grammar.CHANGES.match(text, start, end)) and _measured(snake(match["noun"])):
        known = patterns.reader(snake(match["noun"]))
        value = known[1](text, match.end(), end) if known else None
        if known and value and grammar.said_outright(text, value[1]):
            yield FoundStatement(start, me, known[0], value, mine=True)
            return
    if match := grammar.CONTACT.match(text, start, end):
        for predicate in ("email", "phone"):
            if value := patterns.READERS[predicate](text, match.end(), end):
                yield FoundStatement(start, me, predicate, value, mine=True)
                return
    if match := grammar.CALL_ME.match(text, start, end):
        value = values.introduced(text, match.end(), end) or values.capitals(text, match.end(), end, 2)
        if value and values.EDGE.match(text, value[1], end):
            yield FoundStatement(start, me, "name", value, mine=True)


def _owner(sentence: Sentence, start: int, end: int) -> Who | None:
    """My, the user's, Bob's; their, in reported speech."""
    text = sentence.text
    if match := grammar.MINE.match(text, start, end):
        return Who(sentence.me, start, match.end(), mine=True) if sentence.me else None
    if match := POSSESSIVE.match(text, start, end):
        return Who(sentence.whose, start, match.end()) if sentence.whose else None
    who = _subject_name(text, start, end)
    if who and re.compile(r"'s\s").match(text, who.end, end) and grammar.NOUN.match(text, who.end + 3, end):
        return Who(who.subject, start, who.end + 3)
    return None


def _who(sentence: Sentence, start: int, end: int) -> Who | None:
    """I, the user, Bob; she, in reported speech."""
    if match := grammar.I_SUBJECT.match(sentence.text, start, end):
        return Who(sentence.me, start, match.end(), mine=True, third=False) if sentence.me else None
    if match := PRONOUN.match(sentence.text, start, end):
        return Who(sentence.whose, start, match.end()) if sentence.whose else None
    return _subject_name(sentence.text, start, end)


def _subject_name(text: str, start: int, end: int) -> Who | None:
    """Return the user, or up to three capitalised words that can be a name."""
    if match := grammar.THE_USER.match(text, start, end):
        return Who(USER, start, match.end())
    stop, at = None, start
    for _ in range(3):
        word = NAME_WORD.match(text, at, end)
        if not word or not word.group()[0].isupper():
            break
        stop, at = word.end(), word.end() + 1
        if text[word.end() : at] != " ":
            break
    if stop is None:
        return None
    first = text[start:stop].lower().split()[0]
    return None if first in ORDINARY else Who(text[start:stop].lower(), start, stop)


def _possession(text: str, who: Who, end: int) -> Iterator[FoundStatement]:
    """My budget is $750; Bob's favourite colour is green; my budget for the Lisbon trip is $900."""
    noun = grammar.NOUN.match(text, who.end, end)
    if not noun:
        return
    name, subject = snake(noun.group()), who.subject
    stop = noun.end()
    whole = grammar.FOR.match(text, stop, end)
    event = name.rpartition("_")
    if whole and _measured(name):
        subject, stop = whole["whole"].lower(), whole.end()
    elif event[2] in GENERAL and EVENTS & set(event[0].split("_")):
        subject, name = event[0].replace("_", " "), event[2]
    elif whole:
        return
    yield from _becomes(text, Who(subject, who.start, stop, who.mine), name, end)


def _thing(sentence: Sentence, start: int, at: int, end: int) -> Iterator[FoundStatement]:
    """Return the capital of France is Paris; the Lisbon trip budget is $900; the deadline is Friday."""
    text = sentence.text
    noun = grammar.OF_IT.match(text, at, end)
    whole = noun and grammar.FOR.match(text, noun.end(), end)
    if noun and whole:
        yield from _becomes(text, Who(whole["whole"].lower(), start, whole.end()), snake(noun["noun"]), end)
        return
    alone = grammar.NOUN.match(text, at, end)
    owner, _, name = snake(alone.group()).rpartition("_") if alone else ("", "", "")
    subject = owner.replace("_", " ") or sentence.me
    if alone and name in GENERAL and subject:
        yield from _becomes(text, Who(subject, start, alone.end()), name, end)


def _measured(name: str) -> bool:
    return name in patterns.DATED or name in patterns.MONEYED


def snake(noun: str) -> str:
    """Return a noun as a predicate: favourite_colour for "favorite color"."""
    plain = noun.lower().replace("'s", "").replace("favorite", "favourite")
    return "_".join(re.sub(r"\bcolor\b", "colour", plain).replace("-", " ").split())


def _becomes(text: str, who: Who, noun: str, end: int) -> Iterator[FoundStatement]:
    known, verb = patterns.reader(noun), grammar.BECOMES.match(text, who.end, end)
    if not known or not verb:
        return
    at = verb.end()
    predicate, read = known
    connects = CONNECTS.match(text, at, end) if predicate in {"lives_in", "works_at", "prefers"} else None
    value = read(text, connects.end() if connects else at, end)
    # "My sister went up to Boston", "my rent went up to $1200 in 2015"
    is_change = bool(grammar.MOVES.search(verb.group()))
    if value and is_change and not (_measured(noun) and grammar.said_outright(text, value[1])):
        return
    if value:
        denied, unsure = verb.groupdict().get("not"), verb.groupdict().get("about")
        unsure = unsure or denied and not _outright(text, verb.span("not"), value, end)
        yield FoundStatement(who.start, who.subject, predicate, value, who.mine, bool(denied), bool(unsure))


def _action(text: str, who: Who, end: int) -> Iterator[FoundStatement]:
    """I live in Seattle; Bob doesn't like jazz; I'm a nurse."""
    be = grammar.IS.match(text, who.end, end)
    if be:
        table = patterns.BORN if (be["be"] or "").strip().lower() == "was" else COMPLEMENTS
        introduces = not who.third and not be["not"] and not be["unsure"]
        table = (*table, patterns.INTRODUCED) if introduces else table
        if found := list(_read(text, who, table, be, end)):
            yield from found
            return
    verb = grammar.VERB.match(text, who.end, end)
    if verb:
        plain = not who.third or verb["unsure"] or re.match(r"\sdo|\scan|\sused", verb["not"] or "")
        led = (patterns.LEADING,) if who.third else (patterns.LEADING_MYSELF,)
        yield from _read(text, who, (*(FIRST if plain else THIRD), *led), verb, end)


def _read(text: str, who: Who, table: tuple[Pattern, ...], verb: re.Match[str], end: int) -> Iterator[FoundStatement]:
    for pattern in table:
        lead = pattern.lead.match(text, verb.end(), end)
        value = pattern.read(text, lead.end(), end) if lead else None
        if value is None or (pattern.predicate in TASTES and _weakly(verb)):
            continue
        denied = bool(verb["not"])
        unsure = bool(verb["unsure"]) or pattern.plan or denied and not _outright(text, verb.span("not"), value, end)
        found = FoundStatement(who.start, who.subject, pattern.predicate, value, who.mine, denied, unsure, goes_on=True)
        yield found
        if pattern.many:
            yield from _listed(text, pattern, found, end)
        elif not denied:
            yield from _further(text, found, end)
        return


def _outright(text: str, denial: Span, value: Span, end: int) -> bool:
    """Return whether a denial holds at all times and of the whole value: not "only", not "on Fridays"."""
    if grammar.LIMITS.search(text, denial[1], value[0]):
        return False
    ended = "longer" in text[slice(*denial)].lower() and grammar.SINCE.match(text, value[1], end)
    return bool(ended or grammar.DENIAL_ENDS.match(text, value[1], end))


def _weakly(verb: re.Match[str]) -> bool:
    """Return whether "I would like" or "I used to love" says nothing of what somebody likes."""
    return bool(verb["unsure"]) or "used" in (verb["not"] or "").lower()


def _listed(text: str, pattern: Pattern, first: FoundStatement, end: int) -> Iterator[FoundStatement]:
    """Return the other values of a list: peanuts, shellfish and soy."""
    at = first.value[1]
    for _ in range(LONGEST_LIST):
        link = grammar.LIST.match(text, at, end)
        value = pattern.read(text, link.end(), end) if link else None
        if not value or text[value[0] : value[1]].split()[0].lower() in NEW_CLAUSE:
            return
        if not values.EDGE.match(text, value[1], end) and not grammar.LIST.match(text, value[1], end):
            return
        yield replace(first, value=value)
        at = value[1]


def _further(text: str, found: FoundStatement, end: int) -> Iterator[FoundStatement]:
    """Return the employer behind a role, the role behind an employer."""
    further = patterns.FURTHER.get(found.predicate)
    lead = further and further.lead.match(text, found.value[1], end)
    value = further.read(text, lead.end(), end) if further and lead else None
    if further and value:
        yield replace(found, predicate=further.predicate, value=value)
