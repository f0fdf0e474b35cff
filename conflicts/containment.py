"""Containment: memories are set aside as if they had never been written; a journal takes that back exactly."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from conflicts import votes
from conflicts.authority import ranks_of
from conflicts.bulk_changes import end_waiting_of_many
from conflicts.enums import Ballot
from conflicts.models import PendingConflict, Ruling, Vote
from conflicts.persistence import ensure_conflicts, one_value_checked_at_the_end, pair_as_before
from conflicts.reconciliation import evaluation_of, refuse_decided
from conflicts.snapshots import (
    MAKE_ROOM,
    TAKEN,
    CannotUndo,
    bring_back,
    changed_since,
    refuse_rivals,
    snapshot,
    successor_of,
)
from memories.models import Fragment, Link, Revision
from memories.models.enums import LinkKind, Status
from memories.models.fragment import CONTAINED
from memories.models.history import events_of
from memories.models.sql import execute, fetch

# Who claims something of what these claim, whatever became of it.
ON_THEIR_KEYS = """
    SELECT DISTINCT c.fragment_id FROM memories_claim c
    WHERE c.project_id = %(project)s AND (c.namespace_id, c.key_digest) IN (
        SELECT k.namespace_id, k.key_digest FROM memories_claim k
        WHERE k.project_id = %(project)s AND k.fragment_id = ANY (%(ids)s))"""
SET_ASIDE = f"""
    UPDATE memories_fragment SET status = 'quarantined', archived_reason = '{CONTAINED}', updated_at = %(now)s,
        revision = revision + 1
    WHERE project_id = %(project)s AND id = ANY (%(ids)s)"""
# What these took the place of, with the claims in which they did.
REPLACED = f"""
    SELECT l.id, c.id FROM memories_fragment l
    LEFT JOIN memories_claim c ON c.project_id = l.project_id AND c.fragment_id = l.id AND c.status = 'superseded'
        AND coalesce(c.superseded_by_id, l.superseded_by_id) = ANY (%(ids)s)
    WHERE l.project_id = %(project)s AND l.archived_reason <> '{CONTAINED}' AND (
        (l.status = 'superseded' OR l.archived_reason = 'superseded') AND l.superseded_by_id = ANY (%(ids)s)
        OR l.id IN (SELECT s.fragment_id FROM memories_claim s
            WHERE s.project_id = %(project)s AND s.status = 'superseded' AND s.superseded_by_id = ANY (%(ids)s)))
    ORDER BY l.authority DESC, l.created_at DESC, l.id, c.position"""


class Recording:
    """How everything stands that may change along with some memories, and afterwards what did.

    Their namespaces are held.
    """

    def __init__(self, project_id: uuid.UUID, fragment_ids: Iterable[uuid.UUID]) -> None:
        self.project_id = project_id
        self.touched = _beside(project_id, fragment_ids)
        rows = Fragment.objects.within(project_id).filter(id__in=self.touched).order_by("id")
        list(rows.select_for_update(no_key=True, of=("self",)).values_list("id"))
        self.before = snapshot(project_id, self.touched)
        pending = PendingConflict.objects.within(project_id).pending()
        conflicts = pending.filter(Q(newcomer__in=self.touched) | Q(existing__in=self.touched))
        self.pairs = {str(conflict.id): conflict.opponent() for conflict in conflicts}
        self.links, self.votes = self._links(), self._votes()

    def _links(self) -> set[tuple[str, str]]:
        rows = Link.objects.within(self.project_id).filter(other__in=self.touched, kind=LinkKind.SUPERSEDES)
        return {(str(one), str(other)) for one, other in rows.values_list("fragment_id", "other_id")}

    def _votes(self) -> set[str]:
        rows = Vote.objects.within(self.project_id).filter(fragment__in=self.touched)
        return {str(i) for i in rows.values_list("id", flat=True)}

    def journal(self) -> dict[str, Any]:
        """Return what changed, for `take_back`: ids, statuses and times, no text."""
        after = snapshot(self.project_id, self.touched)
        changed = {key: state for key, state in self.before.items() if after[key] != state}
        links = self._links()
        return {
            "fragments": changed,
            "after": {key: after[key] for key in changed},
            "pairs": self.pairs,
            "linked": sorted(links - self.links),
            "unlinked": sorted(self.links - links),
            "voted": sorted(self._votes() - self.votes),
        }


def _beside(project_id: uuid.UUID, fragment_ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    """Return these memories with all that meets them on a key or in a conflict, and what meets that."""
    found = set(fragment_ids)
    for _ in range(2):
        found |= {i for (i,) in fetch(ON_THEIR_KEYS, {"project": project_id, "ids": list(found)})}
        conflicts = PendingConflict.objects.within(project_id).pending()
        sides = conflicts.filter(Q(newcomer__in=found) | Q(existing__in=found)).values_list("newcomer", "existing")
        found |= {side for pair in sides for side in pair if side}
    return found


def set_aside(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID], *, now: datetime.datetime) -> None:
    """Quarantine memories whatever their status, and end what waits because of them."""
    end_waiting_of_many(project_id, fragment_ids, now=now)
    execute(SET_ASIDE, {"project": project_id, "ids": list(fragment_ids), "now": now})


@dataclass(frozen=True, slots=True)
class Vouched:
    """Of some memories those that others vouch for: strongly enough that they stay, or too weakly for it."""

    upheld: set[uuid.UUID]
    repeated: set[uuid.UUID]


def vouched(
    project_id: uuid.UUID, fragment_ids: Collection[uuid.UUID], *, owners: Collection[uuid.UUID], source_id: str = ""
) -> Vouched:
    """Return for which memories anybody vouches: who said the same, or a person who chose them.

    But for these owners, and for who has it from a source.

    Nobody weaker than a memory holds it up: it would keep the authority of whom it is taken from.
    """
    ids = list(fragment_ids)
    upheld: set[uuid.UUID] = set()
    rulings = Ruling.objects.within(project_id).in_force().exclude(decided_by__in=owners)
    for row in rulings.filter(chosen_fragments__overlap=ids):
        upheld |= {i for i in row.chosen_fragments if i in fragment_ids}
    said = Vote.objects.within(project_id).filter(fragment__in=ids, ballot=Ballot.CORROBORATE, counted=True)
    said = said.exclude(roots__contains=[source_id]) if source_id else said
    voices = list(said.exclude(owner_id__in=owners).values_list("fragment_id", "fragment__authority", "owner_id"))
    ranks = ranks_of(project_id, {owner_id for *_, owner_id in voices})
    upheld |= {i for i, authority, owner_id in voices if ranks.get(owner_id, 0) >= authority}
    return Vouched(upheld, {i for i, *_ in voices} - upheld)


def decided(
    project_id: uuid.UUID, owner_id: uuid.UUID, *, key_id: uuid.UUID | None, since: datetime.datetime | None
) -> list[uuid.UUID]:
    """Return the conflicts that an owner, or one key of it, decided, as they are decided still."""
    rows = PendingConflict.objects.within(project_id).filter(resolved_by=owner_id, resolved_at__isnull=False)
    if since:
        rows = rows.filter(resolved_at__gte=since)
    if key_id:
        events = events_of(PendingConflict).objects.filter(project=project_id, pgh_context__key=str(key_id))
        rows = rows.filter(id__in=events.filter(resolved_at__isnull=False).values("pgh_obj"))
    return list(rows.order_by("resolved_at", "id").values_list("id", flat=True))


def replaced_by(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return what these took the place of, whatever it says, with its claims, the strongest first."""
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    for fragment_id, claim_id in fetch(REPLACED, {"project": project_id, "ids": list(fragment_ids)}):
        if fragment_id not in fragment_ids:
            found.setdefault(fragment_id, []).extend([claim_id] if claim_id else [])
    return found


def release(project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID], losers: Iterable[uuid.UUID]) -> None:
    """Let nothing have taken the place of the losers, those among them that were put away since."""
    released = Fragment.objects.within(project_id).filter(id__in=list(losers), superseded_by__in=list(fragment_ids))
    released.filter(archived_reason=Status.SUPERSEDED).update(status=Status.SUPERSEDED, archived_reason="")
    released.update(superseded_by=None)
    links = Link.objects.within(project_id).filter(fragment__in=list(fragment_ids), kind=LinkKind.SUPERSEDES)
    links.filter(other__in=list(losers)).delete()


def discount_source(project_id: uuid.UUID, source_id: str, *, now: datetime.datetime) -> list[uuid.UUID]:
    """Let the votes of who has it from a source count no more. Return which those were."""
    rows = Vote.objects.within(project_id).filter(roots__contains=[source_id])
    return votes.discount(rows, counted=False, now=now)


def discount_votes(
    project_id: uuid.UUID,
    owner_id: uuid.UUID,
    *,
    key_id: uuid.UUID | None,
    since: datetime.datetime | None,
    now: datetime.datetime,
) -> list[uuid.UUID]:
    """Let the votes of an owner, or of one key of it, count no more. Return which those were."""
    rows = Vote.objects.within(project_id).filter(owner_id=owner_id)
    if since:
        rows = rows.filter(created_at__gte=since)
    if key_id:
        events = events_of(Fragment).objects.filter(project=project_id, pgh_context__key=str(key_id))
        rows = rows.filter(fragment__in=events.filter(pgh_label="update").values("pgh_obj"))
    return votes.discount(rows, counted=False, now=now)


def take_back(
    project_id: uuid.UUID, journal: Mapping[str, Any], *, applied_at: datetime.datetime, now: datetime.datetime
) -> None:
    """Let everything be as before a containment; what was forgotten since stays so. The namespaces are held.

    Raise CannotUndo with the memories that were changed since, or that stand in the way.
    """
    named = {*journal["after"], *filter(None, map(successor_of, journal["fragments"].values()))}
    rows = Fragment.objects.within(project_id).filter(id__in=named)
    known = {str(i) for i in rows.values_list("id", flat=True)}
    after = {key: state for key, state in journal["after"].items() if key in known}
    # What had lost to a memory that was forgotten since stands, as after every forgetting.
    former = {
        key: state
        for key, state in journal["fragments"].items()
        if key in known and successor_of(state) in {None, *known}
    }
    if changed := changed_since(project_id, after):
        raise CannotUndo("these memories were changed since", changed)
    cast = Vote.objects.within(project_id)
    reworded = Revision.objects.within(project_id).filter(recorded_at__gt=applied_at).values("fragment")
    heard = cast.filter(id__in=journal["votes"]).exclude(fragment__in=reworded)
    votes.discount(heard, counted=True, now=now)
    votes.discount(cast.filter(id__in=journal["voted"]), counted=False, now=now)
    cast.filter(id__in=journal["voted"]).delete()
    try:
        with transaction.atomic(), one_value_checked_at_the_end():
            bring_back(project_id, former, now=now)
    except IntegrityError as error:
        raise CannotUndo(TAKEN, then=MAKE_ROOM) from error
    _link_as_before(project_id, journal, known)
    restored = {uuid.UUID(key) for key in former}
    evaluation = evaluation_of(project_id, restored, now=now)
    refuse_decided(evaluation, restored, since=applied_at)
    refuse_rivals(evaluation, restored, known=restored, since=applied_at)
    opened = PendingConflict.objects.within(project_id).pending().filter(created_at=applied_at)
    opened.filter(Q(newcomer__in=restored) | Q(existing__in=restored)).end(now=now)
    pair_as_before(project_id, journal["pairs"], ended_at=applied_at)
    evaluation = evaluation_of(project_id, restored, now=now)
    ensure_conflicts(evaluation, set(evaluation.key_states))


def _link_as_before(project_id: uuid.UUID, journal: Mapping[str, Any], known: set[str]) -> None:
    links = Link.objects.within(project_id).filter(kind=LinkKind.SUPERSEDES)
    for one, other in journal["linked"]:
        links.filter(fragment=one, other=other).delete()
    ends = {"project_id": project_id, "kind": LinkKind.SUPERSEDES}
    pairs = [pair for pair in journal["unlinked"] if known.issuperset(pair)]
    again = [Link(fragment_id=one, other_id=other, **ends) for one, other in pairs]
    Link.objects.bulk_create(again, ignore_conflicts=True)
