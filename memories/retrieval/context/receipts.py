"""Receipts: what each context answer handed out, by ids, kept for a while."""

import datetime
import uuid
from collections.abc import Sequence

from django.conf import settings

from memories import access
from memories.access import Principal
from memories.models import Fragment, Receipt
from memories.retrieval.scope import Places

BATCH = 5000


def leave_receipt(
    principal: Principal, chosen: Sequence[Fragment], places: Places, *, tokens: int, now: datetime.datetime
) -> uuid.UUID | None:
    """Write down what was handed out, under the first asked namespace; nothing when nothing was."""
    if not chosen:
        return None
    home = places.own[0].id if places.own else chosen[0].namespace_id
    receipt = Receipt.objects.create(
        project_id=principal.project_id,
        namespace_id=home,
        fragment_ids=[fragment.id for fragment in chosen],
        tokens=tokens,
        key_id=principal.key_id,
        created_at=now,
    )
    return receipt.id


def expire_receipts(principal: Principal, *, now: datetime.datetime) -> int:
    """Delete the project's receipts that are older than RECEIPT_DAYS; 0 keeps them all. Answers how many.

    In batches, each a transaction of its own.
    """
    if not settings.RECEIPT_DAYS:
        return 0
    before = now - datetime.timedelta(days=settings.RECEIPT_DAYS)
    deleted = 0
    while True:
        with access.enter(principal, why="retention"):
            count = Receipt.objects.within(principal.project_id).delete_older(before, most=BATCH)
        deleted += count
        if count < BATCH:
            return deleted
