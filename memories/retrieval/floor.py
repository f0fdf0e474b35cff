"""The floor: whether the best of what was found has anything to do with the question at all. Pure."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from memories.language.content_words import WORD as WORDS
from memories.language.content_words import content_words
from memories.language.tokenizer import SENTENCE, spoken_words
from memories.language.word_lists import STOPWORDS
from memories.retrieval.candidates import MOST_QUOTED, Candidate

# What a point of BM25 adds to the cosine, and how many points unrelated questions share with the best of MANY texts or
# more (their median on chats): one middling word. Larger ones refuse more of both; measured by `script/bench recall`.
WORD, COMMON, MANY = 0.015, 5.0, 50
NAME = re.compile(r"(?<=[a-z,] )[A-Z]\w*[a-z]")  # not at the beginning
FEW = 5  # texts that say a word which is rare


def common_points(texts: int) -> float:
    """Return how many points of BM25 unrelated questions share with the best of so many texts.

    Among few no word is worth as much, nor is one of them as like by chance: COMMON · ln(n + 1) / ln(MANY + 1)
    (measured: docs/decisions/0141).
    """
    return COMMON * min(1.0, math.log1p(texts) / math.log1p(MANY))


def evidence(candidate: Candidate, bm25: float, *, common: float) -> float:
    """Return how far a memory answers the question, on the scale of a cosine: likeness, and the words beyond chance."""
    return max(0.0, candidate.cosine or 0.0) + WORD * (bm25 - common)


def reaching(candidates: Sequence[Candidate], *, bm25: Mapping[UUID, float], floor: float, common: float) -> set[UUID]:
    """Return which of them reach the floor by themselves, or were said right beside one that does."""
    near = [one for one in candidates if evidence(one, bm25.get(one.id, 0.0), common=common) >= floor]
    places = {place for one in near for steps in (-1, 0, 1) if (place := one.beside(steps))}
    return {one.id for one in near} | {one.id for one in candidates if one.place in places}


def reaches_floor(
    candidates: Iterable[Candidate],
    *,
    bm25: Mapping[UUID, float],
    asked_for: Iterable[UUID],
    floor: float,
    common: float,
) -> bool:
    """Return whether one of them reaches the floor, or is a claim `asked_for`.

    A floor of 0 is none.
    """
    known = frozenset(asked_for)
    return floor <= 0 or any(
        one.id in known or evidence(one, bm25.get(one.id, 0.0), common=common) >= floor for one in candidates
    )


def quoted(candidates: Iterable[Candidate], *, question: str, bm25: Mapping[UUID, float]) -> bool:
    """Return whether a sentence of the best by words says all that a question says, or half while it has no vector.

    Of telling words one is enough where it is a number or a code, or a name or all of the question and in few texts.
    """
    asked = _telling(question)
    is_whole = len(spoken_words(question, WORDS)) == 1 or any(NAME.finditer(question))
    is_rare = any(map(str.isdigit, "".join(asked))) or is_whole and len(bm25) <= FEW
    if not asked or (len(asked) == 1 and not is_rare):
        return False
    # In the order of `BEST`, which says of whom the wording was read.
    best = sorted((one for one in candidates if one.id in bm25), key=lambda one: (-bm25[one.id], one.id))[:MOST_QUOTED]
    return any(
        len(asked & _telling(sentence)) >= (len(asked) if one.cosine is not None else len(asked) / 2)
        for one in best
        for sentence in SENTENCE.findall(one.wording)
    )


def _telling(text: str) -> frozenset[str]:
    sense = content_words(text)
    return (sense.stems - STOPWORDS) | sense.numbers
