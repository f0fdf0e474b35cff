"""Deciding: what each action does to both sides of a conflict, and how that is taken back."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from conflicts.admission import Newcomer
from conflicts.cardinality import make_multi_valued, restore_predicate
from conflicts.claims import claim_of, stance_of
from conflicts.docket import Docket, place_of
from conflicts.gate import Period, Stance
from conflicts.models import PendingConflict
from conflicts.placing import index_keywords, place_vectors, refuse_forgotten
from conflicts.recording import Succession, supersede
from conflicts.splitting import split
from conflicts.words import Keep, Kind, Resolution
from memories.models import Claim, EmbeddingModel, Fragment, Link
from memories.models.bulk import insert
from memories.models.words import STANDING, LinkKind, Status

REJECTED, EDITED, UNDONE = "rejected", "edited", "undone"


class NotApplicable(Exception):
    """This decision makes no sense for this conflict."""


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
    # Who had to yield, or was kept; not needed to take it back.
    opponents: list[uuid.UUID] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For the conflict's row."""
        return {"succession": self.succession.as_json(), "predicate": self.predicate, "made": self.made}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """As stored, also before memories were made."""
        return cls(Succession.from_json(stored["succession"]), stored["predicate"], stored.get("made", []))

    def take_back(self, project_id: uuid.UUID, *, now: datetime.datetime) -> None:
        """Undoes them."""
        self.succession.take_back(project_id)
        made = Fragment.objects.within(project_id).filter(id__in=self.made)
        made.update(status=Status.ARCHIVED, archived_reason=UNDONE, updated_at=now)
        if self.predicate is not None:
            restore_predicate(
                project_id=project_id,
                namespace_id=uuid.UUID(self.predicate["namespace_id"]),
                predicate_name=self.predicate["predicate_name"],
                former=self.predicate["former"],
                now=now,
            )


def concerned(docket: Docket, row: PendingConflict, siblings: Sequence[PendingConflict]) -> set[uuid.UUID]:
    """Every fragment that a decision could change."""
    sides = {side for conflict in (row, *siblings) for side in (conflict.newcomer_id, conflict.existing_id)}
    return {side for side in sides if side} | set(docket.claims)


def carry_out(
    docket: Docket,
    row: PendingConflict,
    siblings: Sequence[PendingConflict],
    action: str,
    keep: str,
    *,
    correction: Correction | None = None,
) -> Effects:
    """Does it. Raises NotApplicable, CannotSplit, BlockedByErasure."""
    if row.kind == Kind.DISPUTE:
        return _review(docket, row, action)
    if row.kind == Kind.RESTORE:
        return _compare_versions(action)
    newcomer = Fragment.objects.within(row.project_id).filter(id=row.newcomer_id).first()
    if newcomer is None:
        raise NotApplicable("the newcomer was forgotten")
    if action == Resolution.REJECT:
        _put(docket, newcomer, Status.ARCHIVED, why=REJECTED)
        return Effects()
    stance = _stance(docket, newcomer)
    if correction is not None:
        return _correct(docket, newcomer, correction, [row, *siblings])
    opponents = _opponents(docket, stance, [row, *siblings])
    if action == Resolution.SUPERSEDE:
        return _supersede(docket, newcomer, stance, opponents)
    return KEEPING[Keep(keep)](docket, newcomer, stance, opponents)


def _review(docket: Docket, row: PendingConflict, action: str) -> Effects:
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


def _stance(docket: Docket, newcomer: Fragment) -> Stance | None:
    """What it claims, also where it does not wait: its place may have been taken before rulings were kept."""
    if newcomer.id not in docket.claims:
        rows = Claim.objects.within(docket.project_id).select_related("fragment")
        docket.claims |= {claim.fragment_id: claim for claim in rows.filter(fragment=newcomer.id)}
    claim = docket.claims.get(newcomer.id)
    return stance_of(claim) if claim else None


def _opponents(docket: Docket, stance: Stance | None, conflicts: Sequence[PendingConflict]) -> list[uuid.UUID]:
    """Who has to yield: all that stand against it now, and whom the conflicts name."""
    named = {conflict.existing_id for conflict in conflicts if conflict.existing_id}
    found = {i for i in named if i in docket.claims and docket.claims[i].fragment.status in STANDING}
    if stance is not None:
        ledger = docket.ledgers[place_of(docket.claims[stance.fragment_id])]
        found |= {other.fragment_id for other in ledger.opponents(stance)}
    return sorted(found)


def standing_against(docket: Docket, newcomers: Iterable[uuid.UUID | None]) -> list[uuid.UUID]:
    """All that stand against what these claim, whether or not a conflict names them."""
    stances = [_stance(docket, row) for row in Fragment.objects.within(docket.project_id).filter(id__in=newcomers)]
    return [i for stance in stances if stance for i in _opponents(docket, stance, [])]


def _supersede(docket: Docket, newcomer: Fragment, stance: Stance | None, opponents: list[uuid.UUID]) -> Effects:
    _place(docket, stance, without=set(opponents))
    _put(docket, newcomer, Status.ACTIVE)
    successors = dict.fromkeys(opponents, newcomer.id)
    return Effects(supersede(docket.project_id, successors, now=docket.now), opponents=opponents)


def _correct(
    docket: Docket, newcomer: Fragment, correction: Correction, conflicts: Sequence[PendingConflict]
) -> Effects:
    """What the person typed stands, in a memory of its own; the challenger is archived as it was written."""
    fragment, vector, draft = correction.newcomer.fragment, correction.newcomer.vector, correction.newcomer.claim
    refuse_forgotten([fragment])
    claim = stance = None
    if draft is not None:
        claim = claim_of(draft, fragment, naming=docket.namings[fragment.namespace_id], now=docket.now)
        docket.claims[fragment.id], stance = claim, stance_of(claim)
    opponents = _opponents(docket, stance, conflicts)
    _put(docket, newcomer, Status.ARCHIVED, why=EDITED)
    insert([fragment])
    if claim is not None and stance is not None:
        ledger = docket.ledgers[place_of(claim)]
        claim.slot = ledger.free_slot(stance, without={*opponents, newcomer.id})
        insert([claim])
    index_keywords([fragment.id])
    place_vectors([(fragment, vector, claim)], model=correction.model)
    ends = {"fragment_id": fragment.id, "other_id": newcomer.id, "kind": LinkKind.RELATED}
    link = Link.objects.create(project_id=docket.project_id, **ends)
    done = supersede(docket.project_id, dict.fromkeys(opponents, fragment.id), now=docket.now)
    done.links.append(str(link.id))
    return Effects(done, made=[str(fragment.id)], opponents=opponents)


def _keep_pair(docket: Docket, newcomer: Fragment, stance: Stance | None, opponents: list[uuid.UUID]) -> Effects:
    """Both hold at once; each goes on opposing third values."""
    _place(docket, stance, without=set())
    _put(docket, newcomer, Status.ACTIVE)
    return Effects(opponents=opponents)


def _keep_period(docket: Docket, newcomer: Fragment, stance: Stance | None, opponents: list[uuid.UUID]) -> Effects:
    """One after the other."""
    if stance is None:
        raise NotApplicable("a text has no period: keep both as a pair, or decide for one")
    others = [stance_of(docket.claims[i]) for i in opponents]
    period, periods = split(stance, others, at=newcomer.created_at)
    for fragment_id, kept in periods.items():
        _set_claim(docket, fragment_id, valid_from=kept.start, valid_until=kept.end)
        if kept.end is not None:
            docket.ledgers[place_of(docket.claims[fragment_id])].close(fragment_id, kept.end)
    _place(docket, replace(stance, period=period), without=set())
    _put(docket, newcomer, Status.ACTIVE)
    return Effects(opponents=opponents)


def _keep_predicate(docket: Docket, newcomer: Fragment, stance: Stance | None, opponents: list[uuid.UUID]) -> Effects:
    """The predicate takes several values from now on."""
    if stance is None:
        raise NotApplicable("a text has no predicate: keep both as a pair, or decide for one")
    name = docket.claims[newcomer.id].predicate
    former = make_multi_valued(
        project_id=docket.project_id, namespace_id=newcomer.namespace_id, predicate_name=name, now=docket.now
    )
    _put(docket, newcomer, Status.ACTIVE)
    told = {"namespace_id": str(newcomer.namespace_id), "predicate_name": name, "former": former}
    return Effects(predicate=told, opponents=opponents)


def freed(docket: Docket, newcomer: uuid.UUID | None) -> list[uuid.UUID]:
    """Who else waits on the newcomer's key for nothing but its one value; of several with one value the strongest."""
    if newcomer not in docket.claims:
        return []
    ledger = docket.ledgers[place_of(docket.claims[newcomer])]
    own = ledger.waiting.get(newcomer)
    said = [*ledger.standing.values(), *([own] if own else [])]
    found = []
    for stance in sorted(ledger.waiting.values(), key=lambda s: (-s.authority, s.fragment_id)):
        texts = any(c.kind != Kind.CLAIM for c in docket.pending[stance.fragment_id])
        if stance.fragment_id != newcomer and not texts and not any(stance.repeats(other) for other in said):
            said.append(stance)
            found.append(stance.fragment_id)
    return found


def release(docket: Docket, fragment_ids: Iterable[uuid.UUID | None]) -> None:
    """Lets these stand."""
    for fragment in Fragment.objects.within(docket.project_id).filter(id__in=list(fragment_ids)).order_by("id"):
        _put(docket, fragment, Status.ACTIVE)


KEEPING = {Keep.PAIR: _keep_pair, Keep.PERIOD: _keep_period, Keep.PREDICATE: _keep_predicate}


def _place(docket: Docket, stance: Stance | None, *, without: set[uuid.UUID]) -> None:
    """Gives a claim its period and a slot in which it is alone."""
    if stance is None:
        return
    ledger = docket.ledgers[place_of(docket.claims[stance.fragment_id])]
    slot = ledger.free_slot(stance, without=without)
    period: Period = stance.period
    _set_claim(docket, stance.fragment_id, slot=slot, valid_from=period.start, valid_until=period.end)


def _set_claim(docket: Docket, fragment_id: uuid.UUID, **values: Any) -> None:
    Claim.objects.within(docket.project_id).filter(fragment=fragment_id).update(**values)


def _put(docket: Docket, fragment: Fragment, status: Status, *, why: str = "") -> None:
    fragment.status, fragment.archived_reason, fragment.updated_at = status, why, docket.now
    fragment.save(update_fields=["status", "archived_reason", "updated_at"])
