"""Which turns of a chat tell nothing that is worth keeping. Pure.

What is doubtful is kept: a question too many among the memories harms less than a fact that was lost.
"""

import json
import re
from itertools import dropwhile

from memories.language.tokenizer import CLAUSE_END, SENTENCE, spoken_words, words_joined_by
from memories.language.word_lists import listed, word_list

WORD = words_joined_by("'’")
ASKING = listed("who what when where why how which whose whom")
HELPERS = word_list(__file__, "helpers")
PERSONS = listed("i you we he she it they there this that my your our his her their the a an")
# With one of these a clause may state something of its own.
STATING = listed("i i'm i've i'll i'd my we we're we've our he she they it's is are was were am")
OPENERS = listed("and but so or also then now ok okay well please hey hi hello")
PREPOSITIONS = listed("about as at by during for from in of on regarding to with without")
COURTESIES = word_list(__file__, "courtesies")
PHRASES = re.compile(r"\b(?:of course|no problem|my pleasure|no worries|not at all)\b", re.IGNORECASE)
LONGEST_COURTESY = 10  # words
FENCED = re.compile(r"\A```\w*\s*\n(.*)\n\s*```\Z", re.DOTALL)


def chatter_reason(text: str, *, role: str) -> str | None:
    """Why a turn is not kept: `acknowledgement`, a user's `question`, an assistant's `structured_output`; else None."""
    text = text.strip()
    words = _words(PHRASES.sub("ok", text))
    if words and len(words) <= LONGEST_COURTESY and COURTESIES.issuperset(words):
        return "acknowledgement"
    if role == "user" and _only_asks(text):
        return "question"
    return "structured_output" if role == "assistant" and _is_structured(text) else None


def _words(text: str) -> list[str]:
    return spoken_words(text, WORD)


def _only_asks(text: str) -> bool:
    """Return whether it asks, and all that it says beside is courtesy."""
    sentences = [sentence.strip() for sentence in SENTENCE.findall(text) if _words(sentence)]
    asking = [sentence for sentence in sentences if _is_question(sentence)]
    rest = [sentence for sentence in sentences if sentence not in asking]
    return bool(asking) and all(COURTESIES.issuperset(_words(sentence)) for sentence in rest)


def _is_question(sentence: str) -> bool:
    """Return whether a sentence is a question that states nothing beside what it asks."""
    if not sentence.rstrip("\"'”’)] ").endswith("?"):
        return sentence[-1:].isalnum() and _opens_asking(_words(sentence))
    *before, last = [_words(clause) for clause in CLAUSE_END.split(sentence)]
    return not (_states(last) or any(_states(words) or _states_something(words) for words in before))


def _states(words: list[str]) -> bool:
    """Return whether a clause says something by a person or a verb in it, rather than asking for it."""
    words = _without_openers(words)
    if _is_asked(words) or not STATING & set(words):
        return False
    return len(words) >= (2 if words[0] in STATING else 3)


def _states_something(words: list[str]) -> bool:
    """Return whether a clause before the one that asks is long enough to say something, and no mere place or time."""
    words = _without_openers(words)
    return len(words) >= 3 and words[0] not in PREPOSITIONS and not _is_asked(words)


def _is_asked(words: list[str]) -> bool:
    """Return whether it begins as a question does, as "on which day" too."""
    return not words or words[0] in HELPERS or bool(ASKING & set(words[:3]))


def _without_openers(words: list[str]) -> list[str]:
    return list(dropwhile(OPENERS.__contains__, words))


def _opens_asking(words: list[str]) -> bool:
    """As "where do I live" and "is the mill open" begin."""
    first, second, *_ = [*_without_openers(words), "", ""]
    return (first in ASKING and second in HELPERS) or (first in HELPERS and second in PERSONS)


def _is_structured(text: str) -> bool:
    """Return whether it is a JSON object or list, bare or in a fence."""
    fenced = FENCED.match(text)
    try:
        return isinstance(json.loads(fenced[1] if fenced else text), dict | list)
    except (ValueError, RecursionError):
        return False
