"""Evolution: which free texts outdate which, as the language model sees it. It proposes; people carry it out."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from memories import access
from memories.access import Principal
from memories.governance.calls import UNUSABLE, Conversation
from memories.governance.gate import SKIPPED, ReductionRuling, empty_outcome, is_shut, judge_proposal
from memories.governance.history import ProposalEntry, lapse, record
from memories.governance.reduction_contract import ProposalCandidate, Source
from memories.governance.reduction_judge import INFERENCE
from memories.governance.shapes import Pairs, Supersession
from memories.models import Namespace, Operation, Proposal, sql
from memories.models.enums import OperationState, ProposalKind, ProposalOutcome
from memories.operations import BadOptions, Options, Progress
from memories.providers import current_sidecar

KIND = "evolve"
TASK = "evolve"  # under which the history keeps them
BATCH, MOST = 10, 200  # pairs of a call, of a run
INSTRUCTION = (
    "Each pair is an older and a newer text. Name the pairs whose newer text makes the older one untrue. Answer "
    '{"pairs": [{"n": number of the pair, "contradicts": true, "reason": "in a few words"}]}.'
)
# Similar texts that claim nothing, by the later change of the two; what is just being written waits for the next run.
PAIRS = """
    SELECT o.id, o.content, o.authority, n.id, n.content, n.authority, greatest(o.change, n.change)::text,
        o.revision, n.revision
    FROM memories_link l
    JOIN memories_fragment o ON o.project_id = l.project_id AND o.id = l.fragment_id
    JOIN memories_fragment n ON n.project_id = l.project_id AND n.id = l.other_id
    WHERE l.project_id = %(project)s AND l.kind = 'similar' AND o.namespace_id = %(place)s
        AND n.namespace_id = %(place)s AND o.status = 'active' AND n.status = 'active'
        AND (coalesce(o.event_at, o.created_at), o.id) < (coalesce(n.event_at, n.created_at), n.id)
        AND o.compression = 'full' AND n.compression = 'full' AND 'digest' NOT IN (o.category, n.category)
        AND NOT EXISTS (SELECT FROM memories_claim c
            WHERE c.project_id = l.project_id AND c.fragment_id IN (o.id, n.id))
        AND greatest(o.change, n.change) < %(upto)s::text::xid8
        AND (greatest(o.change, n.change)::text::numeric, o.id, n.id)
            > (%(change)s::numeric, %(older)s::uuid, %(newer)s::uuid)
    ORDER BY greatest(o.change, n.change), o.id, n.id LIMIT %(most)s
"""
START: tuple[str, str, str] = ("-1", str(uuid.UUID(int=0)), str(uuid.UUID(int=0)))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two similar texts, and where they stand in the order in which pairs are looked at; `revisions` were read."""

    older: Source
    newer: Source
    place: tuple[str, str, str]
    revisions: tuple[int, int]


def check_evolving(options: Options) -> None:
    """Raise BadOptions: there are none."""
    for name in sorted(options):
        raise BadOptions(name, "This option is not known.")


def find_contradictions(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Look at pairs of similar texts that changed since the last run; what contradicts is proposed, never done.

    A model that is away ends the run: the next one goes on from there. A pair that it can't answer is passed over.
    """
    namespace = operation.namespace
    assert namespace is not None  # the kind asks for one
    report: dict[str, Any] = dict(operation.cursor or {"pairs": 0, "outcomes": {}, "after": _last(operation)})
    report |= {"ended_early": ""}
    if current_sidecar() is None:
        return report | {"ended_early": "no_sidecar"}
    lapse(principal, namespace, TASK)  # what reads otherwise by now may be proposed again
    with access.enter(principal, why="evolve"):
        upto = sql.horizon()
    while report["pairs"] < MOST:
        progress.check()
        pairs = _next(namespace, principal, report["after"], upto=upto, most=min(BATCH, MOST - report["pairs"]))
        if not pairs:
            break
        with progress.alive():
            entries, why = _judge_pairs(principal, namespace, pairs, now=operation.created_at)
        with access.enter(principal, why="evolve"):
            record(principal, namespace, entries, now=operation.created_at)
            for entry in entries:
                outcome = str(entry.ruling.outcome)
                report["outcomes"][outcome] = report["outcomes"].get(outcome, 0) + 1
            if why:
                return report | {"ended_early": why}
            report["pairs"] += len(pairs)
            report["after"] = list(pairs[-1].place)
            progress.save(stage="evolve", done=report["pairs"], total=None, cursor=report)
    return report


def _last(operation: Operation) -> list[str]:
    """Return where the last run of the namespace ended. The order of changes is this database's own."""
    with access.enter(access.system_principal(operation.project), why="evolve"):
        rows = Operation.objects.within(operation.project_id).filter(kind=KIND, namespace=operation.namespace)
        rows = rows.filter(state=OperationState.SUCCEEDED, report__after__isnull=False).exclude(id=operation.id)
        found = rows.order_by("-finished_at").values_list("report", flat=True).first()
    return list(found["after"]) if found else list(START)


def _next(namespace: Namespace, principal: Principal, after: Sequence[str], *, upto: int, most: int) -> list[Pair]:
    change, older, newer = after
    values = {"project": principal.project_id, "place": namespace.id, "upto": upto, "most": most}
    with access.enter(principal, why="evolve"):
        rows = sql.fetch(PAIRS, {**values, "change": change, "older": older, "newer": newer})
    return [Pair(Source(*row[:3]), Source(*row[3:6]), (row[6], str(row[0]), str(row[3])), row[7:9]) for row in rows]


def _judge_pairs(
    principal: Principal, namespace: Namespace, pairs: Sequence[Pair], *, now: datetime.datetime
) -> tuple[list[ProposalEntry], str]:
    """Return what the model says of these pairs, judged; and why the run ends here, if it does."""
    kind = ProposalKind.SUPERSESSION
    if is_shut():
        return [ProposalEntry(kind, TASK, SKIPPED)], "no_reduction_client"
    about = [source.id for pair in pairs for source in (pair.older, pair.newer)]
    talk = Conversation(principal, namespace=namespace, purpose=kind, now=now, about=about)
    texts = [{"n": n, "older": pair.older.text, "newer": pair.newer.text} for n, pair in enumerate(pairs)]
    body = talk.ask(INSTRUCTION, {"task": "contradictions", "pairs": texts})
    try:
        found = None if body is None else Pairs.model_validate(body).pairs
    except ValidationError:
        found = None
    if found is None:
        entry = ProposalEntry(kind, TASK, empty_outcome(talk.why or UNUSABLE), calls=talk.calls)
        return ([entry], talk.why) if talk.is_away() else _in_parts(principal, namespace, pairs, entry, now=now)
    named: dict[int, dict[str, Any]] = {}
    for one in found:
        n = one.get("n")
        if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < len(pairs):
            named.setdefault(n, one)
    entries = [_entry(principal, namespace, pairs[n], one, talk, now=now) for n, one in sorted(named.items())]
    return [entry for entry in entries if entry is not None], ""


def _in_parts(
    principal: Principal, namespace: Namespace, pairs: Sequence[Pair], entry: ProposalEntry, *, now: datetime.datetime
) -> tuple[list[ProposalEntry], str]:
    """The model is there and gives nothing of use: halves are asked, until one pair is given up alone."""
    if len(pairs) == 1:
        return [entry], ""
    entries = [entry]
    for half in (pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]):
        found, why = _judge_pairs(principal, namespace, half, now=now)
        entries += found
        if why:
            return entries, why
    return entries, ""


def _entry(
    principal: Principal,
    namespace: Namespace,
    pair: Pair,
    body: dict[str, Any],
    talk: Conversation,
    *,
    now: datetime.datetime,
) -> ProposalEntry | None:
    """Return the proposal that the newer text outdates the older one; None when it was made already, or denied."""
    fits = _fits(body)
    if fits and not body["contradicts"]:
        return None
    kind, about = ProposalKind.SUPERSESSION, [pair.older.id, pair.newer.id]
    with access.enter(principal, why="evolve"):
        known = Proposal.objects.within(principal.project_id).filter(kind=kind, about=about)
        if known.exclude(waiting=False, decision="").exists():
            return None
    ruling = judge_proposal(
        ProposalCandidate(kind, body, principal.project, namespace.name, INFERENCE, [pair.older, pair.newer], now)
    )
    if ruling.allowed and not fits:  # whoever judges may be less strict than a proposal has to be
        ruling = ReductionRuling(ProposalOutcome.BLOCKED, ("schema",), ruling.judge)
    reason, revisions = str(body.get("reason", ""))[:200], list(pair.revisions)
    entry = {"older": str(about[0]), "newer": str(about[1]), "reason": reason, "revisions": revisions}
    return ProposalEntry(kind, TASK, ruling, entry, talk.calls, about, waiting=ruling.allowed)


def _fits(body: dict[str, Any]) -> bool:
    try:
        Supersession.model_validate(body)
    except ValidationError:
        return False
    return True
