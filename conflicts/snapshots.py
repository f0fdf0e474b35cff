"""Snapshots: how fragments and claims were before a decision and after it, so that it can be taken back exactly."""

import datetime
import uuid
from collections.abc import Iterable
from typing import Any

from memories.models import Claim, Fragment, Link
from memories.models.words import LinkKind

FRAGMENT = ("status", "superseded_by_id", "archived_reason", "updated_at")
CLAIM = ("slot", "valid_from", "valid_until", "exclusive")

State = dict[str, dict[str, Any]]


def snapshot(project_id: uuid.UUID, fragment_ids: Iterable[uuid.UUID]) -> State:
    """What decisions change of these fragments, by id, in JSON's terms."""
    wanted = list(fragment_ids)
    rows = Fragment.objects.within(project_id).filter(id__in=wanted).values_list("id", *FRAGMENT)
    found = {str(row[0]): {"fragment": _plain(row[1:])} for row in rows}
    for row in Claim.objects.within(project_id).filter(fragment__in=wanted).values_list("fragment_id", *CLAIM):
        found[str(row[0])]["claim"] = _plain(row[1:])
    return found


def same_belief(one: State, other: State) -> bool:
    """Whether both say the same of what is believed; when a row was last touched is nobody's belief."""
    when = FRAGMENT.index("updated_at")

    def belief(state: State) -> dict[str, Any]:
        return {
            key: {**parts, "fragment": [v for n, v in enumerate(parts["fragment"]) if n != when]}
            for key, parts in state.items()
        }

    return belief(one) == belief(other)


def bring_back(project_id: uuid.UUID, state: State) -> None:
    """Makes these fragments and claims what they were; what no longer replaces them is not linked to them either."""
    standing = [key for key, parts in state.items() if parts["fragment"][FRAGMENT.index("superseded_by_id")] is None]
    Link.objects.within(project_id).filter(other__in=standing, kind=LinkKind.SUPERSEDES).delete()
    for fragment_id, parts in state.items():
        mine = Fragment.objects.within(project_id).filter(id=fragment_id)
        mine.update(**dict(zip(FRAGMENT, parts["fragment"], strict=True)))
        if "claim" in parts:
            claims = Claim.objects.within(project_id).filter(fragment=fragment_id)
            claims.update(**dict(zip(CLAIM, parts["claim"], strict=True)))


def _plain(values: Iterable[Any]) -> list[Any]:
    return [_told(value) for value in values]


def _told(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value
