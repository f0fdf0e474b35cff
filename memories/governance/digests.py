"""Digests by the language model: one text for several, judged before it may stand for them."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from memories.access import Principal
from memories.errors import NovaError
from memories.governance.calls import UNUSABLE, Conversation, lineage
from memories.governance.gate import SKIPPED, ReductionRuling, empty_outcome, is_shut, judge_proposal
from memories.governance.history import ProposalEntry, record
from memories.governance.reduction_contract import ProposalCandidate, Source
from memories.governance.reduction_judge import INFERENCE
from memories.governance.shapes import DigestShape
from memories.models import Fragment, Namespace
from memories.models.enums import ProposalKind, ProposalOutcome
from memories.providers import current_sidecar

TASK = "digests"  # under which the history keeps them
INSTRUCTION = (
    "Say in one short text what these texts say together. Add nothing, leave out no name, number or date that matters. "
    'Answer {"summary": "…"}, at most 2000 characters.'
)


class NoDigest(NovaError):
    """The language model gave no digest that may be used; why, in words of ours."""

    status = 503
    code = "no_digest"
    retry_after = 60


@dataclass(frozen=True, slots=True)
class Summary:
    """A digest that was allowed, and what it came of."""

    text: str
    origin: dict[str, Any]  # see `lineage`


def has_model() -> bool:
    """Return whether a language model is there to be asked, and somebody to judge what it says."""
    return current_sidecar() is not None and not is_shut()


def summarise(
    principal: Principal, namespace: Namespace, members: Sequence[Fragment], *, now: datetime.datetime
) -> Summary:
    """One text for these memories of a namespace. No transaction may be open. Raise NoDigest; all is recorded."""
    about = [row.id for row in members]
    talk = Conversation(principal, namespace=namespace, purpose=ProposalKind.DIGEST, now=now, about=about)
    ruling, body = SKIPPED, None
    if not is_shut():
        body = talk.ask(INSTRUCTION, {"task": "digest", "texts": [row.content for row in members]})
        if body is None:
            ruling = empty_outcome(talk.why or UNUSABLE)
        else:
            sources = [Source(row.id, row.content, row.authority) for row in members]
            authority = min(INFERENCE, *(row.authority for row in members))
            ruling = judge_proposal(
                ProposalCandidate(ProposalKind.DIGEST, body, principal.project, namespace.name, authority, sources, now)
            )
    try:
        text = DigestShape.model_validate(body).summary if ruling.allowed else ""
    except ValidationError:  # whoever judges may be less strict than a memory has to be
        ruling = ReductionRuling(ProposalOutcome.BLOCKED, ("schema",), ruling.judge)
    record(principal, namespace, [ProposalEntry(ProposalKind.DIGEST, TASK, ruling, body, talk.calls, about)], now=now)
    if not ruling.allowed:
        raise NoDigest(f"{ruling.outcome}: {', '.join(ruling.reasons) or 'no reason given'}")
    return Summary(text, lineage(talk.calls, ruling.judge))
