"""Contradictions: texts that claim nothing yet pass the gate; who waits for nobody is decided on again.

Heard are those that are read to claim something, and those that a stronger claim contradicts which came later.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import Q

from conflicts.enums import PRECEDENT_REJECTED, REJECTED
from conflicts.free_text import contradicting, speaking_of_claims, words_of
from conflicts.public import ClaimDraft, Newcomer
from conflicts.reevaluation import Fate, Reassessment, preview_reevaluation, reevaluate
from conflicts.rulings import protection
from memories import access
from memories.extraction import restated, restated_claims
from memories.models import Claim, Fragment
from memories.models.enums import Compression, SourceType, Status
from memories.models.fragment import BY_HAND, BY_PERSON, PROCEDURE, wording_of
from memories.upkeep.consolidation.plan_state import MOST_HEARD, Outlook
from memories.upkeep.consolidation.steps import Phase, StepDraft
from memories.upkeep.protections import DOCUMENTED

BATCH = 1_000
Text = tuple[uuid.UUID, str, dict[str, Any]]  # a fragment's id, its text and what stands beside it
MOST_CLAIMS = 1_000  # whose words older texts are looked through for
UNREAD = ("entities", "topics")
# Opponents that upkeep put away still count: a belief that faded was not refuted.
ALONE = f"""
    SELECT DISTINCT p.newcomer_id FROM conflicts_pendingconflict p
    JOIN memories_fragment n ON n.project_id = p.project_id AND n.id = p.newcomer_id
    LEFT JOIN memories_claim c ON c.project_id = p.project_id AND c.id = p.newcomer_claim
    LEFT JOIN memories_fragment o ON o.project_id = p.project_id AND o.id = p.existing_id
    LEFT JOIN memories_claim e ON e.project_id = p.project_id AND e.id = p.existing_claim
    WHERE coalesce(c.status, n.status) = 'quarantined'
        AND p.project_id = %s AND p.namespace_id = %s AND p.resolved_at IS NULL AND p.kind IN ('claim', 'text')
    GROUP BY p.newcomer_id, p.newcomer_claim
    HAVING bool_and(o.id IS NULL OR coalesce(e.status, o.status) = 'superseded' OR e.verdict = 'archived'
        OR (o.status = 'archived'
            AND o.archived_reason IN ('{BY_HAND}', '{BY_PERSON}', '{REJECTED}', '{PRECEDENT_REJECTED}')))
"""
# What was read out of a text is believed less than the text itself, which may be stronger than whom it meets.
HIDDEN = {Fate.REPEATS, Fate.OUTDATED, Fate.LOSES}
WAITS = Status.QUARANTINED
LEAVE = {Fate.REPEATS, Fate.OUTDATED, Fate.LOSES, Fate.BARRED}


def plan(outlook: Outlook) -> None:
    """One step for each fragment whose standing or claim changes."""
    newcomers = [n for n in _texts(outlook) if n.fragment.id not in outlook.gone]
    newcomers.sort(key=lambda n: (n.fragment.created_at, n.fragment.id))
    room = max(0, MOST_HEARD - outlook.used.get(Phase.CONTRADICTIONS, 0))
    outlook.put_off(Phase.CONTRADICTIONS, len(newcomers) - room)
    with access.enter(outlook.principal, why="plan"):
        newcomers_heard = [*newcomers[:room], *_waiting(outlook)]
        findings = outlook.aside.together(newcomers_heard, partial(_foreseen, outlook), name=lambda n: n.fragment.id)
        stronger = _stronger(outlook, findings)
    acting = [finding for finding in findings if finding.fate != Fate.WAITS and finding.fragment_id not in stronger]
    steps = outlook.wanted(_step(finding) for finding in acting)
    claimed = {n.fragment.id: n for n in newcomers_heard if n.claims}
    for step in outlook.take(steps):
        if step.action not in LEAVE and _is_believed(claimed.get(step.fragment)):
            outlook.believed.add(step.fragment)
        outlook.changed |= {step.fragment, *_others(step)}
        if step.action in LEAVE:
            outlook.gone.add(step.fragment)
        elif step.action == Fate.RETURNS:
            outlook.arrived.add(step.fragment)
        if step.action == Fate.REPEATS and step.other:
            outlook.repeated[step.fragment] = step.other
        if step.action in (Fate.WINS, Fate.RETURNS):
            outlook.gone |= _others(step)


def _is_believed(newcomer: Newcomer | None) -> bool:
    claims = newcomer.claims if newcomer else ()
    return any((claim.authority or newcomer.fragment.authority) > DOCUMENTED for claim in claims if newcomer)


def _foreseen(outlook: Outlook, newcomers: Sequence[Newcomer]) -> list[Reassessment]:
    """Foresee them as copies: hearing one marks its fragment."""
    copies = [replace(newcomer, fragment=copy(newcomer.fragment)) for newcomer in newcomers]
    return preview_reevaluation(copies, gone=outlook.gone, now=outlook.now)


def _stronger(outlook: Outlook, findings: Sequence[Reassessment]) -> set[uuid.UUID]:
    """Return those that would yield to or wait for weaker memories only, on the word of what was read out of them."""
    hidden = {finding.fragment_id: list(finding.others) for finding in findings if finding.fate in HIDDEN}
    rows = Fragment.objects.within(outlook.project_id)
    ids = [*hidden, *(other for others in hidden.values() for other in others)]
    authority = dict(rows.filter(id__in=ids).values_list("id", "authority"))

    def is_above(fragment_id: uuid.UUID, other: uuid.UUID) -> bool:
        own = authority[fragment_id]
        return bool(own > authority.get(other, 0) and own > protection(outlook.project_id, other))

    return {i for i, others in hidden.items() if others and all(is_above(i, other) for other in others)}


def _step(finding: Reassessment) -> StepDraft:
    others = [str(other) for other in finding.others]
    first = finding.others[0] if finding.others else None
    return StepDraft(Phase.CONTRADICTIONS, finding.fate, finding.fragment_id, first, {"others": others})


def _others(step: StepDraft) -> set[uuid.UUID]:
    return {uuid.UUID(other) for other in step.details["others"]}


def _texts(outlook: Outlook) -> list[Newcomer]:
    """Return what claims nothing and changed since the last run, or may speak of what was claimed since then."""
    found = []
    changed = Q(change__gte=outlook.examined_to)
    if words := _new_words(outlook):
        changed |= Q(content__iregex=words) | Q(extra__has_any_keys=PROCEDURE)
    with access.enter(outlook.principal, why="plan"):
        speaks = speaking_of_claims(outlook.project_id, outlook.namespace.id)
    for texts in _unclaimed(outlook, changed):
        telling = outlook.aside.each(texts, partial(_telling, speaks=speaks), name=itemgetter(0))
        if ids := [which for which in telling if which]:
            with access.enter(outlook.principal, why="plan"):
                rows = Fragment.objects.within(outlook.project_id).filter(id__in=ids).defer(*UNREAD).order_by("id")
                batch = list(rows)
                contrary = contradicting(batch, now=outlook.now)
            newcomers = partial(_newcomer, contrary=contrary)
            found += [one for one in outlook.aside.each(batch, newcomers, name=lambda fragment: fragment.id) if one]
    return found


def _telling(text: Text, *, speaks: Callable[[str], bool]) -> uuid.UUID | None:
    """Return its id where it claims something, or speaks of what is claimed; most texts do neither."""
    which, content, extra = text
    return which if restated(content, extra).claims or speaks(wording_of(content, extra)) else None


def _newcomer(fragment: Fragment, *, contrary: set[uuid.UUID]) -> Newcomer | None:
    claims = restated_claims(fragment).claims_for(fragment)
    return Newcomer(fragment, claims=claims) if claims or fragment.id in contrary else None


def _new_words(outlook: Outlook) -> str:
    """Return the words of what is claimed since the last run, as a regular expression; empty when nothing is."""
    with access.enter(outlook.principal, why="plan"):
        rows = Claim.objects.within(outlook.project_id).filter(namespace=outlook.namespace, status=Status.ACTIVE)
        return words_of(list(rows.filter(fragment__change__gte=outlook.examined_to)[:MOST_CLAIMS]))


def _unclaimed(outlook: Outlook, changed: Q) -> Iterator[list[Text]]:
    after: uuid.UUID | None = None
    while True:
        with access.enter(outlook.principal, why="plan"):
            rows = Fragment.objects.within(outlook.project_id).filter(
                changed,
                namespace=outlook.namespace,
                status=Status.ACTIVE,
                compression=Compression.FULL,
                claim__isnull=True,
            )
            rows = rows.exclude(source_type=SourceType.DIGEST).order_by("id")
            rows = rows.filter(id__gt=after) if after else rows
            batch = list(rows.values_list("id", "content", "extra")[:BATCH])
        if not batch:
            return
        after = batch[-1][0]
        yield batch


def _waiting(outlook: Outlook) -> list[Newcomer]:
    """Return those in quarantine that nobody opposes any more, the oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(ALONE, [outlook.project_id, outlook.namespace.id])
        ids = [row[0] for row in cursor]
    return _again(outlook, ids)


def _again(outlook: Outlook, ids: Sequence[uuid.UUID]) -> list[Newcomer]:
    rows = Fragment.objects.within(outlook.project_id).filter(id__in=ids).order_by("created_at", "id")
    claims = Claim.objects.by_fragment(outlook.project_id, ids)

    def newcomer(row: Fragment) -> Newcomer:
        """Return of a fragment that waits all that did not leave by itself, of one that stands what waits."""
        waiting = [replace(ClaimDraft.of(c), verdict="") for c in claims.get(row.id, ()) if c.status == WAITS]
        return Newcomer(row, claims=waiting, statements=restated_claims(row).statements)

    return outlook.aside.each(rows, newcomer, name=lambda row: row.id)


def apply(outlook: Outlook, steps: Sequence[StepDraft]) -> list[StepDraft]:
    """Does what is still ruled as planned, in the open transaction; answers those steps."""
    if not steps:
        return []
    expected = {s.fragment: Reassessment(s.fragment, Fate(s.action), tuple(_ordered(s))) for s in steps}
    place = {step.fragment: number for number, step in enumerate(steps)}
    rows = Fragment.objects.within(outlook.project_id).filter(id__in=list(place)).defer(*UNREAD)
    by_id: dict[uuid.UUID, Any] = {row.id: row for row in rows}
    claiming = Claim.objects.by_fragment(outlook.project_id, by_id)
    back = {i for i, row in by_id.items() if row.status == Status.QUARANTINED or i in claiming}
    texts = [Newcomer(row, claims=restated_claims(row).claims_for(row)) for i, row in by_id.items() if i not in back]
    waiting = _again(outlook, list(back))
    newcomers = sorted([*texts, *waiting], key=lambda n: place[n.fragment.id])
    done = {finding.fragment_id for finding in reevaluate(newcomers, expected, now=outlook.now)}
    return [step for step in steps if step.fragment in done]


def _ordered(step: StepDraft) -> list[uuid.UUID]:
    return [uuid.UUID(other) for other in step.details["others"]]
