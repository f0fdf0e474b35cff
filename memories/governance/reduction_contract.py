"""The reduction gate's contract: who judges what a language model proposes. Pure types."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Source:
    """A memory that a proposal was made of."""

    id: uuid.UUID
    text: str
    authority: int


@dataclass(frozen=True, slots=True)
class ProposalCandidate:
    """What a model proposes: `body` is as it said it, unchecked.

    `kind`: option, claim, digest or supersession. `authority` is what the memory made of it would have, 1..6.
    """

    kind: str
    body: Mapping[str, Any]
    project: str
    namespace: str
    authority: int
    sources: Sequence[Source]
    now: datetime.datetime


@dataclass(frozen=True, slots=True)
class Reduction:
    """The judgement, with reasons in words of the judge's own: never a memory's text."""

    allowed: bool
    reasons: tuple[str, ...] = ()


class ReductionClient(Protocol):
    """Judges proposals. Whatever it raises counts as a refusal."""

    name: str

    def reduce(self, candidate: ProposalCandidate) -> Reduction:
        """Return whether the proposal may change memory or behaviour. No transaction is open."""
        ...
