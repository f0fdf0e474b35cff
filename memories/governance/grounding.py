"""Whether a model's words stand in the texts that it was given: nothing is believed because a model made it up."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from conflicts.free_text import COLORS
from conflicts.keys import USER, names_user
from memories.extraction import first_person_at, states_plainly
from memories.governance.shapes import ReadClaim
from memories.language.dates import CALENDAR
from memories.language.facts import NUMBERS, TIMES, facts
from memories.language.tokenizer import CLAUSE_END, SENTENCE, WORD
from memories.language.word_lists import STOPWORDS, listed

SHARE = 0.7  # of a digest's content words are those of the texts
ALONE = 2 / 3  # at most may be of one text alone
CLAUSE_BREAK = re.compile(r"[.!?,;:\n]|\b(?:and|but|that|because)\s")
OWN_DEED = re.compile(r"\b(?:I|[Ww]e|[Mm]e|[Uu]s)\b")
STEM = 5  # letters that two forms of a word have in common
ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|e|s)$")
MOST_PLACES = 20  # at which a value stands in its spans
ITEM = 2  # words, of which a clause has more
COUNTED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
DIGITS = {word: str(number) for number, word in enumerate(COUNTED)}
# Words that count or tell a time; some say other things too, and days and months are names.
FIXED = (NUMBERS | (TIMES - CALENDAR) | COLORS) - listed("am one once first second")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
BEGINNING = re.compile(r"(?:^|[.!?:;\n]\s*)[\"'“‘(*-]*\s*$")


def states_claim(claim: ReadClaim, text: str, *, by_user: bool = False) -> bool:
    """Whether a text makes this claim in its own words: span, value in the span, and each word of the subject.

    Each span outside quotations states the value: who asks, doubts, denies or reports makes no claim. For the user
    stands "I" or "my" in the span's sentence, where the user speaks (`by_user`) and of themselves.
    """
    if claim.span not in text or claim.value.casefold() not in claim.span.casefold():
        return False
    places = list(islice(_places(claim, text), MOST_PLACES + 1))
    if len(places) > MOST_PLACES or not states_plainly(text, places):
        return False
    if by_user and names_user(claim.subject) and first_person_at(text, text.find(claim.span)) == USER:
        return _of_oneself(claim, text)
    words_of_text = {word.casefold() for word in WORD.findall(text)}
    subject = {word.casefold() for word in WORD.findall(claim.subject)}
    return bool(subject) and subject <= words_of_text


def _places(claim: ReadClaim, text: str) -> Iterator[tuple[int, int]]:
    """Return where the value stands in each of its spans; the whole span where letters change their number by case."""
    value = re.compile(rf"(?<!\w){re.escape(claim.value)}(?!\w)", re.IGNORECASE)
    for span in re.finditer(re.escape(claim.span), text):
        yield from [found.span() for found in value.finditer(text, *span.span())] or [span.span()]


def _of_oneself(claim: ReadClaim, text: str) -> bool:
    """Return whether "I" is in the span's clause, or what is claimed or its value is "mine": my budget, my two dogs."""
    clause = CLAUSE_BREAK.split(text[: text.find(claim.span)])[-1] + claim.span
    if OWN_DEED.search(clause):
        return True
    nouns = "|".join(map(re.escape, [*claim.predicate.replace("_", " ").split(), claim.value]))
    return bool(re.search(rf"\b(?:my|our)\s(?:{nouns})\b", clause, re.IGNORECASE))


def is_grounded(summary: str, texts: Sequence[str]) -> bool:
    """Whether a digest is of these texts: it denies what they deny, its numbers and names are theirs, and most words.

    Most words of each sentence, and of most of the texts. A text that gives orders can at most make the digest say what
    it says itself, and only beside the others' words: no text alone may be what it is made of.
    """
    if not _fixed(summary) <= set[str]().union(*map(_fixed, texts)):
        return False
    words = [_content(text) for text in texts]
    known, own_words = set[str]().union(*words), _content(summary)
    if not own_words or not all(_mostly(_content(part), known) for part in _sentences(summary)):
        return False
    spread = Counter(word for those in words for word in those & own_words)
    alone = (sum(spread[word] == 1 for word in those & own_words) for those in words)
    if sum(bool(own_words & those) for those in words) * 2 <= len(texts) or max(alone) > ALONE * len(own_words):
        return False
    return (
        _names(summary, known, {word for text in texts for word in WORD.findall(text)})
        and _denies_as_they_do(summary, texts)
        and not _exchanges(summary, texts, known)
    )


def _mostly(own_words: set[str], known: set[str]) -> bool:
    return len(own_words & known) >= SHARE * len(own_words)


def _fixed(text: str) -> set[str]:
    """Return what no other word may stand for: numbers, in digits whatever they are written in, times and colours."""
    words = {word.casefold() for word in WORD.findall(text)}
    return {*NUMBER.findall(text), *(DIGITS.get(word, word) for word in words & FIXED)}


def _denies_as_they_do(summary: str, texts: Sequence[str]) -> bool:
    """Whether each clause denies, or does not, as what is closest to it in the texts: of equal words the shortest."""
    theirs = [told for text in texts for part in _sentences(text) for told in [*_clauses(part), _told(part)]]
    for words, denies in (told for part in _sentences(summary) for told in _clauses(part)):
        ranks = [(len(words & known), -len(known)) for known, _ in theirs]
        best = max(ranks, default=(0, 0))
        if best[0] * 2 < len(words):  # of no clause of theirs: a denial is made up
            agrees = not denies
        else:
            agrees = denies in {denied for rank, (_, denied) in zip(ranks, theirs, strict=True) if rank == best}
        if not agrees:
            return False
    return True


def _sentences(text: str) -> list[str]:
    return [part for sentence in SENTENCE.findall(text) for part in sentence.split(";")]


def _clauses(sentence: str) -> list[tuple[set[str], bool]]:
    """Return what its clauses tell; an item of a list denies with its sentence, and is none."""
    told = [(len(WORD.findall(part)), _told(part)) for part in CLAUSE_END.split(sentence)]
    return [one for length, one in told if length > ITEM or one[1]]


def _told(part: str) -> tuple[set[str], bool]:
    """Return the words of a part of a sentence, and whether it denies."""
    return _content(part), facts(part).negations > 0


def _exchanges(summary: str, texts: Sequence[str], known: set[str]) -> bool:
    """Whether a new word stands right before one of theirs that they always call something else: a red vault."""
    called: dict[str, set[str]] = {}
    for before, word in (pair for text in texts for pair in _pairs(text)):
        called.setdefault(word, set()).add(before)
    return any(before and before not in known and "" not in called.get(word, {""}) for before, word in _pairs(summary))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Return each telling word with the one right before it, if any, of its sentence."""
    for part in _sentences(text):
        stems = [_stem(word) if _tells(word) else "" for word in map(str.casefold, WORD.findall(part))]
        yield from ((before, word) for before, word in zip(["", *stems], stems, strict=False) if word)


def _names(summary: str, stems: set[str], whole: set[str]) -> bool:
    """Whether each word with a capital letter is theirs; at a sentence's beginning another form of it will do."""
    spoken = {word.casefold() for word in whole}
    for found in WORD.finditer(summary):
        word = found[0].casefold()
        if not found[0][0].isupper() or word in STOPWORDS or word in spoken:
            continue
        if not BEGINNING.search(summary[: found.start()]) or _stem(word) not in stems:
            return False
    return True


def _content(text: str) -> set[str]:
    """Return the beginnings of the words that say something, and numbers."""
    return {_stem(word) for word in map(str.casefold, WORD.findall(text)) if _tells(word)}


def _tells(word: str) -> bool:
    return word.isdigit() or (len(word) > 2 and word not in STOPWORDS)


def _stem(word: str) -> str:
    return ENDING.sub("", word)[:STEM]
