"""Facts: what two texts agree on before one may stand for the other: numbers, dates, names, negation and literals.

A cosine takes "$750" and "$7500", 6 pm and 7 pm, "> 90" and "< 90" for one. In doubt texts differ: a twin too many
costs a line of context, a false one a memory.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from memories.language.dates import CALENDAR
from memories.language.gazetteers import GIVEN_NAMES
from memories.language.literals import literals
from memories.language.word_lists import OPENERS, listed, word_list

WORD = re.compile(r"[^\s,;!?()\[\]{}\"“”]+")
EDGES = ".:'’‘`*_#>-–—/"
NUMBERS = word_list(__file__, "numbers")
TIMES = listed("today tomorrow yesterday tonight morning afternoon evening night weekday weekend") | CALENDAR
NEGATIONS = word_list(__file__, "negations")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text says: numbers (with the word behind them) and times, how often it negates, names, words, literals."""

    counted: tuple[str, ...]
    negations: int
    names: frozenset[str]
    words: frozenset[str]
    literals: tuple[str, ...]

    def agree(self, other: "Facts") -> bool:
        """Whether both say the same numbers, times, names and literals, and negate as often. A name may be small."""
        return (
            self.counted == other.counted
            and self.negations == other.negations
            and self.literals == other.literals
            and self.names <= other.words
            and other.names <= self.words
        )


def facts(text: str) -> Facts:
    """Read a text."""
    words = [word for found in WORD.findall(unicodedata.normalize("NFKC", text)) if (word := found.strip(EDGES))]
    lowered = [word.casefold() for word in words]
    return Facts(
        counted=tuple(sorted(_counted(lowered))),
        negations=sum(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in lowered),
        names=frozenset(low for word, low in zip(words, lowered, strict=True) if _is_name(word, low)),
        words=frozenset(lowered),
        literals=literals(text),
    )


def _counted(lowered: list[str]) -> Iterator[str]:
    for word, after in zip(lowered, [*lowered, ""][1:], strict=True):
        if any(c.isdigit() for c in word):
            yield f"{word} {after}"
        elif word in NUMBERS or word in TIMES:
            yield word


def _is_name(word: str, lowered: str) -> bool:
    """Return a known given name, or written like a name and no word that only begins sentences."""
    if lowered in OPENERS or lowered in TIMES:
        return False
    return lowered.removesuffix("'s").removesuffix("’s") in GIVEN_NAMES or any(c.isupper() for c in word)
