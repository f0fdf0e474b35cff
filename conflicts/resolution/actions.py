"""Resolution actions: what each action does to both sides of a conflict, and how that is taken back."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from django.db.models import F

from conflicts.admission import Newcomer
from conflicts.claim_drafts import ClaimDraft
from conflicts.claims import assertion_from, claim_of
from conflicts.enums import EDITED, REJECTED, UNDONE, ConflictKind, Keep, Resolution
from conflicts.evaluation import Evaluation, place_of
from conflicts.gate import Assertion, Period
from conflicts.key_state import KeyState
from conflicts.models import PendingConflict
from conflicts.persistence import Succession, supersede, supersede_claims
from conflicts.resolution.cardinality import make_multi_valued, restore_predicate
from conflicts.resolution.periods import split
from conflicts.search_index import index_fragments, refuse_forgotten
from conflicts.verdicts import VerdictChange, save_verdicts
from memories.errors import NovaError
from memories.models import Claim, EmbeddingModel, Fragment, Link
from memories.models.bulk import insert
from memories.models.enums import STANDING, LinkKind, Status


class NotApplicable(NovaError):
    """This decision makes no sense for this conflict."""

    code = "not_applicable"
    title = "This can’t be decided so"


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person types in place of the challenger: a memory of their own, with the value that it claims."""

    newcomer: Newcomer
    model: EmbeddingModel


@dataclass(slots=True)
class Effects:
    """What a decision did beside the rows that a snapshot keeps."""

    succession: Succession = field(default_factory=Succession)
    # The arguments with which the predicate is restored.
    predicate: dict[str, Any] | None = None
    # Memories that came with it: what a person typed.
    made: list[str] = field(default_factory=list)
    # Claims that came with it: what a chosen text was read to say.
    claims: list[str] = field(default_factory=list)
    # Who had to yield, or was kept; not needed to take it back.
    opponents: list[uuid.UUID] = field(default_factory=list)
    # Claims of the user's that it did not name; and the conflicts that these stand in since.
    spared: set[uuid.UUID] = field(default_factory=set)
    contests: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For the conflict's row."""
        values = {"succession": self.succession.as_json(), "predicate": self.predicate} | {
            "made": self.made,
            "claims_made": self.claims,
        }
        return values | ({"contests": self.contests} if self.contests else {})

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """As stored, also before memories, claims and conflicts were made."""
        done, contests = Succession.from_json(stored["succession"]), stored.get("contests", [])
        made, claims = stored.get("made", []), stored.get("claims_made", [])
        return cls(done, stored["predicate"], made, claims, contests=contests)

    def take_back(self, project_id: uuid.UUID, *, now: datetime.datetime) -> None:
        """Undo them."""
        self.succession.take_back(project_id)
        made = Fragment.objects.within(project_id).filter(id__in=self.made)
        made.update(status=Status.ARCHIVED, archived_reason=UNDONE, updated_at=now, revision=F("revision") + 1)
        Claim.objects.within(project_id).filter(id__in=self.claims).delete()
        PendingConflict.objects.within(project_id).pending().filter(id__in=self.contests).end(now=now)
        if self.predicate is not None:
            restore_predicate(
                project_id=project_id,
                namespace_id=uuid.UUID(self.predicate["namespace_id"]),
                predicate_name=self.predicate["predicate_name"],
                former=self.predicate["former"],
                now=now,
            )


@dataclass(frozen=True, slots=True)
class Decider:
    """How far who decides is believed, whose the ruling will be, and on which keys it will speak for one value."""

    rank: int
    owner_id: uuid.UUID | None
    keys: frozenset[bytes]

    def chosen(self, claim: Claim, key_state: KeyState) -> Assertion:
        """Return the claim as it would stand: as strong as the ruling that the decision leaves."""
        assertion = key_state.under_rulings(assertion_from(claim))
        stronger = bytes(claim.key_digest) in self.keys and self.rank > assertion.ruling
        return replace(assertion, ruling=self.rank, ruled_by=self.owner_id) if stronger else assertion

    def spares(self, other: Assertion) -> bool:
        """Return whether it is somebody else's word that a decision which does not name it leaves standing."""
        return other.attested and other.owner_id != self.owner_id


@dataclass(frozen=True, slots=True)
class Opposition:
    """The claims that a decision concerns, as far as they stand: those that yield or are kept, and those it spares."""

    yielding: list[uuid.UUID]
    spared: set[uuid.UUID]


def affected_fragments(
    evaluation: Evaluation, row: PendingConflict, siblings: Sequence[PendingConflict]
) -> set[uuid.UUID]:
    """Return every fragment that a decision could change."""
    sides = {side for conflict in (row, *siblings) for side in (conflict.newcomer_id, conflict.existing_id)}
    return {side for side in sides if side} | {claim.fragment_id for claim in evaluation.claims.values()}


def apply_decision(
    evaluation: Evaluation,
    row: PendingConflict,
    siblings: Sequence[PendingConflict],
    action: str,
    keep: str,
    *,
    decider: Decider,
    correction: Correction | None = None,
) -> Effects:
    """Does it. Raise NotApplicable, CannotSplit, BlockedByErasure."""
    if row.kind == ConflictKind.DISPUTE:
        return _review(evaluation, row, action)
    if row.kind == ConflictKind.RESTORE:
        return _compare_versions(action)
    newcomer = Fragment.objects.within(row.project_id).filter(id=row.newcomer_id).first()
    if newcomer is None:
        raise NotApplicable("the newcomer was forgotten")
    claims = _decided(evaluation, row, newcomer)
    if action == Resolution.REJECT:
        return Effects(_archive(evaluation, newcomer, claims, why=REJECTED))
    if correction is not None:
        return _correct(evaluation, newcomer, claims, correction, [row, *siblings], decider)
    assertions = [assertion_from(claim) for claim in claims]
    against = opposition(evaluation, claims, [row, *siblings], decider)
    if action == Resolution.SUPERSEDE:
        return _supersede(evaluation, newcomer, assertions, against, [row, *siblings])
    return KEEPING[Keep(keep)](evaluation, newcomer, assertions, against.yielding)


def _decided(evaluation: Evaluation, row: PendingConflict, newcomer: Fragment) -> list[Claim]:
    """Return the claims of the newcomer that are decided on: the conflict's own, with a text all that wait.

    Also where it does not wait: its place may have been taken before rulings were kept.
    """
    claims = Claim.objects.within(evaluation.project_id).filter(fragment=newcomer.id).order_by("position")
    found = list(claims.select_related("fragment"))
    if row.kind == ConflictKind.CLAIM:
        found = [claim for claim in found if claim.id == row.challenger]
    else:
        found = [claim for claim in found if claim.verdict in ("", Status.QUARANTINED)]
    evaluation.claims |= {claim.id: claim for claim in found}
    evaluation.read({place_of(claim) for claim in found} - evaluation.key_states.keys())
    return found


def _review(evaluation: Evaluation, row: PendingConflict, action: str) -> Effects:
    """A weaker owner doubts a fragment: supersede takes the doubt over, reject dismisses it."""
    if action == Resolution.KEEP_BOTH:
        raise NotApplicable("a dispute has one side only: supersede or reject it")
    existing = Fragment.objects.within(row.project_id).filter(id=row.existing_id).first()
    if existing is None:
        raise NotApplicable("the disputed memory was forgotten")
    if action == Resolution.SUPERSEDE and existing.status == Status.ACTIVE:
        _set_status(evaluation, existing, Status.DISPUTED)
    return Effects()


def _compare_versions(action: str) -> Effects:
    """A backup held another version of the same time: the one that stands is kept, the other only shown."""
    if action != Resolution.REJECT:
        raise NotApplicable("store the other version as a new memory, or reject it")
    return Effects()


def challengers(conflicts: Sequence[PendingConflict]) -> list[Claim]:
    """Return the claims that these conflicts decide on: of a text all."""
    if not conflicts:
        return []
    named = {conflict.challenger for conflict in conflicts}
    texts = {conflict.newcomer_id for conflict in conflicts if conflict.kind != ConflictKind.CLAIM}
    newcomers = {conflict.newcomer_id for conflict in conflicts if conflict.newcomer_id}
    rows = Claim.objects.within(conflicts[0].project_id).filter(fragment__in=newcomers)
    return [claim for claim in rows.select_related("fragment") if claim.id in named or claim.fragment_id in texts]


def opposition(
    evaluation: Evaluation, claims: Iterable[Claim], conflicts: Iterable[PendingConflict], decider: Decider
) -> Opposition:
    """Return what stands against these claims once they are chosen, and what the conflicts name."""
    named = {conflict.challenged for conflict in conflicts if conflict.challenged}
    yielding = {i for i in named if i in evaluation.claims and evaluation.claims[i].status in STANDING}
    spared = set[uuid.UUID]()
    for claim in claims:
        if key_state := evaluation.key_states.get(place_of(claim)):
            for other in key_state.opponents(decider.chosen(claim, key_state)):
                (spared if other.id not in named and decider.spares(other) else yielding).add(other.id)
    return Opposition(sorted(yielding), spared - yielding)


def _supersede(
    evaluation: Evaluation,
    newcomer: Fragment,
    assertions: Sequence[Assertion],
    against: Opposition,
    conflicts: Sequence[PendingConflict],
) -> Effects:
    opponents = against.yielding
    _assign_slots(evaluation, assertions, without=set(opponents))
    _activate(evaluation, newcomer, assertions)
    successors = dict.fromkeys(opponents, newcomer.id)
    done = supersede_claims(evaluation.project_id, successors, now=evaluation.now)
    claims = _claimed(evaluation, conflicts, newcomer, without=set(opponents))
    return _effects(evaluation, done, opponents, claims=claims, spared=against.spared)


def _claimed(
    evaluation: Evaluation, conflicts: Sequence[PendingConflict], newcomer: Fragment, *, without: set[uuid.UUID]
) -> list[str]:
    """Let a text that was chosen claim what it was read to say: without a claim nothing opposes a third value."""
    held = Claim.objects.within(evaluation.project_id).filter(fragment=newcomer.id)
    keys, made = {bytes(key) for key in held.values_list("key_digest", flat=True)}, list[Claim]()
    for conflict in conflicts:
        statement = conflict.statement
        if not statement or conflict.negates or bytes(conflict.key_digest) in keys:
            continue
        keys.add(bytes(conflict.key_digest))
        draft = ClaimDraft(
            statement["subject"], statement["predicate"], statement["value"], session_id=conflict.session_id
        )
        names = evaluation.namings[newcomer.namespace_id]
        claim = claim_of(draft, newcomer, naming=names, now=evaluation.now, position=held.count() + len(made))
        claim.slot = evaluation.key_states[place_of(claim)].free_slot(assertion_from(claim), without=without)
        evaluation.claims[claim.id] = claim
        made.append(claim)
    insert(made)
    return [str(claim.id) for claim in made]


def _correct(
    evaluation: Evaluation,
    newcomer: Fragment,
    claims: Sequence[Claim],
    correction: Correction,
    conflicts: Sequence[PendingConflict],
    decider: Decider,
) -> Effects:
    """What the person typed stands, in a memory of its own; the challenger is archived as it was written."""
    fragment, vector, drafts = correction.newcomer.fragment, correction.newcomer.vector, correction.newcomer.claims
    refuse_forgotten([fragment])
    made = evaluation.case(fragment, drafts, ()).claims
    evaluation.claims |= {claim.id: claim for claim in made}
    evaluation.read({place_of(claim) for claim in made} - evaluation.key_states.keys())
    assertions = [assertion_from(claim) for claim in made]
    against = opposition(evaluation, made, conflicts, decider)
    opponents = against.yielding
    left = _archive(evaluation, newcomer, claims, why=EDITED)
    insert([fragment])
    gone = {*opponents, *(claim.id for claim in claims)}
    for claim, assertion in zip(made, assertions, strict=True):
        claim.slot = evaluation.key_states[place_of(claim)].free_slot(assertion, without=gone)
    insert(made)
    index_fragments([(fragment, vector, made)], model=correction.model)
    ends = {"fragment_id": fragment.id, "other_id": newcomer.id, "kind": LinkKind.RELATED}
    link = Link.objects.create(project_id=evaluation.project_id, **ends)
    done = supersede_claims(evaluation.project_id, dict.fromkeys(opponents, fragment.id), now=evaluation.now)
    done.links += [str(link.id), *left.links]
    return _effects(evaluation, done, opponents, made=[str(fragment.id)], spared=against.spared)


def _keep_pair(
    evaluation: Evaluation, newcomer: Fragment, assertions: Sequence[Assertion], opponents: list[uuid.UUID]
) -> Effects:
    """Both hold at once; each goes on opposing third values."""
    _assign_slots(evaluation, assertions, without=set())
    _activate(evaluation, newcomer, assertions)
    return _effects(evaluation, Succession(), opponents)


def _keep_period(
    evaluation: Evaluation, newcomer: Fragment, assertions: Sequence[Assertion], opponents: list[uuid.UUID]
) -> Effects:
    """One after the other."""
    assertion = _only(assertions, "a text has no period: keep both as a pair, or decide for one")
    others = [assertion_from(evaluation.claims[i]) for i in opponents]
    period, periods = split(assertion, others, at=newcomer.created_at)
    for claim_id, kept in periods.items():
        _set_claim(evaluation, claim_id, valid_from=kept.start, valid_until=kept.end)
        if kept.end is not None:
            evaluation.key_states[place_of(evaluation.claims[claim_id])].close(claim_id, kept)
    _assign_slots(evaluation, [replace(assertion, period=period)], without=set())
    _activate(evaluation, newcomer, assertions)
    return _effects(evaluation, Succession(), opponents)


def _keep_predicate(
    evaluation: Evaluation, newcomer: Fragment, assertions: Sequence[Assertion], opponents: list[uuid.UUID]
) -> Effects:
    """The predicate takes several values from now on."""
    assertion = _only(assertions, "a text has no predicate: keep both as a pair, or decide for one")
    name = evaluation.claims[assertion.id].predicate
    former = make_multi_valued(
        project_id=evaluation.project_id, namespace_id=newcomer.namespace_id, predicate_name=name, now=evaluation.now
    )
    _activate(evaluation, newcomer, assertions)
    values = {"namespace_id": str(newcomer.namespace_id), "predicate_name": name, "former": former}
    return _effects(evaluation, Succession(), opponents, predicate=values)


def _only(assertions: Sequence[Assertion], why: str) -> Assertion:
    if len(assertions) != 1:
        raise NotApplicable(why)
    return assertions[0]


def _effects(evaluation: Evaluation, done: Succession, opponents: Sequence[uuid.UUID], **more: Any) -> Effects:
    fragments = dict.fromkeys(evaluation.claims[i].fragment_id for i in opponents)
    return Effects(done, opponents=list(fragments), **more)


def freed_claims(evaluation: Evaluation, newcomer: uuid.UUID | None) -> list[uuid.UUID]:
    """Which other claims wait on the newcomer's key for nothing but its one value; of one value the strongest."""
    if newcomer not in evaluation.claims:
        return []
    key_state = evaluation.key_states[place_of(evaluation.claims[newcomer])]
    own = key_state.waiting.get(newcomer)
    claims = [*key_state.standing.values(), *([own] if own else [])]
    found = []
    for assertion in sorted(key_state.waiting.values(), key=lambda s: (-s.authority, s.id)):
        texts = any(c.kind != ConflictKind.CLAIM for c in evaluation.pending[assertion.fragment_id])
        if assertion.id != newcomer and not texts and not any(assertion.repeats(other) for other in claims):
            claims.append(assertion)
            found.append(assertion.id)
    return found


def release(evaluation: Evaluation, claim_ids: Iterable[uuid.UUID | None]) -> None:
    """Let these stand."""
    changes = {i: VerdictChange(Status.ACTIVE) for i in claim_ids if i}
    save_verdicts(evaluation.project_id, changes, now=evaluation.now)


KEEPING = {Keep.PAIR: _keep_pair, Keep.PERIOD: _keep_period, Keep.PREDICATE: _keep_predicate}


def _assign_slots(evaluation: Evaluation, assertions: Iterable[Assertion], *, without: set[uuid.UUID]) -> None:
    """Give each claim its period and a slot in which it is alone."""
    for assertion in assertions:
        key_state = evaluation.key_states[place_of(evaluation.claims[assertion.id])]
        period: Period = assertion.period
        slot = key_state.free_slot(assertion, without=without)
        _set_claim(evaluation, assertion.id, slot=slot, valid_from=period.start, valid_until=period.end)
        key_state.standing[assertion.id] = replace(assertion, slot=slot)  # so that the next one finds another


def _set_claim(evaluation: Evaluation, claim_id: uuid.UUID, **values: Any) -> None:
    Claim.objects.within(evaluation.project_id).filter(id=claim_id).update(**values)


def _activate(evaluation: Evaluation, newcomer: Fragment, assertions: Sequence[Assertion]) -> None:
    """Let claims stand, and their fragment with them; a text that claims nothing by itself."""
    save_verdicts(
        evaluation.project_id,
        {assertion.id: VerdictChange(Status.ACTIVE) for assertion in assertions},
        now=evaluation.now,
    )
    if not assertions:
        _set_status(evaluation, newcomer, Status.ACTIVE)


def _archive(evaluation: Evaluation, newcomer: Fragment, claims: Sequence[Claim], *, why: str) -> Succession:
    """Archive claims, and their fragment where nothing of it stands; a text that claims nothing by itself."""
    if not claims:
        _set_status(evaluation, newcomer, Status.ARCHIVED, why=why)
    changes = {claim.id: VerdictChange(Status.ARCHIVED) for claim in claims}
    return supersede(
        evaluation.project_id,
        save_verdicts(evaluation.project_id, changes, now=evaluation.now, why=why),
        now=evaluation.now,
    )


def _set_status(evaluation: Evaluation, fragment: Fragment, status: Status, *, why: str = "") -> None:
    fragment.status, fragment.archived_reason, fragment.updated_at = status, why, evaluation.now
    fragment.save(update_fields=["status", "archived_reason", "updated_at"])
