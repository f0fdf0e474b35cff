"""Taking context blocks out of a text that somebody put them into: what was handed out is nobody's own words. Pure."""

import re

# A block without its end goes on to the end of the text.
BLOCK = re.compile(
    r"<memory-context (?P<digest>[0-9a-f]{16})>.*?(?:</memory-context (?P=digest)>|\Z)"
    r"|<nova-memories digest=\"[0-9a-f]{16}\">.*?(?:</nova-memories>|\Z)",
    re.DOTALL,
)


def without_blocks(text: str) -> str:
    """The text without any context block, whoever's; the same text when there is none. In linear time."""
    left, at = [], 0
    for block in BLOCK.finditer(text):
        left.append(text[at : block.start()].strip())
        at = block.end()
    return "\n".join(filter(None, [*left, text[at:].strip()])) if at else text
