"""Case decisions: everything that waits on a key is settled at once, cleared away, and taken back at once."""

import datetime
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Window
from django.db.models.functions import RowNumber

from conflicts.claim_drafts import ClaimDraft
from conflicts.enums import Keep, Resolution
from conflicts.keys import naming
from conflicts.locks import lock_namespace
from conflicts.models import PendingConflict
from conflicts.resolution.actions import NotApplicable
from conflicts.resolution.bulk import BulkOutcome, resolve_all
from conflicts.resolution.cases import CHALLENGER, DECIDED, Case, CaseFilter, CaseValue, case_of, questions
from conflicts.resolution.decisions import AlreadyResolved, Settlement, resolve, undo, visible_conflicts
from conflicts.snapshots import CannotUndo
from memories import access
from memories.access import NotPermitted, Principal
from memories.cursors import Cursor
from memories.errors import StaleRevision

AT_ONCE, CLEARED_AT_ONCE = 50, 100  # challengers that one request settles or clears: each is a decision by itself

Settling = Callable[[uuid.UUID, Settlement], PendingConflict]


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person says is true instead: the value, and what settles a conflict for it in place of its challenger.

    `settle` takes the conflict, the decision, and what is claimed.
    """

    value: str
    settle: Callable[[uuid.UUID, Settlement, ClaimDraft], PendingConflict]


@dataclass(frozen=True, slots=True)
class CaseDecision:
    """What a person decides of a case: the values that hold, by id, how several are kept, and why.

    Without values what is typed holds. `revision` is that of the case that was seen; `ruling` as in Settlement.
    """

    revision: int
    choose: Sequence[str] = ()
    keep: str = Keep.PAIR
    note: str = ""
    ruling: bool = False


def settle_case(
    principal: Principal,
    case_id: str,
    decision: CaseDecision,
    *,
    now: datetime.datetime,
    typed: Typed | None = None,
) -> Case:
    """Settle all that waits on a key, in one transaction: what is chosen holds, every other challenger is rejected.

    Return the case as it is then. Raise as `resolve`, for the whole case, and NotApplicable where that is not what
    would come of it: for a value that is none of the case's, for one that stands and was not chosen beside another one,
    and for more than AT_ONCE challengers.
    """
    with access.enter(principal, why="resolve"):
        case = _held(principal, case_id)
        _check(principal, case, decision)
        names = naming(case.namespace.project_id, [case.namespace.id])[case.namespace.id]
        wanted = {names.value(case.predicate, typed.value)} if typed else set[bytes]()
        agreeing = [one for one in case.values if one.digest in wanted and not one.negated]
        chosen = agreeing if typed else _chosen(case, decision)
        steps = _Steps(principal, decision, now)
        is_kept = bool(chosen) and not typed and all(value.holds for value in chosen)
        # First what is rejected: of what was typed, and is one's own then, nobody else's key decides.
        edited = _strongest(value for value in case.values if value.waits) if typed else None
        for value in case.values:
            if value not in chosen:
                steps.reject(value, protect=is_kept, but=edited)
        if typed and edited:
            claimed = ClaimDraft(case.subject, case.predicate, typed.value, None, case.scope, case.key.session_id)
            steps.take(edited, Resolution.SUPERSEDE, settle=lambda which, how: typed.settle(which, how, claimed))
        else:
            wanted = {value.digest for value in chosen}
            steps.choose([value for value in chosen if not value.holds], beside=any(one.holds for one in chosen))
        steps.let_stand(case_id, wanted)
        steps.sign()
        return _settled(case_of(principal, case_id), wanted, chosen)


def _held(principal: Principal, case_id: str) -> Case:
    """Return a case of which nobody else decides meanwhile. Raise NotFound, NotPermitted."""
    case = case_of(principal, case_id)
    principal.require("review")
    lock_namespace(case.key.namespace_id)
    return case_of(principal, case_id)


def _check(principal: Principal, case: Case, decision: CaseDecision) -> None:
    """Refuse who may not decide, or saw another state. Raise as `settle_case`."""
    owners = {owner for value in case.values for owner in value.speakers}
    if principal.kind == "key" and principal.owner_id in owners:
        raise NotPermitted("a key can't settle a case to which its owner contributed: a person does")
    if not case.waiting:
        raise AlreadyResolved("nothing waits in this case")
    if case.revision != decision.revision:
        raise StaleRevision("case", current=case.revision)
    if case.waiting > AT_ONCE:
        raise NotApplicable(f"more than {AT_ONCE} wait here: clear some of them first, by source, owner or pattern")


def _chosen(case: Case, decision: CaseDecision) -> list[CaseValue]:
    """Return the values that are to hold, the strongest challenger first. Raise NotApplicable."""
    if not decision.choose:
        raise NotApplicable("no value was chosen, and nothing typed")
    by_id = {value.id: value for value in case.values if (value.stands and not value.negated) or value.waits}
    if unknown := [one for one in decision.choose if one not in by_id]:
        raise NotApplicable(f"this case has no value {unknown[0]} that stands or waits: read it again")
    chosen = [by_id[one] for one in dict.fromkeys(decision.choose)]
    if any(value.negated for value in chosen) and len(chosen) > 1:
        raise NotApplicable("what says that a value does not hold can only be chosen alone")
    left = [value for value in case.values if value.holds and value not in chosen]
    if left and any(value.holds for value in chosen):
        raise NotApplicable(f"{left[0].value} stands, too: choose it as well, or archive its memory")
    return sorted(chosen, key=lambda value: (-value.authority, value.first_at))


def _settled(case: Case, wanted: set[bytes], chosen: Sequence[CaseValue]) -> Case:
    """Return the case. Raise NotApplicable where something waits, or another value stands than what was chosen."""
    if case.waiting:
        raise NotApplicable(f"{case.waiting} would still wait: settle them one by one")
    others = [value for value in case.values if value.holds and value.digest not in wanted]
    if others and not any(value.negated for value in chosen):
        raise NotApplicable(f"{others[0].value} would still stand, which no challenger names: settle it by itself")
    return case


def _strongest(values: Iterable[CaseValue]) -> uuid.UUID:
    """Return the conflict in which the strongest challenger of these values waits, of these the first."""
    waits = [one for value in values for one in value.waits]
    best = min(waits, key=lambda one: (-one.fragment.authority, one.fragment.created_at))
    assert best.conflict_id
    return best.conflict_id


@dataclass(slots=True)
class _Steps:
    """The decisions that settle a case, in their order."""

    principal: Principal
    decision: CaseDecision
    now: datetime.datetime
    done: list[uuid.UUID] = field(default_factory=list)

    def take(
        self, conflict_id: uuid.UUID, action: str, *, settle: Settling | None = None, protect: bool = False
    ) -> None:
        """Settle one so, unless it was settled along with another one."""
        row = visible_conflicts(self.principal).get(id=conflict_id)
        if row.resolved_at is not None:
            return
        decision, kept = self.decision, action == Resolution.KEEP_BOTH
        settlement = Settlement(
            action,
            row.revision,
            keep=decision.keep if kept else Keep.PAIR,
            note=decision.note,
            ruling=decision.ruling,
            protect=protect,
        )
        if settle:
            settle(conflict_id, settlement)
        else:
            resolve(self.principal, conflict_id, settlement, now=self.now)
        self.done.append(conflict_id)

    def choose(self, values: Sequence[CaseValue], *, beside: bool) -> None:
        """Let challengers stand: `beside` what does, else the first in its place and the others beside that."""
        for place, value in enumerate(values):
            self.take(_strongest([value]), Resolution.KEEP_BOTH if beside or place else Resolution.SUPERSEDE)

    def reject(self, value: CaseValue, *, protect: bool, but: uuid.UUID | None) -> None:
        """Reject all who say a value, `but` one conflict."""
        for one in value.waits:
            if one.conflict_id and one.conflict_id != but:
                self.take(one.conflict_id, Resolution.REJECT, protect=protect)

    def let_stand(self, case_id: str, wanted: set[bytes]) -> None:
        """Let others who say what was chosen stand beside it: in other words, or of another time."""
        self.decision = replace(self.decision, keep=Keep.PAIR)
        for value in case_of(self.principal, case_id).values:
            for one in value.waits:
                if one.conflict_id and value.digest in wanted and not value.negated:
                    self.take(one.conflict_id, Resolution.KEEP_BOTH)

    def sign(self) -> None:
        """Write down that these were one decision, with what was settled along, and in which order."""
        rows = PendingConflict.objects.within(self.principal.project_id)
        decision, settled = str(uuid.uuid4()), rows.in_bulk(self.done)
        for place, conflict_id in enumerate(self.done):
            along = rows.filter(id__in=settled[conflict_id].before["siblings"])
            for row in (settled[conflict_id], *along):
                row.before = {**(row.before or {}), "case": {"decision": decision, "place": place}}
                row.save(update_fields=["before"])


def undo_case(principal: Principal, case_id: str, *, now: datetime.datetime) -> Case:
    """Take the last decision of a case back, wholly: everything is as before it, and the case waits again.

    Raise NotFound, NotPermitted, CannotUndo with what stands in the way.
    """
    with access.enter(principal, why="undo"):
        case = _held(principal, case_id)
        settled = visible_conflicts(principal).filter(case.key.rows, resolution__in=DECIDED)
        last = settled.order_by("-resolved_at").first()
        if last is None or "case" not in (last.before or {}):
            raise CannotUndo("what was decided last here did not settle the case at once: take that back by itself")
        same = visible_conflicts(principal).filter(namespace=last.namespace_id, resolved_at=last.resolved_at)
        decided = same.filter(before__case__decision=last.before["case"]["decision"])
        for row in sorted(decided, key=lambda row: -row.before["case"]["place"]):
            if PendingConflict.objects.within(row.project_id).filter(id=row.id, resolved_at__isnull=False).exists():
                undo(principal, row.id, now=now)
        return case_of(principal, case_id)


@dataclass(frozen=True, slots=True)
class Clearing:
    """What became of a clearing: how many challengers meet its conditions, what was tried, and where to go on."""

    matched: int
    outcomes: Sequence[BulkOutcome] = ()
    left: int = 0
    # The last that was tried; those after it are left.
    next: Cursor | None = None

    @property
    def refused(self) -> list[BulkOutcome]:
        """What could not be rejected."""
        return [one for one in self.outcomes if one.refused]

    @property
    def cleared(self) -> int:
        """How many were rejected."""
        return len(self.outcomes) - len(self.refused)


def clear(
    principal: Principal,
    asked: CaseFilter,
    *,
    now: datetime.datetime,
    note: str = "",
    dry_run: bool = False,
    after: Cursor | None = None,
) -> Clearing:
    """Reject the challengers that meet the conditions, oldest first, up to CLEARED_AT_ONCE; each for itself.

    A text is rejected as a whole, on every key that it speaks of. Raise NotFound.
    """
    order = ("created_at", "id")
    with access.enter(principal, why="clear"):
        principal.require("review")
        rows = questions(principal, asked)
        rows = rows.filter(after.beyond(order)) if after else rows
        # Each challenger once: a decision on it settles its other conflicts.
        each = rows.annotate(nth=Window(RowNumber(), partition_by=CHALLENGER, order_by=order)).filter(nth=1)
        matched = each.count()
        found = list(each.order_by(*order)[:CLEARED_AT_ONCE])
    if dry_run or not found:
        return Clearing(matched, left=matched)
    decisions = [(row.id, Settlement(Resolution.REJECT, row.revision, note=note)) for row in found]
    left = matched - len(found)
    outcomes = resolve_all(principal, decisions, now=now)
    return Clearing(matched, outcomes, left, Cursor.at(found[-1], order) if left else None)
