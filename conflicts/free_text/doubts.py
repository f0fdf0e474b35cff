"""Doubts: texts near a standing claim of which nobody can tell by their words whether they state another value.

Pure. Meaning says that a text is near: the cosine of its vector to that of the claim's fragment. Words say that it
may speak of the claim's subject, and that it holds a value which may stand in the place of the claim's own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conflicts.free_text import sightings
from conflicts.free_text.changes import Span, is_changed
from conflicts.free_text.contradictions import (
    BLOCKS,
    CLAUSES,
    FOREIGN,
    IS_FINE,
    NOT,
    NOT_FINE,
    Kind,
    Standing,
    cues_of,
    denied,
    is_spoken_of,
    kind_of,
    literal,
    places_of,
)
from conflicts.free_text.cues import CLOSED, NEUTRAL, PEOPLE, RELATIVES
from conflicts.free_text.owners import FELLOWS, PRONOUNS
from conflicts.free_text.passages import Passage, stems_of
from conflicts.free_text.sightings import Sighting, is_given_name
from conflicts.keys import USERS, subject_key
from memories.language.word_lists import STOPWORDS, listed

NEAR = 0.2  # cosine from which on a text may answer the question for a claim, though its words do not name it
ALIKE = 0.5  # the same of a text and a claim that nobody asks for
UNKNOWN = 0.4  # the cosine of a text without a vector: as of a text on the same subject
# What a user is called in other languages.
USERS_ABROAD = re.compile(
    r"\b(?:be)?nutzer(?:s|in)?\b|\bkund(?:e|en|in)\b|\butilisat(?:eur|rice)\b|\busu[aá]ri[oa]\b|\butente\b|\bgebruiker\b"
    r"|\banvändaren\b|\bcliente\b",
    re.IGNORECASE,
)
ENGLISH = 1 / 5  # of the words of an English sentence are such as "the" and "of", at least
TELLING = 4  # words from which on that can be told
ABROAD = re.compile(r"[^\W\d_\u0000-\u024f]")  # a letter that is not Latin
DENIAL = re.compile(rf"{NOT}|\b(?:any ?more|stopped|former|ex)\b", re.IGNORECASE)
STRUCTURE = re.compile(r"[{}=]")  # of data, whose words are no language's
# What says, where a claim's key is spoken of without any value, that it is another one now.
CHANGE = re.compile(
    r"\b(?:no|none|unlimited|doubl\w+|halv\w+|half|twice|tripl\w+|later|earlier|sooner|exten(?:d|sion)\w*|postpon\w+"
    r"|delay\w*|pushed|moved|weeks?|months?|quarter|instead|chang\w+)\b",
    re.IGNORECASE,
)
# What stands before a value that is given up, besides what `contradictions` knows.
LEFT = re.compile(
    r"\b(?:(?:out|rid|tired) of|away from|leaves|leaving|goodbye|farewell|ditch\w*|dump\w*|quit|drop\w*) (?:the |a )?$",
    re.IGNORECASE,
)
YEAR = re.compile(r"(?:19|20)\d\d")
# Who or what may be anybody, or anything.
PLACES = listed("office bank school warehouse hq headquarter branch")
MEANT = PEOPLE | (RELATIVES - PLACES) | PRONOUNS | listed("it its this that these those who whose which")
# What somebody says may be about anybody.
SAID = re.compile(
    rf"{FOREIGN.pattern}|\b(?:answers?|guess\w*|opinions?|estimates?|views?|words?|repl(?:y|ies)|figures?|beliefs?|ideas?"
    r"|memor(?:y|ies)|lists?|tables?|records?|data|numbers?|facts?|updates?|entr(?:y|ies)|corrections?|values?)\b",
    re.IGNORECASE,
)
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a text is to a claim: the cosine of their vectors, if both have one; whether the claim is asked for."""

    cosine: float | None
    is_asked_for: bool = False

    @classmethod
    def between(cls, text: Vector | None, claim: Vector | None, *, is_asked_for: bool) -> "Nearness":
        """Return the nearness of two unit vectors."""
        return cls(None if text is None or claim is None else float(text @ claim), is_asked_for)

    def reaches(self, least: float) -> bool:
        """Return whether it is as near as that."""
        return (UNKNOWN if self.cosine is None else self.cosine) >= least


def is_in_doubt(passages: Sequence[Passage], claim: Standing, nearness: Nearness, *, exclusive: bool) -> bool:
    """Return whether a text is near a claim, and may state another value; False where it states the claim's alone.

    Where the question asks for the claim, whatever is near and does not state its value may be taken for an answer.
    """
    if not exclusive:
        return any(_may_deny(passage, claim) for passage in passages)
    passages = [passage for passage in passages if not passage.text.endswith("?")]
    foreign = _is_foreign(passages)
    kind = kind_of(claim)
    seen = [_values(passage, claim, kind) for passage in passages]
    own = any(sighted for sighted, _ in seen)
    spoken = is_spoken_of(passages, claim)
    if nearness.is_asked_for and not own:
        return bool(passages) and (spoken or foreign or nearness.reaches(NEAR))
    values = any(others for _, others in seen)
    named = own and any(_keys(passage, claim, weakly=False) for passage in passages)
    if not (foreign or own and values or named or _is_of_subject(passages, claim)):
        return False
    if kind[0] is None or foreign and claim.predicate in CLOSED:
        return not own and (foreign or nearness.reaches(ALIKE))
    if not (own or spoken or nearness.reaches(ALIKE)):
        return False
    if not own and not values:
        return any(CHANGE.search(passage.text) for passage in passages)
    return any(
        _may_replace(passage, sighted, others, claim, spoken=spoken)
        for passage, (sighted, others) in zip(passages, seen, strict=True)
    )


def others_named(passages: Sequence[Passage], claim: Standing) -> set[str]:
    """Return of whom each sentence tells a thing that is theirs, where none may speak of the person a claim is about.

    None where a sentence names no such owner, or whom or what it means may be the claim's: by a pronoun, as a relative,
    by the claim's predicate, as its value, as what somebody only says.
    """
    subject = set(stems_of(claim.subject))
    stems = {word.stem for passage in passages for word in passage.words}
    is_person = any(map(is_given_name, subject)) and kind_of(claim)[0] is not sightings.names
    if not is_person or stems & (subject | MEANT) or _is_foreign(passages):
        return set()
    owners = [_owner(passage) for passage in passages if not _keys(passage, claim)]
    return {one for one in owners if one} if len(owners) == len(passages) and all(owners) else set()


def _owner(passage: Passage) -> str:
    """Return the person whose thing a sentence speaks of, nothing where none is sure to be."""
    for word, thing in pairwise(passage.words):
        named = word.text.endswith("'s") and word.text[0].isupper() and is_given_name(word.text)
        if named and thing.text.isalpha() and thing.stem not in STOPWORDS | NEUTRAL:
            return "" if SAID.search(passage.text, word.end) else word.text.removesuffix("'s")
    return ""


def _may_replace(
    passage: Passage, own: Sequence[Sighting], others: Sequence[Sighting], claim: Standing, *, spoken: bool
) -> bool:
    """Return whether a sentence gives up the claim's value, or holds another that may stand in its place."""
    if own:
        given_up = any(
            denied(passage, one, strict=not others) or LEFT.search(passage.text, 0, one.start) for one in own
        )
        keys = _keys(passage, claim, weakly=False)
        return given_up or bool(others and not keys) or is_changed(passage, claim, own, others, keys)
    return any(
        not _is_anothers(passage, one)
        and (spoken or not _is_year(one, claim) and not _is_another_thing(passage, one, claim))
        for one in others
    )


def _keys(passage: Passage, claim: Standing, *, weakly: bool = True) -> list[Span]:
    """Return where phrases stand that speak of the claim's predicate, among others."""
    stems, words = [word.stem for word in passage.words], passage.words
    found = (place for cue in cues_of(claim) if weakly or not cue.weak for place in places_of(cue, stems))
    return [(words[start].start, words[end - 1].end) for start, end in found]


def _is_of_subject(passages: Sequence[Passage], claim: Standing) -> bool:
    """Return whether the claim's subject is named, if only by a pronoun."""
    stems = {word.stem for passage in passages for word in passage.words}
    if subject_key(claim.subject) in USERS:
        return bool(stems & PEOPLE)
    return set(stems_of(claim.subject)) <= stems


def _is_foreign(passages: Sequence[Passage]) -> bool:
    """Return whether a text is in another language than English, of which an English model's vector tells little."""
    if any(USERS_ABROAD.search(passage.text) for passage in passages):
        return True
    if any(STRUCTURE.search(passage.text) for passage in passages):
        return False
    words = [word.text.lower() for passage in passages for word in passage.words if word.text.isalpha()]
    if words and 2 * sum(bool(ABROAD.search(word)) for word in words) >= len(words):
        return True
    return len(words) >= TELLING and sum(word in STOPWORDS for word in words) < ENGLISH * len(words)


def _values(passage: Passage, claim: Standing, kind: Kind) -> tuple[list[Sighting], list[Sighting]]:
    """Return where a sentence states the claim's value, and where others of its kind."""
    seen, same = kind
    found = list(seen(passage)) if seen else []
    if seen is sightings.codes:
        found += sightings.names(passage)
    if not found and seen is sightings.places:
        found = list(sightings.small_places(passage))
    own = [one for one in found if same(one.form)] or list(literal(passage, claim.value))
    return own, [one for one in found if one not in own and not any(_meet(one, own_value) for own_value in own)]


def _meet(one: Sighting, other: Sighting) -> bool:
    return one.start < other.end and other.start < one.end


def _is_anothers(passage: Passage, value: Sighting) -> bool:
    """Return whether somebody else is named before the value: a relative, a person."""
    before = [word for word in passage.words if word.end <= value.start]
    return any(word.stem in FELLOWS or (is_given_name(word.text) and word.text[0].isupper()) for word in before)


def _is_another_thing(passage: Passage, value: Sighting, claim: Standing) -> bool:
    """Return whether a word in the value's clause says that it is no value of the claim's predicate, but of another."""
    begin = max((cut.end() for cut in CLAUSES.finditer(passage.text, 0, value.start)), default=0)
    end = CLAUSES.search(passage.text, value.end)
    blocks = BLOCKS.get(claim.predicate)
    return bool(blocks and blocks.search(passage.text, begin, end.start() if end else len(passage.text)))


def _is_year(value: Sighting, claim: Standing) -> bool:
    """Return whether a bare number, where the claim's value is one, is a year more likely than anything else."""
    return claim.value.strip().isdigit() and bool(YEAR.fullmatch(value.form))


def _may_deny(passage: Passage, claim: Standing) -> bool:
    """Return whether a sentence may say that a value, which others may stand beside, is none."""
    stems = {word.stem for word in passage.words}
    named = set(stems_of(claim.value)) <= stems
    if stems & FELLOWS or not _is_of_subject([passage], claim) or not (named or _keys(passage, claim)):
        return False
    if named and NOT_FINE.search(passage.text):
        return False
    return bool(DENIAL.search(passage.text) or named and IS_FINE.search(passage.text))
