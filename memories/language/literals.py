"""Literals: words that count as they are written, sign by sign: conditions, flags, patterns, paths, file names, codes.

"> 90" is not "< 90", -v is not -V, Util.py is not util.py. Signs that only mark up or end a sentence are none of it.
"""

import re
import unicodedata

MINUS = str.maketrans("−", "-")
# "**bold**", and what stands before a list's items and headings.
MARKUP = re.compile(r"(?<![\w/])\*{2,3}(?=[^\W_]|[\"'“‘(`])([^*\n]+)\*{2,3}(?![\w/])|^[^\S\n]*(?:\*|#+)[^\S\n]", re.M)
AROUND, BEHIND = "'\"“”„«»‘’`(", ".,;:!?…。)'\"“”„«»‘’`"
SIGN = re.compile(r"[/\\_#=+*^~<>|$≤≥≠≈±]|&&|\A(?:-+|!+|\.)[\w(.$€£]|[\])}]\?")
ASKED = re.compile(r"[*+\]}]\Z")  # a question mark behind it is no sentence's
FILE_NAME = re.compile(r"(?<=\w\w)\.[^\W\d_]\w{0,9}\Z|\A\w\.[^\W\d_]\w{1,9}\Z")
PART = re.compile(r"[^\W_]+")
SPOKEN = re.compile(r"\d+(?:[ap]m|st|nd|rd|th|s)\Z", re.IGNORECASE)  # 3PM, 1st, 1990s


def literals(text: str) -> tuple[str, ...]:
    """Return the literals of a text, in their order."""
    plain = MARKUP.sub(r"\1", unicodedata.normalize("NFKC", text).translate(MINUS))
    return tuple(word for found in plain.split() if (word := _bare(found)) and _is_literal(word))


def _bare(found: str) -> str:
    """Return a word without the marks of sentences around it."""
    word = found.lstrip(AROUND)
    bare = word.rstrip(BEHIND)
    asked = ASKED.search(bare) and word[len(bare) :].startswith("?")
    return f"{bare}?" if asked else bare.removesuffix("'s").removesuffix("’s")


def _is_literal(word: str) -> bool:
    return bool(SIGN.search(word) or FILE_NAME.search(word) or any(map(_is_code, PART.findall(word))))


def _is_code(part: str) -> bool:
    """Return whether letters and digits are mixed in it, and it is no time of day and no ordinal."""
    return not (part.isdigit() or part.isalpha() or SPOKEN.match(part))
