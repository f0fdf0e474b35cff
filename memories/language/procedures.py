"""Procedures: texts that say how something is done; when, and in which steps, as far as they name them."""

import re
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from memories.language import word_lists
from memories.language.sections import has_title, sections
from memories.language.tokenizer import LETTER, words_joined_by

WORD = words_joined_by("-", of=LETTER)
# The beginning of a line, behind a heading's #, a bullet or a speaker.
BEGINNING = r"^[ \t#*>-]{0,8}(?:[\w.' -]{1,40}:[ \t]{1,4})?"
EXPLAINING = ("how to", "steps to", "steps for")
HOW = rf"(?:{'|'.join(EXPLAINING)})\b"
PROCEDURE = re.compile(rf"(?:{BEGINNING}|\b(?:this is|here's|here is|explains|describes) ){HOW}", re.IGNORECASE | re.M)
# Within a line a colon alone makes no number of a step: "Speaker 1: …".
STEP = re.compile(r"(?<!\S)(?:step |(?<![^\n])[ \t]*|(?=\d{1,2}[.)]))(\d{1,2})[.):]\s", re.IGNORECASE)
BULLET = re.compile(r"[ \t]*[-*+•][ \t]+(?=\S)")
ENDS_LIST = re.compile(r"\n[ \t]*(?:\n|(?=#))")
# What it is for: "how to deploy the app: …", "To deploy the app, …", "When the build fails: …".
TRIGGERS = (
    re.compile(PROCEDURE.pattern + r"[ \t]+(.+)", re.IGNORECASE | re.M),
    re.compile(BEGINNING + r"(?:to|when|whenever|if)[ \t]+([^\n,:]{2,200})[,:]", re.IGNORECASE | re.M),
)
TRIGGER_END = re.compile(r"[:.!?](?:\s|$)|\s(?:-|–|—|step \d|\d{1,2}[.)])\s", re.IGNORECASE)
LONGEST_TRIGGER, LONGEST_STEP, MOST_STEPS = 200, 500, 50
LEAST_PART = 40  # characters: a title stays with what it is the title of


@dataclass(frozen=True, slots=True)
class Procedure:
    """What a text names: when to do it, the steps, and where in the text these stand."""

    trigger: str = ""
    steps: list[str] = field(default_factory=list)
    start: int = 0
    end: int = 0

    @property
    def named(self) -> dict[str, str | list[str]]:
        """What it names, as it stands beside a text."""
        return {name: value for name, value in (("trigger", self.trigger), ("steps", self.steps)) if value}


def is_procedure(text: str) -> bool:
    """Return whether most of a text says how something is done; its title speaks for all of it."""
    parts = list(sections(text))
    if len(parts) == 1 or (has_title(parts) and _instructs(parts[0])):
        return _instructs(text)
    return 2 * sum(len(part) for part in parts if _instructs(part)) > len(text)


def parts_by_kind(text: str) -> list[str]:
    """Return the text cut where its sections begin or cease to say how something is done."""
    parts = list(sections(text, least=LEAST_PART))
    if len(parts) == 1 or (has_title(parts) and _instructs(parts[0])):
        return [text]
    return ["".join(group) for _, group in groupby(parts, key=_instructs)]


def _instructs(text: str) -> bool:
    lowered = text.lower()
    folded = text.casefold()  # as IGNORECASE does
    explains = any(phrase in folded for phrase in EXPLAINING) and any(_explains(line) for line in text.splitlines())
    return explains or _orders_steps(text, lowered)


def _explains(line: str) -> bool:
    """Return whether a line says how something is done; a question doesn't."""
    return bool(PROCEDURE.search(line)) and not line.rstrip().endswith("?")


def _orders_steps(text: str, lowered: str) -> bool:
    """Return whether the text numbers its steps from 1, or orders them without telling who did what."""
    numbers = STEP.findall(text) if "1" in text and "2" in text else []
    if "1" in numbers and "2" in numbers[numbers.index("1") :]:
        return True
    tokens = set(WORD.findall(lowered)) if "first" in lowered else set[str]()
    return "first" in tokens and bool(tokens & word_lists.NEXT_WORDS) and not tokens & word_lists.PRONOUNS


def read_procedure(text: str) -> Procedure:
    """Return what a text that says how something is done names of it; where it names nothing, that is empty."""
    steps, start, end = _numbered(text) or _bulleted(text) or ([], 0, 0)
    if len(steps) > MOST_STEPS or any(len(step) > LONGEST_STEP for step in steps):
        steps, start, end = [], 0, 0
    before = text[:start] if steps else text
    found = (trigger for pattern in TRIGGERS if (trigger := _trigger(pattern, before)))
    return Procedure(next(found, ""), steps, start, end)


def _trigger(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    words = TRIGGER_END.split(found[1], maxsplit=1)[0].strip(" \t,;:.*_#`") if found else ""
    return words if len(words) <= LONGEST_TRIGGER else ""


def _numbered(text: str) -> tuple[list[str], int, int] | None:
    """Return the steps that are numbered from 1 on, and where all of them stand."""
    marks: list[re.Match[str]] = []
    for mark in STEP.finditer(text):
        if int(mark[1]) == len(marks) + 1:
            marks.append(mark)
    if len(marks) < 2:
        return None
    # Where they stand on lines of their own, the last goes on to an empty one.
    last = marks[-1].end()
    own_lines = "\n" in text[marks[0].end() : last]
    stop = (ENDS_LIST if own_lines else re.compile("\n")).search(text, last)
    end = stop.start() if stop else len(text)
    edges = [*(mark.start() for mark in marks), end]
    steps = [_step(text[mark.end() : until]) for mark, (_, until) in zip(marks, pairwise(edges), strict=True)]
    return (steps, marks[0].start(), end) if all(steps) else None


def _bulleted(text: str) -> tuple[list[str], int, int] | None:
    """Return the items of the first list of two and more, and where it stands."""
    steps: list[str] = []
    start = offset = end = 0
    for line in text.splitlines(keepends=True):
        bullet = BULLET.match(line)
        if bullet and not PROCEDURE.search(line):
            start = start if steps else offset
            steps.append(_step(line[bullet.end() :]))
            end = offset + len(line.rstrip())
        elif len(steps) > 1:
            break
        else:
            steps = []
        offset += len(line)
    return (steps, start, end) if len(steps) > 1 and all(steps) else None


def _step(text: str) -> str:
    return " ".join(text.split()).rstrip(" ;,.")
