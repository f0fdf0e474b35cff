"""Deciding: what each action does to both sides of a conflict, and how that is taken back."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from conflicts.admission import Newcomer
from conflicts.cardinality import make_multi_valued, restore_predicate
from conflicts.claims import ClaimDraft, claim_of, stance_of
from conflicts.enums import ConflictKind, Keep, Resolution
from conflicts.evaluation import Evaluation, place_of
from conflicts.gate import Assertion, Period
from conflicts.models import PendingConflict
from conflicts.periods import split
from conflicts.persistence import Succession, supersede, supersede_claims
from conflicts.search_index import index_keywords, place_vectors, refuse_forgotten
from conflicts.verdicts import VerdictChange, put
from memories.errors import NovaError
from memories.models import Claim, EmbeddingModel, Fragment, Link
from memories.models.bulk import insert
from memories.models.enums import STANDING, LinkKind, Status

REJECTED, EDITED, UNDONE = "rejected", "edited", "undone"


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

    def as_json(self) -> dict[str, Any]:
        """For the conflict's row."""
        return {"succession": self.succession.as_json(), "predicate": self.predicate} | {
            "made": self.made,
            "claims_made": self.claims,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """As stored, also before memories and claims were made."""
        done = Succession.from_json(stored["succession"])
        return cls(done, stored["predicate"], stored.get("made", []), stored.get("claims_made", []))

    def take_back(self, project_id: uuid.UUID, *, now: datetime.datetime) -> None:
        """Undoes them."""
        self.succession.take_back(project_id)
        made = Fragment.objects.within(project_id).filter(id__in=self.made)
        made.update(status=Status.ARCHIVED, archived_reason=UNDONE, updated_at=now)
        Claim.objects.within(project_id).filter(id__in=self.claims).delete()
        if self.predicate is not None:
            restore_predicate(
                project_id=project_id,
                namespace_id=uuid.UUID(self.predicate["namespace_id"]),
                predicate_name=self.predicate["predicate_name"],
                former=self.predicate["former"],
                now=now,
            )


def concerned(docket: Evaluation, row: PendingConflict, siblings: Sequence[PendingConflict]) -> set[uuid.UUID]:
    """Every fragment that a decision could change."""
    sides = {side for conflict in (row, *siblings) for side in (conflict.newcomer_id, conflict.existing_id)}
    return {side for side in sides if side} | {claim.fragment_id for claim in docket.claims.values()}


def carry_out(
    docket: Evaluation,
    row: PendingConflict,
    siblings: Sequence[PendingConflict],
    action: str,
    keep: str,
    *,
    correction: Correction | None = None,
) -> Effects:
    """Does it. Raises NotApplicable, CannotSplit, BlockedByErasure."""
    if row.kind == ConflictKind.DISPUTE:
        return _review(docket, row, action)
    if row.kind == ConflictKind.RESTORE:
        return _compare_versions(action)
    newcomer = Fragment.objects.within(row.project_id).filter(id=row.newcomer_id).first()
    if newcomer is None:
        raise NotApplicable("the newcomer was forgotten")
    claims = _decided(docket, row, newcomer)
    if action == Resolution.REJECT:
        return Effects(_leave(docket, newcomer, claims, why=REJECTED))
    if correction is not None:
        return _correct(docket, newcomer, claims, correction, [row, *siblings])
    stances = [stance_of(claim) for claim in claims]
    opponents = _opponents(docket, stances, [row, *siblings])
    if action == Resolution.SUPERSEDE:
        return _supersede(docket, newcomer, stances, opponents, [row, *siblings])
    return KEEPING[Keep(keep)](docket, newcomer, stances, opponents)


def _decided(docket: Evaluation, row: PendingConflict, newcomer: Fragment) -> list[Claim]:
    """The claims of the newcomer that are decided on: the conflict's own, with a text all that wait.

    Also where it does not wait: its place may have been taken before rulings were kept.
    """
    mine = Claim.objects.within(docket.project_id).filter(fragment=newcomer.id).order_by("position")
    found = list(mine.select_related("fragment"))
    if row.kind == ConflictKind.CLAIM:
        found = [claim for claim in found if claim.id == row.challenger]
    else:
        found = [claim for claim in found if claim.verdict in ("", Status.QUARANTINED)]
    docket.claims |= {claim.id: claim for claim in found}
    docket.read({place_of(claim) for claim in found} - docket.ledgers.keys())
    return found


def _review(docket: Evaluation, row: PendingConflict, action: str) -> Effects:
    """A weaker owner doubts a fragment: supersede takes the doubt over, reject dismisses it."""
    if action == Resolution.KEEP_BOTH:
        raise NotApplicable("a dispute has one side only: supersede or reject it")
    existing = Fragment.objects.within(row.project_id).filter(id=row.existing_id).first()
    if existing is None:
        raise NotApplicable("the disputed memory was forgotten")
    if action == Resolution.SUPERSEDE and existing.status == Status.ACTIVE:
        _put(docket, existing, Status.DISPUTED)
    return Effects()


def _compare_versions(action: str) -> Effects:
    """A backup held another version of the same time: the one that stands is kept, the other only shown."""
    if action != Resolution.REJECT:
        raise NotApplicable("store the other version as a new memory, or reject it")
    return Effects()


def _opponents(
    docket: Evaluation, stances: Sequence[Assertion], conflicts: Sequence[PendingConflict]
) -> list[uuid.UUID]:
    """The claims that have to yield: all that stand against these now, and which the conflicts name."""
    named = {conflict.challenged for conflict in conflicts if conflict.challenged}
    found = {i for i in named if i in docket.claims and docket.claims[i].status in STANDING}
    for stance in stances:
        ledger = docket.ledgers[place_of(docket.claims[stance.id])]
        found |= {other.id for other in ledger.opponents(stance)}
    return sorted(found)


def standing_against(docket: Evaluation, newcomers: Iterable[uuid.UUID | None]) -> set[uuid.UUID]:
    """The fragments of all that stand against what these claim, whether or not a conflict names them."""
    claims = Claim.objects.within(docket.project_id).filter(fragment__in=[i for i in newcomers if i])
    return {
        other.fragment_id
        for claim in claims.select_related("fragment")
        if (ledger := docket.ledgers.get(place_of(claim)))
        for other in ledger.opponents(stance_of(claim))
    }


def _supersede(
    docket: Evaluation,
    newcomer: Fragment,
    stances: Sequence[Assertion],
    opponents: list[uuid.UUID],
    conflicts: Sequence[PendingConflict],
) -> Effects:
    _place(docket, stances, without=set(opponents))
    _stand(docket, newcomer, stances)
    successors = dict.fromkeys(opponents, newcomer.id)
    done = supersede_claims(docket.project_id, successors, now=docket.now)
    claims = _claimed(docket, conflicts, newcomer, without=set(opponents))
    return _effects(docket, done, opponents, claims=claims)


def _claimed(
    docket: Evaluation, conflicts: Sequence[PendingConflict], newcomer: Fragment, *, without: set[uuid.UUID]
) -> list[str]:
    """Let a text that was chosen claim what it was read to say: without a claim nothing opposes a third value."""
    held = Claim.objects.within(docket.project_id).filter(fragment=newcomer.id)
    keys, made = {bytes(key) for key in held.values_list("key_digest", flat=True)}, list[Claim]()
    for conflict in conflicts:
        said = conflict.statement
        if not said or conflict.negates or bytes(conflict.key_digest) in keys:
            continue
        keys.add(bytes(conflict.key_digest))
        draft = ClaimDraft(said["subject"], said["predicate"], said["value"], session_id=conflict.session_id)
        names = docket.namings[newcomer.namespace_id]
        claim = claim_of(draft, newcomer, naming=names, now=docket.now, position=held.count() + len(made))
        claim.slot = docket.ledgers[place_of(claim)].free_slot(stance_of(claim), without=without)
        docket.claims[claim.id] = claim
        made.append(claim)
    insert(made)
    return [str(claim.id) for claim in made]


def _correct(
    docket: Evaluation,
    newcomer: Fragment,
    claims: Sequence[Claim],
    correction: Correction,
    conflicts: Sequence[PendingConflict],
) -> Effects:
    """What the person typed stands, in a memory of its own; the challenger is archived as it was written."""
    fragment, vector, drafts = correction.newcomer.fragment, correction.newcomer.vector, correction.newcomer.claims
    refuse_forgotten([fragment])
    made = docket.case(fragment, drafts, ()).claims
    docket.claims |= {claim.id: claim for claim in made}
    docket.read({place_of(claim) for claim in made} - docket.ledgers.keys())
    stances = [stance_of(claim) for claim in made]
    opponents = _opponents(docket, stances, conflicts)
    left = _leave(docket, newcomer, claims, why=EDITED)
    insert([fragment])
    gone = {*opponents, *(claim.id for claim in claims)}
    for claim, stance in zip(made, stances, strict=True):
        claim.slot = docket.ledgers[place_of(claim)].free_slot(stance, without=gone)
    insert(made)
    index_keywords([fragment.id])
    place_vectors([(fragment, vector, made)], model=correction.model)
    ends = {"fragment_id": fragment.id, "other_id": newcomer.id, "kind": LinkKind.RELATED}
    link = Link.objects.create(project_id=docket.project_id, **ends)
    done = supersede_claims(docket.project_id, dict.fromkeys(opponents, fragment.id), now=docket.now)
    done.links += [str(link.id), *left.links]
    return _effects(docket, done, opponents, made=[str(fragment.id)])


def _keep_pair(
    docket: Evaluation, newcomer: Fragment, stances: Sequence[Assertion], opponents: list[uuid.UUID]
) -> Effects:
    """Both hold at once; each goes on opposing third values."""
    _place(docket, stances, without=set())
    _stand(docket, newcomer, stances)
    return _effects(docket, Succession(), opponents)


def _keep_period(
    docket: Evaluation, newcomer: Fragment, stances: Sequence[Assertion], opponents: list[uuid.UUID]
) -> Effects:
    """One after the other."""
    stance = _only(stances, "a text has no period: keep both as a pair, or decide for one")
    others = [stance_of(docket.claims[i]) for i in opponents]
    period, periods = split(stance, others, at=newcomer.created_at)
    for claim_id, kept in periods.items():
        _set_claim(docket, claim_id, valid_from=kept.start, valid_until=kept.end)
        if kept.end is not None:
            docket.ledgers[place_of(docket.claims[claim_id])].close(claim_id, kept.end)
    _place(docket, [replace(stance, period=period)], without=set())
    _stand(docket, newcomer, stances)
    return _effects(docket, Succession(), opponents)


def _keep_predicate(
    docket: Evaluation, newcomer: Fragment, stances: Sequence[Assertion], opponents: list[uuid.UUID]
) -> Effects:
    """The predicate takes several values from now on."""
    stance = _only(stances, "a text has no predicate: keep both as a pair, or decide for one")
    name = docket.claims[stance.id].predicate
    former = make_multi_valued(
        project_id=docket.project_id, namespace_id=newcomer.namespace_id, predicate_name=name, now=docket.now
    )
    _stand(docket, newcomer, stances)
    told = {"namespace_id": str(newcomer.namespace_id), "predicate_name": name, "former": former}
    return _effects(docket, Succession(), opponents, predicate=told)


def _only(stances: Sequence[Assertion], why: str) -> Assertion:
    if len(stances) != 1:
        raise NotApplicable(why)
    return stances[0]


def _effects(docket: Evaluation, done: Succession, opponents: Sequence[uuid.UUID], **more: Any) -> Effects:
    fragments = dict.fromkeys(docket.claims[i].fragment_id for i in opponents)
    return Effects(done, opponents=list(fragments), **more)


def freed(docket: Evaluation, newcomer: uuid.UUID | None) -> list[uuid.UUID]:
    """Which other claims wait on the newcomer's key for nothing but its one value; of one value the strongest."""
    if newcomer not in docket.claims:
        return []
    ledger = docket.ledgers[place_of(docket.claims[newcomer])]
    own = ledger.waiting.get(newcomer)
    said = [*ledger.standing.values(), *([own] if own else [])]
    found = []
    for stance in sorted(ledger.waiting.values(), key=lambda s: (-s.authority, s.id)):
        texts = any(c.kind != ConflictKind.CLAIM for c in docket.pending[stance.fragment_id])
        if stance.id != newcomer and not texts and not any(stance.repeats(other) for other in said):
            said.append(stance)
            found.append(stance.id)
    return found


def release(docket: Evaluation, claim_ids: Iterable[uuid.UUID | None]) -> None:
    """Lets these stand."""
    changes = {i: VerdictChange(Status.ACTIVE) for i in claim_ids if i}
    put(docket.project_id, changes, now=docket.now)


KEEPING = {Keep.PAIR: _keep_pair, Keep.PERIOD: _keep_period, Keep.PREDICATE: _keep_predicate}


def _place(docket: Evaluation, stances: Iterable[Assertion], *, without: set[uuid.UUID]) -> None:
    """Gives each claim its period and a slot in which it is alone."""
    for stance in stances:
        ledger = docket.ledgers[place_of(docket.claims[stance.id])]
        period: Period = stance.period
        slot = ledger.free_slot(stance, without=without)
        _set_claim(docket, stance.id, slot=slot, valid_from=period.start, valid_until=period.end)
        ledger.standing[stance.id] = replace(stance, slot=slot)  # so that the next one finds another


def _set_claim(docket: Evaluation, claim_id: uuid.UUID, **values: Any) -> None:
    Claim.objects.within(docket.project_id).filter(id=claim_id).update(**values)


def _stand(docket: Evaluation, newcomer: Fragment, stances: Sequence[Assertion]) -> None:
    """Lets claims stand, and their fragment with them; a text that claims nothing by itself."""
    put(docket.project_id, {stance.id: VerdictChange(Status.ACTIVE) for stance in stances}, now=docket.now)
    if not stances:
        _put(docket, newcomer, Status.ACTIVE)


def _leave(docket: Evaluation, newcomer: Fragment, claims: Sequence[Claim], *, why: str) -> Succession:
    """Archives claims, and their fragment where nothing of it stands; a text that claims nothing by itself."""
    if not claims:
        _put(docket, newcomer, Status.ARCHIVED, why=why)
    changes = {claim.id: VerdictChange(Status.ARCHIVED) for claim in claims}
    return supersede(docket.project_id, put(docket.project_id, changes, now=docket.now, why=why), now=docket.now)


def _put(docket: Evaluation, fragment: Fragment, status: Status, *, why: str = "") -> None:
    fragment.status, fragment.archived_reason, fragment.updated_at = status, why, docket.now
    fragment.save(update_fields=["status", "archived_reason", "updated_at"])
