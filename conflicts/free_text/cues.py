"""Cues: the English words by which a text speaks of a predicate, beside its registered names.

All lower-case, compared as stems as `passages` makes them. A weak cue says so only in company: "may spend at most", not
"spends".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from conflicts.free_text.passages import stem
from memories.language.word_lists import entries, listed, word_list

# What a memory's owner is called in texts, besides "I".
PEOPLE = word_list(__file__, "people")
NEUTRAL = word_list(__file__, "neutral")
RELATIVES = word_list(__file__, "relatives")
COLORS = word_list(__file__, "colors")
# What was done to a value that is another one now, to be found in a text.
CHANGED = "|".join(
    [
        "(?:brought|put|called|taken) (?:forward|back|down|off)",
        "(?:went|gone) (?:up|down|from)",
        "turned into",
        *sorted(word_list(__file__, "changed")),
    ]
)


@dataclass(frozen=True, slots=True)
class Cue:
    """A phrase of stems that speaks of a predicate."""

    stems: tuple[str, ...]
    weak: bool = False


def _by_predicate(name: str) -> dict[str, list[str]]:
    """Return the phrases of a list whose entries say of which predicate they are: "budget: spend limit"."""
    found: dict[str, list[str]] = {}
    for entry in entries(__file__, name):
        predicate, _, phrase = entry.partition(": ")
        found.setdefault(predicate, []).append(phrase)
    return found


def _cues() -> Mapping[str, tuple[Cue, ...]]:
    strong, weak = _by_predicate("cues"), _by_predicate("weak_cues")
    return {
        predicate: tuple(
            Cue(tuple(map(stem, phrase.split())), is_weak)
            for phrases, is_weak in ((strong[predicate], False), (weak.get(predicate, ()), True))
            for phrase in phrases
        )
        for predicate in strong
    }


CUES = MappingProxyType(_cues())
COMPANY = MappingProxyType({predicate: frozenset(words) for predicate, words in _by_predicate("cue_company").items()})
# Words of which one excludes the others.
CLOSED = MappingProxyType(
    {
        "favorite_color": COLORS,
        "diet": word_list(__file__, "diets"),
        "prefers_theme": listed("dark light solarized"),
    }
)
