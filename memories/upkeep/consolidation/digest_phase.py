"""Digest phase: clusters of old memories that nobody changed become one digest; the originals go to the archive."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import connection

from conflicts.authority import SOURCE_RANK
from conflicts.search_index import BlockedByErasure
from memories import access, governance
from memories.language.extracts import extract
from memories.models import Fragment
from memories.models.enums import SourceClass
from memories.providers import embed
from memories.upkeep.communities import SimilarPair, find_communities
from memories.upkeep.consolidation.digests import (
    LEAST,
    MOST,
    TOLD_IN_ORDER,
    DigestDraft,
    DigestPlace,
    extracted,
    store,
)
from memories.upkeep.consolidation.options import LLM
from memories.upkeep.consolidation.plan_state import MOST_DIGESTS, Outlook
from memories.upkeep.consolidation.steps import Phase, StepDraft
from memories.upkeep.protections import INFERRED, MAY_BE_DIGESTED

TOLD = 1_800  # characters of memories that one digest tells: ten turns of a talk or so
LINKED = """
    SELECT l.fragment_id, l.other_id, l.similarity FROM memories_link l
    JOIN memories_fragment f ON f.project_id = l.project_id AND f.id = l.fragment_id
    JOIN memories_fragment o ON o.project_id = l.project_id AND o.id = l.other_id
    WHERE l.project_id = %(project)s AND l.kind IN ('similar', 'related') AND f.namespace_id = %(namespace)s
        AND f.status = 'active' AND o.namespace_id = f.namespace_id AND o.status = 'active'
        AND l.fragment_id <> l.other_id
"""
# Nobody changed it for so long; and it may go: not what a digest of whoever asks for it would be weaker than.
IS_STALE = "f.updated_at <= %(before)s AND f.category <> 'digest'"
MAY_GO = f"f.authority <= %(ceiling)s AND {MAY_BE_DIGESTED}"
MEMBERS = f"""
    SELECT f.id, f.authority, {IS_STALE}, {MAY_GO}, length(f.content)
    FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id = ANY (%(ids)s) ORDER BY f.created_at, f.id
"""
# What was said in a conversation by one authority, in the order in which it was said.
TURNS = f"""
    SELECT array_agg(t.id ORDER BY t.place), array_agg(t.length ORDER BY t.place) FROM (
        SELECT f.id, f.conversation_id, f.authority, f.created_at, length(f.content) AS length,
            row_number() OVER (ORDER BY f.sequence NULLS LAST, f.created_at, f.id) AS place
        FROM memories_fragment f WHERE f.project_id = %(project)s AND f.namespace_id = %(namespace)s
            AND f.status = 'active' AND f.conversation_id <> '' AND NOT f.id = ANY (%(ids)s) AND {IS_STALE} AND {MAY_GO}
    ) AS t GROUP BY t.conversation_id, t.authority HAVING count(*) >= {LEAST}
    ORDER BY min(t.created_at), t.conversation_id, t.authority
"""
Sized = list[tuple[uuid.UUID, int]]  # memories with the characters of their texts


def plan(outlook: Outlook) -> None:
    """A step for each memory that goes into a digest; at most five clusters a run. What one puts off does not fade."""
    clusters = list(_stale(outlook))
    room = max(0, MOST_DIGESTS - outlook.used.get(Phase.DIGEST, 0))
    outlook.put_off("clusters", len(clusters) - room)
    for number, cluster in enumerate(clusters):
        members = {one for one, _ in cluster}
        steps = [step for part in _parts(cluster) for step in _steps(outlook, number, part)]
        if len(outlook.wanted(steps)) < len(steps):
            continue
        if number < room and _take_cluster(outlook, steps):
            outlook.gone |= members
            outlook.changed |= members
        else:
            outlook.waiting |= members


def _steps(outlook: Outlook, number: int, part: Sized) -> list[StepDraft]:
    ids = [one for one, _ in part]
    made = uuid.uuid5(outlook.namespace.id, f"{outlook.now.isoformat()} {' '.join(map(str, ids))}")
    return [StepDraft(Phase.DIGEST, "digest", i, details={"cluster": number, "digest": str(made)}) for i in ids]


def _take_cluster(outlook: Outlook, steps: Sequence[StepDraft]) -> bool:
    """Take a cluster's steps, or none of them."""
    before = len(outlook.steps)
    if len(outlook.take(steps)) == len(steps):
        return True
    del outlook.steps[before:]
    return False


def _stale(outlook: Outlook) -> Iterable[Sized]:
    """Return what may go, by cluster: conversations from the oldest on, then communities from the largest on."""
    values: dict[str, Any] = {
        "project": outlook.project_id,
        "namespace": outlook.namespace.id,
        "before": outlook.now - datetime.timedelta(days=outlook.wish.compress_age_days),
        "ceiling": SOURCE_RANK[SourceClass(outlook.principal.ceiling)],
    }
    with access.enter(outlook.principal, why="plan"), connection.cursor() as cursor:
        cursor.execute(TURNS, {**values, "ids": list(outlook.gone | outlook.changed)})
        conversations: list[Sized] = [list(zip(ids, lengths, strict=True)) for ids, lengths in cursor]
        told = {one for turns in conversations for one, _ in turns}
        cursor.execute(LINKED, values)
        pairs = [SimilarPair(*row) for row in cursor if not set(row[:2]) & (outlook.gone | told)]
        cursor.execute(MEMBERS, {**values, "ids": sorted({side for pair in pairs for side in (pair.one, pair.other)})})
        known = {row[0]: row[1:] for row in cursor}
    for turns in conversations:
        yield from _evenly(turns, -(-len(turns) // MOST))
    for community in sorted(find_communities(pairs, most=MOST), key=lambda ids: (-len(ids), ids)):
        if all(known[i][1] and i not in outlook.changed for i in community):
            members = set(community)
            yield from _equals([(known[i][0], i, known[i][3]) for i in known if i in members and known[i][2]])


def _equals(members: Sequence[tuple[int, uuid.UUID, int]]) -> Iterable[Sized]:
    """Return those that go into one digest, by authority: its members are as strong as one another."""
    for _, equals in groupby(sorted(members, key=itemgetter(0)), key=itemgetter(0)):
        may_go = [(one, length) for _, one, length in equals]
        if len(may_go) >= LEAST:
            yield may_go


def _parts(cluster: Sized) -> list[Sized]:
    """Return a cluster by the digests that tell it, each of memories that follow one another."""
    count = round(sum(length for _, length in cluster) / TOLD)
    return _evenly(cluster, max(1, min(count, len(cluster) // LEAST)))


def _evenly(rows: Sized, count: int) -> list[Sized]:
    return [rows[len(rows) * n // count : len(rows) * (n + 1) // count] for n in range(count)]


def prepare(outlook: Outlook, steps: Sequence[StepDraft]) -> list[DigestDraft]:
    """Return the digests of a plan, embedded. No transaction is open during the provider's call."""
    clusters: list[tuple[uuid.UUID, list[Fragment]]] = []
    for made, members in _clusters(steps).items():
        with access.enter(outlook.principal, why="digest"):
            found = Fragment.objects.within(outlook.project_id).filter(id__in=members).order_by(*TOLD_IN_ORDER)
            rows = list(found)
        if len(rows) >= LEAST:
            clusters.append((made, rows))
    texts = outlook.aside.each(
        clusters, lambda cluster: (cluster[0], _summary(outlook, cluster[1])), name=lambda cluster: cluster[1][0].id
    )
    embedded = embed([summary.text for _, summary in texts], model=outlook.model) if texts else []
    return [
        DigestDraft(made, embedding.text, vector, embedding.origin)
        for (made, embedding), vector in zip(texts, embedded, strict=True)
    ]


def _summary(outlook: Outlook, rows: Sequence[Fragment]) -> governance.digests.Summary:
    """Return by the language model when the run is to, and what it says is allowed; else the best sentences.

    What a model says is an inference, which replaces nothing stronger.
    """
    if outlook.wish.method == LLM and all(row.authority <= INFERRED for row in rows):
        with suppress(governance.digests.NoDigest):
            return governance.digests.summarise(outlook.principal, outlook.namespace, rows, now=outlook.now)
    return governance.digests.Summary(extracted([row.content for row in rows], model=outlook.model), {})


def _clusters(steps: Iterable[StepDraft]) -> dict[uuid.UUID, list[uuid.UUID]]:
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    for step in steps:
        found.setdefault(uuid.UUID(step.details["digest"]), []).append(step.fragment)
    return found


def apply(
    outlook: Outlook, steps: Sequence[StepDraft], drafts: Sequence[DigestDraft], *, planned: Sequence[StepDraft]
) -> list[StepDraft]:
    """Store the digests whose clusters are whole, in the open transaction; answer the steps that were done."""
    ready, whole = {draft.id: draft for draft in drafts}, _clusters(planned)
    clusters = [
        (ready[made], members)
        for made, members in _clusters(steps).items()
        if made in ready and len(members) == len(whole[made])
    ]
    done = outlook.aside.together(clusters, partial(_store_all, outlook), name=lambda cluster: cluster[1][0])
    return [step for step in steps if uuid.UUID(step.details["digest"]) in done]


def _store_all(outlook: Outlook, clusters: Sequence[tuple[DigestDraft, Sequence[uuid.UUID]]]) -> set[uuid.UUID]:
    return {draft.id for draft, members in clusters if _store(outlook, draft, members)}


def _store(outlook: Outlook, draft: DigestDraft, members: Sequence[uuid.UUID]) -> bool:
    rows = list(Fragment.objects.within(outlook.project_id).filter(id__in=members).order_by(*TOLD_IN_ORDER))
    namespace = DigestPlace(outlook.principal, outlook.namespace, outlook.model, outlook.now, outlook.thresholds.rates)
    try:
        try:
            store(namespace, draft, rows)
        except governance.digests.NoDigest:  # the gate refused the model's: the best sentences stand in
            store(namespace, DigestDraft(draft.id, extract([row.content for row in rows]), None), rows)
    except BlockedByErasure:  # what was forgotten may not come back in a digest either
        return False
    return True
