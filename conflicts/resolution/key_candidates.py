"""Candidates: all that stands or waits on the key of a conflict, so that a reviewer sees the question, not one pair."""

import datetime
import uuid
from dataclasses import dataclass

from conflicts.enums import ConflictKind
from conflicts.models import PendingConflict, Repetition
from conflicts.resolution.decisions import waiting, with_claims
from memories.access import Principal
from memories.models import Claim, Fragment
from memories.models.enums import STANDING

MOST = 200  # that are read of those that stand, and of those that wait


@dataclass(frozen=True, slots=True)
class KeyCandidate:
    """A memory that says something of a key; `conflict_id` is what waits because of it, None where it stands."""

    fragment: Fragment
    value: str
    digest: bytes
    negated: bool
    conflict_id: uuid.UUID | None

    @property
    def says(self) -> tuple[bytes, bool]:
        """By what two of them say the same."""
        return self.digest, self.negated


def candidates(principal: Principal, row: PendingConflict) -> list[KeyCandidate]:
    """What is said of the conflict's key in its namespace and session: what stands first, then what waits, by age.

    Inside `access.enter`.
    """
    if not row.key_digest:
        return []
    here = {"namespace": row.namespace_id, "key_digest": row.key_digest, "session_id": row.session_id}
    claims = Claim.objects.within(row.project_id).filter(**here, status__in=STANDING).select_related("fragment")
    standing = claims.filter(fragment__status__in=STANDING).order_by("fragment__created_at", "fragment")[:MOST]
    found = {c.id: KeyCandidate(c.fragment, c.value, bytes(c.value_digest), False, None) for c in standing}
    challenges = waiting(principal).filter(
        **here, kind__in=[ConflictKind.CLAIM, ConflictKind.TEXT], newcomer__isnull=False
    )
    waits = list(challenges.order_by("created_at", "id")[:MOST])
    for other in with_claims(waits):
        found.setdefault(other.challenger, challenger_of(other))
    return list(found.values())


def challenger_of(row: PendingConflict) -> KeyCandidate:
    """Return the newcomer of a conflict, by what it says of the conflict's key."""
    value = row.statement["value"] if row.statement else row.new_claim.value if row.new_claim else ""
    return KeyCandidate(row.newcomer, value, bytes(row.value_digest), row.negates, row.id)


def repetitions(principal: Principal, fragment_ids: list[uuid.UUID]) -> dict[uuid.UUID, tuple[int, datetime.datetime]]:
    """Return how often the owners of these memories said the same again, and when last. Inside `access.enter`."""
    rows = Repetition.objects.within(principal.project_id).filter(fragment__in=fragment_ids)
    return {row.fragment_id: (row.times, row.last_at) for row in rows}
