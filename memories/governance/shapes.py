"""The shapes of what a language model may answer. Whatever else it says is no answer."""

import json
import re
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from memories import strict_json

Title = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
Value = Annotated[str, StringConstraints(min_length=1, max_length=1000, strip_whitespace=True)]
Content = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
LONGEST = 16 * 1024  # bytes of a proposal that is kept as the model said it
MOST_STEPS = 50
FENCED = re.compile(r"^\s*```(?:json)?\s*\n(.*)\n\s*```\s*$", re.DOTALL)


class AnswerShape(BaseModel):
    """Knows its fields and no others; a value has its type or is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ProposalPlan(AnswerShape):
    """What the first three stages of a proposal answer."""

    plan: Annotated[str, StringConstraints(min_length=1, max_length=8000)]


class ProposalOption(AnswerShape):
    """How to go about a task: when, and in which steps; no longer than what may be kept of a proposal."""

    title: Title
    trigger: Sentence
    steps: Annotated[list[Sentence], Field(max_length=MOST_STEPS)]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(json.dumps(self.model_dump())) > LONGEST:
            raise ValueError(f"it is longer than {LONGEST} bytes")
        return self


class Claims(AnswerShape):
    """What texts claim: each is looked at by itself, of each text as many as it may have."""

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
    """Which pairs contradict each other: each is looked at by itself, of each pair the first."""

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
