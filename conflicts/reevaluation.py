"""Reevaluation: many fragments that are stored already pass the gate at once, for consolidation.

Texts that claim nothing yet are heard as of when they were written; newcomers in quarantine whose opponents are gone
are decided on again. `preview_reevaluation` judges and writes nothing; `reevaluate` does it, in the open transaction,
for those whose verdict is still the predicted one.
"""

import datetime
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.db import connection

from conflicts.admission import Newcomer
from conflicts.enums import ConflictKind
from conflicts.evaluation import Assessment, Evaluation
from conflicts.free_text import read_statements
from conflicts.models import PendingConflict
from conflicts.outdated import outdated_claims
from conflicts.persistence import one_value_checked_at_the_end, record, supersede, supersede_claims
from conflicts.verdicts import VerdictChange, save_verdicts
from conflicts.votes import is_disputed
from memories.models import Claim, Fragment
from memories.models.bulk import insert
from memories.models.enums import Status


class Fate(StrEnum):
    """What becomes of an examined fragment."""

    CLAIMS = "claims"  # it stands, now with a claim
    WINS = "wins"  # it stands, and others yield
    REPEATS = "repeats"  # another one says the same: superseded by that
    OUTDATED = "outdated"  # who wrote later says otherwise, and may: superseded by that
    LOSES = "loses"  # it waits for a person
    BARRED = "barred"  # a person rejected this before
    ANSWERED = "answered"  # it waited, and by now another one says the same: superseded by that
    RETURNS = "returns"  # out of quarantine: nobody opposes it any more
    WAITS = "waits"  # nothing changes


@dataclass(frozen=True, slots=True)
class Reassessment:
    """A ruling, the fragment that it is about, and whom else it changes: who yields, or who stands against it."""

    fragment_id: uuid.UUID
    fate: Fate
    others: tuple[uuid.UUID, ...] = ()


@dataclass(slots=True)
class _Hearing:
    """A case, whether it returns from quarantine, who outdates it, and who says the same after all were heard."""

    case: Assessment
    returning: bool
    newer: uuid.UUID | None = None
    # By claim that waits, the fragment that says the same by now.
    answers: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)

    @property
    def answer(self) -> uuid.UUID | None:
        """Who says all of it."""
        found = [self.answers.get(claim.id) for claim in self.case.claims]
        return found[0] if found and all(found) else None

    @property
    def successor(self) -> uuid.UUID | None:
        """Whom it yields to."""
        return self.newer or self.answer or self.case.repeats

    def finding(self, evaluation: Evaluation) -> Reassessment:
        case, own = self.case, self.case.fragment.id
        if self.newer is not None:
            return Reassessment(own, Fate.OUTDATED, (self.newer,))
        if same := self.answer or case.repeats:
            return Reassessment(own, Fate.ANSWERED if self.returning else Fate.REPEATS, (same,))
        status = case.fragment.status
        if status != Status.ACTIVE and self.returning:
            return Reassessment(own, Fate.WAITS)
        verdicts = case.verdicts
        if status == Status.QUARANTINED:
            texts = {o.id for contradiction in case.contradictions for o in contradiction.opponents}
            return Reassessment(
                own, Fate.LOSES, _fragments(evaluation, {i for v in verdicts for i, _ in v.opponents} | texts)
            )
        if status == Status.ARCHIVED:
            return Reassessment(own, Fate.BARRED)
        closed = {i for verdict in verdicts for i, _ in verdict.closed}
        others = _fragments(evaluation, closed | {i for verdict in verdicts for i in verdict.superseded})
        if self.returning:
            return Reassessment(own, Fate.RETURNS, others)
        return Reassessment(own, Fate.WINS if others else Fate.CLAIMS, others)


def _fragments(evaluation: Evaluation, claim_ids: Collection[uuid.UUID]) -> tuple[uuid.UUID, ...]:
    return tuple(sorted({evaluation.claims[i].fragment_id for i in claim_ids}))


def preview_reevaluation(
    newcomers: Sequence[Newcomer],
    *,
    gone: Collection[uuid.UUID] = (),
    afresh: bool = False,
    now: datetime.datetime,
) -> list[Reassessment]:
    """What `reevaluate` would do with these fragments of one namespace, in order, if those in `gone` did not stand."""
    if not newcomers:
        return []
    evaluation, hearings = _prepared(newcomers, now=now, hold=False)
    for key_state in evaluation.key_states.values():
        for fragment_id in gone:
            key_state.forget_fragment(fragment_id)
    return _findings(evaluation, hearings, afresh=afresh)


def reevaluate(
    newcomers: Sequence[Newcomer],
    expected: Mapping[uuid.UUID, Reassessment],
    *,
    afresh: bool = False,
    now: datetime.datetime,
) -> list[Reassessment]:
    """Let these fragments pass the gate; answer what was done. What would now be ruled otherwise is left as it is.

    `afresh`: whatever was written last is heard as when it was written, with all that its writer may. The caller holds
    the namespace and the fragments.
    """
    left = list(newcomers)
    while left:
        evaluation, hearings = _prepared(left, now=now, hold=True)
        findings = _findings(evaluation, hearings, afresh=afresh)
        fitting = [n for n, f in zip(left, findings, strict=False) if f == expected[f.fragment_id]]
        if len(fitting) == len(left):
            _write(evaluation, hearings, now=now)
            return findings
        # Who is left out is not met by the others either: they are heard anew.
        left = [_unevaluated(newcomer) for newcomer in fitting]
    return []


def _unevaluated(newcomer: Newcomer) -> Newcomer:
    newcomer.fragment.refresh_from_db(fields=["status", "archived_reason"])
    return newcomer


def _prepared(
    newcomers: Sequence[Newcomer], *, now: datetime.datetime, hold: bool
) -> tuple[Evaluation, list[_Hearing]]:
    first = newcomers[0].fragment
    evaluation = Evaluation(
        first.project_id, {newcomer.fragment.namespace_id for newcomer in newcomers}, claims=0, now=now
    )
    texts, beside = [n.fragment for n in newcomers], [n.claims for n in newcomers]
    found = read_statements(texts, evaluation.namings, beside=beside, now=now)
    hearings = []
    for newcomer, shadow in zip(newcomers, found, strict=True):
        statements = [*newcomer.statements, *(statement for statement in shadow.statements if not statement.retracts)]
        stored = any(draft.position is not None for draft in newcomer.claims)
        returning = stored or newcomer.fragment.status == Status.QUARANTINED
        case = evaluation.case(newcomer.fragment, newcomer.claims, statements, in_place=returning)
        hearings.append(_Hearing(case, returning))
    evaluation.look([hearing.case for hearing in hearings], hold=hold)
    return evaluation, hearings


def _findings(evaluation: Evaluation, hearings: Sequence[_Hearing], *, afresh: bool) -> list[Reassessment]:
    """Return the findings, in order; then those about who waited before and needs not be heard for it."""
    by_id = {hearing.case.fragment.id: hearing for hearing in hearings}
    for hearing in hearings:
        if not hearing.returning:
            hearing.newer = outdated_claims(evaluation, hearing.case)
        if hearing.newer is None:
            as_written = afresh and _is_newest(evaluation, hearing.case)
            evaluation.hear(hearing.case, returning=hearing.returning and not as_written)
    others = []
    for claim_id, same in evaluation.answers({place for h in hearings for place in h.case.places}).items():
        fragment = evaluation.claims[claim_id].fragment
        if fragment.id in by_id:
            by_id[fragment.id].answers[claim_id] = same
        elif fragment.status == Status.QUARANTINED:
            others.append(Reassessment(fragment.id, Fate.ANSWERED, (same,)))
    return [*(hearing.finding(evaluation) for hearing in hearings), *dict.fromkeys(others)]


def _is_newest(evaluation: Evaluation, case: Assessment) -> bool:
    """Return whether nothing that stands on its keys was written after it."""
    standing = [claim_id for place in case.places for claim_id in evaluation.key_states[place].standing]
    return all(evaluation.claims[i].fragment.created_at <= case.fragment.created_at for i in standing)


def _write(evaluation: Evaluation, hearings: Sequence[_Hearing], *, now: datetime.datetime) -> None:
    acting = [hearing for hearing in hearings if hearing.finding(evaluation).fate != Fate.WAITS]
    texts = [hearing for hearing in acting if not hearing.returning]
    back = [hearing for hearing in acting if hearing.returning]
    cases = [hearing.case for hearing in acting if hearing.successor is None]
    yielded = {i: same for h in acting for i, same in h.answers.items()}
    yielded |= {claim.id: h.successor for h in back if h.successor for claim in h.case.claims}
    for key_state in evaluation.key_states.values():
        for claim_id in yielded:
            key_state.forget(claim_id)
    with one_value_checked_at_the_end():
        _leave_quarantine(evaluation, [hearing.case for hearing in back], now=now)
        plain = [h.case for h in acting if not h.successor and not (h.returning and h.case.said)]
        _set_statuses(evaluation, plain, now=now)
        supersede(evaluation.project_id, {h.case.fragment.id: h.successor for h in texts if h.successor}, now=now)
        insert([claim for hearing in texts for claim in hearing.case.claims])
        supersede_claims(evaluation.project_id, yielded, now=now)
        _return(evaluation, [hearing.case for hearing in back if not hearing.successor], but=yielded.keys())
        record(evaluation, cases)


def _leave_quarantine(evaluation: Evaluation, cases: Sequence[Assessment], *, now: datetime.datetime) -> None:
    """End what waited because of them. Who is disputed stays so."""
    ids, claims = [case.fragment.id for case in cases], [claim.id for case in cases for claim in case.claims]
    conflicts = PendingConflict.objects.within(evaluation.project_id).pending()
    conflicts.filter(newcomer__in=ids, kind=ConflictKind.TEXT).end(now=now)
    conflicts.filter(newcomer_claim__in=claims).end(now=now)
    for claim_id in (*ids, *claims):
        evaluation.pending.pop(claim_id, None)
    for case in cases:
        if case.fragment.status == Status.ACTIVE and is_disputed(case.fragment):
            case.fragment.status = Status.DISPUTED


def _return(evaluation: Evaluation, cases: Sequence[Assessment], *, but: Collection[uuid.UUID]) -> None:
    """Let the claims stand that nobody opposes any more, and their fragments with them."""
    back = [s for case in cases for s in case.said if s.verdict and s.verdict.status == Status.ACTIVE]
    back = [part for part in back if part.claim.id not in but]
    Claim.objects.bulk_update([part.claim for part in back], ["slot", "valid_from", "valid_until"])
    save_verdicts(
        evaluation.project_id, {part.claim.id: VerdictChange(Status.ACTIVE) for part in back}, now=evaluation.now
    )
    disputed = [case.fragment.id for case in cases if case.fragment.status == Status.DISPUTED]
    rows = Fragment.objects.within(evaluation.project_id).filter(id__in=disputed, status=Status.ACTIVE)
    rows.update(status=Status.DISPUTED)


def _set_statuses(evaluation: Evaluation, cases: Sequence[Assessment], *, now: datetime.datetime) -> None:
    rows = [(case.fragment.id, str(case.fragment.status), case.fragment.archived_reason) for case in cases]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(
                """UPDATE memories_fragment f SET status = t.status, archived_reason = t.reason, updated_at = %s
                   FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS t (id, status, reason)
                   WHERE f.project_id = %s AND f.id = t.id AND f.status <> t.status""",
                [now, *map(list, zip(*rows, strict=True)), evaluation.project_id],
            )
