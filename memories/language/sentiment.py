"""Sentiment: how good or bad the mood of a text is, by word lists, what denies a word and what strengthens it."""

import re
from collections.abc import Iterator, Sequence

from memories.language.tokenizer import LETTER, spoken_words, words_joined_by
from memories.language.word_lists import NEGATIVE, POSITIVE, listed, word_list

WORD = words_joined_by("-'’", of=LETTER)
# Behind these a "not" denies no more.
CLAUSE = re.compile(
    r"[.,;:!?…\n()]|\b(?:but|yet|however|although|though|because|while|whereas)\b"
    r"|\b(?:and|so) (?=(?:i|you|he|she|it|we|they|this|that|the|my|our)\b)",
    re.IGNORECASE,
)
WINDOW = 4  # "I don't think it is good"
DENIALS = word_list(__file__, "denials")
# "not only good", "no doubt good", "can't wait for the wonderful trip"
UNDENIED = listed("only just doubt wonder wait")
# "Never felt better", "couldn't be worse" say the utmost.
COMPARATIVES = listed("better happier greater nicer worse sadder")
UTMOST = listed("never couldn't can't cannot nothing")
STRONGER = word_list(__file__, "intensifiers")
WEAKER = listed("slightly somewhat little bit mildly partly fairly rather kinda")
STRONG, WEAK, DENIED = 1.5, 0.5, -0.75
DAMPING = 2  # as many words without a mood: a single word is no utmost
LETTERS = re.compile(rf"{LETTER}+")
# The letters that moods begin with: a text without any of them has no mood.
BEGINNINGS = {word.partition("-")[0].partition("'")[0] for word in POSITIVE | NEGATIVE}


def valence(text: str) -> float:
    """Return −1 (all bad) to 1: the moods of its words, by how many there are and some more; 0 when there are none."""
    if BEGINNINGS.isdisjoint(LETTERS.findall(text.lower())):
        return 0.0
    moods = [mood for clause in CLAUSE.split(text) for mood in _moods(spoken_words(clause, WORD))]
    return max(-1.0, min(1.0, sum(moods) / (len(moods) + DAMPING)))


def _moods(words: Sequence[str]) -> Iterator[float]:
    for at, word in enumerate(words):
        if word in POSITIVE or word in NEGATIVE:
            mood = 1.0 if word in POSITIVE else -1.0
            yield mood * _strength(words[max(0, at - 2) : at]) * _denial(words[max(0, at - WINDOW) : at + 1])


def _strength(before: Sequence[str]) -> float:
    """Return what the two words before make of a mood: "so very happy", "a little bit sad"."""
    if WEAKER.intersection(before):
        return WEAK
    return STRONG if STRONGER.intersection(before[-1:]) else 1.0


def _denial(words: Sequence[str]) -> float:
    """Return what the words before the last make of its mood; two denials are none."""
    *before, last = words
    denials = [word for word, after in zip(before, words[1:], strict=True) if _denies(word, after)]
    if last in COMPARATIVES and UTMOST.intersection(denials):
        return STRONG
    return DENIED if len(denials) % 2 else 1.0


def _denies(word: str, after: str) -> bool:
    return (word in DENIALS or word.endswith("n't")) and after not in UNDENIED
