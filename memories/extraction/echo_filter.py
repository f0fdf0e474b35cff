"""Which sentences of a turn only say again what the memory handed out. Pure.

Without this guard a memory would come back through a model's mouth and pass for a second source of itself. A sentence
with a single telling word, name, number or literal of its own is no echo: dropping what somebody said is worse than a
copy.
"""

from collections.abc import Iterable, Sequence

from memories.language.content_words import WORD, Sense, content_words
from memories.language.literals import literals
from memories.language.tokenizer import CLAUSE_END, SENTENCE, spoken_words

Read = tuple[Sense, frozenset[str]]


def without_echoes(text: str, memories: Iterable[str]) -> str:
    """Return the text without the sentences that one of the memories says already; "" when nothing else is said.

    A text without any comes back as it is.
    """
    known = [_read(memory) for memory in memories]
    sentences = SENTENCE.findall(text) if known else []
    left = [sentence for sentence in sentences if not _is_echo(sentence, known)]
    if len(left) == len(sentences):
        return text
    tells = any(sense.stems or sense.numbers for sense in map(content_words, left))
    return "".join(left).strip() if tells else ""


def repeats(text: str, memories: Iterable[str]) -> bool:
    """Return whether each sentence of a text stands in a memory in the same words and order."""
    spoken = {_words(part) for memory in memories for part in (memory, *SENTENCE.findall(memory))}
    sentences = [words for sentence in SENTENCE.findall(text) if any(words := _words(sentence))]
    return _words(text) in spoken or bool(sentences) and all(words in spoken for words in sentences)


def _words(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(spoken_words(text, WORD)), literals(text)


def _read(text: str) -> Read:
    return content_words(text), frozenset(literals(text))


def _is_echo(sentence: str, memories: Sequence[Read]) -> bool:
    """Return whether a memory says it, or memories say each of its clauses. A question says nothing again."""
    if sentence.rstrip("\"'”’)] \n").endswith("?"):
        return False

    def is_said(text: str) -> bool:
        sense, signs = _read(text)
        return any(sense.says_again(memory) and signs <= known for memory, known in memories)

    clauses = [clause for clause in CLAUSE_END.split(sentence) if _tells(clause)]
    return is_said(sentence) or (len(clauses) > 1 and all(is_said(clause) for clause in clauses))


def _tells(text: str) -> bool:
    sense = content_words(text)
    return bool(sense.stems or sense.numbers)
