"""Corroboration: which of two likes is heard as an independent voice for the other, and counting them at once."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Sequence

from django.db import connection

from conflicts.enums import Ballot
from conflicts.models import Vote
from conflicts.votes import roots_of
from memories.models import Fragment
from memories.models.bulk import insert

Pair = tuple[uuid.UUID, uuid.UUID]  # who is corroborated, by whom

NEEDED = ("id", "project_id", "owner_id", "roots", "provenance_source_id")


def independent(project_id: uuid.UUID, pairs: Sequence[Pair]) -> list[Pair]:
    """Return those of the pairs that count, in order: once per owner and lineage root, never for the writer or its kin.

    By the same rule as one vote; see `votes.corroborate`.
    """
    return [pair for pair, _ in _counted_owners(project_id, pairs)]


def corroborate_all(project_id: uuid.UUID, pairs: Sequence[Pair], *, now: datetime.datetime) -> list[Pair]:
    """Count those of the pairs that count; the caller holds the fragments. Answers them."""
    found = _counted_owners(project_id, pairs)
    # Of these owners a former vote counts no more, and there is one of each.
    former = Vote.objects.within(project_id).filter(fragment__in={one for (one, _), _ in found}, counted=False)
    again = {(one, voice.owner_id) for (one, _), voice in found}
    lapsed = former.filter(ballot=Ballot.CORROBORATE).values_list("id", "fragment_id", "owner_id")
    Vote.objects.within(project_id).filter(id__in=[i for i, *pair in lapsed if tuple(pair) in again]).delete()
    insert(
        [
            Vote(
                project_id=project_id,
                fragment_id=one,
                owner_id=voice.owner_id,
                ballot=Ballot.CORROBORATE,
                counted=True,
                roots=sorted(roots_of(voice)),
                created_at=now,
            )
            for (one, _), voice in found
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE memories_fragment f SET updated_at = %s, corroboration = 1 + (
                   SELECT count(*) FROM conflicts_vote v WHERE v.project_id = f.project_id AND v.fragment_id = f.id
                       AND v.ballot = 'corroborate' AND v.counted)
               WHERE f.project_id = %s AND f.id = ANY (%s)""",
            [now, project_id, sorted({one for (one, _), _ in found})],
        )
    return [pair for pair, _ in found]


def _counted_owners(project_id: uuid.UUID, pairs: Sequence[Pair]) -> list[tuple[Pair, Fragment]]:
    ids = {side for pair in pairs for side in pair}
    rows = {row.id: row for row in Fragment.objects.within(project_id).filter(id__in=list(ids)).only(*NEEDED)}
    owners: dict[uuid.UUID, set[uuid.UUID | None]] = defaultdict(set)
    roots_heard: dict[uuid.UUID, set[str]] = defaultdict(set)
    votes = Vote.objects.within(project_id).filter(fragment__in=list({one for one, _ in pairs}))
    for fragment_id, owner, roots, counted in votes.filter(ballot=Ballot.CORROBORATE).values_list(
        "fragment_id", "owner_id", "roots", "counted"
    ):
        owners[fragment_id] |= {owner} if counted else set()
        roots_heard[fragment_id] |= set(roots)  # a source that is contained is heard through nobody else
    found = []
    for one, other in pairs:
        target, voice = rows[one], rows[other]
        roots = roots_of(voice) | {str(voice.id)}
        known = roots_heard[one] | roots_of(target) | {str(one)}
        if voice.owner_id == target.owner_id or voice.owner_id in owners[one] or roots & known:
            continue
        owners[one].add(voice.owner_id)
        roots_heard[one] |= roots_of(voice)
        found.append(((one, other), voice))
    return found
