"""The reduction gate: what a language model proposes is judged, and fails closed."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string
from prometheus_client import Counter

from memories.governance.reduction_contract import ProposalCandidate, ReductionClient
from memories.models.enums import ProposalOutcome

OUTCOMES = Counter("novamem_proposals", "What became of what language models proposed.", ["kind", "outcome"])
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReductionRuling:
    """What became of a proposal, and why."""

    outcome: ProposalOutcome
    reasons: tuple[str, ...] = ()
    judge: str = ""

    @property
    def allowed(self) -> bool:
        """Whether it may change anything."""
        return self.outcome == ProposalOutcome.ALLOWED


SKIPPED = ReductionRuling(ProposalOutcome.SKIPPED, ("no reduction client is bound",))


def empty_outcome(why: str) -> ReductionRuling:
    """Return the model gave nothing that could be judged."""
    return ReductionRuling(ProposalOutcome.NULL, (why,))


def judge() -> ReductionClient | None:
    """Return who is bound to judge, or None."""
    return _load_judge(settings.REDUCTION_CLIENT) if settings.REDUCTION_CLIENT else None


class NoJudge(Exception):
    """The class that REDUCTION_CLIENT names can't judge."""


@cache
def _load_judge(path: str) -> ReductionClient:
    """Raise NoJudge."""
    try:
        client: ReductionClient = import_string(path)()
    except Exception as error:  # it is somebody else's class
        raise NoJudge(f"{type(error).__name__}: {error}") from error
    if not isinstance(getattr(client, "name", None), str) or not callable(getattr(client, "reduce", None)):
        raise NoJudge("a judge has a name and reduce(candidate)")
    return client


def judge_name() -> str | None:
    """Return who is bound to judge; None when nobody is, or the one that is named can't be made."""
    try:
        found = judge()
    except NoJudge:
        return None
    return found.name if found else None


def is_shut() -> bool:
    """Return whether no model may be asked: nobody is bound to judge, and it is not advisory mode."""
    return not settings.REDUCTION_CLIENT and not settings.ADVISORY_MODE


def judge_proposal(candidate: ProposalCandidate) -> ReductionRuling:
    """Return the judgement on a proposal. Whatever goes wrong in judging blocks it."""
    if not settings.REDUCTION_CLIENT:
        return ReductionRuling(ProposalOutcome.ADVISORY_ONLY if settings.ADVISORY_MODE else ProposalOutcome.SKIPPED)
    name = settings.REDUCTION_CLIENT
    try:
        client = _load_judge(settings.REDUCTION_CLIENT)
        name = client.name
        found = client.reduce(candidate)
        reasons = tuple(str(reason)[:100] for reason in found.reasons)
        allowed = found.allowed is True
    except Exception as error:
        log.exception("reduction_failed", judge=name, kind=candidate.kind)
        return ReductionRuling(ProposalOutcome.REDUCTION_ERROR, (type(error).__name__,), name)
    return ReductionRuling(ProposalOutcome.ALLOWED if allowed else ProposalOutcome.BLOCKED, reasons, name)


@register
def check_judge(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """Return a judge that can't be made is told at start."""
    try:
        judge()
    except NoJudge as error:
        hint = "Set REDUCTION_CLIENT to the path of a class, such as memories.governance.LocalChecks."
        return [Error(f"REDUCTION_CLIENT can't be used: {error}", hint=hint, id="novamem.E002")]
    return []
