"""One memory as one line, by type, in Markdown or XML ([1] P20). Memory text is data: it can't leave its line."""

import datetime
import re
from xml.sax.saxutils import escape, quoteattr

from conflicts.front import trust_of
from memories.models import Fragment
from memories.models.words import FragmentType

HEADINGS = {
    FragmentType.EPISODIC: "### Episodic",
    FragmentType.SEMANTIC: "### Semantic",
    FragmentType.PROCEDURAL: "### Procedural",
}
SPACE = re.compile(r"\s+")
# What XML 1.0 can't hold, and what would end a line's own brackets.
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
BRACKETS = str.maketrans("[]()", "⟦⟧⟮⟯")


def estimate_tokens(text: str) -> int:
    """ceil(characters / 4): "hello world" is 3 ([3], [4])."""
    return -(-len(text) // 4)


def one_line(text: object) -> str:
    """White space, line breaks included, folded to single spaces."""
    return SPACE.sub(" ", UNFIT.sub("", str(text))).strip()


def fact(text: object) -> str:
    """A caller's words among a line's facts: one line, and no brackets that could look like ours."""
    return one_line(text).translate(BRACKETS)


def facts(fragment: Fragment) -> list[str]:
    """What a reader needs beside the text, by type; what is missing reads "unknown"."""
    if fragment.type == FragmentType.EPISODIC:
        return [
            day(fragment),
            fragment.project.name,
            fact(fragment.agent_id),
            f"outcome {fragment.outcome or 'unknown'}",
        ]
    if fragment.type == FragmentType.PROCEDURAL:
        given = fragment.extra.get("steps")
        steps = [fact(step) for step in given] if isinstance(given, list) else []
        return [
            f"trigger: {fact(fragment.extra.get('trigger') or 'unknown')}",
            f"steps: {' → '.join(steps) or 'unknown'}",
        ]
    return [f"confidence {trust_of(fragment, now=None):.2f}", f"evidence {fragment.corroboration}"]


def day(fragment: Fragment) -> str:
    """When it happened, else when it was stored: YYYY-MM-DD."""
    at: datetime.datetime = fragment.event_at or fragment.created_at
    return at.date().isoformat()


def markdown_line(fragment: Fragment) -> str:
    """`- [facts] (source class, trust) text`."""
    label = f"{fragment.source}, trust {trust_of(fragment, now=None):.2f}"
    return f"- [{' · '.join(facts(fragment))}] ({label}) {one_line(fragment.content)}"


def xml_line(fragment: Fragment) -> str:
    """[4]'s `<memory>` element, with the same facts."""
    attributes = {
        "timestamp": day(fragment),
        "type": fragment.type,
        "source": fragment.source,
        "trust": f"{trust_of(fragment, now=None):.2f}",
        "about": "; ".join(facts(fragment)),
    }
    written = " ".join(f"{name}={quoteattr(one_line(value))}" for name, value in attributes.items())
    return f"<memory {written}>{escape(one_line(fragment.content))}</memory>"
