"""Forget requests: what a user says to forget is proposed for a person to set aside; nothing goes by itself."""

import datetime
from collections.abc import Iterator
from itertools import islice

from memories import access
from memories.access import Principal
from memories.extraction import FROM_THE_USER, asked_to_forget, is_of_the_user
from memories.governance.gate import ReductionRuling
from memories.governance.history import ProposalEntry, record
from memories.language.extracts import spoken_by
from memories.models import Claim, Fragment, PendingReading
from memories.models.enums import ProposalKind, ProposalOutcome, Status

TASK = "forget"  # under which the history keeps them
JUDGE = "asked_by_user"
MOST_REQUESTS, MOST_MEMORIES, AT_ONCE = 100, 20, 500  # of a run, of a request; of texts that are looked at together


def propose_forgetting(principal: Principal, *, now: datetime.datetime) -> int:
    """Propose that the memories a user asked to forget yield to that request; how many were proposed.

    Only what the same user said is proposed, of no more authority, and what claims something the gate decides on.
    """
    proposed = 0
    with access.enter(principal, why="forget requests"):
        for row, words in islice(_requests(principal), MOST_REQUESTS):
            entries = [_entry(older, row.fragment) for older in _meant(row.fragment, words)]
            record(principal, row.fragment.namespace, entries, now=now)
            proposed += len(entries)
            row.delete()
    return proposed


def _requests(principal: Principal) -> Iterator[tuple[PendingReading, frozenset[str]]]:
    """Return what asks to forget something, and what it names, the oldest first: what only looks like it is passed."""
    rows = PendingReading.objects.within(principal.project_id).filter(
        fragment__content__iregex=r"\m(forget|disregard)\M"
    )
    texts = rows.order_by("not_before", "id").values_list("id", "fragment__content")
    for which, content in texts.iterator(chunk_size=AT_ONCE):
        if words := asked_to_forget(content):
            held = rows.select_related("fragment__namespace").select_for_update(skip_locked=True, of=("self",))
            if row := held.filter(id=which).first():
                yield row, words


def _meant(request: Fragment, words: frozenset[str]) -> list[Fragment]:
    """Return the user's own earlier memories that speak of it, the newest first."""
    if not is_of_the_user(request) or request.status != Status.ACTIVE:
        return []
    rows = Fragment.objects.within(request.project_id).filter(
        namespace=request.namespace_id,
        owner_id=request.owner_id,
        status=Status.ACTIVE,
        source__in=FROM_THE_USER,
        authority__lte=request.authority,
        created_at__lte=request.created_at,
    )
    for word in sorted(words):
        rows = rows.filter(content__iregex=rf"\m{word}\M")
    claiming = Claim.objects.within(request.project_id).values("fragment")
    rows = rows.exclude(id=request.id).exclude(id__in=claiming).order_by("-created_at", "-id")
    speaker = spoken_by(request.content)
    return [
        row for row in rows[:MOST_MEMORIES] if spoken_by(row.content) == speaker and not asked_to_forget(row.content)
    ]


def _entry(older: Fragment, request: Fragment) -> ProposalEntry:
    reason, revisions = "the user asked to forget it", [older.revision, request.revision]
    body = {"older": str(older.id), "newer": str(request.id), "reason": reason, "revisions": revisions}
    ruling = ReductionRuling(ProposalOutcome.ALLOWED, (), JUDGE)
    return ProposalEntry(ProposalKind.SUPERSESSION, TASK, ruling, body, (), [older.id, request.id], waiting=True)
