"""Replacement: one memory takes the place of another that claims nothing, and gives it back."""

import datetime
import uuid
from collections.abc import Mapping
from typing import Any

from conflicts.bulk_changes import yield_to
from conflicts.persistence import Succession
from conflicts.resolution import CannotUndo
from conflicts.snapshots import bring_back, same_belief, snapshot


def replace(
    project_id: uuid.UUID, namespace_id: uuid.UUID, *, older: uuid.UUID, newer: uuid.UUID, now: datetime.datetime
) -> dict[str, Any]:
    """The newer one takes the place; answers what `put_back` needs: ids, statuses and times, no text.

    The caller holds the namespace and both; the older one claims nothing.
    """
    before = snapshot(project_id, [older])
    done = yield_to(project_id, namespace_id, {older: newer}, now=now)
    return {"fragments": before, "after": snapshot(project_id, [older]), "succession": done.as_json()}


def put_back(project_id: uuid.UUID, done: Mapping[str, Any]) -> None:
    """Everything is as before `replace`; the caller holds the same. Raises CannotUndo when it was changed since."""
    if not same_belief(snapshot(project_id, map(uuid.UUID, done["after"])), done["after"]):
        raise CannotUndo("the older memory was changed since")
    bring_back(project_id, done["fragments"])
    Succession.from_json(done["succession"]).take_back(project_id)
