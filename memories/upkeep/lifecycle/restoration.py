"""Restoration: what left comes back byte for byte, unless what is believed by now has a say in it."""

import datetime
import uuid
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.dateparse import parse_datetime

from conflicts.containment import set_aside
from conflicts.public import Admission, ClaimDraft, Disputed, Newcomer, admissible_unchanged, readmit
from conflicts.search_index import BlockedByErasure, find_forgotten_texts
from memories import access
from memories.access import NotFound, Principal
from memories.errors import NovaError
from memories.extraction import certain_claims
from memories.ingest.updates import check_change
from memories.models import Archive, Claim, Containment, Fragment, Operation, Tombstone
from memories.models.containment import Writing
from memories.models.enums import STANDING, Status
from memories.models.fragment import CONTAINED
from memories.models.lineage import quoting
from memories.operations import Progress
from memories.upkeep.lifecycle.removal import BATCH
from memories.upkeep.lifecycle.snapshots import restore_fragments

DIGESTS = ("subject_digest", "predicate_digest", "key_digest", "value_digest")


class Purged(NovaError):
    """No copy is kept any more: only the tombstone is left."""

    status = 410
    code = "purged"
    title = "Too late to restore"


@dataclass(slots=True)
class Returned:
    """What came back: as it was, or through the gate; and what may not, because its text was forgotten."""

    as_it_was: list[uuid.UUID] = field(default_factory=list)
    through_the_gate: list[Admission] = field(default_factory=list)
    forgotten: list[uuid.UUID] = field(default_factory=list)


def restore(principal: Principal, tombstone_id: uuid.UUID, *, now: datetime.datetime) -> Admission:
    """Bring back the fragment of a tombstone, which is named by its own id or by the fragment's.

    Where nothing that is believed by now speaks against it: with its ids, times, revision and authority, byte for byte.
    Else it passes the gate at that authority, and is quarantined when it loses. Raise NotFound, NotPermitted, Purged,
    BlockedByErasure.
    """
    with access.enter(principal, why="restore"):
        stone = visible_tombstone(principal, tombstone_id, hold=True)
        check_change(principal, namespace=stone.namespace.name, authority=stone.authority)
        copy = Archive.objects.within(principal.project_id).of([stone.original_id]).whole().last()
        if copy is None:
            raise Purged("the archive holds no copy of this memory any more")
        returned = bring_back([copy], now=now)
        if returned.forgotten:
            raise BlockedByErasure(index=0)
        if returned.through_the_gate:
            return returned.through_the_gate[0]
        return Admission(Fragment.objects.within(principal.project_id).get(id=stone.original_id))


def visible_tombstone(principal: Principal, tombstone_id: uuid.UUID, *, hold: bool = False) -> Tombstone:
    """Return the tombstone with this id or of the fragment with this id. Raise NotFound, also outside the grant."""
    rows = Tombstone.objects.within(principal.project_id).select_related("namespace")
    rows = rows.select_for_update(of=("self",)) if hold else rows
    found: Tombstone | None = rows.filter(id=tombstone_id).first() or rows.filter(original_id=tombstone_id).first()
    if found is None or not principal.covers_reading(found.namespace.name):
        raise NotFound("tombstone")
    return found


def undo_leaving(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Bring back all that left in an operation and of which a copy is kept; the report counts them."""
    report = {"restored": 0, "through_the_gate": 0, "blocked_by_erasure": 0}
    now, after = progress.operation.started_at or progress.operation.created_at, uuid.UUID(int=0)
    while True:
        with access.enter(principal, why="undo"):
            left = Archive.objects.within(principal.project_id).whole().filter(operation_id=operation.id)
            ids = dict(left.filter(id__gt=after).order_by("id").values_list("id", "fragment_id")[:BATCH])
            if not ids:
                return report
            after = max(ids)
            tombstones = Tombstone.objects.within(principal.project_id).filter(original_id__in=ids.values())
            held = tombstones.select_for_update().order_by("id").values_list("original_id", flat=True)
            returned = bring_back(list(left.filter(id__in=ids, fragment_id__in=list(held))), now=now)
            report["restored"] += len(returned.as_it_was)
            report["through_the_gate"] += len(returned.through_the_gate)
            report["blocked_by_erasure"] += len(returned.forgotten)
            progress.save(stage="restore", done=sum(report.values()), total=None)
        progress.check()


def bring_back(copies: Sequence[Archive], *, now: datetime.datetime, unheard: bool = False) -> Returned:
    """Store the fragments of whole copies of one project again; copies and tombstones that served go.

    Those that are `unheard` come archived, whatever they were: the caller knows how they stand. The caller holds the
    tombstones, so that nobody else brings them back meanwhile.
    """
    if not copies:
        return Returned()
    project_id = copies[0].project_id
    there = Fragment.objects.within(project_id).filter(id__in=[copy.fragment_id for copy in copies])
    here = set(there.values_list("id", flat=True))
    coming = [_load_copy(copy) for copy in copies if copy.fragment_id not in here]
    originals = Archive.objects.within(project_id).originals([each.fragment for each in coming])
    texts = [originals.get(each.fragment.id, each.fragment.content) for each in coming]
    rows = [each.fragment for each in coming]
    parts = [(row, part) for row, text in zip(rows, texts, strict=True) for part in (text, *row.procedure)]
    passages = [(row.namespace_id, part, row.authority) for row, part in parts]
    barred = {parts[i][0].id for i in find_forgotten_texts(project_id, passages)}
    barred |= _quoting(project_id, coming, barred)
    contained = Containment.objects.reaching(project_id, [each.writing for each in coming])
    contested = [
        (each.newcomer(text), each.claims)
        for each, text in zip(coming, texts, strict=True)
        if not unheard and each.status in STANDING and each.fragment.id not in barred | contained
    ]
    agreed = admissible_unchanged(contested, now=now)
    opposed = {newcomer.fragment.id: newcomer for newcomer, _ in contested if newcomer.fragment.id not in agreed}
    allowed = [each for each in coming if each.fragment.id not in barred]
    restore_fragments(
        [each.copy for each in allowed],
        statuses=[Status.ARCHIVED if unheard or each.fragment.id in opposed else each.status for each in allowed],
    )
    was = {each.fragment.id: each.status for each in allowed}
    set_aside(project_id, list(contained - barred), now=now)
    admitted = [_through_the_gate(newcomer, was=was[i], now=now) for i, newcomer in opposed.items()]
    _clear(project_id, [copy for copy in copies if copy.fragment_id not in barred])
    as_it_was = [each.fragment.id for each in allowed if each.fragment.id not in opposed]
    return Returned(as_it_was, admitted, sorted(barred))


@dataclass(slots=True)
class Coming:
    """A fragment on its way back: its copy, and what the gate asks of it; of a digest what it was made of."""

    copy: Archive
    fragment: Fragment
    claims: Sequence[Claim]
    status: str
    lineage: Sequence[uuid.UUID]

    @property
    def writing(self) -> Writing:
        """By whom it was written, and when."""
        row = self.fragment
        return row.id, row.owner_id, row.grant_id, row.created_at

    def newcomer(self, text: str) -> Newcomer:
        """As the gate hears it, with the text that it had before it was compacted."""
        drafts = [ClaimDraft.of(claim) for claim in self.claims]
        return Newcomer(self.fragment, None, drafts, certain_claims(text, self.fragment.extra))


def _quoting(project_id: uuid.UUID, coming: Sequence[Coming], barred: Set[uuid.UUID]) -> set[uuid.UUID]:
    """Return the digests among them that quote what was forgotten, or one that is barred."""
    found: set[uuid.UUID] = set()
    for place in {each.fragment.namespace_id for each in coming if each.lineage}:
        here = [each for each in coming if each.fragment.namespace_id == place]
        lineages = {each.fragment.id: each.lineage for each in here if each.lineage}
        found |= quoting(project_id, place, lineages, barred=barred, coming={each.fragment.id for each in here})
    return found


def _load_copy(copy: Archive) -> Coming:
    held = copy.unpacked()
    row, claims = held["fragment"], held["claims"]
    ids = {name: uuid.UUID(row[name]) for name in ("id", "project_id", "namespace_id")}
    fragment = Fragment(
        **ids,
        **{name: row[name] for name in ("content", "compression", "authority", "status", "source")},
        owner_id=row["owner_id"] and uuid.UUID(row["owner_id"]),
        grant_id=row["grant_id"] and uuid.UUID(row["grant_id"]),
        created_at=datetime.datetime.fromisoformat(row["created_at"]),
        extra=row.get("extra") or {},
    )
    claims_of_row = sorted((_claim(claim, fragment) for claim in claims or ()), key=lambda claim: claim.position)
    # Of a containment that was taken back since: what reaches it still is asked for by itself.
    status = Status.ACTIVE if row["archived_reason"] == CONTAINED else row["status"]
    return Coming(copy, fragment, claims_of_row, status, copy.lineage or ())


def _claim(row: dict[str, Any], fragment: Fragment) -> Claim:
    plain = ("subject", "predicate", "value", "exclusive", "scope", "session_id", "slot", "authority", "status")
    successor = row.get("superseded_by_id")
    return Claim(
        position=row.get("position", 0),
        verdict=row.get("verdict", ""),
        superseded_by_id=successor and uuid.UUID(successor),
        span_start=row.get("span_start"),
        span_end=row.get("span_end"),
        fragment=fragment,
        project_id=fragment.project_id,
        namespace_id=fragment.namespace_id,
        **{name: row[name] for name in plain},
        **{name: bytes.fromhex(row[name].removeprefix("\\x")) for name in DIGESTS},
        **{name: row[name] and parse_datetime(row[name]) for name in ("valid_from", "valid_until")},
    )


def _through_the_gate(coming: Newcomer, *, was: str, now: datetime.datetime) -> Admission:
    """It lies in the archive so far, its keys are held."""
    row = Fragment.objects.within(coming.fragment.project_id).select_for_update(of=("self",)).get(id=coming.fragment.id)
    row.updated_at = now
    try:
        return readmit(replace(coming, fragment=row), now=now, returning=True, at_best=Status(was))
    except Disputed:  # it replaces nothing; in the archive it can be read
        row.refresh_from_db()
        return Admission(row)


def _clear(project_id: uuid.UUID, copies: Sequence[Archive]) -> None:
    """Take away what served: who is here is nowhere else."""
    Archive.objects.within(project_id).filter(id__in=[copy.id for copy in copies]).delete()
    Tombstone.objects.within(project_id).filter(original_id__in=[copy.fragment_id for copy in copies]).delete()
