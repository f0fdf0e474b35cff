"""How a text is taken into words and sentences, by regular expressions; a reader says what it keeps together.

What looks at a word's surroundings (names, claims, keys) has a grammar of its own beside it.
"""

import re

LETTER = r"[^\W\d_]"
WORD = re.compile(r"[^\W_]+")  # letters and digits
TOKEN = re.compile(r"\w+")  # the underscore too
# A sentence with the space behind it: all of a text is in one of them. 7.50 and example.org stay whole.
SENTENCE = re.compile(r"[^.!?…\n]+(?:[.!?…](?!\s|$)[^.!?…\n]*)*[.!?…]*[\"'”’)\]]*\s*|\s+|[.!?…]+\s*")
CLAUSE_END = re.compile(r"[,;:]\s|\s(?:and|but|while|whereas)\s", re.IGNORECASE)


def words_joined_by(signs: str, *, of: str = r"\w") -> re.Pattern[str]:
    """Return what finds words whose parts, of such letters, one of the signs may join."""
    return re.compile(rf"{of}+(?:[{re.escape(signs)}]{of}+)*")


def sentence_end(marks: str = ".!?", *, unless: tuple[str, ...] = ()) -> re.Pattern[str]:
    """Return what finds the space between sentences: behind a mark, unless an abbreviation ends there, or a line."""
    not_behind = "".join(f"(?<!{abbreviation})" for abbreviation in unless)
    return re.compile(rf"(?<=[{marks}]){not_behind}\s+|\n+")


def spoken_words(text: str, words: re.Pattern[str]) -> list[str]:
    """Return the words of a text in lower case, with one spelling of the apostrophe."""
    return [word.lower().replace("’", "'") for word in words.findall(text)]
