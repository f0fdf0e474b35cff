"""Reinstatement: what another memory replaced stands again when that is forgotten, unless somebody opposes it."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import replace

from conflicts.bulk_changes import was_ruled_out
from conflicts.public import Newcomer, admissible_unchanged, readmit
from conflicts.reevaluation import Fate, preview_reevaluation, reevaluate
from conflicts.votes import is_disputed
from memories.extraction import certain_claims
from memories.ingest.updates import claims_of
from memories.models import Archive, Claim, Fragment
from memories.models.enums import STANDING, Status
from memories.models.sql import execute, fetch

# Claims of another value than the winner's: what said the same as that says what was to be forgotten. Their fragments
# left with them, or stand for what else they claim.
LOST = """
    SELECT c.id, l.id FROM memories_fragment l
    JOIN memories_claim c ON c.project_id = l.project_id AND c.fragment_id = l.id
    WHERE l.project_id = %(project)s AND l.id <> ALL (%(ids)s) AND c.status = 'superseded'
        AND (c.superseded_by_id = ANY (%(ids)s)
            OR c.superseded_by_id IS NULL AND l.status = 'superseded' AND l.superseded_by_id = ANY (%(ids)s))
        AND NOT EXISTS (SELECT FROM memories_claim w WHERE w.project_id = l.project_id
            AND w.fragment_id = coalesce(c.superseded_by_id, l.superseded_by_id)
            AND (w.key_digest, w.value_digest) = (c.key_digest, c.value_digest))
    ORDER BY l.authority DESC, l.created_at DESC, l.id, c.position"""
# Who stands on its key now took its place.
YIELDED = """
    UPDATE memories_fragment l SET superseded_by_id = (
        SELECT s.fragment_id FROM memories_claim s JOIN memories_claim c ON c.project_id = s.project_id
            AND c.namespace_id = s.namespace_id AND c.key_digest = s.key_digest AND c.session_id = s.session_id
        WHERE s.project_id = l.project_id AND c.fragment_id = l.id AND s.fragment_id <> l.id
            AND s.status IN ('active', 'disputed') AND s.validity && c.validity
        ORDER BY s.authority DESC, s.fragment_id LIMIT 1)
    WHERE l.project_id = %s AND l.id = %s AND l.status = 'superseded' AND l.superseded_by_id IS NULL"""


def has_losers(project_id: uuid.UUID, fragment_id: uuid.UUID) -> bool:
    """Return whether something would stand again if this were forgotten."""
    return bool(losers_of(project_id, [fragment_id]))


def losers_of(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the fragments of which these replaced something, the strongest and newest first, with those claims.

    Not what a person ruled out.
    """
    rows = fetch(LOST, {"project": project_id, "ids": list(ids)})
    ruled_out = was_ruled_out(project_id, [claim_id for claim_id, _ in rows])
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    for claim_id, fragment_id in rows:
        if claim_id not in ruled_out:
            found.setdefault(fragment_id, []).append(claim_id)
    return found


def reinstate(
    project_id: uuid.UUID, losers: dict[uuid.UUID, list[uuid.UUID]], *, now: datetime.datetime
) -> list[uuid.UUID]:
    """Let them pass the gate, in order; return those that stand. The caller holds their namespaces or keys."""
    rows = Fragment.objects.within(project_id).filter(id__in=list(losers))
    held = {row.id: row for row in rows.select_for_update(of=("self",), no_key=True).order_by("id")}
    originals = Archive.objects.within(project_id).originals(held.values())
    stands = []
    for fragment_id, claims in losers.items():
        row = held.get(fragment_id)
        if row and row.status in (*STANDING, Status.SUPERSEDED):
            text = originals.get(fragment_id, row.content)
            if _reinstate(row, claims, text, now=now):
                stands.append(fragment_id)
    return stands


def _reinstate(row: Fragment, lost: Sequence[uuid.UUID], text: str, *, now: datetime.datetime) -> bool:
    former = list(Claim.objects.within(row.project_id).filter(fragment=row).order_by("position"))
    drafts = [replace(draft, verdict="", superseded_by=None) for draft in claims_of(row)]
    if len(former) > 1:
        drafts_left = [draft for draft, claim in zip(drafts, former, strict=True) if claim.id in lost]
        return _in_part(Newcomer(row, None, drafts_left, certain_claims(text, row.extra)), now=now)
    newcomer = Newcomer(row, None, drafts, certain_claims(text, row.extra))
    if not admissible_unchanged([(newcomer, former)], now=now):
        execute(YIELDED, [row.project_id, row.id])
        return False
    row.updated_at = now
    at_best = Status.DISPUTED if is_disputed(row) else Status.ACTIVE
    readmit(newcomer, now=now, returning=True, at_best=at_best)
    return row.status in STANDING


def _in_part(newcomer: Newcomer, *, now: datetime.datetime) -> bool:
    """Let some of a memory's claims stand again; what the others are they stay."""
    (finding,) = preview_reevaluation([newcomer], now=now)
    newcomer.fragment.refresh_from_db(fields=["status", "archived_reason"])
    if finding.fate != Fate.RETURNS or finding.others:
        return False
    return bool(reevaluate([newcomer], {newcomer.fragment.id: finding}, now=now))
