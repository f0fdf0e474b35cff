"""The shapes of what a language model may answer. Whatever else it says is no answer."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

from memories import strict_json

Title = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
Value = Annotated[str, StringConstraints(min_length=1, max_length=1000, strip_whitespace=True)]
Content = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
FENCED = re.compile(r"^\s*```(?:json)?\s*\n(.*)\n\s*```\s*$", re.DOTALL)


class AnswerShape(BaseModel):
    """Knows its fields and no others; a value has its type or is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ProposalPlan(AnswerShape):
    """What the first three stages of a proposal answer."""

    plan: Annotated[str, StringConstraints(min_length=1, max_length=8000)]


class ProposalOption(AnswerShape):
    """How to go about a task: when, and in which steps."""

    title: Title
    trigger: Sentence
    steps: list[Sentence]


class Claims(AnswerShape):
    """What texts claim: each is looked at by itself."""

    claims: list[dict[str, Any]]


class ReadClaim(AnswerShape):
    """A claim of the text number `n`; `span` is the part of the text that makes it."""

    n: int
    subject: Key
    predicate: Key
    value: Value
    span: Content


class DigestShape(AnswerShape):
    """One text for several."""

    summary: Content


class Pairs(AnswerShape):
    """Which pairs contradict each other: each is looked at by itself."""

    pairs: list[dict[str, Any]]


class Supersession(AnswerShape):
    """That the newer text of pair `n` makes the older one untrue."""

    n: int
    contradicts: bool
    reason: Annotated[str, StringConstraints(max_length=200)] = ""


def parsed(text: str | None) -> dict[str, Any] | None:
    """The JSON object that an answer is, without a code fence around it; None when it is none that can be stored."""
    if not text:
        return None
    fenced = FENCED.match(text)
    try:
        found = strict_json.loads(fenced[1] if fenced else text)
        strict_json.check(found)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
