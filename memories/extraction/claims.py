"""The built-in claim extractor: what plain English statements say of whom, offline and always the same.

It would rather say nothing than something wrong. A sentence is tried at its beginning and behind each comma, "and",
"that" and the like; what stands there has to be a subject, a verb it knows, and a value that its reader accepts.
docs/spec.md §4.2.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from conflicts.keys import USER, canonical_predicate, names_user
from memories.extraction import grammar
from memories.extraction.quotations import foreign, quoted
from memories.extraction.statements import FoundStatement, Sentence, statements
from memories.extraction.values import Span
from memories.language.content_words import content_words
from memories.language.facts import facts
from memories.language.gazetteers import GIVEN_NAMES

MOST = 200  # more than the longest fragment can hold
LONGEST_KEY = 100
LONGEST_VALUE = 1000


@dataclass(frozen=True, slots=True)
class Extracted:
    """A claim that a text makes, and how it makes it.

    `subject` is lower-case, `predicate` as the registry names it, `value` as written; at most 100, 100 and 1000
    characters. `span` is the statement's place in the text; the value stands in it. `first_person`: said by who speaks,
    of themselves and outside quotations. `quoted`: in a quotation, code, markup or reported speech. `negated`: said not
    to be so. `certain`: false for questions, conditions, guesses, wishes and plans.
    """

    subject: str
    predicate: str
    value: str
    span: Span
    first_person: bool
    quoted: bool
    negated: bool
    certain: bool

    def moved(self, by: int) -> "Extracted":
        """Return the claim, its place counted from elsewhere."""
        return replace(self, span=(self.span[0] + by, self.span[1] + by)) if by else self


def extract(text: str, *, speaker: str | None = None) -> list[Extracted]:
    """The claims of a text, in its order, each once; at most 200. Nothing is refused, and most texts claim nothing.

    `speaker` says who "I" is, "user" when not given; a line that begins with "Caroline:" says it for itself.
    """
    return extract_parts(text, [(0, len(text))], speaker=speaker)[0]


def extract_parts(text: str, parts: Sequence[Span], *, speaker: str | None = None) -> list[list[Extracted]]:
    """Return the claims of each part, read on the whole text: a quotation that one part opens goes on in the next.

    The parts are in order. Spans are counted in the part; what begins in one and ends in another is no part's.
    """
    plain = text.translate(grammar.PLAIN)
    mask = foreign(plain)
    found: list[dict[tuple[str, str, str, bool], Extracted]] = [{} for _ in parts]
    begins = [start for start, _ in parts]
    for sentence in _sentences(plain, (speaker or USER).strip().lower() or USER):
        for statement in statements(sentence):
            number = bisect_right(begins, statement.start) - 1
            claim = _claim_from(text, sentence, statement, mask) if number >= 0 else None
            if claim and claim.span[1] <= parts[number][1]:
                _keep_better(found[number], claim.moved(-begins[number]))
    return [sorted(claims.values(), key=lambda claim: claim.span) for claims in found]


def first_person_at(text: str, at: int) -> str | None:
    """Return whom "I" means in the sentence at a place, where it says so for certain of themselves; else None."""
    plain = text.translate(grammar.PLAIN)
    sentence = next((one for one in _sentences(plain, USER) if one.start <= at < one.end), None)
    if sentence is None or sentence.doubtful or sentence.reported <= at or foreign(plain)[at]:
        return None
    words = plain[sentence.start : sentence.end]
    return sentence.me if grammar.FIRST_PERSON.search(words) and not content_words(words).denies else None


def states_plainly(text: str, places: Sequence[Span]) -> bool:
    """Return whether a value is stated where it stands outside quotations: nobody else says it, asks, doubts or denies.

    It has to stand there once at least. A name in quotation marks is no quotation, and a value may be a denial itself.
    """
    plain = text.translate(grammar.PLAIN)
    mask, plain = quoted(plain), grammar.WRAPPED.sub(r"\1 ", plain)
    found = list(_sentences(plain, USER))
    own = [
        (start, end)
        for start, end in places
        if not (mask[start] and any(mask[max(0, start - 2) : max(0, start - 1)] + mask[end + 1 : end + 2]))
    ]
    return bool(own) and all(_is_plain(plain, place, found) for place in own)


def _is_plain(text: str, place: Span, found: Sequence[Sentence]) -> bool:
    start, end = place
    sentence = next((one for one in found if start < one.end), None)
    if sentence is None or sentence.doubtful or sentence.reported <= start:
        return False
    before = grammar.APART.split(text[sentence.start : start])[-1]
    behind = grammar.OTHER_VALUE.sub("", grammar.APART.split(text[end : max(end, sentence.end)])[0])
    return not facts(f"{before} {behind}").negations


def _keep_better(found: dict[tuple[str, str, str, bool], Extracted], claim: Extracted) -> None:
    """Of a claim that is made twice the better is kept."""
    key = (claim.subject, claim.predicate, claim.value.casefold(), claim.negated)
    if key in found and _weight(found[key]) < _weight(claim):
        found.pop(key)
    if key not in found and len(found) < MOST:
        found[key] = claim


def _weight(claim: Extracted) -> tuple[bool, bool, bool]:
    """Return how good a claim is: by whom, whether in one's own words, how certain."""
    return claim.first_person, not claim.quoted, claim.certain


def _claim_from(text: str, sentence: Sentence, found: FoundStatement, mask: bytearray) -> Extracted | None:
    """Return a statement as a claim; None when nobody can say whose it is, or a part is too long."""
    inside = bool(mask[found.start])
    reported = sentence.reported <= found.start
    subject: str | None = found.subject
    if inside and found.mine and reported and subject == sentence.me:
        subject = sentence.whose
    value = text[slice(*found.value)].rstrip(" .'")
    if not subject or not value or max(len(subject), len(found.predicate)) > LONGEST_KEY or len(value) > LONGEST_VALUE:
        return None
    quoted = inside or reported
    return Extracted(
        subject=subject,
        predicate=canonical_predicate(found.predicate),
        value=value,
        span=(found.start, found.value[0] + len(value)),
        first_person=found.mine and not quoted,
        quoted=quoted,
        negated=found.negated,
        certain=not (found.unsure or sentence.doubtful or (sentence.later and found.predicate not in grammar.TIMELESS)),
    )


def _sentences(text: str, speaker: str) -> Iterator[Sentence]:
    at, me = 0, speaker
    current: str | None = me
    for line in text.split("\n"):
        turn = grammar.TURN.match(line)
        here, lasting, begin = _turn(turn, current, speaker)
        current = here if lasting else current
        yield from _cut(text, at + begin, at + len(line), here)
        at += len(line) + 1


def _turn(turn: re.Match[str] | None, current: str | None, speaker: str) -> tuple[str | None, bool, int]:
    """Return who speaks in a line, whether also in those behind it, and where what they say begins."""
    if turn is None:
        return current, False, 0
    name = turn[1].lower()
    first = name.split()[0]
    if set(name.split()) & grammar.MACHINES:
        return None, True, turn.end()
    if first in grammar.LABELS or any(word.islower() for word in turn[1].split()[1:]):
        return current, False, turn.end()
    if names_user(name):
        return USER, True, turn.end()
    if first in GIVEN_NAMES or name == speaker:
        return name, True, turn.end()
    return None, False, turn.end()


def _cut(text: str, start: int, end: int, me: str | None) -> Iterator[Sentence]:
    """Return the sentences of a line, with what their words say of them."""
    while start < end:
        stop = grammar.SENTENCE_END.search(text, start, end)
        to = stop.start() if stop else end
        asks = bool(stop and "?" in stop.group())
        ends_asking = asks and not grammar.ASKS_FIRST.match(text, start, to)
        if ends_asking and (last := grammar.ASKS_LAST.search(text, start, to)):
            stop, to, asks = last, last.start(), False
        whose, reported = _reporter(text, start, to)
        begin = start + len(text[start:to]) - len(text[start:to].lstrip(" >*_#-+•\r"))
        if begin < to:
            doubtful = asks or bool(grammar.DOUBT.search(text, begin, to))
            later = bool(grammar.LATER.search(text, begin, to))
            yield Sentence(text, begin, to, me, reported, whose, doubtful, later)
        start = max(stop.end() if stop else end, start + 1)


def _reporter(text: str, start: int, end: int) -> tuple[str | None, int]:
    """Who is said to have said something in a sentence, when that is a name, and from where on; never is the end."""
    for match in grammar.REPORTED.finditer(text, start, end):
        who = (match["who"] or "").lower().split("'")[0]
        if who in grammar.ARTICLES or (who in grammar.OWN and match["verb"].lower() not in grammar.HEARSAY):
            continue
        named = who == "user" or (bool(who) and match["who"][0].isupper() and who not in grammar.NOBODY)
        trails = not text[match.end() : end].strip(" .!")
        return (who if named else None), (start if trails else match.start())
    return None, end
