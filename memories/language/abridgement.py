"""Abridgement: the first sentences of a text, then its telling words, then only that it was there."""

import re

from memories.language.tokenizer import LETTER, words_joined_by
from memories.language.word_lists import STOPWORDS

MOST_SENTENCES, MOST_KEYWORDS, SHORT_WORD = 3, 20, 4
ARCHIVED = "[content archived - searchable via embedding]"

# A sentence ends before white space or at the text's end, so that 7.50 and example.org stay whole; so does a line.
END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]{0,3}+(?=\s|\Z)|[。！？]+|\n\s*+")
LONGEST_ABBREVIATION = 12
ABBREVIATION = re.compile(r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e|approx|no)\.\Z", re.IGNORECASE)
WORD = words_joined_by("-'’", of=LETTER)


def summarise(text: str) -> str:
    """Return the first three sentences as they stand; a text of fewer stays whole."""
    seen, at, says = 0, 0, False
    for end in END.finditer(text):
        says, at = says or not text[at : end.end()].isspace(), end.end()
        if not says or ABBREVIATION.search(text[max(0, at - LONGEST_ABBREVIATION) : at]):
            continue
        seen, says = seen + 1, False
        if seen == MOST_SENTENCES:
            return text[:at].strip()
    return text


def keywords(text: str) -> str:
    """Return up to twenty words of more than four letters that carry meaning, lower-case, each once, in their order.

    A text that has none, or is as short, stays as it is.
    """
    found = [word for word in map(str.lower, WORD.findall(text)) if len(word) > SHORT_WORD and word not in STOPWORDS]
    listed = ", ".join(list(dict.fromkeys(found))[:MOST_KEYWORDS])
    return listed if 0 < len(listed) < len(text) else text
