"""Extracts: the sentences of several texts that say most of what they have in common. Pure."""

from collections import Counter
from collections.abc import Sequence

from memories.language.tokenizer import WORD, sentence_end
from memories.language.word_lists import STOPWORDS
from memories.models import CONTENT_LIMIT

SENTENCE_END = sentence_end()


def extract(texts: Sequence[str], *, limit: int = CONTENT_LIMIT) -> str:
    """Return at most `limit` characters: of each text its best sentence, as many texts as fit, in their order.

    A sentence is as good as its words are common among the texts; of equal ones the first.
    """
    common = Counter(word for text in texts for word in _words(text))
    best = [max(_sentences(text), key=lambda s: _worth(s, common)) for text in texts]
    chosen: set[int] = set()
    used = 0
    for place in sorted(range(len(best)), key=lambda n: -_worth(best[n], common)):
        fits = used + len(best[place]) + 1 <= limit + 1
        if fits and best[place] not in {best[other] for other in chosen}:
            chosen.add(place)
            used += len(best[place]) + 1
    found = " ".join(best[place] for place in sorted(chosen))
    return found or best[0][:limit].strip()


def _sentences(text: str) -> list[str]:
    return [part for found in SENTENCE_END.split(text) if (part := found.strip())] or [text]


def _words(text: str) -> set[str]:
    return {word for word in WORD.findall(text.casefold()) if word not in STOPWORDS}


def _worth(sentence: str, common: Counter[str]) -> float:
    words = _words(sentence)
    return sum(common[word] for word in words) / len(words) if words else 0.0
