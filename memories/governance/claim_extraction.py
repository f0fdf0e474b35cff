"""Claims by the language model: texts in batches, each claim checked by itself, judged, and taken through the gate."""

import datetime
import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from conflicts.keys import SEEDS, naming
from conflicts.public import Newcomer, lock_namespace
from conflicts.reevaluation import preview_reevaluation, reevaluate
from memories import access
from memories.access import Principal
from memories.extraction import is_of_the_user
from memories.governance.calls import UNUSABLE, Conversation, lineage
from memories.governance.gate import SKIPPED, ReductionRuling, empty_outcome, is_shut, judge_proposal
from memories.governance.grounding import states_claim
from memories.governance.history import ProposalEntry, record
from memories.governance.reduction_contract import ProposalCandidate, Source
from memories.governance.reduction_judge import INFERENCE, claim_draft, refusal
from memories.governance.shapes import Claims, ReadClaim
from memories.models import Claim, Fragment, LlmCall, Namespace, PendingReading
from memories.models.claim import MOST_CLAIMS
from memories.models.enums import Compression, ProposalKind, ProposalOutcome, Status
from memories.providers import current_sidecar

BATCH = 16
TASK = "claims"  # under which the history keeps them
AWAY = 30.0  # seconds until an absent model is asked again
ATTEMPTS = 3  # unusable answers, the later ones about one text alone
INSTRUCTION = (
    "For each text that clearly states facts, give a claim for each of them. Leave out questions, wishes, guesses and "
    'what a text only quotes. Take a predicate out of "predicates" where one fits. The subject of what somebody says '
    'of themselves is "user", or the name before the colon. '
    'Answer {"claims": [{"n": number of the text, "subject": "…", "predicate": "…", "value": "…", '
    '"span": "the part of the text that states it, letter by letter; the value stands in it"}]}.'
)


@dataclass(slots=True)
class _Batch:
    """Texts of one namespace, owner and authority that are read together: none can speak for another's."""

    place: Namespace
    waiting: list[PendingReading]
    rows: dict[uuid.UUID, Fragment] = field(default_factory=dict)

    @property
    def texts(self) -> list[Fragment]:
        """In the order of their numbers."""
        return [self.rows[row.fragment_id] for row in self.waiting if row.fragment_id in self.rows]


def read_pending(principal: Principal, *, now: datetime.datetime) -> int:
    """Read up to BATCH waiting texts of one owner and namespace; how many were dealt with, 0 when none was.

    An absent model loses nothing: texts wait until it is there again. No transaction may be open.
    """
    sidecar = current_sidecar()
    if sidecar is None:
        return 0
    batch = _due(principal, now=now, held=datetime.timedelta(seconds=2 * sidecar.timeout + 60))
    if batch is None:
        return 0
    texts = batch.texts
    if not texts:  # shortened, replaced or claiming something by now
        return _finish(principal, batch, now=now)
    if is_shut():
        _postpone(principal, batch, now=now, seconds=300.0)
        entry = ProposalEntry(ProposalKind.CLAIM, TASK, SKIPPED, about=[row.id for row in texts])
        record(principal, batch.place, [entry], now=now)
        return 0
    talk = Conversation(
        principal, namespace=batch.place, purpose=ProposalKind.CLAIM, now=now, about=[row.id for row in texts]
    )
    work = {
        "task": "claims",
        "predicates": _predicates(principal, batch.place),
        "texts": [{"n": n, "text": row.content} for n, row in enumerate(texts)],
    }
    found = _claims(talk.ask(INSTRUCTION, work))
    if found is None and talk.is_away():
        _postpone(principal, batch, now=now, seconds=AWAY)
        return 0
    if found is None:
        return _unusable(principal, batch, talk, now=now)
    _admit_claims(principal, batch, _by_text(found, texts), talk, now=now)
    return _finish(principal, batch, now=now)


def _due(principal: Principal, *, now: datetime.datetime, held: datetime.timedelta) -> _Batch | None:
    """What is due of whoever waits longest, held for so long; what failed before comes in ever smaller groups."""
    with access.enter(principal, why="read"):
        rows = PendingReading.objects.within(principal.project_id).filter(not_before__lte=now)
        rows = rows.select_for_update(skip_locked=True, of=("self",)).order_by("attempts", "not_before", "id")
        rows = rows.select_related("fragment__namespace")
        first = rows.first()
        if first is None:
            return None
        fragment = first.fragment
        same = {"namespace": fragment.namespace_id, "owner_id": fragment.owner_id, "authority": fragment.authority}
        rows = rows.filter(attempts=first.attempts, **{f"fragment__{name}": value for name, value in same.items()})
        due = list(rows[: max(1, BATCH >> 2 * first.attempts)])
        PendingReading.objects.filter(id__in=[row.id for row in due]).update(not_before=now + held)
        claims = Claim.objects.within(principal.project_id).filter(fragment__in=[row.fragment_id for row in due])
        claiming = set(claims.values_list("fragment_id", flat=True))
        fit = [row.fragment for row in due if row.fragment_id not in claiming]
        whole = {row.id: row for row in fit if row.status == Status.ACTIVE and row.compression == Compression.FULL}
        return _Batch(fragment.namespace, due, whole)


def _predicates(principal: Principal, place: Namespace) -> list[str]:
    """Return the names that the namespace's rules and the built-in ones go by."""
    with access.enter(principal, why="read"):
        registered = naming(principal.project_id, [place.id])[place.id].registered.values()
    return sorted({rule.name for rule in (*registered, *SEEDS)})


def _claims(body: Mapping[str, Any] | None) -> list[dict[str, Any]] | None:
    try:
        return None if body is None else Claims.model_validate(body).claims
    except ValidationError:
        return None


def _by_text(found: Sequence[dict[str, Any]], texts: Sequence[Fragment]) -> list[tuple[Fragment, dict[str, Any]]]:
    """Return the claims about each text, as many as it may have; what is about none is nobody's."""
    text: dict[int, list[dict[str, Any]]] = {}
    for claim in found:
        n = claim.get("n")
        if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < len(texts):
            text.setdefault(n, []).append(claim)
    return [(texts[n], claim) for n, claims in sorted(text.items()) for claim in claims[:MOST_CLAIMS]]


def _admit_claims(
    principal: Principal,
    batch: _Batch,
    found: Sequence[tuple[Fragment, dict[str, Any]]],
    talk: Conversation,
    *,
    now: datetime.datetime,
) -> None:
    """Judge each claim and let the allowed ones pass the gate; all are recorded."""
    entries = [_judge_claims(principal, batch, row, body, talk.calls, now=now) for row, body in found]
    numbered = list(zip(range(len(entries)), (row for row, _ in found), strict=True))
    for row, group in groupby(numbered, key=itemgetter(1)):
        allowed = [number for number, _ in group if entries[number].ruling.allowed]
        if not allowed:
            continue
        origin = lineage(talk.calls, entries[allowed[0]].ruling.judge)
        if not _enter(principal, row, [found[number][1] for number in allowed], origin, now=now):
            for number in allowed:
                entry = entries[number]
                blocked = ReductionRuling(ProposalOutcome.BLOCKED, ("changed_meanwhile",), entry.ruling.judge)
                entries[number] = replace(entry, ruling=blocked)
    if not found:
        entries = [ProposalEntry(ProposalKind.CLAIM, TASK, empty_outcome("no claims"), calls=talk.calls)]
    record(principal, batch.place, entries, now=now)


def _judge_claims(
    principal: Principal,
    batch: _Batch,
    row: Fragment,
    body: dict[str, Any],
    calls: list[LlmCall],
    *,
    now: datetime.datetime,
) -> ProposalEntry:
    source = Source(row.id, row.content, row.authority)
    authority = min(INFERENCE, row.authority)
    kind = ProposalKind.CLAIM
    ruling = judge_proposal(
        ProposalCandidate(kind, body, principal.project, batch.place.name, authority, [source], now)
    )
    return ProposalEntry(kind, TASK, ruling, body, calls, [row.id])


def _enter(
    principal: Principal,
    row: Fragment,
    bodies: Sequence[dict[str, Any]],
    origin: dict[str, Any],
    *,
    now: datetime.datetime,
) -> bool:
    """Take a text's claims through the gate if they have no other effect than they may; False when not."""
    try:
        claims = [ReadClaim.model_validate(body) for body in bodies]
    except ValidationError:  # whoever judges may be less strict than the gate has to be
        return False
    if not all(states_claim(claim, row.content, by_user=is_of_the_user(row)) for claim in claims):
        return False
    with access.enter(principal, why="read"):
        lock_namespace(row.namespace_id)
        rows = Fragment.objects.within(principal.project_id).select_for_update(no_key=True, of=("self",))
        current = rows.filter(id=row.id, status=Status.ACTIVE, revision=row.revision).first()
        if current is None or Claim.objects.within(principal.project_id).filter(fragment=row.id).exists():
            return False
        newcomer = Newcomer(current, claims=[claim_draft(claim, current) for claim in claims])
        finding, *_ = preview_reevaluation([newcomer], now=now)
        if refusal(finding, current):
            return False
        again = Newcomer(current, claims=newcomer.claims)
        if not reevaluate([again], {current.id: finding}, now=now):
            return False
        rows.filter(id=current.id).update(extra={**current.extra, **origin})
        return True


def _finish(principal: Principal, batch: _Batch, *, now: datetime.datetime) -> int:
    with access.enter(principal, why="read"):
        rows = PendingReading.objects.within(principal.project_id).filter(id__in=[row.id for row in batch.waiting])
        return int(rows.delete()[0])


def _postpone(principal: Principal, batch: _Batch, *, now: datetime.datetime, seconds: float) -> None:
    """Let them wait; not all workers come back at once."""
    pause = datetime.timedelta(seconds=seconds * random.uniform(0.8, 1.2))
    with access.enter(principal, why="read"):
        rows = PendingReading.objects.within(principal.project_id).filter(id__in=[row.id for row in batch.waiting])
        rows.update(not_before=now + pause)


def _unusable(principal: Principal, batch: _Batch, talk: Conversation, *, now: datetime.datetime) -> int:
    """The model is there and gives nothing of use: it is asked again in smaller groups, then a text is given up."""
    over = [row for row in batch.waiting if row.attempts + 1 >= ATTEMPTS]
    entry = ProposalEntry(ProposalKind.CLAIM, TASK, empty_outcome(talk.why or UNUSABLE), calls=talk.calls)
    with access.enter(principal, why="read"):
        rows = PendingReading.objects.within(principal.project_id)
        for row in batch.waiting:
            rows.filter(id=row.id).update(attempts=row.attempts + 1, not_before=now)
        rows.filter(id__in=[row.id for row in over]).delete()
        record(principal, batch.place, [entry], now=now)
    return len(batch.waiting)
