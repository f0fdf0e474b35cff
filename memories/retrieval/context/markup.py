"""One memory as one line, by type, in Markdown or XML. Memory text is data: it can't leave its line."""

import datetime
from textwrap import shorten
from xml.sax.saxutils import escape, quoteattr

from conflicts.enums import DECIDED_AGAINST
from conflicts.free_text import Upheld
from memories.agent_tasks import RecentTask
from memories.language.procedures import read_procedure
from memories.models import Fragment, Tombstone
from memories.models.enums import FragmentType, Status
from memories.retrieval.context.sanitization import fact, one_line, quoted

GONE = "tombstone"
TASK = "task"
LONGEST_VALUE = 80  # characters of a claim's value in a label
UNKNOWN = "unknown"  # what is missing, or can't be seen
HEADINGS = {
    FragmentType.EPISODIC.value: "### Episodic",
    FragmentType.SEMANTIC.value: "### Semantic",
    FragmentType.PROCEDURAL.value: "### Procedural",
    TASK: "### Recent tasks",
    GONE: "### No longer remembered",
}


def estimate_tokens(text: str) -> int:
    """ceil(characters / 4): "hello world" is 3."""
    return -(-len(text) // 4)


def facts(fragment: Fragment) -> list[str]:
    """Return what a reader needs beside the text, by type; what nobody knows is left out."""
    if fragment.type == FragmentType.EPISODIC:
        outcome = [f"outcome {fragment.outcome}"] if fragment.outcome else []
        return [day(fragment), fragment.project.name, fact(fragment.agent_id), *outcome]
    if fragment.type == FragmentType.PROCEDURAL:
        given = fragment.extra.get("steps")
        steps = " → ".join(filter(None, map(fact, given if isinstance(given, list) else [])))
        trigger = fact(fragment.extra.get("trigger") or "")
        if trigger or steps:
            return [f"{name}: {said}" for name, said in (("trigger", trigger), ("steps", steps)) if said]
    return [f"confidence {_trust(fragment)}", f"evidence {fragment.corroboration}"]


def day(fragment: Fragment) -> str:
    """Return when it happened, else when it was stored: YYYY-MM-DD."""
    at: datetime.datetime = fragment.event_at or fragment.created_at
    return at.date().isoformat()


def _trust(fragment: Fragment) -> str:
    """Trust without its age part, so that a line stays the same from day to day."""
    return f"{fragment.trust_at(None):.2f}"


CONTESTED = {"user": "against what a reviewer decided", "ruling": "the user says otherwise since"}


def _contested(fragment: Fragment) -> list[str]:
    """Against what it stands: a ruling, the user's words, a stronger claim."""
    parts = {part for _, part in getattr(fragment, "contested", ())}
    return [CONTESTED[part] for part in sorted(parts)] + _contradicts(fragment)


def _contradicts(fragment: Fragment) -> list[str]:
    """Return what a stronger claim says instead, or may, and who says so."""
    contradicted: Upheld | None = getattr(fragment, "contradicts", None)
    recorded: Upheld | None = getattr(fragment, "on_record", None)
    if contradicted:
        return [f"contradicts {_label(contradicted.value)} by {contradicted.source}"]
    if recorded:
        return [f"on record: {_label(recorded.predicate)} = {_label(recorded.value)} by {recorded.source}"]
    return []


def _label(text: str) -> str:
    """Return what a claim says, short enough for a label and without its brackets."""
    return shorten(fact(text), LONGEST_VALUE, placeholder="…").replace("(", "[").replace(")", "]") or UNKNOWN


DOUBTED = {
    Status.QUARANTINED.value: "not believed yet",
    Status.SUPERSEDED.value: "no longer believed",
    Status.ARCHIVED.value: "rejected",
}


def _doubted(fragment: Fragment) -> list[str]:
    """Return that nobody believes it, where it does not stand, or which of its sentences."""
    if fragment.status == Status.ARCHIVED and fragment.archived_reason not in DECIDED_AGAINST:
        return ["archived"]
    if fragment.status != Status.ACTIVE:
        return [DOUBTED.get(fragment.status, fragment.status)]
    return [f"{DOUBTED[status]}: {fact(words)}" for status, words in getattr(fragment, "doubted", ())]


def line(fragment: Fragment, *, form: str) -> str:
    """Return a memory's line: the same however it was found."""
    return _xml(fragment) if form == "xml" else _markdown(fragment)


def _markdown(fragment: Fragment) -> str:
    """`- [facts] (source class, trust) text`."""
    label = ", ".join([fragment.source, f"trust {_trust(fragment)}", *_contested(fragment), *_doubted(fragment)])
    return f"- [{' · '.join(facts(fragment))}] ({label}) {_text(fragment)}"


def _xml(fragment: Fragment) -> str:
    """Return the `<memory>` element, with the same facts."""
    attributes = {
        "timestamp": day(fragment),
        "type": fragment.type,
        "source": fragment.source,
        "trust": _trust(fragment),
        "about": "; ".join([*facts(fragment), *_contested(fragment), *_doubted(fragment)]),
    }
    return f"<memory {_attributes(attributes)}>{escape(_text(fragment))}</memory>"


def _text(fragment: Fragment) -> str:
    """Return its text, without the steps that the facts say already."""
    text = fragment.shown
    if fragment.type == FragmentType.PROCEDURAL and (steps := fragment.extra.get("steps")):
        found = read_procedure(text)
        if found.steps == steps:
            text = f"{text[: found.start]}\n{text[found.end :]}"
    return quoted(text) or quoted(fragment.shown) or UNKNOWN


def gone_line(stone: Tombstone, *, form: str) -> str:
    """Return a tombstone's line: what was known, by topics, and why it no longer is."""
    at = stone.evicted_at.date().isoformat()
    if form == "xml":
        attributes = {"timestamp": at, "topics": ", ".join(stone.topics), "source": "system"}
        return f"<nova-tombstone {_attributes(attributes)}>{escape(one_line(stone.sentence()))}</nova-tombstone>"
    return f"- [{at}] (system) {fact(stone.sentence())}"


def task_line(task: RecentTask, *, form: str) -> str:
    """A task's line: when it changed, how far it is, its title and summary. Who reported it is believed no more."""
    at = task.updated_at.date().isoformat()
    text = f"{task.title}: {task.summary}" if task.summary else task.title
    if form == "xml":
        attributes = {"timestamp": at, "status": task.status, "source": "inference"}
        return f"<nova-task {_attributes(attributes)}>{escape(quoted(text) or UNKNOWN)}</nova-task>"
    return f"- [{at} · {task.status}] (inference) {quoted(text) or UNKNOWN}"


def _attributes(values: dict[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(one_line(value))}" for name, value in values.items())
