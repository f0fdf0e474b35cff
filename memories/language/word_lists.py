"""Word lists: how a room's are read, and the English ones that most readers share. All lower-case.

A list of more than a line stands in the `data` of its room: plain text, one entry a line, behind `#` why it is there.
"""

from pathlib import Path


def listed(words: str) -> frozenset[str]:
    """Return the words of a line."""
    return frozenset(words.split())


def entries(module: str, name: str) -> list[str]:
    """Return the entries of `data/<name>.txt` beside a module's `__file__`, in their order."""
    lines = Path(module).with_name("data").joinpath(f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def word_list(module: str, name: str) -> frozenset[str]:
    """Return the entries of `data/<name>.txt` beside a module's `__file__` as a set."""
    return frozenset(entries(module, name))


STOPWORDS = word_list(__file__, "stopwords")
POSITIVE = word_list(__file__, "positive")
NEGATIVE = word_list(__file__, "negative")

# What asks for which kind of memory; `search_types` of a question.
PROCEDURAL_ASKS = ("how to", "how do i", "how do we", "how do you", "how can i", "how should i", "steps to")
PROCEDURAL_WORDS = listed("guide tutorial instructions procedure recipe walkthrough")
SEMANTIC_ASKS = ("what is", "what are", "what does", "what's", "what’s")
SEMANTIC_WORDS = listed("define defines definition explain explains meaning means")
EPISODIC_ASKS = ("last week", "last month", "last year", "last night", "last time", "when did", "when was")
EPISODIC_WORDS = listed("remember remembers yesterday happened meeting met discussed talked told ago earlier recently")

PAST_WORDS = word_list(__file__, "past_words")

# What puts the steps of a procedure in order, and who appears in a story but not in a procedure.
NEXT_WORDS = listed("then next second secondly afterwards finally")
PRONOUNS = listed("i we he she they my our his her their me us him them")

OPENERS = STOPWORDS | word_list(__file__, "openers")
# Written with capitals for other reasons than being a name.
NO_NAMES = listed("i i'm i've i'd i'll god mom dad mum grandma grandpa mommy daddy sir madam ok tv am pm")

PERSON_BEFORE = word_list(__file__, "person_before")
PERSON_AFTER = word_list(__file__, "person_after")
TRAVEL = word_list(__file__, "travel")
PLACE_BEFORE = listed("in to from near around")
SEEING = listed("visit visits visited visiting toured exploring explored")
WORK = word_list(__file__, "work")
WORK_BEFORE = listed("at for from of with")
JOINING = listed("joined founded")
