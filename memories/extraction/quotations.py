"""Which parts of a text are not its writer's own words: quotations, code, markup, forwarded mail."""

import re
from collections.abc import Iterable, Iterator

# What opens a fence of code; the same sign closes it.
FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
FOREIGN_LINE = re.compile(r"[ \t]*>|\t| {4}|[ \t]*[{\[]\s*[\"'{\[}]|[^\n]{0,200}?\"\s?:")
QUOTED_LINE = re.compile(r"^[ \t]*>.*", re.MULTILINE)
# A forwarded message or a chat template: everything behind it is somebody else's.
FORWARDED = re.compile(
    r"^[ \t]*(?:-{2,}\s?(?:Forwarded|Original) message|Begin forwarded message|From: \S)"
    r"|<\|\w{1,30}\|>|\[/?(?:INST|SYSTEM)\]",
    re.IGNORECASE | re.MULTILINE,
)
TAG = re.compile(r"<[!/]?[A-Za-z][\w:-]{0,40}(?:\s[^<>\n]{0,200})?>|<!--")
# What opens a quotation, and behind it what closes it.
PAIRS = re.findall(
    r"\S+",
    "“” „”“‟ ‟” ⹂”“ ”” «» »«» ‹› ›‹› ❝❞ 〝〞〟 🙶🙷 ‶″ 「」 『』 ｢｣ ﹁﹂ ﹃﹄ 《》 〈〉 ❮❯ ⟨⟩ ⟪⟫"
    " ''’ ‘’' ’’' ‚‘’' ‛’' ❛❜ ‵′ ´´'’ ``'’´",
)
CLOSES = {
    **{mark: frozenset(mark) for mark in '"＂″′＇'},
    **{pair[0]: frozenset(pair[1:]) for pair in PAIRS},
    "```": frozenset({"```"}),
    "``": frozenset({"``", "''", '"'}),
    "''": frozenset({"''"}),
    ",,": frozenset({"''", "``", '"', "“", "”"}),
}
BRIEF = frozenset("'＇‘’‚‛❛′‵´`")  # an apostrophe, feet, a key: quotations only where they are closed in their line
APOSTROPHES = "'＇‘’‛´"
ELSEWHERE = frozenset({*APOSTROPHES, *"`‚"})  # marks that count by what stands around them
SIGNS = "".join({mark for each in CLOSES.items() for mark in (each[0], *each[1]) if len(mark) == 1} - ELSEWHERE)
ONLY_CLOSE = frozenset("」』｣﹂﹄》〉❯⟩⟫❞〞〟🙷❜")
OPEN_ANYWHERE = frozenset({*"`‘‚‛❛„⹂‟“«‹「『｢﹁﹃《〈❮⟨⟪❝〝🙶", "``", "```", ",,"})
# Each way begins with a character of a set, which `re` finds fastest.
MARKS = re.compile(
    rf"[{SIGNS}]|`{{1,3}}|''|,,(?<![^\s(\[].{{2}})(?=\w)|‚(?=\w)|\\[{SIGNS}`]"
    rf"|[{APOSTROPHES}](?<![^\s(\[{{:=,>].)(?=\w)|[{APOSTROPHES}](?<=[^\s(\[].)(?!\w)|\n\s*\n|\n"
)


def foreign(text: str) -> bytearray:
    """Return one byte for each character: 1 where it stands in a quotation, code or markup, else 0."""
    tags = [match.span() for match in TAG.finditer(text)]
    markup = [(tags[0][0], tags[-1][1] if len(tags) > 1 else len(text))] if tags else []
    return _mask(text, [*_lines(text), *_quotations(text), *markup, *_forwarded(text)])


def quoted(text: str) -> bytearray:
    """Return one byte for each character: 1 where somebody else is quoted, else 0; code and markup are no matter."""
    lines = (match.span() for match in QUOTED_LINE.finditer(text))
    return _mask(text, [*lines, *_quotations(text), *_forwarded(text)])


def _mask(text: str, regions: Iterable[tuple[int, int]]) -> bytearray:
    mask = bytearray(len(text))
    for start, end in regions:
        mask[start:end] = b"\1" * (end - start)
    return mask


def _forwarded(text: str) -> Iterator[tuple[int, int]]:
    if forwarded := FORWARDED.search(text):
        yield forwarded.start(), len(text)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Lines of code, JSON and blockquotes; an open fence goes on to the end."""
    at, fence = 0, ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence or mark or FOREIGN_LINE.match(line):
            yield at, at + len(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        at += len(line) + 1


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Pairs of quotation marks. Unclosed, double ones go on to the end; single ones and backticks were none."""
    opened, sign = 0, ""
    for match in MARKS.finditer(text):
        mark = match.group()
        if mark.startswith("\n"):
            sign = "" if sign and sign in BRIEF else sign
        elif sign:
            if mark in CLOSES[sign]:
                yield opened, match.end()
                sign = ""
        elif _opens(text, match):
            opened, sign = match.start(), mark.removeprefix("\\")
    if sign and sign not in BRIEF:
        yield opened, len(text)


def _opens(text: str, match: re.Match[str]) -> bool:
    """Return whether a mark can open a quotation; 27" and dogs' can't."""
    sign = match.group().removeprefix("\\")
    before, behind = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if sign in APOSTROPHES and not behind.isalnum() or sign == "”" and before.strip():
        return False
    if sign in OPEN_ANYWHERE:
        return True
    return sign not in ONLY_CLOSE and not (before.isalnum() or (sign in APOSTROPHES and before and before in ".,!?"))
