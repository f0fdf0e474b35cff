"""Readmission: what a ruling kept out of belief is heard by the gate once that is taken back (docs/spec.md §4.5)."""

import datetime
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from conflicts.admission import Newcomer, readmit
from conflicts.claim_drafts import ClaimDraft
from conflicts.claims import assertion_from
from conflicts.enums import PRECEDENT_REJECTED
from conflicts.evaluation import Evaluation, place_of
from conflicts.free_text import read_statements
from conflicts.locks import Place
from conflicts.models import PendingConflict
from conflicts.persistence import one_value_checked_at_the_end, record
from conflicts.rulings import rulings_on_texts
from conflicts.verdicts import VerdictChange, save_verdicts
from memories.models import Claim, Fragment
from memories.models.enums import OPEN, Status


@dataclass(frozen=True, slots=True)
class Barred:
    """What rulings in force keep out of a namespace: fragments as wholes, and single claims of others."""

    project_id: uuid.UUID
    fragments: frozenset[uuid.UUID]
    claims: frozenset[uuid.UUID]

    def without(self, other: Self) -> Self:
        """Return what the other does not hold."""
        return replace(self, fragments=self.fragments - other.fragments, claims=self.claims - other.claims)


def barred_by_rulings(row: PendingConflict, places: Collection[Place], *, now: datetime.datetime) -> Barred:
    """Return what lies in the archive because a ruling in force bars it: by a claim on these keys, or by its words."""
    project_id = row.project_id
    archived = Fragment.objects.within(project_id).filter(namespace=row.namespace_id, status=Status.ARCHIVED)
    fragments = list(archived.filter(archived_reason=PRECEDENT_REJECTED))
    evaluation = Evaluation(project_id, [row.namespace_id], claims=0, now=now)
    evaluation.read(set(places))
    claims = Claim.objects.within(project_id).select_related("fragment").filter(status=Status.ARCHIVED)
    parts = claims.filter(
        namespace=row.namespace_id, key_digest__in={key for _, key in places}, fragment__status__in=OPEN
    )
    wholes = {claim.fragment_id for claim in claims.filter(fragment__in=fragments) if _is_ruled_out(claim, evaluation)}
    return Barred(
        project_id,
        frozenset(wholes | rulings_on_texts(project_id, fragments).keys() | _barred_texts(evaluation, fragments)),
        frozenset(claim.id for claim in parts if _is_ruled_out(claim, evaluation)),
    )


def _is_ruled_out(claim: Claim, evaluation: Evaluation) -> bool:
    state = evaluation.key_states.get(place_of(claim))
    return bool(state and state.bar(assertion_from(claim)))


def _barred_texts(evaluation: Evaluation, fragments: Sequence[Fragment]) -> set[uuid.UUID]:
    """Return those that state in words what a ruling in force ruled out."""
    if not fragments:
        return set()
    found = read_statements(fragments, evaluation.namings, now=evaluation.now)
    cases = [
        evaluation.case(fragment, (), (), under_rulings=shadow.under_rulings)
        for fragment, shadow in zip(fragments, found, strict=True)
    ]
    evaluation.look(cases, hold=False)
    return {case.fragment.id for case in cases if any(evaluation.bars(case))}


def hear_freed(freed: Barred, *, but: Collection[uuid.UUID], now: datetime.datetime) -> None:
    """Let what nothing bars any more pass the gate, as it was stored one after the other; no single claims of `but`.

    Not what as a whole only says what stands, or what its owner said before. The caller holds the namespace.
    """
    project_id = freed.project_id
    left = (
        Claim.objects.within(project_id).filter(id__in=freed.claims, status=Status.ARCHIVED).exclude(fragment__in=but)
    )
    parts = Claim.objects.by_fragment(project_id, left.values_list("fragment", flat=True))
    wholes = Claim.objects.by_fragment(project_id, freed.fragments)
    rows = Fragment.objects.within(project_id).filter(id__in={*freed.fragments, *parts})
    heard: set[tuple[Any, ...]] = set()
    for fragment in rows.select_for_update(no_key=True, of=("self",)).order_by("created_at", "id"):
        fragment.updated_at = now
        if fragment.id in parts:
            _hear_parts(fragment, [claim for claim in parts[fragment.id] if claim.id in freed.claims], now=now)
            continue
        former = wholes.get(fragment.id, [])
        drafts = [ClaimDraft.of(claim) for claim in former]
        said = (fragment.owner_id, fragment.authority, *([draft.says for draft in drafts] or [fragment.content]))
        if said in heard or _is_said(fragment, former, now=now):
            continue
        heard.add(said)
        readmit(Newcomer(fragment, None, drafts), now=now, returning=True)


def _hear_parts(fragment: Fragment, claims: Sequence[Claim], *, now: datetime.datetime) -> None:
    """Let single claims of a memory pass the gate; what its others are they stay."""
    drafts = [replace(ClaimDraft.of(claim), verdict="", superseded_by=None) for claim in claims]
    evaluation = Evaluation(fragment.project_id, [fragment.namespace_id], claims=0, now=now)
    case = evaluation.case(fragment, drafts, (), in_place=True)
    evaluation.look([case], hold=True)
    evaluation.hear_parts(case)
    with one_value_checked_at_the_end():
        fragment.save(update_fields=["updated_at"])
        Claim.objects.bulk_update(case.claims, ["slot", "valid_from", "valid_until"])
        changes = {part.claim.id: VerdictChange(part.verdict.status) for part in case.said if part.verdict}
        save_verdicts(fragment.project_id, changes, now=now)
        record(evaluation, [case])


def _is_said(fragment: Fragment, claims: Sequence[Claim], *, now: datetime.datetime) -> bool:
    """Return whether what stands says all that these claims do."""
    evaluation = Evaluation(fragment.project_id, [fragment.namespace_id], claims=0, now=now)
    evaluation.read({place_of(claim) for claim in claims})
    standing = [(assertion_from(claim), evaluation.key_states[place_of(claim)].standing.values()) for claim in claims]
    return bool(claims) and all(any(claim.repeats(other) for other in others) for claim, others in standing)
