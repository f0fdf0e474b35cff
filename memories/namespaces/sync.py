"""Sync: what happened in a branch to memories that its target has too, besides their words."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence

from conflicts.bulk_changes import end_waiting_of_many
from conflicts.rulings import fragment_ruled
from conflicts.search_index import find_forgotten_texts
from memories.erasure import erase
from memories.models import Fragment
from memories.models.enums import Status
from memories.models.fragment import BY_HAND, BY_PERSON
from memories.models.sql import execute, fetch
from memories.namespaces.copies import (
    PARTS,
    CopyRoute,
    Part,
    await_vectors,
    chosen,
    copy,
    note_origins,
    paired,
    unless_forgotten,
)
from memories.namespaces.diff import at_once

# Forgotten in the source: a memory of its line that had a copy there, of which only the erasure is left.
FORGOTTEN = f"""
    SELECT DISTINCT e.authority, k.id FROM memories_erasure e
    LEFT JOIN memories_origin o ON o.project_id = e.project_id AND o.fragment_id = e.fragment_id
        AND o.namespace_id = %(source)s
    JOIN LATERAL (
        SELECT c.fragment_id AS id FROM memories_origin c WHERE c.project_id = e.project_id
            AND c.namespace_id = %(target)s AND c.root_id = coalesce(o.root_id, e.fragment_id)
            AND (o.root_id IS NOT NULL OR %(child)s)
        UNION ALL SELECT o.root_id WHERE o.root_id IS NOT NULL
        UNION ALL SELECT o.origin_id WHERE o.origin_id IS NOT NULL
    ) k ON true
    WHERE e.project_id = %(project)s
        AND NOT EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = e.project_id AND f.id = e.fragment_id)
        AND (EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = e.project_id AND f.id = k.id
                AND f.namespace_id = %(target)s AND greatest(f.authority, {fragment_ruled("f")}) <= e.authority)
            OR EXISTS (SELECT FROM memories_tombstone d WHERE d.project_id = e.project_id AND d.original_id = k.id
                AND d.namespace_id = %(target)s AND d.authority <= e.authority))
    ORDER BY e.authority DESC, k.id"""
STANDING = (
    "p.status IN ('active', 'disputed') AND p.their_status IN ('active', 'disputed') AND p.mine <> ALL (%(coming)s)"
)
CHANGED = f"SELECT p.mine, p.theirs FROM branch_pairs p WHERE p.changed AND NOT p.they_changed AND {STANDING}"
# What was set beside the words, where the target left its own as it was.
DETAILS = f"""
    UPDATE memories_fragment t SET importance = s.importance, emotional_valence = s.emotional_valence,
        is_pinned = s.is_pinned, is_anchor = s.is_anchor, outcome = s.outcome, category = s.category, tags = s.tags,
        topics = s.topics, entities = s.entities, type = s.type, event_at = s.event_at, extra = s.extra,
        updated_at = greatest(t.updated_at, s.updated_at), revision = t.revision + 1
    FROM branch_pairs p JOIN memories_fragment s ON s.project_id = %(project)s AND s.id = p.mine
    WHERE t.project_id = %(project)s AND t.id = p.theirs AND p.changed AND NOT p.they_changed
        AND s.compression = t.compression AND {STANDING} AND p.mine <> ALL (%(barred)s)
        AND (s.importance, s.emotional_valence, s.is_pinned, s.is_anchor, s.outcome, s.category, s.tags, s.topics,
            s.entities, s.type, s.event_at, s.extra) IS DISTINCT FROM (t.importance, t.emotional_valence, t.is_pinned,
            t.is_anchor, t.outcome, t.category, t.tags, t.topics, t.entities, t.type, t.event_at, t.extra)
    RETURNING t.id"""
FRESHER = f"""
    UPDATE memories_fragment t SET base_relevance = s.base_relevance
    FROM branch_pairs p JOIN memories_fragment s ON s.project_id = %(project)s AND s.id = p.mine
    WHERE t.project_id = %(project)s AND t.id = p.theirs AND s.base_relevance > t.base_relevance AND {STANDING}
    RETURNING t.id"""
READ = f"""
    INSERT INTO memories_access AS a
        (project_id, fragment_id, access_count, count_at_tier, last_accessed_at, stability)
    SELECT s.project_id, p.theirs, s.access_count, s.count_at_tier, s.last_accessed_at, s.stability
    FROM branch_pairs p JOIN memories_access s ON s.project_id = %(project)s AND s.fragment_id = p.mine WHERE {STANDING}
    ON CONFLICT (fragment_id) DO UPDATE SET access_count = greatest(a.access_count, excluded.access_count),
        last_accessed_at = greatest(a.last_accessed_at, excluded.last_accessed_at),
        stability = greatest(a.stability, excluded.stability)
    WHERE (excluded.access_count, excluded.last_accessed_at) IS DISTINCT FROM (a.access_count, a.last_accessed_at)
        AND (excluded.access_count > a.access_count OR excluded.last_accessed_at > a.last_accessed_at)"""
# A vote counts once per owner, wherever it was cast first.
VOTED = f"""
    WITH new AS (
        INSERT INTO conflicts_vote (id, project_id, fragment_id, owner_id, ballot, counted, roots, reason, created_at)
        SELECT md5(v.id::text || %(target)s::text)::uuid, v.project_id, p.theirs, v.owner_id, v.ballot, v.counted,
            v.roots, {unless_forgotten("v.reason", target="%(target)s")}, v.created_at
        FROM branch_pairs p JOIN conflicts_vote v ON v.project_id = %(project)s AND v.fragment_id = p.mine
        WHERE {STANDING}
        ON CONFLICT DO NOTHING RETURNING fragment_id, ballot, counted)
    UPDATE memories_fragment t SET reinforcements = t.reinforcements + n.reinforced, disputes = t.disputes + n.disputed,
        corroboration = t.corroboration + n.corroborated
    FROM (SELECT fragment_id, count(*) FILTER (WHERE ballot = 'reinforce') AS reinforced,
            count(*) FILTER (WHERE ballot = 'dispute') AS disputed,
            count(*) FILTER (WHERE ballot = 'corroborate') AS corroborated
        FROM new WHERE counted GROUP BY fragment_id) n
    WHERE t.project_id = %(project)s AND t.id = n.fragment_id RETURNING t.id"""
DOUBTED = f"""
    UPDATE memories_fragment t SET status = 'disputed', updated_at = %(now)s FROM branch_pairs p
    WHERE t.project_id = %(project)s AND t.id = p.theirs AND p.status = 'disputed' AND p.their_status = 'active'
        AND t.status = 'active' AND t.disputes > 0 AND {STANDING} RETURNING t.id"""
# What a stronger reviewer chose in the target stays.
PUT_AWAY = f"""
    SELECT p.theirs, s.archived_reason FROM branch_pairs p
    JOIN memories_fragment s ON s.project_id = %(project)s AND s.id = p.mine
    JOIN memories_fragment t ON t.project_id = %(project)s AND t.id = p.theirs
        AND greatest(t.authority, {fragment_ruled("t")}) <= greatest(s.authority, {fragment_ruled("s")})
    WHERE p.status = 'archived' AND s.archived_reason IN ('{BY_HAND}', '{BY_PERSON}')
        AND p.their_status IN ('active', 'disputed') AND NOT p.they_changed ORDER BY p.theirs"""


def forget_there(way: CopyRoute, *, now: datetime.datetime) -> list[uuid.UUID]:
    """Carry out in the target what was forgotten in the source, with the authority with which it was; the ids."""
    child = way.target.forked_from_id == way.source.id
    groups: dict[int, list[uuid.UUID]] = defaultdict(list)
    seen: set[uuid.UUID] = set()
    for authority, fragment_id in fetch(FORGOTTEN, {**way.values, "child": child}):
        if fragment_id not in seen:
            seen.add(fragment_id)
            groups[authority].append(fragment_id)
    for authority, ids in groups.items():
        erase(way.source.project_id, ids, authority=authority, now=now)
    return sorted(seen)


def _barred_details(way: CopyRoute, values: Mapping[str, object]) -> list[uuid.UUID]:
    """Return the memories of the source beside which words came to stand that the target forgot."""
    project_id = way.source.project_id
    pairs: dict[uuid.UUID, uuid.UUID] = dict(fetch(CHANGED, values))
    rows = Fragment.objects.within(project_id).in_bulk([*pairs, *pairs.values()])
    words = {mine: {*rows[mine].words_beside} - {*rows[theirs].words_beside} for mine, theirs in pairs.items()}
    told = [(mine, text) for mine, texts in words.items() for text in texts]
    asked = [(way.target.id, text, rows[pairs[mine]].authority) for mine, text in told]
    return list({told[n][0] for n in find_forgotten_texts(project_id, asked)})


def sync_details(way: CopyRoute, coming: Sequence[uuid.UUID], *, now: datetime.datetime) -> set[uuid.UUID]:
    """Details, freshness, votes and putting away, for what both sides have; the memories of the target that changed.

    `coming` are memories of the source that replace their counterparts, or were refused.
    """
    values = {**way.values, "coming": list(coming), "now": now}
    values["barred"] = _barred_details(way, values)
    changed: set[uuid.UUID] = set()
    with at_once():
        for statement in (DETAILS, FRESHER, VOTED, DOUBTED):
            changed |= {i for (i,) in fetch(statement, values)}
        execute(READ, values)
        put_away = dict(fetch(PUT_AWAY, values))
    end_waiting_of_many(way.source.project_id, list(put_away), now=now)
    for why in sorted(set(put_away.values())):
        Fragment.objects.within(way.source.project_id).filter(
            id__in=[each for each, its_reason in put_away.items() if its_reason == why]
        ).update(status=Status.ARCHIVED, archived_reason=why, updated_at=now)
    return changed | set(put_away)


# Rulings of the branch on what stands in the target too, or that only rule something out; one of each decision.
RULED = f"""
    INSERT INTO conflicts_ruling (id, project_id, namespace_id, conflict_id, fragment_id, subject_digest,
        predicate_digest, key_digest, scope, session_id, valid_from, valid_until, chosen, ruled_out, chosen_fragments,
        ruled_out_fragments, ruled_out_prints, authority, decided_by, decided_at, note, edited, repeats)
    SELECT md5(r.id::text || %(operation)s::text)::uuid, r.project_id, %(target)s, NULL,
        (SELECT m.new FROM branch_copies m WHERE m.old = r.fragment_id), r.subject_digest, r.predicate_digest,
        r.key_digest, r.scope, r.session_id, r.valid_from, r.valid_until, r.chosen, r.ruled_out,
        ARRAY(SELECT m.new FROM branch_copies m WHERE m.old = ANY (r.chosen_fragments) ORDER BY m.new),
        ARRAY(SELECT m.new FROM branch_copies m WHERE m.old = ANY (r.ruled_out_fragments) ORDER BY m.new),
        r.ruled_out_prints, r.authority, r.decided_by, r.decided_at,
        {unless_forgotten("r.note", target="%(target)s")}, r.edited, 0
    FROM conflicts_ruling r
    WHERE r.project_id = %(project)s AND r.namespace_id = %(source)s AND r.replaced_by_id IS NULL
        AND length(r.key_digest) > 0
        AND (r.chosen = '{{}}' OR EXISTS (SELECT FROM memories_claim c WHERE c.project_id = r.project_id
            AND c.namespace_id = %(target)s AND c.key_digest = r.key_digest AND c.session_id = r.session_id
            AND c.status IN ('active', 'disputed') AND encode(c.value_digest, 'hex') = ANY (r.chosen)))
        AND NOT EXISTS (SELECT FROM conflicts_ruling t WHERE t.project_id = r.project_id
            AND t.namespace_id = %(target)s AND t.key_digest = r.key_digest
            AND (t.decided_at = r.decided_at OR t.replaced_by_id IS NULL
                AND (t.chosen && r.ruled_out OR t.ruled_out && r.chosen)))"""
# By the history of what they were copied from, which may be gone; in the scopes of all users.
UNRULED = """
    DELETE FROM conflicts_ruling t WHERE t.project_id = %(project)s
        AND t.id IN (SELECT md5(e.id::text || %(operation)s::text)::uuid FROM conflicts_rulingevent e
            WHERE e.project_id = %(project)s)"""


def bring_rulings(way: CopyRoute, elsewhere: Mapping[uuid.UUID, uuid.UUID]) -> None:
    """What people ruled in a branch holds in the target too, where nobody ruled otherwise there."""
    with paired(way, elsewhere):
        execute(RULED, way.values)


def delete_rulings(project_id: uuid.UUID, operation_id: uuid.UUID) -> None:
    """Those that a merge brought."""
    execute(UNRULED, {"project": project_id, "operation": operation_id})


def bring_history(way: CopyRoute, ids: Sequence[uuid.UUID], elsewhere: Mapping[uuid.UUID, uuid.UUID]) -> int:
    """Copy what was superseded or archived before it was ever in the target: it stands for nothing; how many."""
    if not ids:
        return 0
    with chosen(way, rows="t.id = ANY (%(ids)s)", values={"ids": list(ids)}) as copied:
        for part in PARTS:
            copy(way, part)
        note_origins(way)
        await_vectors(way)
        execute(
            """UPDATE memories_fragment f SET superseded_by_id = e.there
               FROM branch_copies m JOIN memories_fragment s ON s.project_id = %(project)s AND s.id = m.old
               JOIN unnest(%(here)s::uuid[], %(there)s::uuid[]) AS e (here, there) ON e.here = s.superseded_by_id
               WHERE f.project_id = %(project)s AND f.id = m.new AND f.superseded_by_id IS NULL""",
            {**way.values, "here": list(elsewhere), "there": list(elsewhere.values())},
        )
    return copied


def bring_along(
    way: CopyRoute, stored: Mapping[uuid.UUID, uuid.UUID], counterparts: Mapping[uuid.UUID, uuid.UUID]
) -> None:
    """What hangs on memories that were replayed: votes, reads, labels, and links drawn by hand to what is there too."""
    with paired(way, stored):
        for part in PARTS:
            if part.model in ("conflicts.Vote", "memories.Access", "memories.ClusterLabel"):
                copy(way, part, clash="ON CONFLICT DO NOTHING")
        note_origins(way)
    with paired(way, {**counterparts, **stored}):
        (links,) = [part for part in PARTS if part.model == "memories.Link"]
        by_hand = Part(links.model, links.instead, f"t.kind = 'related' AND {links.rows}")
        copy(way, by_hand, clash="ON CONFLICT DO NOTHING")
