"""Deeds: what people tell of themselves in talk: what they did, do, plan, want and care for, in their own words.

The value is the phrase as it was said, "joined a gym last week". All these predicates take many values, so that a
phrase too many replaces nothing. Every reader looks at a bounded number of words.
"""

import re
from collections.abc import Iterator

from conflicts.keys import canonical_predicate
from memories.extraction import values
from memories.extraction.grammar import either
from memories.extraction.values import FLAGS, Span
from memories.language.gazetteers import GIVEN_NAMES
from memories.language.word_lists import STOPWORDS, entries, listed, word_list

# What passes: it keeps no memory from fading, and old texts are not read for it again.
PASSING = ("has_done", "busy_with", "plans_to")
Told = tuple[str, Span]  # a predicate and where its value stands
LONGEST_PHRASE = 12  # words
MOST_DOINGS = 3

ADVERBS = (
    r"(?:(?:just|also|finally|really|actually|recently|even|already|definitely|always|still|currently|now|once|first"
    r"|both|all|only|(?!(?:near|hard|bare|rare|scarce|supposed|alleged|potential|hopeful|like)ly)\w{2,12}ly)\s){0,3}"
)
CUT = word_list(__file__, "phrase_ends")
LAST = word_list(__file__, "no_last_words")
# A verb behind the phrase: it was a subject.
SUBJECT_ENDS = listed("is was are were has isn't wasn't aren't weren't hasn't reminds makes means helps")
ARTICLES = listed("a an")
NO_OBJECT = word_list(__file__, "no_objects")
# Behind "used to": what passed is no deed, and no taste any more.
NO_DEED = listed("love like enjoy hate want prefer live work eat drink own know use feel drive speak")
HOLLOW = word_list(__file__, "hollow")
NO_DOING = word_list(__file__, "no_doings")
NO_PLAN = word_list(__file__, "no_plans")
PEOPLE = listed("people others")
NO_ILLNESS = listed("nothing none my your his her their")
NO_DOING_ON = listed("going pushing working trying fighting chasing moving looking doing being getting")
# What says enough by itself.
WHOLE = re.compile(
    r"(?:volunteer|graduat|retire|got\s(?:married|engaged|hurt|fired|hired|promoted)|gave\sbirth)", FLAGS
)
HAD = listed(
    "accident baby barbecue bbq birthday blast breakfast checkup concert dinner exhibit exhibition interview job lunch"
    " meeting miscarriage operation party picnic reunion show sleepover surgery trip vacation wedding"
    " workshop yard"
)

_PAST = either(sorted(entries(__file__, "past_deeds"), key=len, reverse=True))
_PASSIVE = either(entries(__file__, "passive_deeds"))
_DOINGS = either(sorted(entries(__file__, "doings"), key=len, reverse=True))
_HABITS, _AIMS = either(entries(__file__, "habits")), either(entries(__file__, "aims"))
DID = re.compile(rf"(?:'ve\s|have\s)?{ADVERBS}(?P<verb>{_PAST})(?=\s|[.!,;]|$)", FLAGS)
# "I've got a meeting" says what somebody has; "I've just got a puppy" what they did.
HAS_GOT = re.compile(r"(?:'ve|have)\s(?:(?!just\s|recently\s|finally\s)[a-z]+\s){0,3}got\s(?:an?|my|our)$", FLAGS)
PASSIVE = re.compile(rf"(?:was|were|got|'ve\sbeen|have\sbeen)\s{ADVERBS}(?P<verb>{_PASSIVE})\b", FLAGS)
USED = re.compile(rf"used\sto\s{ADVERBS}(?P<verb>[a-z]{{2,20}})\s", FLAGS)
OUT = re.compile(r"(?:was|were)\sout\s(?P<verb>[a-z]{2,20}ing)\s", FLAGS)
LEAVES_OUT = re.compile(
    r"(?:just|finally)\s(?=[a-z])|(?=(?:lost|finished|got|started|left|quit|sold)\s(?:my|our)\s)", FLAGS
)
BEEN = re.compile(
    rf"(?:'ve\s|have\s)?{ADVERBS}been\s{ADVERBS}(?:(?:so|super|really|pretty|very)\s)?(?:busy\s)?{ADVERBS}", FLAGS
)
DOING = re.compile(rf"(?:'m|'re|am|are)\s{ADVERBS}(?={_DOINGS}\s)", FLAGS)
ING = re.compile(r"(?:carrying\son\s)?(?P<verb>[a-z-]{2,20}ing)(?=\s|[.!,;]|$)", FLAGS)
HABIT = re.compile(rf"{ADVERBS}(?P<verb>{_HABITS})\s", FLAGS)
PLAN = re.compile(
    rf"(?:(?:'m|'re|am|are)\s{ADVERBS}(?:planning\s(?:to|on)|going\sto|gonna|about\sto|aiming\sto)"
    rf"|{ADVERBS}(?:plan|intend|aim)\s(?:to|on)|(?:'ve\s|have\s)?{ADVERBS}decided\sto)"
    rf"\s{ADVERBS}(?P<verb>[a-z-]{{2,20}})\b",
    FLAGS,
)
PLANNED = re.compile(rf"(?:'m|'re|am|are)\s{ADVERBS}planning\s(?=(?:an?|my|our|the)\s)", FLAGS)
WANT = re.compile(
    rf"{ADVERBS}(?:want\sto|wanna)\s{ADVERBS}"
    rf"(?P<verb>{_AIMS}|make\sa(?:\s\w+)?\sdifference)\b",
    FLAGS,
)
GOAL = re.compile(
    r"(?:(?:my|our)\s(?:\w{2,12}\s)?(?:goal|dream|mission)\s(?:is|has\sbeen)"
    r"|it's\s(?:always\s)?been\s(?:a|my)\sdream(?:\sof\smine)?)"
    r"\sto\s(?P<verb>[a-z-]{2,20})\b",
    FLAGS,
)
FOND = re.compile(
    rf"(?:(?:'m|am|'re|are|'ve\sbeen|have\sbeen)\s{ADVERBS}(?:passionate\sabout|into|fond\sof)|{ADVERBS}cherish"
    rf"|(?:'ve|have)\s{ADVERBS}(?:loved|enjoyed|adored|had\sa\s(?:love|passion)\sfor)"
    rf"|(?:'m|am|'re|are)\s{ADVERBS}(?:enjoying|loving)|{ADVERBS}(?:love|enjoy)(?=\s\w{{2,20}}ing\b))\s",
    FLAGS,
)
FAVOURITE = re.compile(
    r"(?P<what>[a-z][\w'-]{1,20}(?:\s[\w'-]{1,20}){0,5}?)\s(?:is|are)\s(?:one\sof\s)?my\s(?:(?:all-time|absolute)\s)?"
    r"fav(?:e|ou?rite)s?(?=\s*(?:[.!,;]|$))",
    FLAGS,
)
HARD = re.compile(
    r"(?P<what>(?:searching|planning|preparing|running|building|raising|organi[sz]ing|volunteering|practicing|training"
    r"|learning|rehearsing|researching)(?:\s[\w'-]{1,20}){1,6}?)\shas\sbeen\s",
    FLAGS,
)
ANSWER = re.compile(r"(?=(?:researching|studying|volunteering|working\son|preparing)\s)", FLAGS)
COUNTED = re.compile(
    rf"(?:have|'ve\sgot)\s{ADVERBS}(?P<what>(?:an?|two|three|four|five|six|[2-9])\s(?:\w{{2,12}}\s){{0,2}}?"
    r"(?P<noun>kids?|children|sons?|daughters?|brothers?|sisters?|dogs|cats|pets|horses|rabbits))(?=\s*(?:[.!,;]|$)|\s(?:and|who|but|named|called)\b)",
    FLAGS,
)
NAMED = re.compile(r",?\s(?:named|called)\s(?=(?-i:[A-Z]))", FLAGS)
ILL = re.compile(
    r"(?:(?:was|'ve\sbeen|have\sbeen|got)\sdiagnosed\swith|(?:suffer|'m\ssuffering)\sfrom"
    r"|(?:have|'ve\sgot)(?=\s(?:asthma|diabetes|arthritis|migraines|adhd|epilepsy|insomnia|anxiety|depression)\b))\s",
    FLAGS,
)
MEMBER = re.compile(r"(?:'m|am)\s(?:also\s)?a\s(?:proud\s)?member\sof\s", FLAGS)
RELATIVES = "son|daughter|brother|sister|husband|wife|boyfriend|girlfriend|cousin|nephew|niece|aunt|uncle"
RELATIVE = re.compile(
    rf"(?:[Mm]y|[Oo]ur)\s(?:(?:older|younger|little|big|eldest|youngest)\s)?(?P<noun>{RELATIVES}),?\s(?=[A-Z])"
)
PET = re.compile(
    r"(?P<what>[A-Z][\w'-]{1,20}),\smy\s(?:\w{2,12}\s)?(?:dog|cat|puppy|kitten|rabbit|hamster|parrot|horse|guinea\spig)\b"
)
WORKING_ON = re.compile(r"working\s(?:hard\s)?(?:on|towards)\s", FLAGS)
FURTHER = re.compile(r"[^.,;!?]{0,60}?,?\sand\s(?=[a-z]{2,20}ing\b)")
# What may stand behind an occupation that is told in one word.
ALONE = re.compile(r"\s*(?:[.,;!]|$|[-–—]\s)|\s(?:and|hard|lately|recently|a lot|so much|more)\b", FLAGS)
PREDICATES = {"reading": "reads", "studying": "studies", "play": "plays", "collect": "collects"}
KIN = {"dog": "pet", "cat": "pet", "horse": "pet", "rabbit": "pet", "children": "child"}

_BEFORE = r"(?:'ve\s|have\s)?(?:(?:just|finally|recently|also|already|now|officially)\s){0,2}"
_NO_MORE = r"(?:stopped|quit|given\sup|gave\sup)\s"
# With one of these a sentence says that something may end, ended in a story, or that somebody else says so.
UNSETTLED = re.compile(
    r"\b(?:when|once|after|before|until|till|unless|if|while|whenever|not\sthat|as\ssoon\sas|by\sthe\stime|pretend\w*"
    r"|novel|story|book|film|movie|game|dream\w*|play|character|said|says|say|told|tells|asked|wrote|claims?|claimed|heard)\b",
    FLAGS,
)
# What may stand behind what ended: nothing, or when that was.
FOR_GOOD = re.compile(
    r"\s*(?:[.,;!]|$)|\s(?:for\sgood|yesterday|recently|(?:last|this)\s[a-z]{3,10}|in\s(?:\d{4}|(?-i:[A-Z])[a-z]+)"
    r"|(?:an?|two|three|a\sfew)\s(?:weeks?|months?|years?)\sago)\s*(?:[.,;!]|$)"
    r"|\s(?:to|for)\s(?=(?-i:[A-Z]))|\sand\s",
    FLAGS,
)
ENDS = tuple(
    (predicate, re.compile(_BEFORE + lead, FLAGS))
    for predicate, lead in (
        ("works_at", r"(?:quit|left|lost|resigned\sfrom)\smy\s(?:\w{2,12}\s)?job\s(?:at|with|for)\s"),
        ("works_at", r"(?:quit|left|resigned\sfrom)\s(?=(?-i:[A-Z]))"),
        ("lives_in", r"moved\s(?:away\sfrom|out\sof)\s(?=(?-i:[A-Z]))"),
        ("eats", _NO_MORE + r"eating\s"),
        ("drinks", _NO_MORE + r"drinking\s"),
        ("plays", _NO_MORE + r"playing\s"),
        ("owns", r"(?:sold|gave\saway)\s(?:my|our)\s"),
        ("spouse", r"(?:got\sdivorced\sfrom|divorced|separated\sfrom)\s(?=(?-i:[A-Z]))"),
    )
)
ENDED = {
    "works_at": values.employer,
    "lives_in": values.place,
    "eats": values.liked,
    "drinks": values.liked,
    "owns": values.thing,
    "spouse": values.person,
}


def ended(text: str, at: int, end: int) -> Iterator[Told]:
    """Return what is not so any more by what stands behind "I": I quit my job at Boeing."""
    at += text[at : at + 1] == " "
    for predicate, lead in ENDS:
        match = lead.match(text, at, end)
        read = ENDED.get(predicate)
        span = match and (read(text, match.end(), end) if read else _phrase(text, match.end(), match.end(), end))
        if span and FOR_GOOD.match(text, span[1], end):
            yield predicate, span
            return


def told(text: str, at: int, end: int) -> Iterator[Told]:
    """Return what stands behind "I" or "we", which ends at `at`: the first way to read it."""
    at += text[at : at + 1] == " "
    for reader in (_illness, _counted, _fond, _passive, _planned, _wanted, _been, _doing, _used, _done, _habit):
        if found := list(reader(text, at, end)):
            yield from found
            return


def told_without(text: str, at: int, end: int) -> Iterator[Told]:
    """Return what a sentence tells that begins without "I": been busy with a petition; lost my job."""
    if match := LEAVES_OUT.match(text, at, end):
        yield from _done(text, match.end(), end)
    elif re.compile(r"been\s", FLAGS).match(text, at, end):
        yield from _been(text, at, end)
    elif ANSWER.match(text, at, end):
        yield from _doings(text, at, end)
    elif (match := HARD.match(text, at, end)) and (
        span := _phrase(text, match.start(), match.start(), match.end("what"))
    ):
        yield "busy_with", span


def told_of_mine(text: str, at: int, end: int) -> Iterator[Told]:
    """Return what else a clause tells that begins with what is the speaker's: my goal, my son Tom, my favourite."""
    if match := GOAL.match(text, at, end):
        if span := _phrase(text, match.start("verb"), match.end(), end):
            yield "goal", span
    elif match := RELATIVE.match(text, at, end):
        span = values.person(text, match.end(), end)
        if span and text[slice(*span)].split()[0].lower() in GIVEN_NAMES:
            yield canonical_predicate(match["noun"].lower()), span
    elif match := PET.match(text, at, end):
        yield "pet", match.span("what")
    elif match := FAVOURITE.match(text, at, end):
        span = _phrase(text, match.start(), match.start(), match.end("what"))
        if span and match["what"].split()[0].lower() not in values.NO_THING | STOPWORDS:
            yield "likes", span


def _phrase(text: str, start: int, verb_end: int, end: int) -> Span | None:
    """Return the words from a place to the end of what they say, when they say something beyond the verb."""
    stop, telling, before = verb_end, False, ["", ""]
    for at, to in _words(text, verb_end + (text[verb_end : verb_end + 1] == " "), end):
        word = text[at:to].lower()
        if word in SUBJECT_ENDS or (verb_end > start and not before[-1] and word in NO_OBJECT):
            return None
        if (word in CUT and not (word == "and" and before[-2] in ARTICLES)) or word[0] in "-–—":
            break
        before.append(word)
        if word in PEOPLE or word not in LAST:
            stop = to
            telling = telling or word in PEOPLE or (len(word) > 2 and word not in HOLLOW | STOPWORDS)
    if not telling and not WHOLE.match(text, start, end):
        return None
    stop = start + len(text[start:stop].rstrip("-–—"))
    return (start, stop) if stop > start else None


def _words(text: str, at: int, end: int) -> list[Span]:
    """Return the words of a phrase; a comma between two adjectives ends none: a safe, inviting place."""
    found = values.words(text, at, end, LONGEST_PHRASE)
    if len(found) > 1 and text[slice(*found[-2])].lower() in ARTICLES and text.startswith(", ", found[-1][1]):
        found += values.words(text, found[-1][1] + 2, end, LONGEST_PHRASE - len(found))
    return found


def _done(text: str, at: int, end: int) -> Iterator[Told]:
    match = DID.match(text, at, end)
    if not match:
        return
    verb = match["verb"].lower()
    if HAS_GOT.match(text, at, match.end()):
        return
    object_words = {text[a:b].lower() for a, b in values.words(text, match.end() + 1, end, 4)}
    if verb.startswith("had") and not object_words & HAD:
        return
    if verb in ("visited", "been to") and (place := values.capitals(text, match.end() + 1, end)):
        yield "visited", place
    elif verb == "graduated" and (school := re.compile(r"\sfrom\s(?=(?:the\s)?[A-Z])").match(text, match.end(), end)):
        if span := values.employer(text, school.end(), end):
            yield "studied_at", span
    elif not _only_tried(text, verb, match.end(), end) and (
        span := _phrase(text, match.start("verb"), match.end(), end)
    ):
        yield "has_done", span


def _only_tried(text: str, verb: str, at: int, end: int) -> bool:
    """Return whether somebody only tried to do something, or started to feel or think something."""
    doing = ING.match(text, at + 1, end) if verb == "started" else None
    return (verb == "tried" and text.startswith(" to ", at)) or bool(doing and doing["verb"].lower() in NO_DOING)


def _passive(text: str, at: int, end: int) -> Iterator[Told]:
    if match := PASSIVE.match(text, at, end):
        span = _phrase(text, match.start("verb"), match.end(), end)
        yield "has_done", span or match.span("verb")


def _used(text: str, at: int, end: int) -> Iterator[Told]:
    for pattern in (USED, OUT):
        match = pattern.match(text, at, end)
        told = match and match["verb"].lower() not in NO_PLAN - {"go"} | NO_DOING | NO_DEED
        if match and told and (span := _phrase(text, match.start("verb"), match.end() - 1, end)):
            yield "has_done", (match.start() if pattern is USED else span[0], span[1])


def _been(text: str, at: int, end: int) -> Iterator[Told]:
    if match := BEEN.match(text, at, end):
        yield from _doings(text, match.end(), end)


def _doing(text: str, at: int, end: int) -> Iterator[Told]:
    if match := DOING.match(text, at, end):
        yield from _doings(text, match.end(), end)


def _doings(text: str, at: int, end: int) -> Iterator[Told]:
    """Return what somebody is doing, and the further ones behind "and"."""
    for _ in range(MOST_DOINGS):
        match = ING.match(text, at, end)
        if not match:
            return
        verb, on = match["verb"].lower(), WORKING_ON.match(text, at, end)
        if verb in NO_DOING and not on:
            return
        begin = on.end() if on else match.start("verb")
        title = values.QUOTED.match(text, match.end() + 1, end) if verb == "reading" else None
        span = title.span(1) if title else _phrase(text, begin, begin if on else match.end(), end)
        if span and verb == "studying":
            span = match.end() + 1, span[1]
        if span is None and len(verb) > 6 and ALONE.match(text, match.end(), end):
            span = match.span("verb")
        if span:
            yield "works_on" if on else PREDICATES.get(verb, "busy_with"), span
        further = FURTHER.match(text, span[1] if span else match.end(), end)
        if not further:
            return
        at = further.end()


def _habit(text: str, at: int, end: int) -> Iterator[Told]:
    match = HABIT.match(text, at, end)
    if not match:
        return
    predicate = PREDICATES.get(match["verb"].lower(), "busy_with")
    span = _phrase(text, match.start("verb"), match.end() - 1, end)
    if span:
        yield predicate, (match.end(), span[1]) if predicate != "busy_with" else span


def _planned(text: str, at: int, end: int) -> Iterator[Told]:
    if match := PLANNED.match(text, at, end):
        if span := _phrase(text, match.end(), match.end(), end):
            yield "plans_to", span
        return
    match = PLAN.match(text, at, end)
    if not match:
        return
    verb, rest = match["verb"].lower(), text[match.end() : match.end() + 24].lower().split()
    goes_on = verb in {"keep", "continue"} and (not rest or rest[0] in NO_DOING_ON or not rest[0].endswith("ing"))
    away = verb == "go" and rest[:1] == ["to"]
    more = verb == "do" and rest[:1] == ["more"]
    if goes_on or (verb in NO_PLAN and not (away or more)):
        return
    if span := _phrase(text, match.start("verb"), match.end(), end):
        yield "plans_to", span


def _wanted(text: str, at: int, end: int) -> Iterator[Told]:
    if match := WANT.match(text, at, end):
        span = _phrase(text, match.start("verb"), match.end(), end)
        if span or "difference" in match["verb"]:
            yield "wants", span or match.span("verb")


def _fond(text: str, at: int, end: int) -> Iterator[Told]:
    if match := FOND.match(text, at, end):
        first = next((text[a:b].lower() for a, b in values.words(text, match.end(), end, 1)), "")
        span = _phrase(text, match.end(), match.end(), end)
        if span and first not in NO_OBJECT | values.NO_THING - {"my", "our", "creating"}:
            yield "likes", span


def _counted(text: str, at: int, end: int) -> Iterator[Told]:
    if match := COUNTED.match(text, at, end):
        noun = match["noun"].lower()
        noun = noun if noun == "children" else noun.removesuffix("s")
        name = NAMED.match(text, match.end(), end)
        span = values.person(text, name.end(), end) if name else None
        yield KIN.get(noun) or canonical_predicate(noun), span or match.span("what")


def _illness(text: str, at: int, end: int) -> Iterator[Told]:
    for predicate, pattern in (("has_condition", ILL), ("member_of", MEMBER)):
        match = pattern.match(text, at, end)
        span = values.thing(text, match.end(), end) if match else None
        if span and text[slice(*span)].split()[0].lower() not in NO_ILLNESS:
            yield predicate, span
