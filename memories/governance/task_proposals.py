"""Proposals for tasks: four stages behind one interface, then the gate; what is allowed becomes a memory."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pydantic import ValidationError

from conflicts.authority import SOURCE_RANK
from conflicts.search_index import BlockedByErasure
from memories import access
from memories.access import NotFound, Principal
from memories.governance.calls import UNUSABLE, Conversation, lineage
from memories.governance.gate import SKIPPED, ReductionRuling, empty_outcome, is_shut, judge_proposal
from memories.governance.history import ProposalEntry, record
from memories.governance.reduction_contract import ProposalCandidate
from memories.governance.shapes import ProposalOption, ProposalPlan
from memories.ingest import Draft, Prepared, prepare, store
from memories.models import CONTENT_LIMIT, Fragment, Namespace, Proposal
from memories.models.enums import FragmentType, ProposalKind, ProposalOutcome, SourceClass, SourceType, Verb
from memories.models.namespace import FORM

INFERENCE = SOURCE_RANK[SourceClass.INFERENCE]
Asker = Callable[[str, dict[str, Any]], dict[str, Any] | None]
STAGES = {
    "abstract_plan": 'Say what would have to be achieved, on a high level. Answer {"plan": "…"}.',
    "detailed_plan": 'Work out how the plan is carried out. Answer {"plan": "…"}.',
    "refine": 'Find what is wrong with the plan and mend it. Answer {"plan": "…"}.',
    "concrete_steps": (
        "Turn the plan into steps that an agent can follow. Nothing may be deleted. "
        'Answer {"title": "…", "trigger": "when to do it", "steps": ["…"]}.'
    ),
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What a proposal is wanted for: a task, and what its agent says of it (text or an object)."""

    task_id: str
    context: Any


class OptionProposer(Protocol):
    """Works out how to go about a task."""

    def propose(self, situation: Situation, ask: Asker) -> dict[str, Any] | None:
        """Return the option as the model words it, unchecked; None when it has none."""
        ...


class StagedProposer:
    """Abstract plan, detailed plan, refinement, concrete steps: a call each."""

    def propose(self, situation: Situation, ask: Asker) -> dict[str, Any] | None:
        """See OptionProposer."""
        *planning, last = STAGES
        plan = ""
        for stage in planning:
            answer = ask(stage, {"situation": situation.context, "plan": plan})
            try:
                plan = ProposalPlan.model_validate(answer).plan
            except ValidationError:
                return None
        return ask(last, {"situation": situation.context, "plan": plan})


@dataclass(frozen=True, slots=True)
class Considered:
    """A proposal that was worked out and judged, before anything is stored."""

    namespace: str
    entry: ProposalEntry
    prepared: Prepared | None = None


def ask_and_judge(
    principal: Principal,
    namespace: str,
    situation: Situation,
    *,
    now: datetime.datetime,
    about: Sequence[uuid.UUID] = (),
    proposer: OptionProposer | None = None,
    proposal_id: uuid.UUID | None = None,
) -> Considered:
    """Ask the model and judge what it says. No transaction may be open. Raise NotFound, NotPermitted."""
    principal.require(Verb.ADMIN)
    if not FORM.fullmatch(namespace) or not principal.covers(namespace):
        raise NotFound(f"namespace {namespace}")
    entry = ProposalEntry(ProposalKind.OPTION, situation.task_id, SKIPPED, about=about, id=proposal_id or uuid.uuid4())
    if is_shut():
        return Considered(namespace, entry)
    with access.enter(principal, why="proposal"):
        scope = Namespace.objects.within(principal.project_id).filter(name=namespace).first()
    talk = Conversation(principal, namespace=scope, purpose=ProposalKind.OPTION, now=now, about=about)
    body = (proposer or StagedProposer()).propose(situation, lambda stage, work: _ask_model(talk, stage, work))
    entry = replace(entry, proposal=body, calls=talk.calls)
    if body is None:
        return Considered(namespace, replace(entry, ruling=empty_outcome(talk.why or UNUSABLE)))
    ruling = judge_proposal(
        ProposalCandidate(ProposalKind.OPTION, body, principal.project, namespace, INFERENCE, (), now)
    )
    if ruling.allowed:
        try:
            entry = replace(entry, ruling=ruling)
            return Considered(
                namespace, entry, prepare([_draft(namespace, ProposalOption.model_validate(body), entry)])
            )
        except ValidationError:  # whoever judges may be less strict than a memory has to be
            ruling = ReductionRuling(ProposalOutcome.BLOCKED, ("schema",), ruling.judge)
    return Considered(namespace, replace(entry, ruling=ruling))


def _ask_model(talk: Conversation, stage: str, work: dict[str, Any]) -> dict[str, Any] | None:
    return talk.ask(STAGES[stage], {"task": stage, **work})


def _draft(namespace: str, option: ProposalOption, entry: ProposalEntry) -> Draft:
    """Return the memory of an option: how to do it, with the calls that it came of."""
    steps = " ".join(f"{n}. {step}" for n, step in enumerate(option.steps, start=1))
    return Draft(
        namespace=namespace,
        content=f"{option.title}. When {option.trigger}: {steps}"[:CONTENT_LIMIT].strip(),
        type=FragmentType.PROCEDURAL,
        source_type=SourceType.TASK,
        source_id=f"proposal:{entry.id}",
        workflow_id=entry.task_id,
        source=SourceClass.INFERENCE,
        extra={"trigger": option.trigger, "steps": option.steps, **lineage(list(entry.calls), entry.ruling.judge)},
        parents=list(entry.about),
    )


def store_outcome(principal: Principal, considered: Considered, *, now: datetime.datetime) -> Proposal:
    """Store what was considered: an entry of the history and, when it was allowed, the memory."""
    principal.require(Verb.ADMIN)
    # The memory is what a proposal becomes: who may propose needs no further right for it.
    writer = replace(principal, verbs=principal.verbs | {Verb.WRITE})
    entry = considered.entry
    with access.enter(principal, why="proposal"):
        namespace = access.writable(principal, considered.namespace)
        if considered.prepared is not None:
            fragment, entry = _store(writer, considered.prepared, entry, now=now)
            entry = replace(entry, fragment=fragment)
        rows = record(principal, namespace, [entry], now=now)
        if not rows:
            raise NotFound("task")  # it was forgotten meanwhile
        return rows[0]


def _store(
    writer: Principal, prepared: Prepared, entry: ProposalEntry, *, now: datetime.datetime
) -> tuple[Fragment | None, ProposalEntry]:
    try:
        return store(writer, prepared, now=now)[0].fragment, entry
    except BlockedByErasure:
        ruling = ReductionRuling(ProposalOutcome.BLOCKED, ("it was forgotten",), entry.ruling.judge)
        return None, replace(entry, ruling=ruling, proposal=None)
