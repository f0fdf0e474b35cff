"""The built-in recogniser: people, organisations, places and other names, from spelling, lists and nearby words.

It works offline, in time linear in the text, and for English. Each rule below judges a candidate by one kind of
evidence; the first that has an opinion decides. What is only capitalised like a name counts as `misc`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memories.language import gazetteers, word_lists
from memories.language.candidates import NameCandidate, TextLine, TextWord, candidates, capitals_tell, sentences
from memories.language.gazetteers import KNOWN, Label
from memories.language.word_lists import OPENERS

Verdict = tuple[Label | None, float]

# Confidence, 0 to 1, by the kind of evidence.
CERTAIN = 0.95
LISTED = 0.9
SHAPED = 0.85
NEARBY = 0.75
HINTED = 0.6
LOOKS = 0.5
NO: Verdict = (None, 0.0)

MOST = 50
LONGEST_PHRASE = 4
BEGINNINGS = {phrase.partition(" ")[0] for phrase in KNOWN}
SPEAKER_WORDS = 3
AMBIGUOUS = gazetteers.NEEDS_CAPITALS | word_lists.OPENERS
# Endings of English nouns, verbs and adverbs that names rarely have.
NOT_A_NAME = re.compile(r"(?:tion|sion|ment|ness|ity|ism|ship|ance|ence|ing|ed|ly|able|ful|ive|ous|[^s]s)$")


@dataclass(frozen=True, slots=True)
class RecognisedEntity:
    """A name in a text, as it is written there; `confidence` 0 to 1 says how good the evidence is."""

    text: str
    label: Label
    confidence: float


def recognise(text: str) -> list[RecognisedEntity]:
    """Return the names in a text, in the order of their first mention, each once; at most 50."""
    return recognise_in(sentences(text))


def recognise_in(lines: Iterable[TextLine]) -> list[RecognisedEntity]:
    """As `recognise`, for lines that were taken apart already."""
    return distinct(entity for line in lines for entity in _mentions(line))


def distinct(mentions: Iterable[RecognisedEntity]) -> list[RecognisedEntity]:
    """Return the names in the order of their first mention, each once, as sure as it ever was; at most 50."""
    found: dict[str, RecognisedEntity] = {}
    for entity in mentions:
        key = entity.text.casefold()
        if key not in found and len(found) == MOST:
            break
        if key not in found or found[key].confidence < entity.confidence:
            found[key] = entity
    return list(found.values())


def _mentions(line: TextLine) -> Iterator[RecognisedEntity]:
    if not capitals_tell(line):
        yield from _listed_names(line.words)
        return
    for candidate in candidates(line):
        label, confidence = judge(candidate)
        if label:
            yield RecognisedEntity(candidate.text, label, confidence)


def _listed_names(line: Sequence[TextWord]) -> Iterator[RecognisedEntity]:
    """Names on the lists that can't be ordinary words, where capitals say nothing."""
    at = 0
    while at < len(line):
        for length in range(LONGEST_PHRASE if line[at].lower in BEGINNINGS else 0, 0, -1):
            phrase = line[at : at + length]
            label = KNOWN.get(" ".join(word.lower for word in phrase))
            if label and not (length == 1 and phrase[0].lower in AMBIGUOUS):
                yield RecognisedEntity(" ".join(word.text for word in phrase), label, LOOKS)
                at += length - 1
                break
        at += 1


def judge(candidate: NameCandidate) -> Verdict:
    """Return what a candidate is and how sure that is; (None, 0) when it is no name."""
    return next((verdict for rule in RULES if (verdict := rule(candidate))), NO)


def by_title(name: NameCandidate) -> Verdict | None:
    """Dr. Chen, Aunt May."""
    return ("person", CERTAIN) if name.titled else None


def by_speaking(name: NameCandidate) -> Verdict | None:
    """Return a name and a colon at the beginning of a line, as in a transcript."""
    if not name.speaks or len(name.words) > SPEAKER_WORDS:
        return None
    if name.words[0] in gazetteers.GIVEN_NAMES:
        return "person", CERTAIN
    ordinary = any(word in OPENERS or NOT_A_NAME.search(word) for word in name.words)
    return None if ordinary or name.key in KNOWN or name.text.isupper() else ("person", NEARBY)


def by_list(name: NameCandidate) -> Verdict | None:
    """Return a name that is on a list: Google, New York, French."""
    label = KNOWN.get(name.key) or gazetteers.KNOWN_BY_CAPITALS.get(name.text)
    if label is None or (label == "person" and len(name.words) == 1):
        return None
    doubtful = name.opens and name.key in gazetteers.NEEDS_CAPITALS
    return label, HINTED if doubtful else LISTED


def by_ending(name: NameCandidate) -> Verdict | None:
    """Acme Corp, University of Leeds, Baker Street, Lake Como."""
    parts = name.words
    if len(parts) == 1:
        return None
    head = parts[parts.index("of") - 1] if "of" in parts else parts[-1]
    if head in gazetteers.ORGANIZATION_ENDINGS:
        return "organization", SHAPED
    if head in gazetteers.PLACE_ENDINGS or parts[0] in gazetteers.PLACE_BEGINNINGS:
        return "location", SHAPED
    return None


def by_given_name(name: NameCandidate) -> Verdict | None:
    """Alice, Bob Smith, Jean-Luc; Grace and Charlotte only when nothing says otherwise."""
    first, *more = name.words
    if first in gazetteers.WORDY_NAMES:
        if more:
            return None if more[-1] in OPENERS else ("person", SHAPED)
        return None if name.after in word_lists.PERSON_AFTER else NO if name.opens else ("person", HINTED)
    if first in gazetteers.PLACES_AS_NAMES:
        return ("person", SHAPED) if more else by_place_nearby(name) or ("person", HINTED)
    given = first.partition("-")[0] in gazetteers.GIVEN_NAMES
    return ("person", CERTAIN if more else SHAPED) if given else None


def by_ordinary_words(name: NameCandidate) -> Verdict | None:
    """Single letters and ordinary words are no names, however they are written."""
    return NO if len(name.text) == 1 or all(word in OPENERS for word in name.words) else None


def by_person_nearby(name: NameCandidate) -> Verdict | None:
    """My friend Xiomara; her name is Rex; Zed said."""
    if name.before[1] in word_lists.PERSON_BEFORE or name.before == ("name", "is"):
        return "person", NEARBY
    if name.after in word_lists.PERSON_AFTER and not (name.opens and _ordinary(name)):
        return "person", HINTED
    return None


def by_place_nearby(name: NameCandidate) -> Verdict | None:
    """Moved to Ely; a trip around Skye."""
    verb, preposition = name.before
    if preposition in word_lists.SEEING or (preposition in word_lists.PLACE_BEFORE and verb in word_lists.TRAVEL):
        return "location", NEARBY
    return None


def by_work_nearby(name: NameCandidate) -> Verdict | None:
    """Work at Initech; joined Hooli."""
    role, preposition = name.before
    if preposition in word_lists.JOINING or (preposition in word_lists.WORK_BEFORE and role in word_lists.WORK):
        return "organization", NEARBY
    return None


def by_surname(name: NameCandidate) -> Verdict | None:
    """Rajiv Patel; Li Wei; Johnson, but not at the beginning of a sentence."""
    first, last = name.words[0], name.words[-1]
    if first in gazetteers.SURNAMES and last in gazetteers.GIVEN_NAMES:
        return "person", SHAPED
    return ("person", HINTED) if last in gazetteers.SURNAMES and not (name.opens and first == last) else None


def by_spelling(name: NameCandidate) -> Verdict | None:
    """PostgreSQL and NATO are names wherever they stand."""
    odd = len(name.words) == 1 and any(letter.isupper() for letter in name.text[1:])
    return ("misc", LOOKS) if odd else None


def by_preposition(name: NameCandidate) -> Verdict | None:
    """In Ely, at Initech, by Ludmila Petrushevskaya: weak, but better than nothing."""
    weak: dict[str, Label] = {"in": "location", "at": "organization", "by": "person"}
    label = weak.get(name.before[1])
    return (label, LOOKS) if label and (label != "person" or len(name.words) > 1) else None


def by_look(name: NameCandidate) -> Verdict | None:
    """Capitalised inside a sentence, or more than one such word."""
    if name.opens and (len(name.words) == 1 or _ordinary(name)):
        return NO
    return "misc", LOOKS


def _ordinary(name: NameCandidate) -> bool:
    return name.key in OPENERS or bool(NOT_A_NAME.search(name.words[0]))


RULES: Sequence[Callable[[NameCandidate], Verdict | None]] = (
    by_title,
    by_speaking,
    by_list,
    by_ending,
    by_given_name,
    by_ordinary_words,
    by_person_nearby,
    by_place_nearby,
    by_work_nearby,
    by_surname,
    by_spelling,
    by_preposition,
    by_look,
)
