"""Verification: names the first event that was changed, removed, slipped in or cut off, and forged rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memories import access
from memories.access import Principal
from memories.audit import horizons, signatures, witness
from memories.audit.journal import Head, Journal, JournalLine, moment
from memories.audit.leaves import Leaf, SealLink, genesis, leaves, newest
from memories.audit.rows import Comparison, Watcher, compare
from memories.models import AuditHorizon, Seal

Kind = Literal[
    "changed",
    "removed",
    "slipped_in",
    "cut_off",
    "seal_changed",
    "file_changed",
    "not_in_file",
    "not_as_witnessed",
    "witness_silent",
    "horizon_changed",
]


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """What is wrong, with the first event or seal it concerns."""

    kind: Kind
    what: str
    seal: int


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """How many seals and events were found whole, how many events wait for a seal, the first thing that is wrong.

    And after which seal the chain begins, once history before was let go.
    """

    seals: int
    events: int
    unsealed: int
    finding: AuditFinding | None
    horizon: int = 0


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found of the chain of events, of the rows that these tell of, and of what the witness says."""

    chain: AuditVerdict
    rows: Comparison
    witness: AuditFinding | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return self.chain.finding is None and not self.rows.differ and self.witness is None


def prove(principal: Principal, *, watcher: Watcher | None = None) -> Proof:
    """Return what is wrong with the project's chain, its live rows, and with both as the witness remembers them."""
    chain, verified = verify(principal, watcher=watcher), _witnessed_seals(principal)
    with access.enter(principal, why="verify"):
        return Proof(chain, compare(principal.project_id, watcher=watcher), verified)


def _witnessed_seals(principal: Principal) -> AuditFinding | None:
    try:
        found = witness.find_contradiction(principal)
    except witness.WitnessSilent as error:
        return AuditFinding("witness_silent", f"the witness can't be asked: {error}", 0)
    if found is None:
        return None
    number, how = found
    return AuditFinding("not_as_witnessed", f"seal {number}, which the witness knows, is {how}", number)


def verify(principal: Principal, *, watcher: Watcher | None = None) -> AuditVerdict:
    """Check a project's chain from its first seal, or its horizon, on and stop at the first finding."""
    journal = Journal(principal.project_id)
    with journal.held(), access.enter(principal, why="verify"):
        horizon = AuditHorizon.objects.within(principal.project_id).first()
        begin = horizon.number if horizon else 0
        if horizon and not horizons.is_whole(horizon):
            told = f"what is kept of the history up to seal {begin}"
            return AuditVerdict(0, 0, 0, AuditFinding("horizon_changed", told, begin), begin)
        chain = _check_chain(principal.project_id, journal, horizon, watcher=watcher)
        if chain.finding:
            return chain
        last = Seal.objects.within(principal.project_id).order_by("-number").first() or horizon
        waiting, early = _waiting(principal.project_id, since=last.upto if last else 0)
        finding = _check_end(begin + chain.seals, early, journal.places())
        return AuditVerdict(chain.seals, chain.events, waiting, finding, begin)


def find_until(project_id: UUID, journal: Journal, *, last: int) -> AuditFinding | None:
    """Return what is wrong with the chain up to a seal. Inside `journal.held` and `access.enter`."""
    horizon = AuditHorizon.objects.within(project_id).first()
    if horizon and not horizons.is_whole(horizon):
        return AuditFinding("horizon_changed", f"what is kept up to seal {horizon.number}", horizon.number)
    return _check_chain(project_id, journal, horizon, last=last).finding


def _check_chain(
    project_id: UUID,
    journal: Journal,
    horizon: AuditHorizon | None,
    *,
    last: int | None = None,
    watcher: Watcher | None = None,
) -> AuditVerdict:
    """Check the seals after the horizon, up to one of them or all."""
    places, begin = journal.places(), horizon.number if horizon else 0
    former, since = (bytes(horizon.digest), horizon.upto) if horizon else (genesis(project_id), 0)
    seals, events = Seal.objects.within(project_id).filter(number__gt=begin).order_by("number"), 0
    seals = seals.filter(number__lte=last) if last else seals
    for count, row in enumerate(seals):
        number = begin + count + 1
        if watcher:
            watcher("seals", count, len(seals))
        if row.number != number:
            return AuditVerdict(count, events, 0, AuditFinding("removed", f"seal {number}", number), begin)
        line = journal.line(places[number]) if number in places else None
        if finding := _check(row, line, former, since=since, copied=number in places):
            return AuditVerdict(count, events, 0, finding, begin)
        former, since, events = bytes(row.digest), row.upto, events + row.events
    return AuditVerdict(len(seals), events, 0, None, begin)


def _check(row: Seal, line: JournalLine | None, former: bytes, *, since: int, copied: bool) -> AuditFinding | None:
    """Two copies and a signature: of file and database the one that fits the signature says what is wrong."""
    whole = _fits(row, former, since=since)
    if line is None or not _is_authentic(line, row, former):
        if not whole:
            return AuditFinding(
                "seal_changed", f"seal {row.number} does not fit its events or its signature", row.number
            )
        if not copied:
            return AuditFinding("not_in_file", f"seal {row.number} does not stand in the file", row.number)
        return AuditFinding("file_changed", f"the line of seal {row.number} in the file", row.number)
    if line.head != Head.of(row) or row.events != len(line.leaves):
        return AuditFinding("seal_changed", f"seal {row.number} is another one in the file", row.number)
    return None if whole else _compare(row.number, leaves(row.project_id, since=since, before=row.upto), line.leaves)


def _fits(row: Seal, former: bytes, *, since: int) -> bool:
    link = SealLink(former, number=row.number, upto=row.upto, sealed_at=moment(row.sealed_at))
    digest = _over(link, leaves(row.project_id, since=since, before=row.upto))
    return (
        digest == bytes(row.digest)
        and row.events == link.events
        and row.signer == signatures.fingerprint()
        and signatures.is_signed(digest, bytes(row.signature), purpose="seal")
    )


def _is_authentic(line: JournalLine, row: Seal, former: bytes) -> bool:
    head = line.head
    link = SealLink(former, number=row.number, upto=head.upto, sealed_at=head.sealed_at)
    digest = _over(link, line.leaves)
    return digest.hex() == head.digest and signatures.is_signed(digest, bytes.fromhex(head.signature), purpose="seal")


def _over(link: SealLink, content: Iterable[Leaf]) -> bytes:
    for leaf in content:
        link.add(leaf)
    return link.digest()


def _compare(seal: int, now: Iterable[Leaf], then: list[Leaf]) -> AuditFinding | None:
    """Return the first difference between the events as they are and as they were sealed."""
    present = {(leaf.table, leaf.number): leaf for leaf in now}
    for leaf in then:
        found = present.pop((leaf.table, leaf.number), None)
        if found is None:
            return AuditFinding("removed", leaf.name, seal)
        if found != leaf:
            return AuditFinding("changed", leaf.name, seal)
    return AuditFinding("slipped_in", min(present.values()).name, seal) if present else None


def _waiting(project_id: UUID, *, since: int) -> tuple[int, Leaf | None]:
    """Return how many events wait for a seal, and the first of those that claim a transaction to come."""
    count, early, coming = 0, None, 0
    for leaf in leaves(project_id, since=since):
        coming = coming or newest()  # asked when the events are chosen: else one of meanwhile would seem to come
        count += 1
        early = early or (leaf if leaf.recorded_in >= coming else None)
    return count, early


def _check_end(seals: int, early: Leaf | None, places: dict[int, int]) -> AuditFinding | None:
    """What the chain itself can't tell: seals that only the file has, events that claim a transaction to come."""
    following = seals + 1
    if places and max(places) > seals:
        return AuditFinding("cut_off", f"seal {following}", following)
    return AuditFinding("slipped_in", early.name, following) if early else None
