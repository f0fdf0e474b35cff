"""Whether a model's words stand in the texts that it was given: nothing is believed because a model made it up."""

import re
from collections import Counter
from collections.abc import Sequence

from conflicts.keys import USER, names_user
from memories.extraction import first_person_at
from memories.governance.shapes import ReadClaim
from memories.language.tokenizer import WORD
from memories.language.word_lists import STOPWORDS

SHARE = 0.7  # of a digest's content words are those of the texts
ALONE = 2 / 3  # at most may be of one text alone
CLAUSE_BREAK = re.compile(r"[.!?,;:\n]|\b(?:and|but|that|because)\s")
OWN_DEED = re.compile(r"\b(?:I|[Ww]e|[Mm]e|[Uu]s)\b")
STEM = 5  # letters that two forms of a word have in common
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
BEGINNING = re.compile(r"(?:^|[.!?:;\n]\s*)[\"'“‘(*-]*\s*$")


def states_claim(claim: ReadClaim, text: str, *, by_user: bool = False) -> bool:
    """Whether a text makes this claim in its own words: span, value in the span, and each word of the subject.

    For the user stands "I" or "my" in the span's sentence, where the user speaks (`by_user`) and of themselves.
    """
    if claim.span not in text or claim.value.casefold() not in claim.span.casefold():
        return False
    if by_user and names_user(claim.subject) and first_person_at(text, text.find(claim.span)) == USER:
        return _of_oneself(claim, text)
    words_of_text = {word.casefold() for word in WORD.findall(text)}
    subject = {word.casefold() for word in WORD.findall(claim.subject)}
    return bool(subject) and subject <= words_of_text


def _of_oneself(claim: ReadClaim, text: str) -> bool:
    """Return whether "I" is in the span's clause, or what is claimed or its value is "mine": my budget, my two dogs."""
    clause = CLAUSE_BREAK.split(text[: text.find(claim.span)])[-1] + claim.span
    if OWN_DEED.search(clause):
        return True
    nouns = "|".join(map(re.escape, [*claim.predicate.replace("_", " ").split(), claim.value]))
    return bool(re.search(rf"\b(?:my|our)\s(?:{nouns})\b", clause, re.IGNORECASE))


def is_grounded(summary: str, texts: Sequence[str]) -> bool:
    """Whether a digest is of these texts: its numbers and names are theirs, most of its words, and of most of them.

    A text that gives orders can at most make the digest say what it says itself, and only beside the others' words:
    no text alone may be what it is made of.
    """
    numbers = {number for text in texts for number in NUMBER.findall(text)}
    if not set(NUMBER.findall(summary)) <= numbers:
        return False
    words = [_content(text) for text in texts]
    known, own_words = set[str]().union(*words), _content(summary)
    if not own_words or len(own_words & known) < SHARE * len(own_words):
        return False
    spread = Counter(word for those in words for word in those & own_words)
    alone = (sum(spread[word] == 1 for word in those & own_words) for those in words)
    if sum(bool(own_words & those) for those in words) * 2 <= len(texts) or max(alone) > ALONE * len(own_words):
        return False
    return _names(summary, known, {word for text in texts for word in WORD.findall(text)})


def _names(summary: str, stems: set[str], whole: set[str]) -> bool:
    """Whether each word with a capital letter is theirs; at a sentence's beginning another form of it will do."""
    spoken = {word.casefold() for word in whole}
    for found in WORD.finditer(summary):
        word = found[0].casefold()
        if not found[0][0].isupper() or word in STOPWORDS or word in spoken:
            continue
        if not BEGINNING.search(summary[: found.start()]) or word[:STEM] not in stems:
            return False
    return True


def _content(text: str) -> set[str]:
    """Return the beginnings of the words that say something, and numbers."""
    words = (word.casefold() for word in WORD.findall(text))
    return {word[:STEM] for word in words if word.isdigit() or (len(word) > 2 and word not in STOPWORDS)}
