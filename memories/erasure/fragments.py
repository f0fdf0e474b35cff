"""Erasure: every copy of what a memory said goes, for one or for many at once; keyed fingerprints stay."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from conflicts.authority import rank_of
from conflicts.bulk_changes import erase_all, waiting_against
from conflicts.former_periods import cut_by
from conflicts.public import lock_claimed_keys, lock_namespace, reopen_periods
from conflicts.search_index import in_guises
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.erasure.backup_copies import backups_of, lock_backups
from memories.erasure.notes import strike_notes
from memories.erasure.reinstatement import (
    batches,
    digests_of,
    has_losers,
    losers_of,
    reinstate,
    release_waiting,
    return_originals,
)
from memories.ingest.updates import check_change, fragment_for_change, refuse_stale, refuse_taking_away
from memories.models import (
    Archive,
    Episode,
    Erasure,
    Fragment,
    LlmCall,
    Namespace,
    Proposal,
    RecallNotice,
    Receipt,
    RepeatedRequest,
    Revision,
    Tombstone,
)
from memories.models.enums import Verb
from memories.models.fragment import PROCEDURE, procedure_of
from memories.models.sql import execute

MOST_NAMED = 100
MAY_HIDE = r"[^\x01-\x7f]|(^|\W)\S[\s._-]\S[\s._-]\S(\W|$)"  # what is no ASCII, or single signs with gaps


@dataclass(frozen=True, slots=True)
class Erased:
    """What went: the memories that were asked for, and digests that held their words; what stands again for these."""

    asked: int
    digests: Sequence[uuid.UUID] = ()
    returned: Sequence[uuid.UUID] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many memories fit, the first of them, what went and came with them, and backups that still hold them."""

    count: int
    ids: Sequence[uuid.UUID]
    digests: int = 0
    backups: Sequence[Mapping[str, Any]] = ()
    # What stands again: it had lost to one of these, or its words stood in a digest that went.
    restored: Sequence[uuid.UUID] = ()

    def report(self) -> dict[str, Any]:
        """In JSON's terms."""
        values = {"count": self.count, "ids": [str(i) for i in self.ids[:MOST_NAMED]], "digests": self.digests}
        restored = [str(i) for i in self.restored[:MOST_NAMED]]
        return {**values, "restored_ids": restored, "backups": list(self.backups)}


def forget(
    principal: Principal,
    fragment_id: uuid.UUID,
    *,
    purge_backups: bool = False,
    everywhere: bool = False,
    revision: int | None = None,
    now: datetime.datetime,
) -> Forgotten:
    """Erase one memory, or what is left of one that was evicted, and every copy of its text.

    A keyed fingerprint of each text stays behind, for its namespace or `everywhere`. Raise NotFound, NotPermitted, and
    StaleRevision when `revision` is not the current one.
    The answer names backups to who covers all of the project; of these, admins may purge them.
    """
    with access.enter(principal, why="forget"):
        check_everywhere(principal, everywhere=everywhere)
        lock_backups(principal, purge=purge_backups)
        home = _namespace_id_of(principal.project_id, fragment_id)
        held_in = backups_of(home, [fragment_id], purge=purge_backups) if home else []
        _lock(principal.project_id, fragment_id)
        if _evicted(principal, fragment_id):
            refuse_stale(None, revision)
        else:
            row = fragment_for_change(principal, fragment_id)
            refuse_stale(row, revision)
            refuse_taking_away(principal, row)
        erased = erase(
            principal.project_id, [fragment_id], authority=rank_of(principal), everywhere=everywhere, now=now
        )
        return visible_outcome(principal, [fragment_id], erased, held_in)


def visible_outcome(
    principal: Principal, ids: Sequence[uuid.UUID], erased: Erased, held_in: Sequence[Mapping[str, Any]]
) -> Forgotten:
    """Return what the principal may know of it."""
    return Forgotten(
        len(ids), ids, len(erased.digests), held_in if principal.covers_all else [], restored=erased.returned
    )


def erase(
    project_id: uuid.UUID,
    ids: Sequence[uuid.UUID],
    *,
    authority: int,
    everywhere: bool = False,
    now: datetime.datetime,
) -> Erased:
    """Erase fragments and what is left of evicted ones, in the open transaction, with every copy of their texts.

    Digests of them go too, and their other originals stand again as far as the gate allows, and so does what lost to
    them, was ended by them or waits because of them. The caller holds the fragments, and their namespaces where there
    is any of these.
    """
    digests = digests_of(project_id, ids)
    whole = [*ids, *digests]
    others = {i for digest in digests.values() for i in digest.parents if digest.stands} - set(whole)
    losers, waiting = losers_of(project_id, whole), waiting_against(project_id, whole)
    cut = cut_by(project_id, whole)
    for batch in batches(whole):
        _erase(project_id, batch, authority=authority, everywhere=everywhere, now=now)
    returned = [*return_originals(project_id, others, now=now), *reinstate(project_id, losers, now=now)]
    reopen_periods(project_id, cut, now=now)  # what stands again came later
    heard = release_waiting(project_id, waiting, losers, now=now)
    return Erased(len(ids), list(digests), list(dict.fromkeys([*returned, *heard])))


def _erase(
    project_id: uuid.UUID, ids: list[uuid.UUID], *, authority: int, everywhere: bool, now: datetime.datetime
) -> None:
    copies, tombstones = (
        Archive.objects.within(project_id),
        Tombstone.objects.within(project_id).filter(original_id__in=ids),
    )
    # Whoever brings one of them back holds its tombstone: either it is here by now, or it stays away.
    list(tombstones.select_for_update(of=("self",)).order_by("id").values_list("id"))
    left = list(copies.texts(ids))
    said = in_guises([*left, *_may_hide(project_id, ids)])
    Erasure.objects.remember(project_id, ids, authority=authority, texts=said, everywhere=everywhere)
    strike_notes(project_id, ids, texts=said, everywhere=everywhere)
    RepeatedRequest.objects.filter(project_id=project_id, fragment_ids__overlap=ids).delete()
    Proposal.objects.within(project_id).filter(about__overlap=ids).delete()
    LlmCall.objects.within(project_id).filter(fragments__overlap=ids).delete()
    Receipt.objects.within(project_id).strike(ids)
    RecallNotice.objects.within(project_id).strike(ids)
    erase_all(project_id, ids, copied=copies.conflicts_of(ids), now=now)
    copies.filter(fragment_id__in=ids).delete()
    tombstones.delete()
    made_by_hand = Episode.objects.within(project_id).filter(conversation_id="", members__fragment__in=ids)
    touched = list(made_by_hand.values_list("id", flat=True).distinct())
    execute("DELETE FROM memories_fragment WHERE project_id = %s AND id = ANY (%s)", [project_id, ids])
    # A title may say what its memories said: it goes with the last of them.
    Episode.objects.within(project_id).filter(id__in=touched, members=None).delete()


def _may_hide(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> list[tuple[uuid.UUID, str]]:
    """Return what these say and said that may be in a guise, each text with its memory."""
    rows = Fragment.objects.within(project_id).filter(id__in=ids)
    said = rows.filter(Q(content__regex=MAY_HIDE) | Q(extra__has_any_keys=PROCEDURE)).values_list(
        "id", "content", "extra"
    )
    former = Revision.objects.within(project_id).filter(fragment__in=ids, content__regex=MAY_HIDE)
    return [
        *((which, text) for which, content, extra in said for text in (content, *procedure_of(extra))),
        *former.values_list("fragment_id", "content"),
    ]


def has_digests(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> bool:
    """Return whether words of these stand in digests."""
    return bool(digests_of(project_id, ids))


def _lock(project_id: uuid.UUID, fragment_id: uuid.UUID) -> None:
    """Lock before the row: its key, or, where others will stand again or it was evicted, the whole namespace."""
    place = Fragment.objects.within(project_id).filter(id=fragment_id).values_list("namespace_id", flat=True).first()
    if place is None:  # a restore that brings copies holds the namespace too
        tombstones = Tombstone.objects.within(project_id).filter(original_id=fragment_id)
        if evicted_from := tombstones.values_list("namespace_id", flat=True).first():
            lock_namespace(evicted_from)
    elif has_digests(project_id, [fragment_id]) or has_losers(project_id, fragment_id):
        lock_namespace(place)
    lock_claimed_keys(project_id, fragment_id=fragment_id)


def _evicted(principal: Principal, fragment_id: uuid.UUID) -> bool:
    """Whether only a tombstone is left of it. Raise NotFound outside the grant, NotPermitted above the ceiling."""
    if Fragment.objects.within(principal.project_id).filter(id=fragment_id).exists():
        return False
    left = Tombstone.objects.within(principal.project_id).select_for_update(of=("self",)).select_related("namespace")
    stone: Tombstone | None = left.filter(original_id=fragment_id).first()
    if stone is not None:
        check_change(principal, namespace=stone.namespace.name, authority=stone.authority)
    return stone is not None


def _namespace_id_of(project_id: uuid.UUID, fragment_id: uuid.UUID) -> Namespace | None:
    """Return the namespace of a memory, evicted or not."""
    for rows in (
        Fragment.objects.within(project_id).filter(id=fragment_id),
        Tombstone.objects.within(project_id).filter(original_id=fragment_id),
    ):
        if row := rows.select_related("namespace").first():
            found: Namespace = row.namespace
            return found
    return None


def check_everywhere(principal: Principal, *, everywhere: bool) -> None:
    """Raise NotPermitted for a wish to bar a text in the whole project by who may not say what that keeps."""
    if everywhere and not (principal.covers_all and Verb.ADMIN in principal.verbs):
        raise NotPermitted("forgetting everywhere needs the verb admin and a key for all of the project")


def lift(principal: Principal, content: str, *, authority: int, namespace: Namespace | None = None) -> int:
    """Let a forgotten text be said again, in one namespace or the whole project; how many fingerprints went.

    Nothing comes back by itself, and what bars it everywhere no namespace lifts for itself. Raise NotFound when the
    text was not forgotten, NotPermitted when somebody above `authority` forgot it.
    """
    with access.enter(principal, why="lift erasure"):
        place = namespace.id if namespace else None
        guises = [text for _, text in in_guises([(None, content)])]
        rows = Erasure.objects.of_texts(principal.project_id, guises, namespace_id=place)
        if rows.filter(authority__gt=authority).exists():
            raise NotPermitted("somebody stronger than this key forgot it")
        count, _ = rows.delete()
        if not count:
            raise NotFound("erasure")
        return int(count)
