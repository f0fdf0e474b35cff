"""Reinstatement: what another memory replaced stands again when that is forgotten, unless somebody opposes it."""

import datetime
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from django.db.models import Q

from conflicts.bulk_changes import waiting_against, was_ruled_out
from conflicts.former_periods import cut_by
from conflicts.public import ClaimDraft, Newcomer, readmit, return_unchanged
from conflicts.reevaluation import Fate, preview_reevaluation, reevaluate
from memories.extraction import certain_claims, restated_claims
from memories.ingest.updates import claims_of
from memories.models import Archive, Claim, Fragment
from memories.models.claim import claim_id
from memories.models.enums import STANDING, Status
from memories.models.lineage import Digest, digests_quoting
from memories.models.sql import execute, fetch

BATCH = 1_000
DIGESTED = "digested"  # why a memory lies in the archive whose words stand in a digest
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


def batches(ids: Sequence[uuid.UUID]) -> Iterator[list[uuid.UUID]]:
    """Return the ids, so many at a time."""
    for start in range(0, len(ids), BATCH):
        yield list(ids[start : start + BATCH])


def has_losers(project_id: uuid.UUID, fragment_id: uuid.UUID) -> bool:
    """Return whether something would be heard again, or go on, if this were forgotten."""
    which = [fragment_id]
    return bool(losers_of(project_id, which) or waiting_against(project_id, which) or cut_by(project_id, which))


def losers_of(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the fragments of which these replaced something, the strongest and newest first, with those claims.

    Not what a person ruled out.
    """
    rows = fetch(LOST, {"project": project_id, "ids": list(ids)})
    ruled_out = was_ruled_out(project_id, [claim for claim, _ in rows])
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    for claim, fragment_id in rows:
        if claim not in ruled_out:
            found.setdefault(fragment_id, []).append(claim)
    return found


def reinstate(
    project_id: uuid.UUID, losers: dict[uuid.UUID, list[uuid.UUID]], *, now: datetime.datetime
) -> list[uuid.UUID]:
    """Let them pass the gate, in order; return those that stand. The caller holds their namespaces or keys."""
    rows = Fragment.objects.within(project_id).filter(id__in=list(losers))
    held = {row.id: row for row in rows.select_for_update(of=("self",), no_key=True).order_by("id")}
    left = [held[i] for i in losers if i in held and held[i].status in (*STANDING, Status.SUPERSEDED)]
    originals = Archive.objects.within(project_id).originals(held.values())
    formers = Claim.objects.by_fragment(project_id, [row.id for row in left])
    stands: list[uuid.UUID] = []
    # In order, as many as can be heard together.
    for in_part, group in groupby(left, key=lambda row: len(formers.get(row.id, ())) > 1):
        back = [(_newcomer(row, formers.get(row.id, ()), originals), formers.get(row.id, [])) for row in group]
        if in_part:
            parts = [(newcomer, losers[newcomer.fragment.id]) for newcomer, _ in back]
            stands += [newcomer.fragment.id for newcomer, lost in parts if _in_part(newcomer, lost, now=now)]
        else:
            stands += _as_wholes(project_id, back, now=now)
    return stands


def _newcomer(row: Fragment, former: Sequence[Claim], originals: Mapping[uuid.UUID, str]) -> Newcomer:
    drafts = [replace(ClaimDraft.of(claim), verdict="", superseded_by=None) for claim in former]
    return Newcomer(row, None, drafts, certain_claims(originals.get(row.id, row.content), row.extra))


def _as_wholes(
    project_id: uuid.UUID, back: Sequence[tuple[Newcomer, Sequence[Claim]]], *, now: datetime.datetime
) -> list[uuid.UUID]:
    agreed = return_unchanged(back, now=now)
    for one in _alike([pair for pair in back if pair[0].fragment.id not in agreed]):
        agreed |= return_unchanged([one], now=now)
    ids = [newcomer.fragment.id for newcomer, _ in back]
    for which in ids:
        if which not in agreed:
            execute(YIELDED, [project_id, which])
    return [which for which in ids if which in agreed]


def _alike(left: Sequence[tuple[Newcomer, Sequence[Claim]]]) -> list[tuple[Newcomer, Sequence[Claim]]]:
    """Return those of which others say the same, by their slots: in that order they stood beside each other."""
    said = Counter((bytes(claim.key_digest), bytes(claim.value_digest)) for _, former in left for claim in former)
    alike = [pair for pair in left if any(said[bytes(c.key_digest), bytes(c.value_digest)] > 1 for c in pair[1])]
    return sorted(alike, key=lambda pair: min(claim.slot for claim in pair[1]))


def _in_part(newcomer: Newcomer, lost: Sequence[uuid.UUID], *, now: datetime.datetime) -> bool:
    """Let some of a memory's claims stand again; what the others are they stay."""
    claims = [draft for draft in newcomer.claims if claim_id(newcomer.fragment.id, draft.position or 0) in lost]
    newcomer = replace(newcomer, claims=claims)
    finding, *_ = preview_reevaluation([newcomer], now=now)
    newcomer.fragment.refresh_from_db(fields=["status", "archived_reason"])
    if finding.fate != Fate.RETURNS or finding.others:
        return False
    return bool(reevaluate([newcomer], {newcomer.fragment.id: finding}, now=now))


def digests_of(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Digest]:
    """Digests that quote these, evicted ones too; digests of such digests as well."""
    known, new = set(ids), list(ids)
    found: dict[uuid.UUID, Digest] = {}
    while new:
        digests = [digest for batch in batches(new) for digest in digests_quoting(project_id, batch)]
        made = {digest.id: digest for digest in digests if digest.id not in known}
        found |= made
        known |= set(made)
        new = list(made)
    return found


def return_originals(project_id: uuid.UUID, ids: set[uuid.UUID], *, now: datetime.datetime) -> list[uuid.UUID]:
    """Return what lies in the archive because its words stood in a digest that is gone stands again; those that do."""
    rows = Fragment.objects.within(project_id).filter(status=Status.ARCHIVED, archived_reason=DIGESTED, id__in=ids)
    held = list(rows.select_for_update(of=("self",), no_key=True).order_by("id"))
    originals = Archive.objects.within(project_id).originals(held)
    for row in held:
        drafts = certain_claims(originals.get(row.id, row.content), row.extra)
        row.updated_at = now
        readmit(Newcomer(row, None, claims_of(row), drafts), now=now, returning=True, at_best=Status.ACTIVE)
    return [row.id for row in held if row.status in STANDING]


def release_waiting(
    project_id: uuid.UUID, waiting: Collection[uuid.UUID], losers: Mapping[uuid.UUID, Any], *, now: datetime.datetime
) -> list[uuid.UUID]:
    """Hear anew what waited because of what is gone, with the claims that had lost to it. Return what stands.

    The caller holds their namespaces.
    """
    places = defaultdict(list)
    rows = Fragment.objects.within(project_id).filter(id__in={*waiting, *losers})
    # What stands again may have answered or replaced them.
    waits = Q(status=Status.QUARANTINED) | Q(status__in=STANDING, claims__status=Status.QUARANTINED)
    for fragment_id, place in rows.filter(waits).distinct().values_list("id", "namespace_id"):
        places[place].append(fragment_id)
    for ids in places.values():
        lost = {claim_id for which in ids for claim_id in losers.get(which, ())}
        foreseen = preview_reevaluation(_newcomers(project_id, ids, lost), afresh=True, now=now)
        expected = {one.fragment_id: one for one in foreseen}
        reevaluate(_newcomers(project_id, ids, lost), expected, afresh=True, now=now)
    heard_ids = [which for ids in places.values() for which in ids]
    return sorted(rows.filter(id__in=heard_ids, status__in=STANDING).values_list("id", flat=True))


def _newcomers(project_id: uuid.UUID, ids: Sequence[uuid.UUID], lost: set[uuid.UUID]) -> list[Newcomer]:
    """Return of a memory that waits all that did not leave by itself, of one that stands what waits."""
    claims = Claim.objects.by_fragment(project_id, ids)

    def drafts(row: Fragment) -> list[ClaimDraft]:
        heard = [claim for claim in claims.get(row.id, ()) if claim.status == Status.QUARANTINED or claim.id in lost]
        return [replace(ClaimDraft.of(claim), verdict="", superseded_by=None) for claim in heard]

    rows = Fragment.objects.within(project_id).filter(id__in=ids).order_by("created_at", "id")
    return [Newcomer(row, claims=drafts(row), statements=restated_claims(row).statements) for row in rows]
