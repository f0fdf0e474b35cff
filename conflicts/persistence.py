"""Persistence: verdicts become rows. Everything happens in the open transaction, after the locks were taken."""

import datetime
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from django.db import connection
from django.db.models import Q

from conflicts.enums import ConflictKind, ConflictReason, Resolution
from conflicts.evaluation import Assessment, Contradiction, Evaluation, place_of
from conflicts.former_periods import former_periods, lengthen
from conflicts.gate import Assertion, why_not_replaced
from conflicts.key_state import KeyState, pair_conflicts
from conflicts.locks import Place
from conflicts.models import PendingConflict, save_faced
from conflicts.rulings import count_repeats
from conflicts.verdicts import VerdictChange, save_verdicts
from conflicts.votes import Voter, corroborate, roots_of
from memories.models import Claim, Fragment, Link
from memories.models.enums import OPEN, STANDING, ClaimScope, LinkKind, Status

MOST_TAGS = 100


@contextmanager
def one_value_checked_at_the_end(needed: bool = True) -> Iterator[None]:
    """Lets a claim and the one that it replaces change places; both active at the end is still impossible."""
    if not needed:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS claim_one_value DEFERRED")
        yield
        cursor.execute("SET CONSTRAINTS claim_one_value IMMEDIATE")


def record(
    evaluation: Evaluation, cases: Sequence[Assessment], *, left: Iterable[Place] = ()
) -> dict[uuid.UUID, list[PendingConflict]]:
    """Write what was decided beside the newcomers' own rows; answer the pending conflicts by newcomer.

    `left` are the keys on which a changed fragment stood before.
    """
    successors: dict[uuid.UUID, uuid.UUID] = {}
    for case in cases:
        successors |= dict.fromkeys(case.superseded, case.fragment.id)
        for claim_id, rest in (closed for verdict in case.verdicts for closed in verdict.closed):
            rows = Claim.objects.within(evaluation.project_id).filter(id=claim_id)
            rows.update(valid_from=rest.start, valid_until=rest.end)
        for fragment in {evaluation.claims[i].fragment_id: evaluation.claims[i].fragment for i in case.twins}.values():
            _said_again(fragment, case.fragment, whole=bool(case.repeats), now=evaluation.now)
    seen = {twin for case in cases for twin in case.twins}
    if seen:
        Claim.objects.within(evaluation.project_id).filter(id__in=seen).update(last_seen_at=evaluation.now)
    _count_repetitions(evaluation, cases)
    fallen = supersede_claims(evaluation.project_id, successors, now=evaluation.now).fallen
    for case in cases:
        case.fallen = [old for old, new in fallen.items() if new == case.fragment.id]
    barring = [i for case in cases for i in {case.ruling_id, *(verdict.ruling_id for verdict in case.verdicts)}]
    count_repeats(evaluation.project_id, barring, now=evaluation.now)
    # What is archived changes nothing on its key.
    said = [part for case in cases for part in case.said]
    touched = {place_of(one.claim) for one in said if not (one.verdict and one.verdict.status == Status.ARCHIVED)}
    for place in set(left) - touched:
        for case in cases:
            evaluation.key_states[place].forget_fragment(case.fragment.id)
        touched.add(place)
    found = ensure_conflicts(evaluation, touched)
    for case in cases:
        # What stands against rulings only waits for a decision, too.
        if case.contradictions and case.fragment.status in OPEN:
            found[case.fragment.id] += _text_conflicts(evaluation, case)
    return found


@dataclass(slots=True)
class Succession:
    """What a succession did beside the fragments: conflicts that moved or ended, links that were made."""

    # conflict id: the opponent that it had
    moved: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    # conflict id: that opponent's claim
    claims: dict[str, str | None] = field(default_factory=dict)
    # Which fragments fell, to whom; not needed to take it back.
    fallen: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For a conflict's row."""
        return {"moved": self.moved, "ended": self.ended, "links": self.links, "claims": self.claims}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """As stored."""
        return cls(**stored)

    def take_back(self, project_id: uuid.UUID) -> None:
        """Undo it."""
        Link.objects.within(project_id).filter(id__in=self.links).delete()
        pending = PendingConflict.objects.within(project_id)
        for row in pending.filter(id__in=self.ended, resolution=Resolution.OBSOLETE):
            row.reopen()
        for row in pending.pending().filter(id__in=self.moved):
            row.existing_id = uuid.UUID(self.moved[str(row.id)])
            row.existing_claim = self.claims.get(str(row.id), self.moved[str(row.id)])
            row.revision += 1
            row.save(update_fields=["existing", "existing_claim", "revision"])


def supersede(project_id: uuid.UUID, successors: dict[uuid.UUID, uuid.UUID], *, now: datetime.datetime) -> Succession:
    """Mark what was replaced, link it, and move what was pending against it to its successor."""
    if not successors:
        return Succession()
    old, new = list(successors), list(successors.values())
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE memories_fragment f SET status = 'superseded', superseded_by_id = t.new, updated_at = %s
               FROM unnest(%s::uuid[], %s::uuid[]) AS t (old, new) WHERE f.project_id = %s AND f.id = t.old""",
            [now, old, new, project_id],
        )
    links = [
        Link(project_id=project_id, fragment_id=after, other_id=before, kind=LinkKind.SUPERSEDES)
        for before, after in successors.items()
    ]
    Link.objects.bulk_create(links, ignore_conflicts=True)
    done = Succession(links=[str(link.id) for link in links], fallen=dict(successors))
    pending = PendingConflict.objects.within(project_id).pending()
    for row in (
        pending.filter(newcomer__in=old, kind=ConflictKind.CLAIM).select_for_update().order_by("created_at", "id")
    ):
        done.ended.append(str(row.id))
        row.end(now=now)
    challenges = pending.filter(existing__in=old, kind__in=[ConflictKind.TEXT, ConflictKind.DISPUTE])
    _move(challenges, successors, done, now=now)
    return done


def supersede_claims(
    project_id: uuid.UUID, successors: dict[uuid.UUID, uuid.UUID], *, now: datetime.datetime
) -> Succession:
    """Mark claims as replaced by fragments; a fragment of which nothing stands any more is superseded whole."""
    if not successors:
        return Succession()
    fallen = save_verdicts(
        project_id, {i: VerdictChange(Status.SUPERSEDED, new) for i, new in successors.items()}, now=now
    )
    done = supersede(project_id, fallen, now=now)
    pending = PendingConflict.objects.within(project_id).pending()
    for row in (
        pending.filter(newcomer_claim__in=list(successors), kind=ConflictKind.CLAIM).select_for_update().order_by("id")
    ):
        done.ended.append(str(row.id))
        row.end(now=now)
    left = pending.filter(existing_claim__in=list(successors), kind=ConflictKind.TEXT)
    _move(left, successors, done, now=now)
    return done


def _move(rows: Any, successors: dict[uuid.UUID, uuid.UUID], done: Succession, *, now: datetime.datetime) -> None:
    """Set what was pending against what was replaced (by claim or fragment) against its successor."""
    held = list(rows.select_for_update().order_by("created_at", "id"))
    known: set[tuple[uuid.UUID | None, uuid.UUID | None]] = set()
    if held:  # who faces the successor already does so once
        facing = PendingConflict.objects.within(held[0].project_id).pending().filter(existing__in=successors.values())
        known |= set(facing.values_list("newcomer_id", "existing_id"))
    for row in held:
        successor = successors.get(row.existing_claim) or successors[row.existing_id]
        pair = row.newcomer_id, successor
        # A newcomer's conflicts with several that one replaced become one; with itself it has none.
        if row.kind == ConflictKind.DISPUTE or row.newcomer_id == successor or pair in known:
            done.ended.append(str(row.id))
            row.end(now=now)
        else:
            known.add(pair)
            done.moved[str(row.id)] = str(row.existing_id)
            done.claims[str(row.id)] = row.existing_claim and str(row.existing_claim)
            there = Claim.objects.within(row.project_id).filter(fragment=successor, key_digest=row.key_digest)
            row.existing_id, row.existing_claim = successor, there.values_list("id", flat=True).first()
            row.revision += 1
            row.save(update_fields=["existing", "existing_claim", "revision"])


def pair_as_before(
    project_id: uuid.UUID, pairs: Mapping[str, dict[str, Any]], *, ended_at: datetime.datetime | None
) -> None:
    """Give conflicts the opponents back that they had, by id, and let those wait again that were ended at a time."""
    former = {pair["existing_id"] for pair in pairs.values()} - {None}
    known = Fragment.objects.within(project_id).filter(id__in=former)
    here = {None, *map(str, known.values_list("id", flat=True))}
    conflicts = PendingConflict.objects.within(project_id)
    theirs = conflicts.filter(id__in=pairs)
    for conflict in theirs.filter(Q(resolved_at=None) | Q(resolution=Resolution.OBSOLETE, resolved_at=ended_at)):
        pair = pairs[str(conflict.id)]
        sides = {"newcomer": conflict.newcomer_id, "newcomer_claim": conflict.newcomer_claim}
        same = conflicts.pending().filter(
            **sides, existing=pair["existing_id"], existing_claim=pair.get("existing_claim", pair["existing_id"])
        )
        if pair["existing_id"] not in here or (pair["existing_id"] and same.exclude(id=conflict.id).exists()):
            continue
        if conflict.opponent() != pair:
            conflict.face(pair)
        if conflict.resolved_at:
            conflict.reopen()


def ensure_conflicts(
    evaluation: Evaluation, places: Iterable[Place], *, decided: bool = False
) -> dict[uuid.UUID, list[PendingConflict]]:
    """See to it that every waiting newcomer has one pending conflict per opponent that stands now.

    Who says by now what something stronger says too is superseded by that; after a decision (`decided`) also who waits
    with what its own owner took back by a later value that stands now.
    """
    found: dict[uuid.UUID, list[PendingConflict]] = defaultdict(list)
    for place in places:
        key_state = evaluation.key_states[place]
        for claim_id in sorted(key_state.contesting):
            if claim_id in key_state.contesting:  # not replaced meanwhile by another of these
                _replace_former(evaluation, key_state, key_state.standing[claim_id])
        for waiting in list(key_state.waiting.values()):
            stronger = key_state.replaced_by(waiting) or (
                outdated_by(evaluation, key_state, waiting) if decided else None
            )
            if stronger:
                key_state.forget(waiting.id)
                done = supersede_claims(evaluation.project_id, {waiting.id: stronger.fragment_id}, now=evaluation.now)
                conflicts = PendingConflict.objects.within(evaluation.project_id).pending()
                conflicts.filter(newcomer__in=list(done.fallen)).end(now=evaluation.now)
            else:
                found[waiting.fragment_id] += _paired(evaluation, key_state, waiting)
        for claim_id in sorted(key_state.contesting):
            assertion = key_state.standing[claim_id]
            found[assertion.fragment_id] += _contested(evaluation, key_state, assertion)
    # One statement, however many wait: nobody slows a key's writers down by waiting there in numbers.
    save_faced(evaluation.project_id, evaluation.faced)
    evaluation.faced.clear()
    return found


def face_what_stands(evaluation: Evaluation, places: Iterable[Place]) -> None:
    """Set free text that waits against what is gone, or stands no more, against what stands on that key by now."""
    for place in places:
        rivals = evaluation.key_states[place].standing.values()
        here = {"namespace": place[0], "key_digest": place[1], "kind": ConflictKind.TEXT}
        pending = PendingConflict.objects.within(evaluation.project_id).pending().filter(**here)
        facing = set(pending.values_list("newcomer_id", "existing_id"))
        for row in pending.exclude(existing__status__in=STANDING).order_by("created_at", "id"):
            others = [one for one in rivals if one.session_id == row.session_id and one.fragment_id != row.newcomer_id]
            if not others:
                continue
            strongest = evaluation.claims[max(others, key=lambda one: (one.rank, one.id)).id]
            if (pair := (row.newcomer_id, strongest.fragment_id)) in facing:
                row.end(now=evaluation.now)
                continue
            facing.add(pair)
            row.face({**_opponent(strongest, now=evaluation.now), "reason": row.reason})


def outdated_by(evaluation: Evaluation, key_state: KeyState, waiting: Assertion) -> Assertion | None:
    """Return what its owner said later, with at least its authority, and stands against it; the last of them."""

    def written(assertion: Assertion) -> tuple[datetime.datetime, uuid.UUID]:
        return evaluation.claims[assertion.id].fragment.created_at, assertion.id

    later = [
        other
        for other in key_state.opponents(waiting)
        if waiting.owner_id and other.owner_id == waiting.owner_id and other.authority >= waiting.authority
        if written(other)[0] > written(waiting)[0]
    ]
    return max(later, key=written, default=None)


def _paired(evaluation: Evaluation, key_state: KeyState, waiting: Assertion) -> list[PendingConflict]:
    pending = {row.id: row for row in evaluation.pending[waiting.id] if row.kind == ConflictKind.CLAIM}
    pairing = pair_conflicts(
        waiting, key_state.opponents(waiting), [(row.id, row.challenged) for row in pending.values()]
    )
    newcomer = evaluation.claims[waiting.id]
    for conflict_id, opponent, reason in pairing.moved:
        row = pending[conflict_id]
        row.face({**_opponent(evaluation.claims[opponent.id], now=evaluation.now), "reason": reason}, save=False)
        evaluation.faced.append(row)
    if pairing.obsolete:
        PendingConflict.objects.within(evaluation.project_id).filter(id__in=pairing.obsolete).end(now=evaluation.now)
    made = [
        PendingConflict(
            kind=ConflictKind.CLAIM,
            reason=reason,
            created_at=evaluation.now,
            **_sides(newcomer, evaluation.claims[opponent.id], now=evaluation.now),
        )
        for opponent, reason in pairing.missing
    ]
    PendingConflict.objects.bulk_create(made)
    evaluation.pending[waiting.id] += made
    return [row for key, row in pending.items() if key not in pairing.obsolete] + made


def _contested(evaluation: Evaluation, key_state: KeyState, assertion: Assertion) -> list[PendingConflict]:
    """The conflicts of what stands against a ruling; with nobody left to oppose it there is nothing to decide."""
    if key_state.opponents(assertion):
        return _paired(evaluation, key_state, assertion)
    conflicts = PendingConflict.objects.within(evaluation.project_id).pending().filter(newcomer_claim=assertion.id)
    conflicts.filter(kind=ConflictKind.CLAIM).end(now=evaluation.now)
    key_state.contesting.discard(assertion.id)
    return []


def _replace_former(evaluation: Evaluation, key_state: KeyState, assertion: Assertion) -> None:
    """Let what it may replace yield, once no ruling is in the way any more: who said it said the other before."""
    opponents = key_state.opponents(assertion)
    created_at = evaluation.claims[assertion.id].fragment.created_at
    if any(
        why_not_replaced(assertion, o) or evaluation.claims[o.id].fragment.created_at > created_at for o in opponents
    ):
        return
    supersede_claims(evaluation.project_id, {o.id: assertion.fragment_id for o in opponents}, now=evaluation.now)
    for other in opponents:
        key_state.forget(other.id)


def _sides(newcomer: Claim, existing: Claim, *, now: datetime.datetime) -> dict[str, object]:
    """Return what a conflict says of both."""
    return {
        "project_id": newcomer.project_id,
        "namespace_id": newcomer.namespace_id,
        "newcomer_id": newcomer.fragment_id,
        "newcomer_claim": newcomer.id,
        "subject_digest": newcomer.subject_digest,
        "predicate_digest": newcomer.predicate_digest,
        "key_digest": newcomer.key_digest,
        "value_digest": newcomer.value_digest,
        "scope": newcomer.scope,
        "session_id": newcomer.session_id,
        "new_authority": newcomer.authority,
        "new_trust": round(newcomer.fragment.trust_at(now), 4),
        **_opponent(existing, now=now),
    }


def _opponent(existing: Claim, *, now: datetime.datetime) -> dict[str, object]:
    return {
        "existing_id": existing.fragment_id,
        "existing_claim": existing.id,
        "existing_authority": existing.authority,
        "existing_trust": round(existing.fragment.trust_at(now), 4),
    }


def _text_conflicts(evaluation: Evaluation, case: Assessment) -> list[PendingConflict]:
    made = [
        _text_conflict(evaluation, case.fragment, contradiction, opponent.id)
        for contradiction in case.contradictions
        for opponent in contradiction.opponents
    ]
    once = {row.existing_claim: row for row in reversed(made)}
    waiting = {row.existing_claim for row in evaluation.pending[case.fragment.id]}
    return list(PendingConflict.objects.bulk_create([row for claim, row in once.items() if claim not in waiting]))


def _text_conflict(
    evaluation: Evaluation, fragment: Fragment, contradiction: Contradiction, existing: uuid.UUID
) -> PendingConflict:
    statement = contradiction.statement
    key = evaluation.namings[fragment.namespace_id].key(statement.subject, statement.predicate)
    return PendingConflict(
        project_id=fragment.project_id,
        namespace_id=fragment.namespace_id,
        kind=ConflictKind.TEXT,
        reason=ConflictReason.FREE_TEXT,
        newcomer_id=fragment.id,
        subject_digest=key.subject,
        predicate_digest=key.predicate,
        key_digest=key.both,
        value_digest=contradiction.value,
        scope=ClaimScope.GLOBAL,
        statement={
            "subject": statement.subject,
            "predicate": statement.predicate,
            "value": statement.value,
            "negated": statement.negated,
        },
        new_authority=fragment.authority,
        new_trust=round(fragment.trust_at(evaluation.now), 4),
        created_at=evaluation.now,
        **_opponent(evaluation.claims[existing], now=evaluation.now),
    )


def _count_repetitions(evaluation: Evaluation, cases: Sequence[Assessment]) -> None:
    """Count what owners said again of their own; who else says so is a voice, not a repetition."""
    again = Counter(
        case.repeats
        for case in cases
        if case.repeats and evaluation.claims[case.twins[0]].fragment.owner_id == case.fragment.owner_id
    )
    if not again:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO conflicts_repetition (id, project_id, fragment_id, times, last_at)
               SELECT gen_random_uuid(), %s, t.fragment_id, t.times, %s
               FROM unnest(%s::uuid[], %s::int[]) AS t (fragment_id, times) ORDER BY t.fragment_id
               ON CONFLICT (project_id, fragment_id)
               DO UPDATE SET times = conflicts_repetition.times + excluded.times, last_at = excluded.last_at""",
            [evaluation.project_id, evaluation.now, list(again), list(again.values())],
        )


def _said_again(fragment: Fragment, newcomer: Fragment, *, whole: bool, now: datetime.datetime) -> None:
    """What stands was said once more: corroborated by an independent source, else only seen.

    It takes over the tags and sources of a newcomer that is not stored itself, being a repetition as a `whole`.
    """
    if fragment.status in STANDING:
        corroborate(fragment, Voter(newcomer.owner_id, newcomer.authority, roots_of(newcomer)), now=now)
    if not whole or (newcomer.authority < fragment.authority and newcomer.owner_id != fragment.owner_id):
        return  # nobody weaker writes on it
    added = {
        "tags": list(dict.fromkeys([*fragment.tags, *newcomer.tags]))[:MOST_TAGS],
        "source_ids": list(dict.fromkeys([*fragment.source_ids, *newcomer.source_ids]))[:MOST_TAGS],
    }
    new = {name: value for name, value in added.items() if value != getattr(fragment, name)}
    for name, value in new.items():
        setattr(fragment, name, value)
    if new:
        fragment.save(update_fields=list(new), force_update=True)  # in a batch it is stored, but not known to be


def reopen_periods(project_id: uuid.UUID, claim_ids: Collection[uuid.UUID], *, now: datetime.datetime) -> None:
    """Let claims of whose period the writing of another took a part have it back, as far as nothing else stands there.

    None whose value a person ruled out. The caller holds their namespaces or keys; what took it is gone by now.
    """
    rows = Claim.objects.within(project_id).filter(id__in=claim_ids, status__in=STANDING).order_by("id")
    found = list(rows) if claim_ids else []
    former = former_periods(project_id, found)
    if not former:
        return
    claims = [claim for claim in found if claim.id in former]
    places = {place_of(claim) for claim in claims}
    evaluation = Evaluation(project_id, {namespace_id for namespace_id, _ in places}, claims=0, now=now)
    evaluation.read(places, hold=True)
    for claim in claims:
        lengthen(evaluation.key_states[place_of(claim)], claim, former[claim.id])
    ensure_conflicts(evaluation, places)
