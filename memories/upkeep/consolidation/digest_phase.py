"""Digest phase: clusters of old memories that nobody changed become one digest; the originals go to the archive."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter

from django.db import connection

from conflicts.authority import SOURCE_RANK
from conflicts.search_index import BlockedByErasure
from memories import access, governance
from memories.models import Fragment
from memories.models.enums import SourceClass
from memories.providers import embed
from memories.upkeep.consolidation.digests import LEAST, MOST, DigestDraft, DigestPlace, store
from memories.upkeep.consolidation.extracts import extract
from memories.upkeep.consolidation.options import LLM
from memories.upkeep.consolidation.plan_state import MOST_DIGESTS, Outlook
from memories.upkeep.consolidation.steps import Phase, StepDraft
from memories.upkeep.protections import INFERRED, IS_CHOSEN, USERS_OWN

LINKED = """
    SELECT l.fragment_id, l.other_id FROM memories_link l
    JOIN memories_fragment f ON f.project_id = l.project_id AND f.id = l.fragment_id
    JOIN memories_fragment o ON o.project_id = l.project_id AND o.id = l.other_id
    WHERE l.project_id = %s AND l.kind IN ('similar', 'related') AND f.namespace_id = %s AND f.status = 'active'
        AND o.namespace_id = f.namespace_id AND o.status = 'active' AND l.fragment_id <> l.other_id
"""
# Whether nobody changed it for so long, and whether it may go: what is kept on purpose, believed or chosen stays, and
# what the user said in so many words, and what a digest of whoever asks for it would be weaker than.
MEMBERS = f"""
    SELECT f.id, f.authority, f.updated_at <= %(before)s AND f.category <> 'digest',
        f.authority <= %(ceiling)s AND f.authority < %(users_own)s
        AND NOT (f.is_pinned OR f.is_anchor) AND f.key = '' AND f.compression = 'full' AND NOT EXISTS (
            SELECT FROM memories_claim c WHERE c.project_id = f.project_id AND c.fragment_id = f.id) AND NOT {IS_CHOSEN}
    FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id = ANY (%(ids)s)
"""


def plan(outlook: Outlook) -> None:
    """A step for each memory that goes into a digest; at most five digests a run."""
    clusters = sorted(_stale(outlook), key=lambda ids: (-len(ids), ids))
    room = max(0, MOST_DIGESTS - outlook.used.get(Phase.DIGEST, 0))
    outlook.put_off("clusters", len(clusters) - room)
    for number, ids in enumerate(clusters[:room]):
        made = uuid.uuid5(outlook.namespace.id, f"{outlook.now.isoformat()} {' '.join(map(str, ids))}")
        steps = [StepDraft(Phase.DIGEST, "digest", i, details={"cluster": number, "digest": str(made)}) for i in ids]
        if len(outlook.wanted(steps)) == len(steps) and _take_cluster(outlook, steps):
            outlook.gone |= set(ids)
            outlook.changed |= set(ids)


def _take_cluster(outlook: Outlook, steps: Sequence[StepDraft]) -> bool:
    """Take a cluster's steps, or none of them."""
    before = len(outlook.steps)
    if len(outlook.take(steps)) == len(steps):
        return True
    del outlook.steps[before:]
    return False


def _stale(outlook: Outlook) -> Iterable[list[uuid.UUID]]:
    with access.enter(outlook.principal, why="plan"), connection.cursor() as cursor:
        cursor.execute(LINKED, [outlook.project_id, outlook.namespace.id])
        pairs = [(one, other) for one, other in cursor if not {one, other} & outlook.gone]
        before = outlook.now - datetime.timedelta(days=outlook.wish.compress_age_days)
        ids = sorted({side for pair in pairs for side in pair})
        ranks = {"ceiling": SOURCE_RANK[SourceClass(outlook.principal.ceiling)], "users_own": USERS_OWN}
        cursor.execute(MEMBERS, {"project": outlook.project_id, "ids": ids, "before": before, **ranks})
        known = {row[0]: row[1:] for row in cursor}
    for component in components(pairs):
        if all(known[i][1] and i not in outlook.changed for i in component):
            yield from _equals([(known[i][0], i) for i in component if known[i][2]])


def _equals(members: Sequence[tuple[int, uuid.UUID]]) -> Iterable[list[uuid.UUID]]:
    """Return those that go into one digest, by authority: its members are as strong as one another."""
    for _, equals in groupby(sorted(members), key=itemgetter(0)):
        may_go = [i for _, i in equals]
        if LEAST <= len(may_go) <= MOST:
            yield may_go


def components(pairs: Iterable[tuple[uuid.UUID, uuid.UUID]]) -> list[list[uuid.UUID]]:
    """Return the groups that are linked with one another, each sorted."""
    above: dict[uuid.UUID, uuid.UUID] = {}

    def root(one: uuid.UUID) -> uuid.UUID:
        above.setdefault(one, one)
        while above[one] != one:
            above[one] = above[above[one]]
            one = above[one]
        return one

    for one, other in pairs:
        a, b = root(one), root(other)
        above[max(a, b)] = min(a, b)
    groups: dict[uuid.UUID, list[uuid.UUID]] = {}
    for one in sorted(above):
        groups.setdefault(root(one), []).append(one)
    return list(groups.values())


def prepare(outlook: Outlook, steps: Sequence[StepDraft]) -> list[DigestDraft]:
    """Return the digests of a plan, embedded. No transaction is open during the provider's call."""
    clusters: list[tuple[uuid.UUID, list[Fragment]]] = []
    for made, members in _clusters(steps).items():
        with access.enter(outlook.principal, why="digest"):
            found = Fragment.objects.within(outlook.project_id).filter(id__in=members).order_by("created_at", "id")
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
    return governance.digests.Summary(extract([row.content for row in rows]), {})


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
    rows = list(Fragment.objects.within(outlook.project_id).filter(id__in=members).order_by("created_at", "id"))
    namespace = DigestPlace(outlook.principal, outlook.namespace, outlook.model, outlook.now)
    try:
        store(namespace, draft, rows)
    except BlockedByErasure:  # what was forgotten may not come back in a digest either
        return False
    return True
