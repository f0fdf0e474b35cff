"""How a careful reader takes a context block apart; written from the specification, not from the code.

It accepts exactly one block and raises NotOneBlock for anything else.
"""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

SECTIONS = {"### Episodic": "episodic", "### Semantic": "semantic", "### Procedural": "procedural"}
GONE = "### No longer remembered"
SOURCES = "user_explicit|system|tool_output|user_implicit|document|inference"
OPENING = re.compile(r"<memory-context ([0-9a-f]{16})>")
# What a label may say after the trust: against what the memory stands, what is on record beside it, and which of its
# sentences nobody believes.
DOUBTS = (
    rf"contradicts [^()]+ by (?:{SOURCES})|on record: [^()]+ = [^()]+ by (?:{SOURCES})"
    "|against what a reviewer decided|the user says otherwise since"
    "|(?:not believed yet|no longer believed|rejected): [^()]+"
)
MEMORY = re.compile(rf"- \[([^\[\]]*)\] \(({SOURCES}), trust ([01]\.\d\d)(?:, (?:{DOUBTS}))*\) (.+)")
TOMBSTONE = re.compile(r"- \[(\d{4}-\d\d-\d\d)\] \(system\) (.+)")
# What a careless reader might take for a fence, or a person for the end of a line.
LOOSE = re.compile(r"<\s*/?\s*memory-context|<\s*/?\s*nova-|<\s*\|", re.IGNORECASE)
BREAKS = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# What a model might take for a chat's markup, or for whose turn it is.
MARKUP = re.compile(r"\[\s*/?\s*INST\s*\]|<<?\s*/?\s*(?:SYS|system|tool_call|assistant)\b[^<>]*>", re.IGNORECASE)
TURN = re.compile(r"(?:#{1,6} |[-*+] )*(?:human|user|assistant|system)\s*:|(?:#{1,6}|[-*+])(?: |\Z)", re.IGNORECASE)
JOINERS = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e01ef]"
)


class NotOneBlock(Exception):
    """The text is not exactly one context block."""


@dataclass(frozen=True, slots=True)
class Read:
    """One line of a block, read back."""

    kind: str
    facts: tuple[str, ...]
    source: str
    trust: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A block, read back: its digest, what the digest was made from, and its lines."""

    digest: str
    body: str
    lines: list[Read]


def lookalikes(block, form="markdown"):
    """What of a block's texts looks like a label, markup or a turn of a chat, although it is none."""
    texts = [line.text for line in read(block, form).lines]
    labels = (
        [line.split("(", 1)[1] for line in block.split("\n") if line.startswith("- [")] if form == "markdown" else []
    )
    found = [hit[0] for text in (*texts, *labels) for hit in re.finditer(rf"\((?:{SOURCES}), trust [01]", text)]
    return found + [hit[0] for text in texts for hit in MARKUP.finditer(text)] + [t for t in texts if TURN.match(t)]


def read(text, form="markdown"):
    """The one block that a text is."""
    if BREAKS.search(text) or HIDDEN.search(text):
        raise NotOneBlock("something hides in it")
    return read_xml(text) if form == "xml" else read_markdown(text)


def read_markdown(text):
    first, *lines, last = text.split("\n")
    opening = OPENING.fullmatch(first)
    if not opening or last != f"</memory-context {opening[1]}>" or lines[:1] != ["## Relevant Memory Context"]:
        raise NotOneBlock("no fence")
    if len(LOOSE.findall(JOINERS.sub("", text))) != 2:
        raise NotOneBlock("more than one fence")
    found, section = [], None
    for line in lines[1:]:
        if line in SECTIONS or line == GONE:
            section = SECTIONS.get(line, "tombstone")
        else:
            found.append(_markdown_line(section, line))
    return Block(opening[1], "\n".join(lines), found)


def _markdown_line(section, line):
    if section == "tombstone" and (match := TOMBSTONE.fullmatch(line)):
        return Read(section, (match[1],), "system", "", match[2])
    if section and section != "tombstone" and (match := MEMORY.fullmatch(line)):
        return Read(section, tuple(match[1].split(" · ")), match[2], match[3], match[4])
    raise NotOneBlock(f"a line of no kind: {line!r}")


def read_xml(text):
    root = ET.fromstring(text)
    if root.tag != "nova-memories" or not re.fullmatch(r"[0-9a-f]{16}", root.get("digest", "")):
        raise NotOneBlock("no fence")
    if any(len(child) or child.tail.strip() for child in root) or (root.text or "").strip():
        raise NotOneBlock("something between the lines")
    body = text.split("\n", 1)[1].rsplit("\n", 1)[0]
    return Block(root.get("digest"), body, [_xml_line(child) for child in root])


def _xml_line(element):
    if element.tag == "nova-tombstone":
        return Read("tombstone", (element.get("timestamp"), element.get("topics")), "system", "", element.text)
    if element.tag != "memory" or not re.fullmatch(SOURCES, element.get("source")):
        raise NotOneBlock(f"a line of no kind: {element.tag}")
    facts = (element.get("timestamp"), *element.get("about").split("; "))
    return Read(element.get("type"), facts, element.get("source"), element.get("trust"), element.text)
