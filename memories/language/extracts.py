"""Extracts: of several texts the sentences that tell most, each thing once. Pure.

What a sentence is worth is the closeness of its vector to the centre of all, the rarity of its words among these texts,
and its names, numbers and dates; questions tell little. Sentences are taken by worth less their likeness to those taken
before (maximal marginal relevance: Carbonell and Goldstein, SIGIR 1998).
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from memories.language.dates import CALENDAR
from memories.language.tokenizer import SENTENCE, WORD
from memories.language.word_lists import OPENERS, STOPWORDS, listed
from memories.models import CONTENT_LIMIT

MOST = 400  # sentences of all texts: each is compared with each
SHARE = 0.6  # of what the texts say together
# What closeness to the centre, rare words, a name or number, a date and a question weigh; chosen on talk.
CENTRAL, RARE, NAMED, DATED, ASKING = 0.3, 0.2, 0.2, 0.3, 0.3
MOST_NAMED = 2
LIKENESS = 0.5  # of its worth that a sentence loses where it says again what was taken
AGAIN = 0.95  # from this likeness on it is the same
HEAD = re.compile(r"\A[^\W\d_][\w .'’-]{0,40}:(?=\s)")
DAYS = listed("yesterday today tonight tomorrow ago last next since weekend week month year recently") | CALENDAR
NUMBER = re.compile(r"\d")
LEAST_WORTH = 0.2  # of a text that says one thing: below it, it says nothing


@dataclass(frozen=True, slots=True)
class ExtractSentence:
    """A sentence of one of several texts: which one, who says it ("Ann:" or nothing), its words; `alone`: it is all."""

    text: int
    head: str
    content: str
    alone: bool
    words: frozenset[str] = field(hash=False, compare=False)

    @property
    def length(self) -> int:
        """Its characters, with the space behind."""
        return len(self.content) + 1


def sentences(texts: Sequence[str]) -> list[ExtractSentence]:
    """Return the sentences of texts, in their order. A text may begin with who speaks and a colon."""
    found: list[ExtractSentence] = []
    for number, text in enumerate(texts):
        head = HEAD.match(text)
        body = text[head.end() :] if head else text
        parts = [part for match in SENTENCE.findall(body) if (part := match.strip())]
        for part in parts[: max(1, MOST // len(texts))]:
            if words := _words(part):
                found.append(ExtractSentence(number, head[0] if head else "", part, len(parts) == 1, words))
    return found


def extract(texts: Sequence[str], vectors: Any = None, *, limit: int = CONTENT_LIMIT) -> str:
    """Return at most `limit` characters of the texts' best sentences, in their order; who speaks stands before them.

    `vectors`: those of `sentences(texts)` (n × dim), None where nothing embeds. A text of one sentence is kept as far
    as it says anything; of the others as much as fits into three fifths of all.
    """
    found = sentences(texts)
    if not found:
        return " ".join(texts)[:limit].strip()
    likeness = _likeness(found, vectors)
    worth = _worth(found, likeness)
    kept = [n for n, s in enumerate(found) if s.alone and worth[n] >= LEAST_WORTH]
    others = [n for n in range(len(found)) if n not in set(kept)]
    choice = _Choice(found, worth, likeness)
    choice.take(kept, room=limit)
    choice.take(others, room=min(limit, int(SHARE * sum(map(len, texts)))))
    if not choice.taken:
        choice.taken = [int(np.argmax(worth))]
    return _told([found[n] for n in sorted(choice.taken)])[:limit].strip()


def spoken_by(text: str) -> str:
    """Return who speaks at a text's beginning, in lower case; empty when nobody is named."""
    head = HEAD.match(text)
    return head[0].rstrip(":").casefold() if head else ""


def most_telling(text: str) -> str:
    """Return the sentence of a text that tells most, with who says it."""
    found = sentences([text])
    worth = _worth(found, _likeness(found, None)) if found else []
    return _told([found[int(np.argmax(worth))]]) if found else text.strip()


@dataclass(slots=True)
class _Choice:
    """Sentences that are taken one by one, as long as there is room."""

    found: Sequence[ExtractSentence]
    worth: Any
    likeness: Any
    taken: list[int] = field(default_factory=list)
    told: Any = None
    used: int = 0

    def take(self, numbers: Iterable[int], *, room: int) -> None:
        """Take of these the best that say something new, until there is no room for another."""
        left = set(numbers)
        told = np.zeros(len(self.found)) if self.told is None else self.told
        while fitting := [n for n in sorted(left) if self.used + self._cost(n) <= room]:
            best = max(fitting, key=lambda n: self.worth[n] - LIKENESS * told[n])
            left.discard(best)
            if told[best] >= AGAIN:
                continue
            self.used += self._cost(best)
            self.taken.append(best)
            told = np.maximum(told, self.likeness[best])
        self.told = told

    def _cost(self, number: int) -> int:
        sentence = self.found[number]
        opens = sentence.text not in {self.found[n].text for n in self.taken}
        return sentence.length + (len(sentence.head) + 1 if opens and sentence.head else 0)


def _told(chosen: Sequence[ExtractSentence]) -> str:
    """Return sentences as a text: what one speaker says behind one another stands in one line."""
    lines = []
    for head, group in groupby(chosen, key=lambda sentence: sentence.head):
        lines.append(f"{head} {' '.join(s.content for s in group)}".strip())
    return "\n".join(lines)


def _likeness(found: Sequence[ExtractSentence], vectors: Any) -> Any:
    """Return how alike any two are, 0 to 1 (n × n): by their vectors, else by the words that they share (Jaccard)."""
    if vectors is not None:
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return np.clip(unit @ unit.T, 0, 1)
    shared = [[len(one.words & other.words) / len(one.words | other.words) for other in found] for one in found]
    return np.array(shared)


def _worth(found: Sequence[ExtractSentence], likeness: Any) -> Any:
    """Return what each sentence is worth (see above)."""
    saying = Counter(word for _, group in groupby(found, key=lambda s: s.text) for word in _all_words(group))
    texts = len({sentence.text for sentence in found})
    speakers = frozenset(word for sentence in found for word in _words(sentence.head))
    central = likeness.mean(axis=1)
    central = central / max(central.max(), 1e-9)
    return np.array(
        [CENTRAL * central[n] + _facts(sentence, saying, texts, speakers) for n, sentence in enumerate(found)]
    )


def _facts(sentence: ExtractSentence, saying: Counter[str], texts: int, speakers: frozenset[str]) -> float:
    telling = sentence.words - speakers
    rarity = sum(math.log((1 + texts) / saying[word]) for word in telling) / math.sqrt(max(1, len(telling)))
    first, *others = sentence.content.split()
    names = sum(word[:1].isupper() and word.strip(".,!?'\"").casefold() not in OPENERS | speakers for word in others)
    numbers = sum(bool(NUMBER.search(word)) for word in (first, *others))
    dated = not DAYS.isdisjoint(WORD.findall(sentence.content.casefold()))
    asks = sentence.content.rstrip("\"'”’)] ").endswith("?")
    return RARE * rarity + NAMED * min(MOST_NAMED, names + numbers) + DATED * dated - ASKING * asks


def _all_words(group: Iterable[ExtractSentence]) -> frozenset[str]:
    return frozenset().union(*(sentence.words for sentence in group))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in WORD.findall(text.casefold()) if word not in STOPWORDS)
