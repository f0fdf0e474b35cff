"""Admission: the one way by which fragments come to stand in the memory, and by which their claims change."""

import datetime
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conflicts.claim_drafts import ClaimDraft, Statement
from conflicts.enums import ConflictKind
from conflicts.evaluation import Assessment, Evaluation, place_of
from conflicts.former_periods import cut_by
from conflicts.free_text import Shadow, read_statements
from conflicts.keys import naming
from conflicts.locks import Place, lock_keys, lock_namespaces
from conflicts.models import PendingConflict
from conflicts.namespace_state import NamespaceState
from conflicts.outdated import name_successors, settle_outdated
from conflicts.persistence import ensure_conflicts, one_value_checked_at_the_end, record, reopen_periods, supersede
from conflicts.search_index import index_fragments, refuse_forgotten, reindex_fragment
from conflicts.votes import disputed_among
from memories.errors import NovaError
from memories.models import Claim, EmbeddingModel, Fragment
from memories.models.bulk import insert
from memories.models.enums import Status


class Disputed(NovaError):
    """What is disputed can't do that."""

    code = "not_open"


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A fragment that wants to be believed, with its unit vector, or None while it still waits for one.

    What it claims, what its text was read to state besides, and when its words were said; None is when it was made.
    """

    fragment: Fragment
    vector: Any = None
    claims: Sequence[ClaimDraft] = ()
    statements: Sequence[Statement] = ()
    said_at: datetime.datetime | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of a newcomer: the fragment that stands for it, and what it did to others."""

    fragment: Fragment
    deduplicated: bool = False
    superseded: list[uuid.UUID] = field(default_factory=list)
    pending_conflicts: list[PendingConflict] = field(default_factory=list)
    # Said again under its key.
    replaced: bool = False
    # It stands as it was made, claims nothing and did nothing to others: nobody has to read it again.
    as_made: bool = False
    # The model of the vector that came with it.
    embedded_by: uuid.UUID | None = None


def admit(
    newcomers: Sequence[Newcomer],
    *,
    model: EmbeddingModel,
    now: datetime.datetime,
    states: Mapping[uuid.UUID, NamespaceState] | None = None,
) -> list[Admission]:
    """Store the newcomers in order, all or nothing, in the open transaction; each passes the gate.

    A claim that loses is quarantined and replaces nothing, and its fragment when nothing of it stands; one that repeats
    what stands becomes that. Raise BlockedByErasure for the first whose text was forgotten, and ClaimsDisagree.

    Who gives the `states` of their namespaces, as read in this transaction, has refused forgotten texts itself.
    """
    if states is None:
        refuse_forgotten([newcomer.fragment for newcomer in newcomers])
    if not newcomers:
        return []
    evaluation, cases = _evaluate(newcomers, now=now, states=states)
    kept = [(case, n.vector) for case, n in zip(cases, newcomers, strict=True) if not case.repeats]
    with one_value_checked_at_the_end(any(case.replaces for case in cases)):
        insert([case.fragment for case, _ in kept])
        insert([claim for case, _ in kept for claim in case.claims])
        index_fragments([(case.fragment, vector, case.claims) for case, vector in kept], model=model)
        supersede(evaluation.project_id, name_successors([case for case, _ in kept]), now=now)
        conflicts = record(evaluation, cases)
    return [
        _admission(evaluation, case, conflicts, embedded_by=None if newcomer.vector is None else model.id)
        for case, newcomer in zip(cases, newcomers, strict=True)
    ]


def readmit(
    changed: Newcomer,
    *,
    now: datetime.datetime,
    model: EmbeddingModel | None = None,
    by_a_person: bool = False,
    returning: bool = False,
    at_best: Status = Status.ACTIVE,
) -> Admission:
    """Let a fragment that is stored already pass the gate again: its text or claim changed, or it leaves the archive.

    With a `model` the text is new: the old vectors go, the old text stays as a revision (trigger). What loses is
    quarantined; what repeats another claim is superseded by that; what was disputed stays so (`at_best`); what it ended
    goes on where it begins no more. The caller holds the keys and the fragment's row, in this order. Raise
    BlockedByErasure.
    """
    fragment = changed.fragment
    if not returning:
        changed = replace(changed, said_at=changed.said_at or now)
    if model is not None:
        refuse_forgotten([fragment])
    former = Claim.objects.within(fragment.project_id).filter(fragment=fragment.id)
    left = {place_of(claim) for claim in former}
    cut = [] if returning else cut_by(fragment.project_id, [fragment.id])
    evaluation, cases = _evaluate([changed], now=now, by_a_person=by_a_person, returning=returning, left=left)
    (case,) = cases
    if case.repeats:
        fragment.status, fragment.archived_reason = Status.SUPERSEDED, ""
    elif fragment.status == Status.ACTIVE:
        if at_best != Status.ACTIVE and case.replaces:
            raise Disputed("a disputed memory replaces nothing: store a new one")
        fragment.status = at_best
    with one_value_checked_at_the_end():
        PendingConflict.objects.within(fragment.project_id).pending().filter(newcomer=fragment).end(now=now)
        for claim_id in {fragment.id, *former.values_list("id", flat=True)}:
            evaluation.pending.pop(claim_id, None)
        former.delete()
        fragment.save()
        fragment.refresh_from_db(fields=["revision"])
        insert(case.claims)
        if model is not None:
            reindex_fragment(fragment, changed.vector, case.claims, model=model)
        if case.repeats:
            supersede(fragment.project_id, {fragment.id: case.repeats}, now=now)
        conflicts = record(evaluation, cases, left=left)
    reopen_periods(fragment.project_id, cut, now=now)
    return Admission(fragment, False, case.fallen, conflicts.get(fragment.id, []))


def admissible_unchanged(
    returning: Sequence[tuple[Newcomer, Sequence[Claim]]], *, now: datetime.datetime
) -> set[uuid.UUID]:
    """Return which fragments that were gone may stand as they did; each comes with its claims as they were.

    One that somebody opposes or repeats by now, or that would be named otherwise, has to pass the gate. Their keys are
    held from here on; nothing is stored.
    """
    if not returning:
        return set()
    _, cases = _evaluate([newcomer for newcomer, _ in returning], now=now, returning=True)
    return {
        case.fragment.id
        for case, (_, former) in zip(cases, returning, strict=True)
        if case.fragment.status == Status.ACTIVE and not (case.repeats or case.replaces or case.twins)
        if [_named_claim(claim) for claim in case.claims] == [_named_claim(claim) for claim in former]
    }


def return_unchanged(
    returning: Sequence[tuple[Newcomer, Sequence[Claim]]], *, now: datetime.datetime
) -> set[uuid.UUID]:
    """Let fragments that were gone stand again as they did, as far as they are `admissible_unchanged`; return those."""
    agreed = admissible_unchanged(returning, now=now)
    if not agreed:
        return agreed
    rows = [newcomer.fragment for newcomer, _ in returning if newcomer.fragment.id in agreed]
    project_id, disputed = rows[0].project_id, disputed_among(rows)
    for status, ids in ((Status.ACTIVE, agreed - disputed), (Status.DISPUTED, disputed)):
        back = {"status": status, "archived_reason": "", "superseded_by": None, "updated_at": now}
        Fragment.objects.within(project_id).filter(id__in=ids).update(**back)
    places = {place_of(c) for newcomer, claims in returning if newcomer.fragment.id in agreed for c in claims}
    evaluation = _evaluation([newcomer for newcomer, _ in returning], claims=0, now=now)
    evaluation.read(places)
    ensure_conflicts(evaluation, places)
    return agreed


def _named_claim(claim: Claim) -> tuple[Any, ...]:
    """Return where a claim stands, under which names, and what became of it."""
    digests = (claim.subject_digest, claim.predicate_digest, claim.key_digest, claim.value_digest)
    return (*map(bytes, digests), claim.verdict, claim.exclusive, claim.slot, claim.valid_from, claim.valid_until)


def rewrite(changed: Newcomer, *, now: datetime.datetime, model: EmbeddingModel | None) -> None:
    """Save the new text of what does not stand any more, and what it claims; no gate, for it is history.

    Raise BlockedByErasure.
    """
    fragment = changed.fragment
    refuse_forgotten([fragment])
    former = Claim.objects.within(fragment.project_id).filter(fragment=fragment.id)
    claims = list(former.order_by("position"))
    fragment.save()
    fragment.refresh_from_db(fields=["revision"])
    if [ClaimDraft.of(claim) for claim in claims] != list(changed.claims):
        evaluation = Evaluation(fragment.project_id, [fragment.namespace_id], claims=0, now=now)
        claims = evaluation.case(fragment, changed.claims, ()).claims
        former.delete()
        insert(claims)
    if model is not None:
        reindex_fragment(fragment, changed.vector, claims, model=model)


def end_waiting(fragment: Fragment, *, now: datetime.datetime) -> None:
    """End what waits because of a fragment that leaves."""
    conflicts = PendingConflict.objects.within(fragment.project_id)
    conflicts.pending().filter(newcomer=fragment).end(now=now)
    conflicts.pending().filter(existing=fragment, kind=ConflictKind.DISPUTE).end(now=now)


def lock_claimed_keys(project_id: uuid.UUID, *, fragment_id: uuid.UUID, drafts: Sequence[ClaimDraft] = ()) -> None:
    """Lock what a fragment claims now and is about to claim: before its row, so that nobody waits in a circle."""
    row = Fragment.objects.within(project_id).filter(id=fragment_id).only("namespace_id").first()
    if row is None:
        return
    lock_namespaces([row.namespace_id], claims=1)
    places = {place_of(claim) for claim in Claim.objects.within(project_id).filter(fragment=fragment_id)}
    names = naming(project_id, [row.namespace_id]).get(row.namespace_id) if drafts else None
    if names:  # else whoever deleted it was waited for
        places |= {(row.namespace_id, names.key(draft.subject, draft.predicate).both) for draft in drafts}
    lock_keys(places)


def _evaluate(
    newcomers: Sequence[Newcomer],
    *,
    now: datetime.datetime,
    by_a_person: bool = False,
    returning: bool = False,
    left: Iterable[Place] = (),
    states: Mapping[uuid.UUID, NamespaceState] | None = None,
) -> tuple[Evaluation, list[Assessment]]:
    claims = sum(len(n.claims) + sum(statement.retracts for statement in n.statements) for n in newcomers)
    evaluation = _evaluation(newcomers, claims=claims, now=now, states=states)
    # As the names: what was read before the namespaces were locked does not count.
    claimed = None if claims or states is None else {place for place, state in states.items() if state.is_claimed}
    texts, beside, stated = zip(*((n.fragment, n.claims, n.statements) for n in newcomers), strict=True)
    found = read_statements(texts, evaluation.namings, beside=beside, stated=stated, claimed=claimed, now=now)
    changes = 0 if returning else sum(shadow.changes for shadow in found)
    if changes and not claims:
        evaluation = _evaluation(
            newcomers, claims=changes, now=now
        )  # the namespace has to be held before its names are read
    cases = [
        _case(evaluation, newcomer, shadow, returning=returning)
        for newcomer, shadow in zip(newcomers, found, strict=True)
    ]
    evaluation.open(cases, also=left)
    evaluation.read_bars([case for case in cases if states is None or states[case.fragment.namespace_id].has_rulings])
    for case in cases:
        if not (by_a_person or returning):
            settle_outdated(evaluation, case)
        evaluation.hear(case, by_a_person=by_a_person, returning=returning)
    return evaluation, cases


def _case(evaluation: Evaluation, newcomer: Newcomer, shadow: Shadow, *, returning: bool) -> Assessment:
    """Return a newcomer with what its text says besides; what returns takes nothing back and claims nothing new."""
    names = evaluation.namings[newcomer.fragment.namespace_id]
    more = [shadow.claim] if shadow.claim and not (newcomer.claims or returning) else []
    statements = [one for one in shadow.statements if not (returning and one.retracts)]
    read = [
        one
        for one in newcomer.statements
        if one.retracts or names.key(one.subject, one.predicate).both not in shadow.unsure
    ]
    stated = [*read, *statements]
    drafts, unsaid = [*newcomer.claims, *more], shadow.under_rulings
    return evaluation.case(newcomer.fragment, drafts, stated, under_rulings=unsaid, said_at=newcomer.said_at)


def _evaluation(
    newcomers: Sequence[Newcomer],
    *,
    claims: int,
    now: datetime.datetime,
    states: Mapping[uuid.UUID, NamespaceState] | None = None,
) -> Evaluation:
    namespaces = [newcomer.fragment.namespace_id for newcomer in newcomers]
    return Evaluation(newcomers[0].fragment.project_id, namespaces, claims=claims, now=now, states=states)


def _admission(
    evaluation: Evaluation,
    case: Assessment,
    conflicts: dict[uuid.UUID, list[PendingConflict]],
    *,
    embedded_by: uuid.UUID | None,
) -> Admission:
    if case.repeats is None:
        opened = conflicts.get(case.fragment.id, [])
        as_made = not (case.said or case.fallen or opened)
        return Admission(case.fragment, False, case.fallen, opened, as_made=as_made, embedded_by=embedded_by)
    rows = {row.id: row for twin in case.twins for row in evaluation.pending[twin] if row.resolved_at is None}
    return Admission(evaluation.claims[case.twins[0]].fragment, True, [], list(rows.values()))
