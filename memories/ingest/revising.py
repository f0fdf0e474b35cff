"""Changing and forgetting what stands: allowed up to the writer's ceiling, never silently."""

import datetime
import uuid
from dataclasses import asdict
from typing import Any

from conflicts.front import SOURCE_RANK, Newcomer, replace_text
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.ingest.pipeline import embed
from memories.ingest.routing import route
from memories.models import Archive, Erasure, Fragment, Receipt, RepeatedRequest, Tombstone
from memories.models.words import SourceClass
from memories.providers import active_model


class StaleRevision(Exception):
    """Somebody changed the fragment since the caller read it."""

    def __init__(self, *, current: int) -> None:
        super().__init__(f"the fragment is at revision {current} now")
        self.current = current


def fragment_for_change(principal: Principal, fragment_id: uuid.UUID) -> Fragment:
    """The fragment, locked. Raises NotFound outside the grant, NotPermitted above the ceiling."""
    row: Fragment | None = (
        Fragment.objects.within(principal.project_id)
        .select_for_update(of=("self",))
        .select_related("namespace")
        .filter(id=fragment_id)
        .first()
    )
    if row is None or not principal.covers_reading(row.namespace.name):
        raise NotFound("fragment")
    principal.require("write")
    if not principal.covers(row.namespace.name):
        raise NotPermitted("this key only reads here")
    if SOURCE_RANK[SourceClass(principal.ceiling)] < row.authority:
        raise NotPermitted("the fragment's authority is above this key's ceiling")
    return row


def revise(
    principal: Principal,
    fragment_id: uuid.UUID,
    *,
    changes: dict[str, Any],
    revision: int | None,
    now: datetime.datetime,
) -> Fragment:
    """Changes fields of a fragment; a new text keeps the old one as a revision.

    Raises NotFound, NotPermitted, StaleRevision when `revision` is not the current one, BlockedByErasure.
    """
    model = active_model()
    vector = embed([changes["content"]], model=model)[0] if "content" in changes else None
    with access.enter(principal, why="revise"):
        row = fragment_for_change(principal, fragment_id)
        if revision is not None and revision != row.revision:
            raise StaleRevision(current=row.revision)
        new_text = "content" in changes and changes["content"] != row.content
        if new_text and not _may_rewrite(principal, row):
            raise NotPermitted("only whoever wrote a text, or a person, may rewrite it: store a new fragment instead")
        if "tags" in changes:
            changes["tags"] = list(dict.fromkeys([*changes["tags"], row.agent_id]))
        if new_text:
            changes = {**_read_anew(changes["content"]), **changes}
        for name, value in changes.items():
            setattr(row, name, value)
        row.revision += 1
        row.updated_at = now
        if new_text:
            replace_text(Newcomer(row, vector), model=model)
        else:
            row.save(update_fields=[*changes, "revision", "updated_at"])
        return row


def _may_rewrite(principal: Principal, row: Fragment) -> bool:
    """A text stands under its writer's name, so nobody else puts words into it."""
    return principal.owner_id == row.owner_id or principal.kind == "person"


def _read_anew(content: str) -> dict[str, Any]:
    """What is derived from a text and was not given with it."""
    routing = route(content)
    return {
        "entities": [asdict(entity) for entity in routing.entities],
        "topics": routing.topics,
        "emotional_valence": routing.valence,
    }


def forget(principal: Principal, fragment_id: uuid.UUID) -> None:
    """Erases a fragment and every copy of its text; a keyed fingerprint of each text stays behind.

    Raises NotFound, NotPermitted.
    """
    with access.enter(principal, why="forget"):
        row = fragment_for_change(principal, fragment_id)
        Erasure.objects.remember(row)
        mine = {"project_id": row.project_id}
        RepeatedRequest.objects.filter(**mine, fragment_ids__contains=[row.id]).delete()
        Receipt.objects.strike(row)
        Archive.objects.filter(**mine, fragment_id=row.id).delete()
        Tombstone.objects.filter(**mine, original_id=row.id).delete()
        row.delete()
