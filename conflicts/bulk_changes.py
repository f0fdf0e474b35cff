"""Changes to many: near-duplicates yield to the one that stays, archived memories to nobody, an old text to a new."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from conflicts.enums import ConflictKind, Resolution
from conflicts.evaluation import Evaluation, place_of
from conflicts.models import PendingConflict
from conflicts.persistence import Succession, ensure_conflicts, supersede
from conflicts.rulings import forget
from conflicts.snapshots import CannotUndo, bring_back, same_belief, snapshot
from memories.models import Claim


def supersede_repeated(
    project_id: uuid.UUID, namespace_id: uuid.UUID, successors: Mapping[uuid.UUID, uuid.UUID], *, now: datetime.datetime
) -> Succession:
    """Mark fragments as superseded by those that say the same. The caller holds the namespace and all of them.

    Answers what it did beside the fragments, but for conflicts about claims that face another opponent now.
    """
    if not successors:
        return Succession()
    conflicts = PendingConflict.objects.within(project_id).pending().filter(existing__in=list(successors))
    faced = list(conflicts.values_list("existing_id", flat=True))
    done = supersede(project_id, dict(successors), now=now)
    claims = Claim.objects.within(project_id).filter(fragment__in=faced)
    if places := {place_of(claim) for claim in claims}:
        evaluation = Evaluation(project_id, [namespace_id], claims=0, now=now)
        evaluation.read(places, hold=True)
        ensure_conflicts(evaluation, places)
    return done


def end_waiting_of_many(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID], *, now: datetime.datetime) -> None:
    """As `end_waiting`, for many that are archived at once."""
    pending = PendingConflict.objects.within(project_id).pending()
    pending.filter(newcomer__in=fragment_ids).end(now=now)
    pending.filter(existing__in=fragment_ids, kind=ConflictKind.DISPUTE).end(now=now)


def was_ruled_out(project_id: uuid.UUID, claim_ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    """Return those claims that a person decided against: replaced by a challenger, or rejected as one."""
    decided = PendingConflict.objects.within(project_id).filter(resolved_at__isnull=False)
    against = decided.filter(existing_claim__in=claim_ids, resolution=Resolution.SUPERSEDE)
    rejected = decided.filter(newcomer_claim__in=claim_ids, resolution=Resolution.REJECT)
    return {row.existing_claim for row in against} | {row.newcomer_claim for row in rejected}


def erase_all(
    project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID], *, copied: Sequence[uuid.UUID], now: datetime.datetime
) -> None:
    """End what waits because of fragments that are forgotten; no word of them stays in what was decided.

    `copied` are conflicts of which those were a part that are gone already.
    """
    ids, conflicts = list(fragment_ids), PendingConflict.objects.within(project_id)
    end_waiting_of_many(project_id, ids, now=now)
    touched = conflicts.filter(Q(newcomer__in=ids) | Q(existing__in=ids) | Q(id__in=list(copied)))
    newcomers = set(touched.exclude(newcomer=None).values_list("newcomer_id", flat=True))
    touched.update(statement=None, note="", before=None)
    forget(project_id, ids)
    # What was noted beside one opponent of a newcomer was noted beside all.
    conflicts.filter(newcomer__in=newcomers).update(note="", before=None)


def waiting_against(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Return the memories that wait because of these."""
    rows = PendingConflict.objects.within(project_id).pending().filter(existing__in=list(fragment_ids))
    return sorted(set(rows.exclude(newcomer=None).values_list("newcomer_id", flat=True)) - set(fragment_ids))


def replace(
    project_id: uuid.UUID, namespace_id: uuid.UUID, *, older: uuid.UUID, newer: uuid.UUID, now: datetime.datetime
) -> dict[str, Any]:
    """Return the newer one takes the place; answers what `undo_replacement` needs: ids, statuses and times, no text.

    The caller holds the namespace and both; the older one claims nothing.
    """
    before = snapshot(project_id, [older])
    done = supersede_repeated(project_id, namespace_id, {older: newer}, now=now)
    return {"fragments": before, "after": snapshot(project_id, [older]), "succession": done.as_json()}


def undo_replacement(project_id: uuid.UUID, done: Mapping[str, Any], *, now: datetime.datetime) -> None:
    """Everything is as before `replace`; the caller holds the same. Raise CannotUndo when it was changed since."""
    if not same_belief(snapshot(project_id, map(uuid.UUID, done["after"])), done["after"]):
        raise CannotUndo("the older memory was changed since")
    bring_back(project_id, done["fragments"], now=now)
    Succession.from_json(done["succession"]).take_back(project_id)
