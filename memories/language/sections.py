"""Sections: a text cut before its Markdown headings; what looks like one inside a fence of code is none."""

import re
from collections.abc import Iterator

HEADING = re.compile(r"(#{1,6})[ \t]")
FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)[^`~\n]*$", re.MULTILINE)


def sections(text: str, *, least: int = 1) -> Iterator[str]:
    """Return the sections, which are all of the text; those of less than `least` characters stay with a neighbour."""
    if "#" not in text:
        yield text
        return
    start, offset, fenced = 0, 0, False
    for line in text.splitlines(keepends=True):
        fenced ^= bool(FENCE.match(line))
        if not fenced and HEADING.match(line) and min(offset - start, len(text) - offset) >= max(least, 1):
            yield text[start:offset]
            start = offset
        offset += len(line)
    yield text[start:]


def has_title(parts: list[str]) -> bool:
    """Return whether the first heading of sections stands above all others."""
    levels = [len(found[1]) for part in parts if (found := HEADING.match(part))]
    return bool(HEADING.match(parts[0])) and all(level > levels[0] for level in levels[1:])
