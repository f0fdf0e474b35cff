"""Resolution: a person decides what waits, once, as they saw it; and may take it back (docs/spec.md §4, conflicts)."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from conflicts import authority, rulings
from conflicts.enums import Ballot, ConflictKind, Keep, Resolution
from conflicts.evaluation import Evaluation
from conflicts.key_migration import ClaimsCollide
from conflicts.keys import Naming
from conflicts.locks import Place, lock_keys, lock_namespace, lock_namespaces
from conflicts.models import PendingConflict, Vote
from conflicts.persistence import ensure_conflicts, one_value_checked_at_the_end, pair_as_before
from conflicts.reconciliation import refuse_decided
from conflicts.registry import refuse_low_rule
from conflicts.resolution import actions
from conflicts.resolution.actions import Correction, Effects, NotApplicable
from conflicts.resolution.readmission import barred_by_rulings, hear_freed
from conflicts.search_index import refuse_forgotten_words
from conflicts.snapshots import MAKE_ROOM, TAKEN, CannotUndo, bring_back, changed_since, refuse_rivals, snapshot
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.errors import NovaError, StaleRevision
from memories.models import Claim, Fragment
from memories.models.enums import OPEN, STANDING


class AlreadyResolved(NovaError):
    """Somebody settled it before."""

    code = "already_resolved"
    title = "Settled before you"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a person decides: the action, how both are kept, the revision that was seen, and why.

    `ruling` lets it hold where the newest reading would answer; `correction` stands in place of the challenger;
    `protect` chooses, beside rejecting the challenger, what stands.
    """

    action: str
    revision: int
    keep: str = Keep.PAIR
    note: str = ""
    ruling: bool = False
    correction: Correction | None = None
    protect: bool = False


def resolve(
    principal: Principal, conflict_id: uuid.UUID, settlement: Settlement, *, now: datetime.datetime
) -> PendingConflict:
    """Settle a conflict together with the others of the same newcomer.

    Raise NotFound, NotPermitted (also for a ruling of a higher ceiling), AlreadyResolved, StaleRevision,
    NotApplicable, CannotSplit, BlockedByErasure; nothing changes then.
    """
    with access.enter(principal, why="resolve"):
        alone = (settlement.action, settlement.keep) == (Resolution.KEEP_BOTH, Keep.PREDICATE)
        row, places = _lock_conflict(principal, conflict_id, alone=alone)
        if row.resolved_at is not None:
            raise AlreadyResolved(f"this conflict was settled: {row.resolution}")
        if row.revision != settlement.revision:
            raise StaleRevision("conflict", current=row.revision)
        if settlement.protect and row.kind not in (ConflictKind.CLAIM, ConflictKind.TEXT):
            raise NotApplicable("nothing stands here that could be protected")
        rank = authority.rank_of(principal)
        refuse_forgotten_words(row.project_id, row.namespace_id, [settlement.note], authority=rank)
        siblings = _siblings(row)
        evaluation = _evaluation(row, places, now=now)
        if alone:
            siblings = [*siblings, *_freed_conflicts(evaluation, row, principal)]
        decider = decider_of(principal, [row, *siblings], _names(evaluation, row), settlement)
        against = actions.opposition(evaluation, actions.challengers([row, *siblings]), [row, *siblings], decider)
        if settlement.action != Resolution.REJECT:
            rulings.refuse_weaker(principal, _overruled_rulings(evaluation, against.yielding))
        _refuse_low(principal, evaluation, [row, *siblings], settlement, against.yielding)
        touched = actions.affected_fragments(evaluation, row, siblings)
        before = snapshot(row.project_id, touched)
        pairs = {str(c.id): c.opponent() for rows in evaluation.pending.values() for c in rows}
        effects = _apply(evaluation, row, siblings, settlement, decider)
        _note(row, siblings, settlement, effects, principal, now=now)
        row.save()
        ruled = _decided([row, *siblings], settlement, effects, principal)
        rulings.record([row, *siblings], ruled, _names(evaluation, row), now=now)
        effects.contests = _face_ruling(_evaluation(row, places, now=now), places, effects.spared, known=pairs)
        after = snapshot(row.project_id, {*touched, *map(uuid.UUID, effects.made)})
        changed = {key: state for key, state in before.items() if state != after[key]}
        row.before = {
            "fragments": changed,
            "after": {key: after[key] for key in [*changed, *effects.made]},
            "siblings": [str(sibling.id) for sibling in siblings],
            "pairs": pairs,
            **effects.as_json(),
        }
        row.save()
        return row


def _apply(
    evaluation: Evaluation,
    row: PendingConflict,
    siblings: list[PendingConflict],
    settlement: Settlement,
    decider: actions.Decider,
) -> Effects:
    action, keep, typed = settlement.action, settlement.keep, settlement.correction
    try:
        with one_value_checked_at_the_end():
            effects = actions.apply_decision(evaluation, row, siblings, action, keep, decider=decider, correction=typed)
            if (action, keep) == (Resolution.KEEP_BOTH, Keep.PREDICATE):
                actions.release(evaluation, {s.challenger for s in siblings} - {row.challenger})
    except IntegrityError as error:
        raise NotApplicable("another claim holds at that time: settle it first") from error
    return effects


def _refuse_low(
    principal: Principal,
    evaluation: Evaluation,
    conflicts: list[PendingConflict],
    settlement: Settlement,
    against: Iterable[uuid.UUID],
) -> None:
    """Raise NotPermitted when somebody above the principal's ceiling would yield, or get another value beside it."""
    newcomers = {conflict.newcomer_id for conflict in conflicts}
    if settlement.action == Resolution.REJECT:
        yielding = newcomers
    else:
        yielding = {conflict.existing_id for conflict in conflicts}
        yielding |= {evaluation.claims[claim_id].fragment_id for claim_id in against}
        yielding |= newcomers if settlement.correction else set()
    rows = Fragment.objects.within(evaluation.project_id).filter(id__in=yielding)
    authority.refuse_below(principal, rows.values_list("authority", flat=True), what="what this decides on")
    if (settlement.action, settlement.keep) == (Resolution.KEEP_BOTH, Keep.PREDICATE):
        for claim in [claim for claim in evaluation.claims.values() if claim.fragment_id in newcomers]:
            names = evaluation.namings[claim.namespace_id]
            refuse_low_rule(principal, claim.namespace_id, names, [claim.predicate])


def decider_of(
    principal: Principal, conflicts: Sequence[PendingConflict], names: Naming, settlement: Settlement
) -> actions.Decider:
    """Return whoever decides so, and where that leaves a ruling for one value alone."""
    alone = settlement.action == Resolution.SUPERSEDE
    keys = rulings.ruled_keys(conflicts, names, asked_for=settlement.ruling) if alone else frozenset[bytes]()
    return actions.Decider(authority.rank_of(principal), principal.owner_id, keys)


def _face_ruling(
    evaluation: Evaluation, places: set[Place], spared: set[uuid.UUID], *, known: Collection[str]
) -> list[str]:
    """Let everything on the keys face what was decided. Return the new conflicts of what the decision spared."""
    for key_state in evaluation.key_states.values():
        key_state.contesting |= spared & key_state.standing.keys()
    found = ensure_conflicts(evaluation, places, decided=True)
    rows = [row for rows in found.values() for row in rows if row.newcomer_claim in spared]
    return [str(row.id) for row in rows if str(row.id) not in known]


def _decided(
    conflicts: Sequence[PendingConflict], settlement: Settlement, effects: Effects, principal: Principal
) -> rulings.Decided:
    made = next(map(uuid.UUID, effects.made), None)
    protected = [conflict.existing_id for conflict in conflicts if settlement.protect and conflict.existing_id]
    return rulings.Decided(
        settlement.action,
        conflicts[0].newcomer_id,
        protected or effects.opponents,
        by=principal,
        note=settlement.note,
        asked_for=settlement.ruling or settlement.protect,
        made=made,
        protects=settlement.protect,
    )


def _names(evaluation: Evaluation, row: PendingConflict) -> Naming:
    return evaluation.namings[row.namespace_id]


def _overruled_rulings(evaluation: Evaluation, ids: Iterable[uuid.UUID]) -> list[tuple[int, uuid.UUID | None]]:
    """Return the rulings, by authority and whose they are, that chose these claims."""
    standing = [assertion for key_state in evaluation.key_states.values() for assertion in key_state.standing.values()]
    return [
        (assertion.ruling, assertion.ruled_by) for assertion in standing if assertion.id in ids and assertion.ruling
    ]


def undo(principal: Principal, conflict_id: uuid.UUID, *, now: datetime.datetime) -> PendingConflict:
    """Take a decision back: everything is as before it, and the conflict waits again.

    Raise NotFound, NotPermitted, CannotUndo with what stands in the way.
    """
    with access.enter(principal, why="undo"):
        row, places = _lock_conflict(principal, conflict_id, alone=True)
        if row.before and "settled_with" in row.before:
            row, places = _lock_conflict(principal, uuid.UUID(row.before["settled_with"]), alone=True)
        if row.resolved_at is None or row.before is None:
            raise CannotUndo("there is no decision of a person to take back")
        if row.kind == ConflictKind.DISPUTE and (row.existing is None or row.existing.status not in STANDING):
            raise CannotUndo("what was disputed does not stand any more")
        done: dict[str, Any] = row.before
        settled_ids = [row.id, *map(uuid.UUID, done["siblings"])]
        rulings_undone = rulings.of_conflicts(row.project_id, settled_ids).values()
        rulings.refuse_weaker(principal, [(one.authority, one.decided_by) for one in rulings_undone])
        sides = Fragment.objects.within(row.project_id).filter(id__in={*done["fragments"], *done.get("made", ())})
        authority.refuse_below(principal, sides.values_list("authority", flat=True), what="what this was decided on")
        if changed := changed_since(row.project_id, done["after"]):
            raise CannotUndo("these memories were changed since, or forgotten", changed)
        barred = barred_by_rulings(row, places, now=now)
        rulings.withdraw(settled_ids, row.project_id)
        try:
            with transaction.atomic(), one_value_checked_at_the_end():
                bring_back(row.project_id, done["fragments"], now=now)
                Effects.from_json(done).take_back(row.project_id, now=now)
        except StaleRevision as error:
            raise CannotUndo("the predicate's rule was changed since", then="change that rule instead") from error
        except (IntegrityError, ClaimsCollide) as error:
            decided = {*done["fragments"], *done.get("made", ())}
            raise CannotUndo(TAKEN, _others(row, places, error, decided), then=MAKE_ROOM) from error
        restored = {uuid.UUID(key) for key in done["fragments"]}
        known = {*restored, row.newcomer_id}
        evaluation = _evaluation(row, places, now=now)
        refuse_decided(evaluation, restored | set(map(uuid.UUID, done.get("made", ()))), since=row.resolved_at)
        refuse_rivals(evaluation, restored, known=known, since=row.resolved_at)
        settled = PendingConflict.objects.within(row.project_id).filter(id__in=settled_ids)
        for conflict in settled:
            conflict.reopen()
        pair_as_before(row.project_id, done["pairs"], ended_at=row.resolved_at)
        ensure_conflicts(_evaluation(row, places, now=now), places)
        hear_freed(barred.without(barred_by_rulings(row, places, now=now)), but=restored, now=now)
        row.refresh_from_db()
        return row


def _others(row: PendingConflict, places: set[Place], error: Exception, decided: set[str]) -> set[str]:
    """Return the memories, but for those that were decided on, that could not stand with what would stand again."""
    if isinstance(error, ClaimsCollide):
        found = {str(side) for pair in error.pairs for side in (pair.one, pair.other)}
    else:
        evaluation = _evaluation(row, places, now=row.resolved_at or row.created_at)
        found = {
            str(one.fragment_id) for key_state in evaluation.key_states.values() for one in key_state.standing.values()
        }
    return found - decided


def visible_conflicts(principal: Principal) -> Any:
    """Return the conflicts in the namespaces that the principal reads, with both sides at hand."""
    rows = PendingConflict.objects.within(principal.project_id)
    rows = rows.select_related("project", "namespace", "newcomer", "existing")
    return rows.filter(namespace__in=access.readable_scopes(principal))


def visible_conflict(principal: Principal, conflict_id: uuid.UUID) -> PendingConflict:
    """Return one of them. Raise NotFound."""
    row: PendingConflict | None = visible_conflicts(principal).filter(id=conflict_id).first()
    if row is None:
        raise NotFound("conflict")
    return with_claims([row])[0]


def with_claims(rows: Iterable[PendingConflict]) -> list[PendingConflict]:
    """Return the conflicts with the claims of both sides at hand, in one query; of a text the first of its claims."""
    found = list(rows)
    ids = {side for row in found for side in (row.challenger, row.challenged) if side}
    claims = Claim.objects.within(found[0].project_id).in_bulk(list(ids)) if ids else {}
    for row in found:
        row.new_claim, row.old_claim = claims.get(row.challenger), claims.get(row.challenged)
    return found


def waiting(
    principal: Principal,
    *,
    status: str = "pending",
    kind: str | None = None,
    namespace: str | None = None,
    subject: str | None = None,
    predicate: str | None = None,
) -> Any:
    """The conflicts of a status (pending, resolved, all), narrowed down; keys in any spelling. Raise NotFound."""
    rows = visible_conflicts(principal)
    if status != "all":
        rows = rows.filter(resolved_at__isnull=status == "pending")
    if kind:
        rows = rows.filter(kind=kind)
    return rulings.narrowed(rows, principal, namespace=namespace, subject=subject, predicate=predicate)


def _lock_conflict(principal: Principal, conflict_id: uuid.UUID, *, alone: bool) -> tuple[PendingConflict, set[Place]]:
    """Return the conflict and the keys that it concerns, locked in the order of `locking`."""
    row = visible_conflict(principal, conflict_id)
    principal.require("review")
    principal.require_covered(row.namespace.name)
    if principal.kind == "key" and principal.owner_id in _authors(row):
        raise NotPermitted("a key can't settle what its owner wrote or doubted: a person does")
    if alone:
        lock_namespace(row.namespace_id)
    else:
        lock_namespaces([row.namespace_id], claims=1)
    places = _keys_concerned(row)
    if not alone:
        lock_keys(places)
    rows = Fragment.objects.within(row.project_id).select_for_update(no_key=True)
    list(rows.filter(id__in=_fragments(row, places)).order_by("id").values_list("id"))
    held = PendingConflict.objects.within(row.project_id).select_for_update().filter(id=row.id).first()
    if held is None:
        raise NotFound("conflict")
    return held, places


def _authors(row: PendingConflict) -> set[uuid.UUID | None]:
    """Who wrote what a decision concerns, the newcomer's other opponents too, and who doubts what is disputed."""
    concerned = _involved(row)
    fragments = Fragment.objects.within(row.project_id).filter(id__in=concerned)
    authors = set(fragments.values_list("owner_id", flat=True))
    if row.kind == ConflictKind.DISPUTE:
        doubts = Vote.objects.within(row.project_id).filter(fragment=row.existing_id, ballot=Ballot.DISPUTE)
        authors |= set(doubts.values_list("owner_id", flat=True))
    return authors


def _involved(row: PendingConflict) -> set[uuid.UUID]:
    """Return both sides, and those of the newcomer's other conflicts, whichever of its claims these are about."""
    conflicts = PendingConflict.objects.within(row.project_id).filter(id=row.id)
    if row.newcomer_id:
        conflicts |= PendingConflict.objects.within(row.project_id).filter(newcomer=row.newcomer_id)
    return {side for pair in conflicts.values_list("newcomer_id", "existing_id") for side in pair if side}


def _keys_concerned(row: PendingConflict) -> set[Place]:
    """Return the keys of all that a decision concerns."""
    claims = Claim.objects.within(row.project_id).filter(fragment__in=_involved(row))
    return {(claim.namespace_id, bytes(claim.key_digest)) for claim in claims}


def _fragments(row: PendingConflict, places: set[Place]) -> set[uuid.UUID]:
    standing = Claim.objects.within(row.project_id).filter(
        namespace__in={namespace_id for namespace_id, _ in places}, key_digest__in={key for _, key in places}
    )
    ids = set(standing.filter(status__in=OPEN).values_list("fragment_id", flat=True))
    return ids | {side for side in (row.newcomer_id, row.existing_id) if side}


def _siblings(row: PendingConflict) -> list[PendingConflict]:
    if row.newcomer_id is None:
        return []
    rows = PendingConflict.objects.within(row.project_id).pending().select_for_update().exclude(id=row.id)
    siblings = list(rows.filter(newcomer=row.newcomer_id).order_by("created_at", "id"))
    if any(conflict.kind != ConflictKind.CLAIM for conflict in (row, *siblings)):
        return siblings  # with a text all that it claims is decided
    return [conflict for conflict in siblings if conflict.newcomer_claim == row.newcomer_claim]


def _freed_conflicts(evaluation: Evaluation, row: PendingConflict, principal: Principal) -> list[PendingConflict]:
    """Return the conflicts of the key's other newcomers, whom nobody opposes any more once it takes many values.

    A key's own newcomers go on waiting for somebody else.
    """
    freed = actions.freed_claims(evaluation, row.challenger)
    if principal.kind == "key":
        freed = [i for i in freed if evaluation.claims[i].fragment.owner_id != principal.owner_id]
    rows = PendingConflict.objects.within(row.project_id).pending().select_for_update().exclude(id=row.id)
    return list(rows.filter(newcomer_claim__in=freed).order_by("created_at", "id"))


def _evaluation(row: PendingConflict, places: set[Place], *, now: datetime.datetime) -> Evaluation:
    evaluation = Evaluation(row.project_id, [row.namespace_id], claims=0, now=now)
    evaluation.read(places)
    return evaluation


def _note(
    row: PendingConflict,
    siblings: list[PendingConflict],
    settlement: Settlement,
    effects: Effects,
    principal: Principal,
    *,
    now: datetime.datetime,
) -> None:
    """Write down who decided what, when and why, in the conflict and in its siblings."""
    keep = settlement.keep if settlement.action == Resolution.KEEP_BOTH else ""
    for conflict in (row, *siblings):
        conflict.resolution, conflict.keep, conflict.note = settlement.action, keep, settlement.note
        conflict.resolved_at, conflict.resolved_by = now, principal.owner_id
        conflict.revision += 1
    for sibling in siblings:
        sibling.before = {"settled_with": str(row.id)}
        sibling.save()
