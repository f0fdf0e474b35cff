"""Corroboration: who says the same independently counts as another source, each pair once ever."""

import uuid
from collections.abc import Sequence
from functools import partial

from django.db import connection

from conflicts.corroboration import corroborate_all, independent
from memories import access
from memories.upkeep.consolidation.deduplication import Likeness, Member
from memories.upkeep.consolidation.plan_state import Outlook
from memories.upkeep.consolidation.steps import Phase, StepDraft

HEARD = """
    SELECT p.one_id, p.other_id FROM memories_heardpair p
    JOIN unnest(%s::uuid[], %s::uuid[]) AS t (one, other) ON p.one_id = t.one AND p.other_id = t.other
    WHERE p.project_id = %s
"""
HEAR = """
    INSERT INTO memories_heardpair (id, project_id, one_id, other_id)
    SELECT gen_random_uuid(), %s, t.one, t.other FROM unnest(%s::uuid[], %s::uuid[]) AS t (one, other)
    ON CONFLICT (project_id, one_id, other_id) DO NOTHING
"""
Pair = tuple[uuid.UUID, uuid.UUID]


def plan(outlook: Outlook, likenesses: Sequence[Likeness]) -> None:
    """The pairs of which one speaks for the other: what merges, and what is alike and stays."""
    pairs = [(keeper, loser) for loser, keeper in sorted(outlook.merged.items(), key=lambda pair: pair[::-1])]
    beside = [
        _ordered(likeness)
        for likeness in likenesses
        if likeness.cosine > outlook.wish.corroborate_threshold
        and not {likeness.one.id, likeness.other.id} & outlook.gone
    ]
    # Where somebody took voices back, no other voice of that owner takes their place.
    declined = {fragment for phase, fragment, _ in outlook.declined if phase == Phase.CORROBORATE}
    pairs = [pair for pair in [*pairs, *sorted(beside)] if pair[0] not in declined]
    # Whoever repeats something at the gate is heard for it before.
    at_the_gate = {(votes, voice): None for voice, votes in outlook.repeated.items()}
    with access.enter(outlook.principal, why="plan"):
        counted = _count_votes(outlook, pairs)
        pairs_left = [*at_the_gate, *(pair for pair in pairs if _key(pair) not in counted)]
        found = outlook.aside.together(pairs_left, partial(independent, outlook.project_id), name=lambda pair: pair[0])
    steps = [StepDraft(Phase.CORROBORATE, "corroborate", *pair) for pair in found if pair not in at_the_gate]
    outlook.changed |= {step.fragment for step in outlook.take(steps)}


def _ordered(likeness: Likeness) -> Pair:
    """Return who is corroborated, by whom: by authority and age, which no corroboration changes."""

    def rank(member: Member) -> tuple[object, ...]:
        return (-member.authority, member.created_at, member.id)

    one, other = sorted((likeness.one, likeness.other), key=rank)
    return one.id, other.id


def _key(pair: Pair) -> Pair:
    return min(pair), max(pair)


def _count_votes(outlook: Outlook, pairs: Sequence[Pair]) -> set[Pair]:
    keys = [_key(pair) for pair in pairs]
    with connection.cursor() as cursor:
        cursor.execute(HEARD, [[one for one, _ in keys], [other for _, other in keys], outlook.project_id])
        return {(one, other) for one, other in cursor}


def apply(outlook: Outlook, steps: Sequence[StepDraft]) -> list[StepDraft]:
    """Count them, in the open transaction; answer the steps that were done."""
    if not steps:
        return []
    pairs = [(step.fragment, step.other) for step in steps if step.other]
    votes = _count_votes(outlook, pairs)
    counted = corroborate_all(outlook.project_id, [pair for pair in pairs if _key(pair) not in votes], now=outlook.now)
    keys, done = [_key(pair) for pair in counted], set(counted)
    with connection.cursor() as cursor:
        cursor.execute(HEAR, [outlook.project_id, [one for one, _ in keys], [other for _, other in keys]])
    return [step for step in steps if step.other and (step.fragment, step.other) in done]
