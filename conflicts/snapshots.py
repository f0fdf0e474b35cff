"""Snapshots: how fragments and claims were before a decision and after it, so that it can be taken back exactly."""

import datetime
import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import F

from memories.errors import NovaError
from memories.models import Claim, Fragment, Link
from memories.models.enums import LinkKind

FRAGMENT = ("status", "superseded_by_id", "archived_reason", "updated_at")
CLAIM = ("slot", "valid_from", "valid_until", "exclusive")
OWN = ("verdict", "superseded_by_id")  # of a claim among several

NAMED = 3  # memories in a sentence
State = dict[str, dict[str, Any]]


class CannotUndo(NovaError):
    """Something changed since; the message says what, and what to do. `memories` are those in the way."""

    code = "cannot_undo"
    title = "This can’t be undone"

    def __init__(self, why: str, memories: Iterable[uuid.UUID | str] = (), *, then: str = "") -> None:
        self.memories = sorted(map(str, memories))
        named = ", ".join([*self.memories[:NAMED], *["…"] * (len(self.memories) > NAMED)])
        super().__init__(why + (f": {named}" if named else "") + (f"; {then}" if then else ""))

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return which memories are in the way."""
        return [{"field": "fragments", "message": one} for one in self.memories]


def snapshot(project_id: uuid.UUID, fragment_ids: Iterable[uuid.UUID]) -> State:
    """Return what decisions change of these fragments, by id, in JSON's terms."""
    wanted = list(fragment_ids)
    rows = Fragment.objects.within(project_id).filter(id__in=wanted).values_list("id", *FRAGMENT)
    found: State = {str(row[0]): {"fragment": _plain(row[1:])} for row in rows}
    claims = Claim.objects.within(project_id).filter(fragment__in=wanted).order_by("fragment", "position")
    several: dict[str, dict[str, Any]] = {}
    for fragment_id, claim_id, *values in claims.values_list("fragment_id", "id", *CLAIM, *OWN):
        several.setdefault(str(fragment_id), {})[str(claim_id)] = _plain(values)
    for fragment_id, states in several.items():
        if len(states) > 1:
            found[fragment_id]["claims"] = states
        else:
            found[fragment_id]["claim"] = states.popitem()[1][: len(CLAIM)]
    return found


def same_belief(one: State, other: State) -> bool:
    """Return whether both say the same of what is believed; when a row was last touched is nobody's belief."""
    when = FRAGMENT.index("updated_at")

    def belief(state: State) -> dict[str, Any]:
        return {
            key: {**parts, "fragment": [v for n, v in enumerate(parts["fragment"]) if n != when]}
            for key, parts in state.items()
        }

    return belief(one) == belief(other)


def bring_back(project_id: uuid.UUID, state: State, *, now: datetime.datetime) -> None:
    """Make these fragments and claims what they were; what no longer replaces them is not linked to them either.

    It is a change like any other: a backup from before it is older.
    """
    standing = [key for key, parts in state.items() if parts["fragment"][FRAGMENT.index("superseded_by_id")] is None]
    Link.objects.within(project_id).filter(other__in=standing, kind=LinkKind.SUPERSEDES).delete()
    for fragment_id, parts in state.items():
        rows = Fragment.objects.within(project_id).filter(id=fragment_id)
        former = dict(zip(FRAGMENT, parts["fragment"], strict=True))
        rows.update(**{**former, "updated_at": now, "revision": F("revision") + 1})
        claims = Claim.objects.within(project_id).filter(fragment=fragment_id)
        if "claim" in parts:
            claims.update(**dict(zip(CLAIM, parts["claim"], strict=True)))
        for claim_id, state in parts.get("claims", {}).items():
            claims.filter(id=claim_id).update(**dict(zip((*CLAIM, *OWN), state, strict=True)))


def _plain(values: Iterable[Any]) -> list[Any]:
    return [_told(value) for value in values]


def _told(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value
