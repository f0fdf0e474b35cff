"""What a text is about: its entities, topics and mood, what kind of memory it is, and where a question should look."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from memories.language import word_lists
from memories.language.candidates import TextLine, sentences
from memories.language.entities import RecognisedEntity, distinct, recognise_in
from memories.language.procedures import WORD, is_procedure
from memories.language.sentiment import valence
from memories.providers import RecognitionFailed, current_recogniser

MemoryType = Literal["episodic", "semantic", "procedural"]

MOST_TOPICS = 20
SIGNIFICANT = 5
LONGEST = 40
SHORTEST_KEY = 2


@dataclass(frozen=True, slots=True)
class Routing:
    """What routing found in a text.

    `topics` lower-case, ≤ 20, most telling first; `valence` −1 (all negative) to 1; `type` a guess; of what may be a
    question `search_types`, the kinds of memory that may answer, and `query_keys`, lower-case words to boost.
    """

    topics: list[str]
    entities: list[RecognisedEntity]
    valence: float
    type: MemoryType
    search_types: list[MemoryType] = field(default_factory=list)
    query_keys: list[str] = field(default_factory=list)

    @property
    def derived(self) -> dict[str, Any]:
        """What a memory keeps of it, by name."""
        return {
            "entities": [asdict(entity) for entity in self.entities],
            "topics": self.topics,
            "emotional_valence": self.valence,
        }


def route_kept(texts: Sequence[str]) -> list[Routing]:
    """Read texts that are kept: the names in them by the operator's model where one is bound and answers.

    Raise InsideTransaction where one is bound.
    """
    if recogniser := current_recogniser():
        with suppress(RecognitionFailed):
            found = recogniser.names(texts)
            named = [distinct(RecognisedEntity(*name) for name in names) for names in found]
            return [_read(text, names) for text, names in zip(texts, named, strict=True)]
    return [_read(text) for text in texts]


def route(text: str) -> Routing:
    """Read a text of any kind, a memory or a question; nothing is refused. docs/spec.md §5, §6."""
    found = _read(text)
    lowered, names = text.lower(), [entity.text.lower() for entity in found.entities]
    return replace(
        found,
        search_types=_search_types(lowered, set(WORD.findall(lowered)), found.entities),
        query_keys=[key for key in dict.fromkeys([*names, *found.topics]) if len(key) >= SHORTEST_KEY],
    )


def _read(text: str, entities: list[RecognisedEntity] | None = None) -> Routing:
    """Read a text that asks for nothing; the names in it are `entities` where somebody else read them."""
    lines = list(sentences(text))
    entities = recognise_in(lines) if entities is None else entities
    tokens = WORD.findall(text.lower())
    topics = _topics([entity.text.lower() for entity in entities], lines, tokens)
    return Routing(topics, entities, valence(text), _type(text, tokens))


def _topics(names: list[str], lines: list[TextLine], tokens: list[str]) -> list[str]:
    """Names, then words capitalised inside sentences, then words of 5 letters and more that carry meaning."""
    capitalised = [word.lower for line in lines for word in line.words if word.capitalised and not word.opens]
    telling = [word for word in capitalised if len(word) >= SHORTEST_KEY and word not in word_lists.STOPWORDS]
    significant = [word for word in tokens if SIGNIFICANT <= len(word) <= LONGEST and word not in word_lists.STOPWORDS]
    return list(dict.fromkeys([*names, *telling, *significant]))[:MOST_TOPICS]


def _type(text: str, tokens: list[str]) -> MemoryType:
    if is_procedure(text):
        return "procedural"
    return "semantic" if word_lists.PAST_WORDS.isdisjoint(tokens) else "episodic"


def _search_types(question: str, tokens: set[str], entities: list[RecognisedEntity]) -> list[MemoryType]:
    """Return the kinds of memory that may answer: every kind the question asks for, else episodic and semantic."""
    body: dict[MemoryType, bool] = {
        "procedural": _matches_phrase(question, word_lists.PROCEDURAL_ASKS)
        or bool(tokens & word_lists.PROCEDURAL_WORDS),
        "semantic": _matches_phrase(question, word_lists.SEMANTIC_ASKS) or bool(tokens & word_lists.SEMANTIC_WORDS),
        "episodic": _matches_phrase(question, word_lists.EPISODIC_ASKS)
        or bool(tokens & word_lists.EPISODIC_WORDS)
        or any(entity.label == "person" for entity in entities),
    }
    return [kind for kind, wanted in body.items() if wanted] or ["episodic", "semantic"]


def _matches_phrase(question: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in question for phrase in phrases)
