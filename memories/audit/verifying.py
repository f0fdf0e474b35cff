"""Verifying: names the first event that was changed, removed, slipped in or cut off."""

from dataclasses import dataclass
from typing import Literal

from memories import access
from memories.access import Principal
from memories.audit import signing
from memories.audit.leaves import Leaf, chain, leaves
from memories.audit.sealing import GENESIS, Line, journal
from memories.models import Seal

Kind = Literal["changed", "removed", "slipped_in", "cut_off", "seal_changed", "not_in_file"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, with the first event or seal it concerns."""

    kind: Kind
    what: str
    seal: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many seals and events were checked, how many events wait for a seal, and the first thing that is wrong."""

    seals: int
    events: int
    unsealed: int
    finding: Finding | None


def verify(principal: Principal) -> Verdict:
    """Checks a project's chain from its first seal on and stops at the first finding."""
    lines = {line.number: line for line in journal(principal.project_id)}
    with access.enter(principal, why="verify"):
        seals = list(Seal.objects.within(principal.project_id).order_by("number"))
        former, since, events = GENESIS, 0, 0
        for expected, row in enumerate(seals, start=1):
            content = leaves(principal.project_id, since=since, before=row.upto)
            finding = _missing_seal(expected, row) or _check(row, content, lines.get(row.number), former)
            if finding:
                return Verdict(expected - 1, events, 0, finding)
            former, since, events = bytes(row.digest), row.upto, events + len(content)
        unsealed = len(leaves(principal.project_id, since=since, before=2**63 - 1))
    finding = None
    if lines and max(lines) > len(seals):
        finding = Finding("cut_off", f"seal {len(seals) + 1} stands in the file only", len(seals) + 1)
    return Verdict(len(seals), events, unsealed, finding)


def _missing_seal(expected: int, row: Seal) -> Finding | None:
    return None if row.number == expected else Finding("cut_off", f"seal {expected} is gone", expected)


def _check(row: Seal, content: list[Leaf], line: Line | None, former: bytes) -> Finding | None:
    if line is None:
        return Finding("not_in_file", f"seal {row.number} does not stand in the file", row.number)
    if finding := _compare(row.number, content, line.leaves):
        return finding
    digest = chain(former, number=row.number, upto=row.upto, content=content)
    if digest != bytes(row.digest) or digest != line.digest or not signing.is_signed(digest, bytes(row.signature)):
        return Finding("seal_changed", f"seal {row.number} does not fit its events or its signature", row.number)
    return None


def _compare(seal: int, now: list[Leaf], then: list[Leaf]) -> Finding | None:
    """The first difference between the events as they are and as they were sealed."""
    present = {(leaf.table, leaf.number): leaf for leaf in now}
    for leaf in then:
        found = present.pop((leaf.table, leaf.number), None)
        if found is None:
            return Finding("removed", leaf.name, seal)
        if found != leaf:
            return Finding("changed", leaf.name, seal)
    return Finding("slipped_in", min(present.values()).name, seal) if present else None
