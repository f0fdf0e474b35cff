"""Steps of a plan: made, kept as rows, read again, hashed."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.db import connection

from memories.models import Operation, PlanStep


class Phase(StrEnum):
    """The phases, in order. Re-embedding comes before them; it is no part of a plan."""

    DEDUPLICATE = "deduplicate"
    CONTRADICTIONS = "contradictions"
    CORROBORATE = "corroborate"
    DIGEST = "digest"
    DECAY = "decay"
    ARCHIVE = "archive"
    PRUNE = "prune"


PLANNED = 5  # phases that plan; what the last of them plans is carried out by three
STAGES = PLANNED + len(Phase)  # of a whole run, for people who watch it


@dataclass(frozen=True, slots=True)
class StepDraft:
    """What is to become of a fragment; `other` is the one that it is about besides."""

    phase: Phase
    action: str
    fragment: uuid.UUID
    other: uuid.UUID | None = None
    details: dict[str, Any] = field(default_factory=dict)


# What a plan saw of a fragment and its claim: whatever changed since makes another digest.
SEEN = """md5(row({0}.change, {0}.revision, {0}.status, {0}.updated_at, {0}.fingerprint, {0}.details_digest,
    {0}.base_relevance, {0}.importance, {0}.is_pinned, {0}.is_anchor, {0}.corroboration, {0}.reinforcements,
    {0}.disputes, (SELECT array_agg(row(c.key_digest, c.value_digest, c.valid_from, c.valid_until, c.exclusive, c.slot,
        c.verdict) ORDER BY c.position)
        FROM memories_claim c WHERE c.project_id = {0}.project_id AND c.fragment_id = {0}.id))::text)"""

KEEP = f"""
    INSERT INTO memories_planstep (id, project_id, operation_id, phase, ordinal, action, fragment_id, seen, other_id,
        other_seen, details, declined)
    SELECT gen_random_uuid(), %(project)s, %(operation)s, t.phase, t.ordinal, t.action, f.id, {SEEN.format("f")},
        o.id, CASE WHEN o.id IS NULL THEN '' ELSE {SEEN.format("o")} END, t.details::jsonb, false
    FROM unnest(%(ordinals)s::int[], %(phases)s::text[], %(actions)s::text[], %(fragments)s::uuid[], %(others)s::uuid[],
        %(details)s::text[]) AS t (ordinal, phase, action, fragment, other, details)
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.fragment
    LEFT JOIN memories_fragment o ON o.project_id = %(project)s AND o.id = t.other
"""

FRESH = f"""
    SELECT s.ordinal FROM memories_planstep s
    JOIN memories_fragment f ON f.project_id = s.project_id AND f.id = s.fragment_id
    LEFT JOIN memories_fragment o ON o.project_id = s.project_id AND o.id = s.other_id
    WHERE s.project_id = %s AND s.operation_id = %s AND s.seen = {SEEN.format("f")}
        AND (s.other_id IS NULL OR s.other_seen = {SEEN.format("o")})
"""


def store_steps(operation: Operation, steps: Sequence[StepDraft]) -> None:
    """Write a plan's steps, each with what it saw, in the open transaction; in place of earlier ones."""
    PlanStep.objects.within(operation.project_id).filter(operation=operation).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            KEEP,
            {
                "project": operation.project_id,
                "operation": operation.id,
                "ordinals": list(range(len(steps))),
                "phases": [str(step.phase) for step in steps],
                "actions": [str(step.action) for step in steps],
                "fragments": [step.fragment for step in steps],
                "others": [step.other for step in steps],
                "details": [json.dumps(step.details) for step in steps],
            },
        )


def load_steps(operation: Operation) -> dict[int, StepDraft]:
    """Return a plan's steps by ordinal; those of fragments that were forgotten since are gone."""
    return {row.ordinal: _step(row) for row in _rows(operation)}


def unchanged_steps(operation: Operation) -> set[int]:
    """Return the ordinals of the steps whose fragments are as the plan saw them. The caller holds the fragments."""
    with connection.cursor() as cursor:
        cursor.execute(FRESH, [operation.project_id, operation.id])
        return {row[0] for row in cursor}


def digest(operation: Operation) -> str:
    """SHA-256 over the steps in order, one canonical JSON line each."""
    whole = hashlib.sha256()
    for row in _rows(operation):
        line = [row.phase, row.action, str(row.fragment_id), row.seen, row.other_id and str(row.other_id)]
        whole.update(json.dumps([*line, row.other_seen, row.details], sort_keys=True).encode() + b"\n")
    return whole.hexdigest()


def _rows(operation: Operation) -> Iterator[PlanStep]:
    rows = PlanStep.objects.within(operation.project_id).filter(operation=operation)
    return iter(rows.order_by("ordinal").iterator(chunk_size=10_000))


def _step(row: PlanStep) -> StepDraft:
    return StepDraft(Phase(row.phase), row.action, row.fragment_id, row.other_id, row.details)


def of_phase(steps: Iterable[StepDraft], phase: Phase) -> list[StepDraft]:
    """Return those of one phase."""
    return [step for step in steps if step.phase == phase]
