"""Contradictions: texts that claim nothing yet are read and pass the gate; who waits for nobody is decided on again."""

import dataclasses
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection

from conflicts.front import ClaimDraft, Fate, Finding, Newcomer, examine, foresee
from memories import access
from memories.ingest import reread
from memories.models import Claim, Fragment
from memories.models.words import Compression, SourceType, Status
from memories.upkeep.consolidation.outlook import MOST_HEARD, Outlook
from memories.upkeep.consolidation.steps import Phase, Step

BATCH = 1_000
UNREAD = ("entities", "topics", "extra")
# Opponents that upkeep put away still count: a belief that faded was not refuted.
ALONE = """
    SELECT DISTINCT p.newcomer_id FROM conflicts_pendingconflict p
    JOIN memories_fragment n ON n.project_id = p.project_id AND n.id = p.newcomer_id
    LEFT JOIN memories_claim c ON c.project_id = p.project_id AND c.id = p.newcomer_claim
    LEFT JOIN memories_fragment o ON o.project_id = p.project_id AND o.id = p.existing_id
    LEFT JOIN memories_claim e ON e.project_id = p.project_id AND e.id = p.existing_claim
    WHERE coalesce(c.status, n.status) = 'quarantined'
        AND p.project_id = %s AND p.namespace_id = %s AND p.resolved_at IS NULL AND p.kind IN ('claim', 'text')
    GROUP BY p.newcomer_id, p.newcomer_claim
    HAVING bool_and(o.id IS NULL OR coalesce(e.status, o.status) = 'superseded' OR e.verdict = 'archived'
        OR (o.status = 'archived' AND o.archived_reason IN ('by_hand', 'rejected', 'precedent_rejected')))
"""
WAITS = Status.QUARANTINED
LEAVE = {Fate.REPEATS, Fate.OUTDATED, Fate.LOSES, Fate.BARRED}


def plan(outlook: Outlook) -> None:
    """One step for each fragment whose standing or claim changes."""
    newcomers = [n for n in _texts(outlook) if n.fragment.id not in outlook.gone]
    newcomers.sort(key=lambda n: (n.fragment.created_at, n.fragment.id))
    room = max(0, MOST_HEARD - outlook.used.get(Phase.CONTRADICTIONS, 0))
    outlook.put_off(Phase.CONTRADICTIONS, len(newcomers) - room)
    with access.enter(outlook.principal, why="plan"):
        heard = [*newcomers[:room], *_waiting(outlook)]
        findings = foresee(heard, gone=outlook.gone, now=outlook.now)
    steps = outlook.wanted(_step(finding) for finding in findings if finding.fate != Fate.WAITS)
    for step in outlook.take(steps):
        outlook.changed |= {step.fragment, *_others(step)}
        if step.action in LEAVE:
            outlook.gone.add(step.fragment)
        elif step.action == Fate.RETURNS:
            outlook.arrived.add(step.fragment)
        if step.action == Fate.REPEATS and step.other:
            outlook.repeated[step.fragment] = step.other
        if step.action in (Fate.WINS, Fate.RETURNS):
            outlook.gone |= _others(step)


def _step(finding: Finding) -> Step:
    others = [str(other) for other in finding.others]
    first = finding.others[0] if finding.others else None
    return Step(Phase.CONTRADICTIONS, finding.fate, finding.fragment_id, first, {"others": others})


def _others(step: Step) -> set[uuid.UUID]:
    return {uuid.UUID(other) for other in step.details["others"]}


def _texts(outlook: Outlook) -> list[Newcomer]:
    """What claims nothing, changed since the last run, and is read to claim something."""
    return [
        Newcomer(fragment, claims=claims)
        for batch in _unclaimed(outlook)
        for fragment in batch
        if (claims := reread(fragment).claims_for(fragment))
    ]


def _unclaimed(outlook: Outlook) -> Iterator[list[Fragment]]:
    after = None
    while True:
        with access.enter(outlook.principal, why="plan"):
            rows = Fragment.objects.within(outlook.project_id).filter(
                namespace=outlook.namespace,
                status=Status.ACTIVE,
                compression=Compression.FULL,
                claim__isnull=True,
                change__gte=outlook.examined_to,
            )
            rows = rows.exclude(source_type=SourceType.DIGEST).defer(*UNREAD).order_by("id")
            batch = list((rows.filter(id__gt=after) if after else rows)[:BATCH])
        if not batch:
            return
        after = batch[-1].id
        yield batch


def _waiting(outlook: Outlook) -> list[Newcomer]:
    """Those in quarantine that nobody opposes any more, the oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(ALONE, [outlook.project_id, outlook.namespace.id])
        ids = [row[0] for row in cursor]
    return _again(outlook, ids)


def _again(outlook: Outlook, ids: Sequence[uuid.UUID]) -> list[Newcomer]:
    rows = Fragment.objects.within(outlook.project_id).filter(id__in=ids).order_by("created_at", "id")
    claims = Claim.objects.by_fragment(outlook.project_id, ids)
    return [
        Newcomer(
            row,
            # Of a fragment that waits all that did not leave by itself, of one that stands what waits.
            claims=[
                dataclasses.replace(ClaimDraft.of(c), verdict="") for c in claims.get(row.id, ()) if c.status == WAITS
            ],
            statements=reread(row).statements,
        )
        for row in rows
    ]


def _heard_anew(claim: Claim) -> ClaimDraft:
    return dataclasses.replace(ClaimDraft.of(claim), verdict="")


def apply(outlook: Outlook, steps: Sequence[Step]) -> list[Step]:
    """Does what is still ruled as planned, in the open transaction; answers those steps."""
    if not steps:
        return []
    expected = {s.fragment: Finding(s.fragment, Fate(s.action), tuple(_ordered(s))) for s in steps}
    place = {step.fragment: number for number, step in enumerate(steps)}
    rows = Fragment.objects.within(outlook.project_id).filter(id__in=list(place)).defer(*UNREAD)
    by_id: dict[uuid.UUID, Any] = {row.id: row for row in rows}
    claiming = Claim.objects.by_fragment(outlook.project_id, by_id)
    back = {i for i, row in by_id.items() if row.status == Status.QUARANTINED or i in claiming}
    texts = [Newcomer(row, claims=reread(row).claims_for(row)) for i, row in by_id.items() if i not in back]
    waiting = _again(outlook, list(back))
    newcomers = sorted([*texts, *waiting], key=lambda n: place[n.fragment.id])
    done = {finding.fragment_id for finding in examine(newcomers, expected, now=outlook.now)}
    return [step for step in steps if step.fragment in done]


def _ordered(step: Step) -> list[uuid.UUID]:
    return [uuid.UUID(other) for other in step.details["others"]]
