"""Losers: what another memory replaced stands again when that one is forgotten, unless somebody still opposes it."""

import datetime
import uuid
from collections.abc import Sequence

from conflicts.front import Newcomer, is_disputed, readmit, undisturbed, was_ruled_out
from memories.ingest.reading import stated
from memories.ingest.revising import claim_of
from memories.models import Archive, Claim, Fragment
from memories.models.raw import execute, fetch
from memories.models.words import STANDING, Status

# Of another value than the winner: what said the same as that says what was to be forgotten.
LOST = """
    SELECT l.id FROM memories_fragment l
    JOIN memories_claim c ON c.project_id = l.project_id AND c.fragment_id = l.id
    LEFT JOIN memories_claim w ON w.project_id = l.project_id AND w.fragment_id = l.superseded_by_id
    WHERE l.project_id = %(project)s AND l.superseded_by_id = ANY (%(ids)s) AND l.id <> ALL (%(ids)s)
        AND l.status = 'superseded'
        AND (w.fragment_id IS NULL OR (w.key_digest, w.value_digest) <> (c.key_digest, c.value_digest))
    ORDER BY l.authority DESC, l.created_at DESC, l.id"""
# Who stands on its key now took its place.
YIELDED = """
    UPDATE memories_fragment l SET superseded_by_id = (
        SELECT s.fragment_id FROM memories_claim s JOIN memories_claim c ON c.project_id = s.project_id
            AND c.namespace_id = s.namespace_id AND c.key_digest = s.key_digest AND c.session_id = s.session_id
        WHERE s.project_id = l.project_id AND c.fragment_id = l.id AND s.fragment_id <> l.id
            AND s.status IN ('active', 'disputed') AND s.validity && c.validity
        ORDER BY s.authority DESC, s.fragment_id LIMIT 1)
    WHERE l.project_id = %s AND l.id = %s"""


def has_losers(project_id: uuid.UUID, fragment_id: uuid.UUID) -> bool:
    """Return whether something would stand again if this were forgotten."""
    return bool(losers_of(project_id, [fragment_id]))


def losers_of(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Return what these replaced and is not of them, the strongest and newest first; not what a person ruled out."""
    found = [i for (i,) in fetch(LOST, {"project": project_id, "ids": list(ids)})]
    ruled_out = was_ruled_out(project_id, found)
    return [i for i in found if i not in ruled_out]


def stand_again(project_id: uuid.UUID, ids: Sequence[uuid.UUID], *, now: datetime.datetime) -> list[uuid.UUID]:
    """Let them pass the gate, in order; return those that stand. The caller holds their namespaces or keys."""
    rows = Fragment.objects.within(project_id).filter(status=Status.SUPERSEDED, id__in=ids)
    held = {row.id: row for row in rows.select_for_update(of=("self",), no_key=True).order_by("id")}
    originals = Archive.objects.within(project_id).originals(held.values())
    stands = []
    for fragment_id in ids:
        if (row := held.get(fragment_id)) and _returned(row, originals.get(fragment_id, row.content), now=now):
            stands.append(fragment_id)
    return stands


def _returned(row: Fragment, said: str, *, now: datetime.datetime) -> bool:
    former = Claim.objects.within(row.project_id).filter(fragment=row).first()
    newcomer = Newcomer(row, None, claim_of(row), stated(said))
    if not undisturbed([(newcomer, former)], now=now):
        execute(YIELDED, [row.project_id, row.id])
        return False
    row.updated_at = now
    at_best = Status.DISPUTED if is_disputed(row) else Status.ACTIVE
    readmit(newcomer, now=now, returning=True, at_best=at_best)
    return row.status in STANDING
