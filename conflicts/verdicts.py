"""Verdicts: what became of each claim of a fragment, and what that makes of the fragment (docs/spec.md §4.4)."""

import datetime
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memories.models import Claim, Fragment
from memories.models.enums import STANDING, Status

# From what stands to what left, but for what is disputed: that stands.
ORDER = (Status.ACTIVE, Status.QUARANTINED, Status.SUPERSEDED, Status.ARCHIVED)


def combined_status(statuses: Collection[str], *, standing: Status = Status.ACTIVE) -> Status:
    """Return what a fragment is whose claims are so: it stands as long as one does, then waits as long as one waits."""
    found = {Status.ACTIVE if status in STANDING else status for status in statuses}
    first = next((status for status in ORDER if status in found), Status.ACTIVE)
    return standing if first == Status.ACTIVE else first


def claim_status(claim: Claim, fragment_status: str) -> str:
    """Return what a claim is by itself: its verdict, else what its fragment is."""
    return claim.verdict or fragment_status


def set_verdicts(claims: Sequence[Claim], statuses: Sequence[str], *, fragment_status: str) -> None:
    """Set the verdicts of a fragment's claims: each has one where it is not as its fragment."""
    for claim, status in zip(claims, statuses, strict=True):
        claim.verdict = "" if _same(status, fragment_status) else status


def _same(one: str, other: str) -> bool:
    return one == other or (one in STANDING and other in STANDING)


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """What becomes of a claim; which fragment takes its place."""

    status: Status
    successor: uuid.UUID | None = None


def save_verdicts(
    project_id: uuid.UUID, changes: Mapping[uuid.UUID, VerdictChange], *, now: datetime.datetime, why: str = ""
) -> dict[uuid.UUID, uuid.UUID]:
    """Let claims stand, wait or leave, by claim; their fragments follow. Return which fragments fell, to whom.

    What else becomes of a fragment that another replaces is for `supersede` to write. The caller holds the fragments
    and defers the check of one value.
    """
    rows = Claim.objects.within(project_id).filter(id__in=list(changes)).values("fragment")
    held = Claim.objects.within(project_id).filter(fragment__in=rows).select_related("fragment")
    groups: dict[uuid.UUID, list[Claim]] = {}
    for claim in held.order_by("fragment", "position"):
        groups.setdefault(claim.fragment_id, []).append(claim)
    found = {i: _replacements(claims, changes, now=now, why=why) for i, claims in groups.items()}
    return {i: successor for i, successor in found.items() if successor}


def _replacements(
    claims: list[Claim], changes: Mapping[uuid.UUID, VerdictChange], *, now: datetime.datetime, why: str
) -> uuid.UUID | None:
    """Return who replaces the fragment, if nothing of it stands any more."""
    fragment = claims[0].fragment
    before = str(fragment.status)
    own = [str(changes[c.id].status) if c.id in changes else claim_status(c, before) for c in claims]
    after = combined_status(own, standing=Status(before) if before in STANDING else Status.ACTIVE)
    heirs = [changes[c.id].successor if c.id in changes else c.superseded_by_id for c in reversed(claims)]
    fallen = next(filter(None, heirs), None) if after == Status.SUPERSEDED and after != before else None
    if fallen and len(claims) == 1:
        return fallen  # all of them in one statement, later
    if after not in STANDING and after != before:  # first, so that nothing stands for a moment that shall not
        _save(fragment, after, now=now, why=why)
    set_verdicts(claims, own, fragment_status=after)
    if len(claims) > 1:
        for claim in claims:
            if claim.id in changes:
                claim.superseded_by_id = changes[claim.id].successor
        Claim.objects.bulk_update(claims, ["verdict", "superseded_by"])
    if after in STANDING and after != before:
        _save(fragment, after, now=now, why="")
    return fallen


def _save(fragment: Fragment, status: Status, *, now: datetime.datetime, why: str) -> None:
    fragment.status, fragment.updated_at = status, now
    fragment.archived_reason = why if status == Status.ARCHIVED else ""
    if status in STANDING:
        fragment.superseded_by = None
    fragment.save(update_fields=["status", "archived_reason", "superseded_by", "updated_at"])
