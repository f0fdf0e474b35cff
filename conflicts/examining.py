"""Examining: many fragments that are stored already pass the gate at once, for consolidation.

Texts that claim nothing yet are heard as of when they were written; newcomers in quarantine whose opponents are gone
are decided on again. `foresee` judges and writes nothing; `examine` does it, in the open transaction, for those whose
verdict is still the foreseen one.
"""

import datetime
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db import connection

from conflicts.admission import Newcomer
from conflicts.claims import stance_of
from conflicts.docket import Case, Docket, place_of
from conflicts.gate import objection
from conflicts.models import PendingConflict
from conflicts.recording import one_value_checked_at_the_end, record, supersede
from conflicts.shadows import shadows
from conflicts.votes import is_disputed
from memories.models import Claim
from memories.models.bulk import insert
from memories.models.words import Status


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
class Finding:
    """A ruling, the fragment that it is about, and whom else it changes: who yields, or who stands against it."""

    fragment_id: uuid.UUID
    fate: Fate
    others: tuple[uuid.UUID, ...] = ()


@dataclass(slots=True)
class _Hearing:
    """A case, whether it returns from quarantine, who outdates it, and who says the same after all were heard."""

    case: Case
    returning: bool
    newer: uuid.UUID | None = None
    answer: uuid.UUID | None = None

    @property
    def successor(self) -> uuid.UUID | None:
        """Whom it yields to."""
        return self.newer or self.answer or self.case.repeats

    def finding(self) -> Finding:
        case, verdict = self.case, self.case.verdict
        own = case.fragment.id
        if self.newer is not None:
            return Finding(own, Fate.OUTDATED, (self.newer,))
        assert verdict is not None
        if same := self.answer or verdict.twin:
            return Finding(own, Fate.ANSWERED if self.returning else Fate.REPEATS, (same,))
        if verdict.status != Status.ACTIVE and self.returning:
            return Finding(own, Fate.WAITS)
        if verdict.status == Status.QUARANTINED:
            texts = {o.fragment_id for said in case.contradictions for o in said.opponents}
            return Finding(own, Fate.LOSES, tuple(sorted({i for i, _ in verdict.opponents} | texts)))
        if verdict.status == Status.ARCHIVED:
            return Finding(own, Fate.BARRED)
        others = tuple(sorted({*verdict.superseded, *(i for i, _ in verdict.closed)}))
        if self.returning:
            return Finding(own, Fate.RETURNS, others)
        return Finding(own, Fate.WINS if others else Fate.CLAIMS, others)


def foresee(
    newcomers: Sequence[Newcomer], *, gone: Collection[uuid.UUID] = (), now: datetime.datetime
) -> list[Finding]:
    """What `examine` would do with these fragments of one namespace, in order, if those in `gone` did not stand."""
    if not newcomers:
        return []
    docket, hearings = _prepared(newcomers, now=now, hold=False)
    for ledger in docket.ledgers.values():
        for fragment_id in gone:
            ledger.forget(fragment_id)
    return _heard(docket, hearings)


def examine(
    newcomers: Sequence[Newcomer], expected: Mapping[uuid.UUID, Finding], *, now: datetime.datetime
) -> list[Finding]:
    """Lets these fragments pass the gate; answers what was done. What would now be ruled otherwise is left as it is.

    The caller holds the namespace and the fragments.
    """
    left = list(newcomers)
    while left:
        docket, hearings = _prepared(left, now=now, hold=True)
        findings = _heard(docket, hearings)
        fitting = [n for n, f in zip(left, findings, strict=False) if f == expected[f.fragment_id]]
        if len(fitting) == len(left):
            _write(docket, hearings, now=now)
            return findings
        # Who is left out is not met by the others either: they are heard anew.
        left = [_unheard(newcomer) for newcomer in fitting]
    return []


def _unheard(newcomer: Newcomer) -> Newcomer:
    newcomer.fragment.refresh_from_db(fields=["status", "archived_reason"])
    return newcomer


def _prepared(newcomers: Sequence[Newcomer], *, now: datetime.datetime, hold: bool) -> tuple[Docket, list[_Hearing]]:
    first = newcomers[0].fragment
    docket = Docket(first.project_id, {newcomer.fragment.namespace_id for newcomer in newcomers}, claims=0, now=now)
    found = shadows([newcomer.fragment for newcomer in newcomers], docket.namings, now=now)
    hearings = [
        _Hearing(
            docket.case(n.fragment, n.claim, [*n.statements, *(s for s in shadow.statements if not s.retracts)]),
            n.fragment.status == Status.QUARANTINED,
        )
        for n, shadow in zip(newcomers, found, strict=True)
    ]
    docket.look([hearing.case for hearing in hearings], hold=hold)
    return docket, hearings


def _heard(docket: Docket, hearings: Sequence[_Hearing]) -> list[Finding]:
    """The findings, in order; then those about who waited before and needs not be heard for it."""
    by_id = {hearing.case.fragment.id: hearing for hearing in hearings}
    for hearing in hearings:
        case = hearing.case
        hearing.newer = None if hearing.returning else _newer(docket, case)
        if hearing.newer is None:
            docket.hear(case, returning=hearing.returning)
    answers = docket.answers({place_of(h.case.claim) for h in hearings if h.case.claim})
    for fragment_id in by_id.keys() & answers.keys():
        by_id[fragment_id].answer = answers[fragment_id]
    others = [Finding(i, Fate.ANSWERED, (same,)) for i, same in answers.items() if i not in by_id]
    return [*(hearing.finding() for hearing in hearings), *others]


def _newer(docket: Docket, case: Case) -> uuid.UUID | None:
    """Who stands against it, was written later, and would have replaced it then; the last of them."""
    if case.claim is None:
        return None
    ledger = docket.ledgers[place_of(case.claim)]
    case.claim.fragment = case.fragment
    stance = stance_of(case.claim)
    later = [
        other
        for other in ledger.opponents(stance)
        if docket.claims[other.fragment_id].fragment.created_at > case.fragment.created_at
        and objection(other, stance, case.policy) is None
    ]
    return max(
        (other.fragment_id for other in later),
        key=lambda i: (docket.claims[i].fragment.created_at, i),
        default=None,
    )


def _write(docket: Docket, hearings: Sequence[_Hearing], *, now: datetime.datetime) -> None:
    findings = {hearing.case.fragment.id: hearing.finding() for hearing in hearings}
    acting = [h for h in hearings if findings[h.case.fragment.id].fate != Fate.WAITS]
    heard = [hearing.case for hearing in acting if hearing.newer is None and hearing.answer is None]
    yielding = {h.case.fragment.id: h.successor for h in acting if h.successor}
    for hearing in acting:
        if hearing.answer and hearing.case.claim:
            docket.ledgers[place_of(hearing.case.claim)].forget(hearing.case.fragment.id)
    with one_value_checked_at_the_end():
        _leave_quarantine(docket, [hearing.case for hearing in acting if hearing.returning], now=now)
        _set_statuses(docket, [case for case in heard if case.fragment.id not in yielding], now=now)
        claims = [hearing.case.claim for hearing in acting if hearing.case.claim is not None]
        for claim in claims:
            claim.status = Status.SUPERSEDED if claim.fragment_id in yielding else claim.fragment.status
        insert(claims)
        supersede(docket.project_id, {one: other for one, other in yielding.items() if other}, now=now)
        record(docket, heard)


def _leave_quarantine(docket: Docket, cases: Sequence[Case], *, now: datetime.datetime) -> None:
    """Ends what waited because of them; their claims are written anew. Who is disputed stays so."""
    ids = [case.fragment.id for case in cases]
    PendingConflict.objects.within(docket.project_id).pending().filter(newcomer__in=ids).end(now=now)
    Claim.objects.within(docket.project_id).filter(fragment__in=ids).delete()
    for case in cases:
        docket.pending.pop(case.fragment.id, None)
        if case.fragment.status == Status.ACTIVE and is_disputed(case.fragment):
            case.fragment.status = Status.DISPUTED


def _set_statuses(docket: Docket, cases: Sequence[Case], *, now: datetime.datetime) -> None:
    rows = [(case.fragment.id, str(case.fragment.status), case.fragment.archived_reason) for case in cases]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(
                """UPDATE memories_fragment f SET status = t.status, archived_reason = t.reason, updated_at = %s
                   FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS t (id, status, reason)
                   WHERE f.project_id = %s AND f.id = t.id AND f.status <> t.status""",
                [now, *map(list, zip(*rows, strict=True)), docket.project_id],
            )
