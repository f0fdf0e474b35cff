"""Who else says what a side of a conflict says, and what else is claimed of the same thing."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.resolution import KeyCandidate
from memories.models import Fragment

SERVICE = "the service itself"


@dataclass(frozen=True, slots=True)
class Voice:
    """Who says so too; `waits`: in quarantine, so that it counts for nobody's trust yet."""

    owner: str
    sources: list[str]
    waits: bool = False


@dataclass(frozen=True, slots=True)
class RivalClaim:
    """Another value that is claimed of the same thing, by whom; the conflict in which it waits, or the memory."""

    value: str
    owners: list[str]
    conflict_id: uuid.UUID | None
    fragment_id: uuid.UUID


def agreeing_owners(
    row: Fragment, votes: Sequence[Any], same: Sequence[KeyCandidate], names: dict[uuid.UUID | None, str]
) -> list[Voice]:
    """Return every other owner that says so, once: who corroborated it, and who filed the same value."""
    found = {vote.owner_id: Voice(names.get(vote.owner_id, SERVICE), vote.roots) for vote in votes}
    for one in same:
        owner, source = one.fragment.owner_id, one.fragment.provenance_source_id
        if owner != row.owner_id:
            waits = one.conflict_id is not None
            voice = found.setdefault(owner, Voice(names.get(owner, SERVICE), [], waits))
            if source and source not in voice.sources:
                voice.sources.append(source)
    return list(found.values())


def agreeing(claimed: Sequence[KeyCandidate], side: Fragment | None) -> list[KeyCandidate]:
    """Return those that say what a side of the conflict says, itself among them."""
    own = next((one.says for one in claimed if side and one.fragment.id == side.id), None)
    return [one for one in claimed if one.says == own]


def rivals_of(others: Sequence[KeyCandidate], names: dict[uuid.UUID | None, str]) -> list[RivalClaim]:
    """Return every other value once, with all who claim it."""
    found: dict[tuple[bytes, bool], RivalClaim] = {}
    for one in others:
        value = f"not {one.value}" if one.negated else one.value
        rival = found.setdefault(one.says, RivalClaim(value, [], one.conflict_id, one.fragment.id))
        owner = names.get(one.fragment.owner_id, SERVICE)
        if owner not in rival.owners:
            rival.owners.append(owner)
    return list(found.values())
