"""Deduplication: of memories that say the same, the best stays and takes over what the others had."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from conflicts.bulk_changes import supersede_repeated
from memories import access
from memories.language.content_words import content_words
from memories.language.facts import Facts, facts
from memories.models import Fragment
from memories.models.scoring import trust
from memories.upkeep.consolidation import vectors
from memories.upkeep.consolidation.near_duplicates import find_near_duplicates
from memories.upkeep.consolidation.plan_state import Outlook
from memories.upkeep.consolidation.spellings import read_groups, spelling
from memories.upkeep.consolidation.steps import Phase, StepDraft

BATCH = 5_000
KEEPERS = 8  # of one wording: how many are compared with all others, so that thousands of them cost no square
MEMBERS = """
    SELECT f.id, f.type, f.authority, f.source, f.corroboration, f.reinforcements, f.disputes, f.created_at, f.event_at,
        f.content, said.claims, said.authority
    FROM memories_fragment f
    CROSS JOIN LATERAL (
        SELECT md5(string_agg(c.what, ' ' ORDER BY c.what)) AS claims, coalesce(min(c.authority), 0) AS authority
        FROM (SELECT authority, row(key_digest, value_digest, scope, session_id, valid_from, valid_until,
                verdict)::text AS what
            FROM memories_claim WHERE project_id = f.project_id AND fragment_id = f.id) AS c) AS said
    WHERE f.project_id = %s AND f.id = ANY (%s) AND f.status = 'active' AND f.compression = 'full'
        AND f.key = ''
        -- What a person chose stands for itself.
        AND f.id <> ALL (ARRAY(SELECT unnest(r.chosen_fragments) FROM conflicts_ruling r
            WHERE r.project_id = %s AND r.replaced_by_id IS NULL))
"""


@dataclass
class Member:
    """What decides whether a memory may stand for another, and which of them stays."""

    id: uuid.UUID
    type: str
    authority: int
    source: str
    corroboration: int
    reinforcements: int
    disputes: int
    created_at: datetime.datetime
    event_at: datetime.datetime | None
    content: str
    claim: str | None
    claim_authority: int

    @cached_property
    def facts(self) -> Facts:
        """What its text says."""
        return facts(self.content)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers of its text."""
        return content_words(self.content).numbers

    @cached_property
    def spelling(self) -> str:
        """Its words, whatever their case and punctuation."""
        return spelling(self.content)

    def says_as(self, other: "Member") -> bool:
        """Equal claims beside equal numbers or, without claims, equal facts, of one time."""
        if self.type != other.type or self.claim != other.claim:
            return False
        if self.claim is not None:
            return self.numbers == other.numbers
        return self.event_at == other.event_at and self.facts.agree(other.facts)

    def may_stand_for(self, other: "Member") -> bool:
        """Return whether nothing stronger is hidden behind it: what was read out of a text is weaker than the text."""
        return self.authority >= other.authority and self.claim_authority >= other.claim_authority

    @property
    def rank(self) -> tuple[Any, ...]:
        """Authority, then trust, then age: the smallest stays. Trust as it was born: else the younger had more."""
        believed = trust(
            source=self.source,
            corroboration=self.corroboration,
            reinforcements=self.reinforcements,
            disputes=self.disputes,
            age_days=0.0,
        )
        return (-self.authority, -believed, self.created_at, self.id)


@dataclass(frozen=True, slots=True)
class Likeness:
    """Two that say the same, and their cosine."""

    one: Member
    other: Member
    cosine: float


def find_duplicates(outlook: Outlook) -> list[Likeness]:
    """Return the pairs of active memories that say the same: above the lower of both thresholds, or in one wording."""
    floor = min(outlook.wish.dedup_threshold, outlook.wish.corroborate_threshold)
    read = vectors.read(outlook)
    pairs, cosines = find_near_duplicates(read.matrix, floor=floor, centre=read.centre)
    near = {(read.fragment(a), read.fragment(b)): float(c) for (a, b), c in zip(pairs, cosines, strict=True)}
    groups = read_groups(outlook)
    members = _members(outlook, {id for pair in near for id in pair} | {id for group in groups for id in group})
    near |= dict.fromkeys(_spelled_alike(groups, members), 1.0)
    known = (Likeness(members[a], members[b], c) for (a, b), c in near.items() if a in members and b in members)
    return [likeness for likeness in known if likeness.one.says_as(likeness.other)]


def _members(outlook: Outlook, wanted: set[uuid.UUID]) -> dict[uuid.UUID, Member]:
    members: dict[uuid.UUID, Member] = {}
    ids = sorted(wanted)
    for start in range(0, len(ids), BATCH):
        with access.enter(outlook.principal, why="plan"), connection.cursor() as cursor:
            cursor.execute(MEMBERS, [outlook.project_id, ids[start : start + BATCH], outlook.project_id])
            found = [Member(*row) for row in cursor]
        members |= {member.id: member for member in outlook.aside.each(found, _read, name=lambda member: member.id)}
    return members


def _spelled_alike(
    groups: Iterable[list[uuid.UUID]], members: dict[uuid.UUID, Member]
) -> Iterator[tuple[uuid.UUID, uuid.UUID]]:
    """Pairs (first < second) of one wording; of a large group the first by rank with all."""
    for group in groups:
        wordings: dict[tuple[Any, ...], list[Member]] = defaultdict(list)
        for member in (members[id] for id in group if id in members):
            wordings[member.spelling, member.claim, member.event_at].append(member)
        for alike in wordings.values():
            alike.sort(key=lambda member: member.rank)
            for at, keeper in enumerate(alike[:KEEPERS]):
                yield from ((min(keeper.id, m.id), max(keeper.id, m.id)) for m in alike[at + 1 :])


def _read(member: Member) -> Member:
    """Read its text once, where that is what it is compared by."""
    if member.claim is None:
        _ = member.facts
    return member


def plan(outlook: Outlook, likenesses: Sequence[Likeness]) -> None:
    """Of each group of likes the first by rank takes over its direct likes; no two of them stay side by side."""
    members: dict[uuid.UUID, Member] = {}
    ranks: dict[uuid.UUID, tuple[Any, ...]] = {}
    near: dict[uuid.UUID, list[tuple[uuid.UUID, float]]] = defaultdict(list)
    for likeness in likenesses:
        if likeness.cosine > outlook.wish.dedup_threshold:
            one, other = likeness.one, likeness.other
            near[one.id].append((other.id, likeness.cosine))
            near[other.id].append((one.id, likeness.cosine))
            members |= {one.id: one, other.id: other}
            ranks |= {member.id: member.rank for member in (one, other)}
    yields: set[uuid.UUID] = set()
    steps = []
    for keeper in sorted(near, key=ranks.__getitem__):
        if keeper in yields:
            continue
        for loser, cosine in sorted(near[keeper]):
            step = StepDraft(Phase.DEDUPLICATE, "merge", loser, keeper, {"similarity": round(cosine, 4)})
            lower = ranks[loser] > ranks[keeper] and members[keeper].may_stand_for(members[loser])
            if loser not in yields and lower and outlook.wanted([step]):
                yields.add(loser)
                steps.append(step)
    for step in outlook.take(steps):
        assert step.other is not None
        outlook.merged[step.fragment] = step.other
        outlook.gone.add(step.fragment)
        outlook.changed |= {step.fragment, step.other}


STILL_ALIKE = """
    SELECT t.loser FROM unnest(%(losers)s::uuid[], %(keepers)s::uuid[]) AS t (loser, keeper)
    JOIN memories_embedding a ON a.project_id = %(project)s AND a.root_id = %(root)s AND a.namespace_id = %(namespace)s
        AND a.fragment_id = t.loser AND a.model_id = %(model)s
    JOIN memories_embedding b ON b.project_id = %(project)s AND b.root_id = %(root)s AND b.namespace_id = %(namespace)s
        AND b.fragment_id = t.keeper AND b.model_id = %(model)s
    WHERE (a.vector <=> b.vector) < 1 - %(floor)s + .001
"""
TAKE_OVER = """
    WITH yields AS (SELECT * FROM unnest(%(losers)s::uuid[], %(keepers)s::uuid[]) AS t (loser, keeper)),
    had AS (
        SELECT y.keeper, max(f.base_relevance) AS base, max(f.importance) AS importance,
            bool_or(f.is_pinned) AS pinned, bool_or(f.is_anchor) AS anchor
        FROM yields y JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = y.loser GROUP BY y.keeper
    ), words AS (
        SELECT y.keeper, array_agg(DISTINCT w.tag) FILTER (WHERE w.kind = 't' AND NOT w.tag = ANY (k.tags)) AS tags,
            array_agg(DISTINCT w.tag) FILTER (WHERE w.kind = 's' AND NOT w.tag = ANY (k.source_ids)) AS sources
        FROM yields y
        JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = y.loser
        JOIN memories_fragment k ON k.project_id = %(project)s AND k.id = y.keeper
        CROSS JOIN LATERAL (SELECT 't', unnest(f.tags) UNION ALL SELECT 's', unnest(f.source_ids)) AS w (kind, tag)
        GROUP BY y.keeper
    )
    UPDATE memories_fragment k SET base_relevance = greatest(k.base_relevance, had.base),
        importance = greatest(k.importance, had.importance), is_pinned = k.is_pinned OR had.pinned,
        is_anchor = k.is_anchor OR had.anchor, tags = k.tags || coalesce(words.tags, '{}'),
        source_ids = k.source_ids || coalesce(words.sources, '{}'), updated_at = %(now)s
    FROM had LEFT JOIN words ON words.keeper = had.keeper
    WHERE k.project_id = %(project)s AND k.id = had.keeper
"""
# The last sign of life of any of them is the keeper's, so that its relevance is at least that of each.
LIVE_ON = """
    INSERT INTO memories_access AS a
        (project_id, fragment_id, access_count, count_at_tier, last_accessed_at, stability)
    SELECT %(project)s, y.keeper, coalesce(sum(o.access_count), 0), 0,
        max(greatest(f.created_at, coalesce(o.last_accessed_at, f.created_at))), max(coalesce(o.stability, 1))
    FROM unnest(%(losers)s::uuid[], %(keepers)s::uuid[]) AS y (loser, keeper)
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = y.loser
    LEFT JOIN memories_access o ON o.project_id = %(project)s AND o.fragment_id = y.loser
    GROUP BY y.keeper
    ON CONFLICT (fragment_id) DO UPDATE SET access_count = a.access_count + excluded.access_count,
        last_accessed_at = greatest(a.last_accessed_at, excluded.last_accessed_at),
        stability = greatest(a.stability, excluded.stability)
"""
JOIN_LINKS = """
    WITH yields AS (SELECT * FROM unnest(%(losers)s::uuid[], %(keepers)s::uuid[]) AS t (loser, keeper)),
    touched AS (
        SELECT l.fragment_id, l.other_id, l.kind, l.similarity FROM memories_link l
        WHERE l.project_id = %(project)s AND l.kind NOT IN ('supersedes', 'similar')
            AND (l.fragment_id IN (SELECT loser FROM yields) OR l.other_id IN (SELECT loser FROM yields))
    ), moved AS (
        SELECT coalesce(a.keeper, t.fragment_id) AS one, coalesce(b.keeper, t.other_id) AS other, t.kind,
            max(t.similarity) AS similarity
        FROM touched t LEFT JOIN yields a ON a.loser = t.fragment_id LEFT JOIN yields b ON b.loser = t.other_id
        GROUP BY 1, 2, 3
    )
    INSERT INTO memories_link (id, project_id, fragment_id, other_id, kind, similarity)
    SELECT gen_random_uuid(), %(project)s, one, other, kind, similarity FROM moved WHERE one <> other
    ON CONFLICT (project_id, fragment_id, other_id, kind) DO NOTHING
"""


def apply(outlook: Outlook, steps: Sequence[StepDraft]) -> list[StepDraft]:
    """Merge, in the open transaction; answers the steps that were done. Those no longer alike are left."""
    still = _still_alike(outlook, steps) | _still_spelled_alike(outlook, steps)
    done = [step for step in steps if step.fragment in still]
    if not done:
        return []
    values = _values(outlook, done)
    with connection.cursor() as cursor:
        cursor.execute(TAKE_OVER, values)
        cursor.execute(LIVE_ON, values)
        cursor.execute(JOIN_LINKS, values)
    successors = {step.fragment: step.other for step in done if step.other}
    supersede_repeated(outlook.project_id, outlook.namespace.id, successors, now=outlook.now)
    return done


def _still_alike(outlook: Outlook, steps: Sequence[StepDraft]) -> set[uuid.UUID]:
    if not steps:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(STILL_ALIKE, {**_values(outlook, steps), "floor": outlook.wish.dedup_threshold})
        return {row[0] for row in cursor}


def _still_spelled_alike(outlook: Outlook, steps: Sequence[StepDraft]) -> set[uuid.UUID]:
    wanted = {id for step in steps for id in (step.fragment, step.other)}
    rows = Fragment.objects.within(outlook.project_id).filter(id__in=wanted).values_list("id", "content")
    spellings = {id: spelling(content) for id, content in rows}
    return {s.fragment for s in steps if s.other and spellings.get(s.fragment) == spellings.get(s.other, "")}


def _values(outlook: Outlook, steps: Iterable[StepDraft]) -> dict[str, Any]:
    pairs = [(step.fragment, step.other) for step in steps]
    return {
        "losers": [loser for loser, _ in pairs],
        "keepers": [keeper for _, keeper in pairs],
        "project": outlook.project_id,
        "namespace": outlook.namespace.id,
        "root": outlook.namespace.root_id,
        "model": outlook.model.id,
        "now": outlook.now,
    }
