"""Case decisions: everything that waits on a key is settled at once, cleared away, and taken back at once."""

import datetime
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from conflicts.enums import Keep, Resolution
from conflicts.keys import naming
from conflicts.locks import lock_namespace
from conflicts.models import PendingConflict
from conflicts.resolution.actions import NotApplicable
from conflicts.resolution.bulk import BulkOutcome, resolve_all
from conflicts.resolution.cases import Case, CaseFilter, CaseValue, case_of, questions
from conflicts.resolution.decisions import AlreadyResolved, Settlement, resolve, undo, visible_conflicts
from conflicts.snapshots import CannotUndo
from memories import access
from memories.access import NotPermitted, Principal
from memories.errors import StaleRevision

AT_ONCE = 200  # conflicts that one request settles

Settling = Callable[[uuid.UUID, Settlement], PendingConflict]


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person says is true instead: the value, and what settles a conflict for it in place of its challenger."""

    value: str
    settle: Settling


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

    Return the case as it is then. Raise as `resolve`, for the whole case, and NotApplicable for a value that is not one
    of the case's, for one that stands and was not chosen beside another one, and for more than AT_ONCE challengers.
    """
    with access.enter(principal, why="resolve"):
        case = _held(principal, case_id)
        owners = {one.fragment.owner_id for value in case.values for one in value.memories}
        if principal.kind == "key" and principal.owner_id in owners:
            raise NotPermitted("a key can't settle a case to which its owner contributed: a person does")
        if not case.waiting:
            raise AlreadyResolved("nothing waits in this case")
        if case.revision != decision.revision:
            raise StaleRevision("case", current=case.revision)
        if case.waiting > AT_ONCE:
            raise NotApplicable(f"more than {AT_ONCE} wait here: clear some of them first, by source, owner or pattern")
        chosen = _agreeing(case, typed) if typed else _chosen(case, decision)
        steps, kept = _Steps(principal, decision, now), {value.id for value in chosen}
        new = [value for value in chosen if not value.stands]
        # Whoever types decides first on what others said: on what is one's own nobody else's key may.
        edited = _strongest(value for value in case.values if value.waits) if typed else None
        for value in case.values:
            if value.id not in kept:
                steps.reject(value, protect=bool(chosen) and not new and not typed, but=edited)
        if typed and edited:
            steps.take(edited, Resolution.SUPERSEDE, settle=typed.settle)
        else:
            steps.choose(new, beside=len(new) < len(chosen))
        steps.sign()
        return case_of(principal, case_id)


def _held(principal: Principal, case_id: str) -> Case:
    """Return a case of which nobody else decides meanwhile. Raise NotFound, NotPermitted."""
    case = case_of(principal, case_id)
    principal.require("review")
    lock_namespace(case.key.namespace_id)
    return case_of(principal, case_id)


def _agreeing(case: Case, typed: Typed) -> list[CaseValue]:
    """Return the values that are what was typed, read as the predicate's values are."""
    names = naming(case.namespace.project_id, [case.namespace.id])[case.namespace.id]
    digest = names.value(case.predicate, typed.value) if typed.value else b""
    return [value for value in case.values if value.memories[0].says == (digest, False)]


def _chosen(case: Case, decision: CaseDecision) -> list[CaseValue]:
    """Return the values that are to hold, the strongest challenger first. Raise NotApplicable."""
    if not decision.choose:
        raise NotApplicable("no value was chosen, and nothing typed")
    by_id = {value.id: value for value in case.values}
    if unknown := [one for one in decision.choose if one not in by_id]:
        raise NotApplicable(f"this case has no value {unknown[0]}: read it again")
    chosen = [by_id[one] for one in dict.fromkeys(decision.choose)]
    if any(value.negated for value in chosen) and len(chosen) > 1:
        raise NotApplicable("what says that a value does not hold can only be chosen alone")
    left = [value for value in case.standing if value not in chosen]
    if left and any(value.stands for value in chosen):
        raise NotApplicable(f"{left[0].value} stands, too: choose it as well, or archive its memory")
    return sorted(chosen, key=lambda value: (-value.authority, value.first_at))


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

    def sign(self) -> None:
        """Write down that these were one decision, and in which order."""
        rows = PendingConflict.objects.within(self.principal.project_id).in_bulk(self.done)
        decision = str(uuid.uuid4())
        for place, conflict_id in enumerate(self.done):
            row = rows[conflict_id]
            row.before = {**(row.before or {}), "case": {"decision": decision, "place": place}}
            row.save(update_fields=["before"])


def undo_case(principal: Principal, case_id: str, *, now: datetime.datetime) -> Case:
    """Take the last decision of a case back, wholly: everything is as before it, and the case waits again.

    Raise NotFound, NotPermitted, CannotUndo with what stands in the way.
    """
    with access.enter(principal, why="undo"):
        case = _held(principal, case_id)
        settled = visible_conflicts(principal).filter(case.key.rows, resolved_at__isnull=False, before__has_key="case")
        last = settled.order_by("-resolved_at").first()
        if last is None:
            raise CannotUndo("no decision settled this case at once")
        same = visible_conflicts(principal).filter(before__case__decision=last.before["case"]["decision"])
        for row in sorted(same, key=lambda row: -row.before["case"]["place"]):
            undo(principal, row.id, now=now)
        return case_of(principal, case_id)


@dataclass(frozen=True, slots=True)
class Clearing:
    """What became of a clearing: how many wait that meet its conditions, what was tried, and how many are left."""

    matched: int
    outcomes: Sequence[BulkOutcome] = ()

    @property
    def refused(self) -> list[BulkOutcome]:
        """What could not be rejected."""
        return [one for one in self.outcomes if one.refused]

    @property
    def cleared(self) -> int:
        """How many were rejected."""
        return len(self.outcomes) - len(self.refused)


def clear(
    principal: Principal, asked: CaseFilter, *, now: datetime.datetime, note: str = "", dry_run: bool = False
) -> Clearing:
    """Reject the challengers that meet the conditions, oldest first, up to AT_ONCE; each for itself. Raise NotFound."""
    with access.enter(principal, why="clear"):
        principal.require("review")
        rows = questions(principal, asked)
        matched = rows.count()
        found = list(rows.order_by("created_at", "id").values_list("id", "revision")[:AT_ONCE])
    if dry_run:
        return Clearing(matched)
    decisions = [(which, Settlement(Resolution.REJECT, revision, note=note)) for which, revision in found]
    return Clearing(matched, resolve_all(principal, decisions, now=now))
