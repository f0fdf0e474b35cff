"""The review queue: items that wait, one for each source and value; who looks at one, and whom accepting replaces."""

import datetime
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg, BoolOr
from django.db.models import Case, Count, Exists, F, Min, OuterRef, Q, QuerySet, UUIDField, Value, When
from django.db.models.functions import Coalesce, NullIf

from conflicts.enums import Resolution
from conflicts.evaluation import Evaluation, place_of
from conflicts.models import PendingConflict, Reservation
from conflicts.persistence import outdated_by
from conflicts.resolution import Settlement, visible_conflicts, waiting, with_claims
from conflicts.resolution.actions import Decider, challengers, opposition
from conflicts.resolution.decisions import decider_of
from memories import access
from memories.access import Principal
from memories.models import Claim, Fragment
from memories.models.enums import OPEN, STANDING, Status

# Where a newcomer comes from: the source that its writer named, else the agent.
SOURCE = Coalesce(NullIf(F("newcomer__provenance_source_id"), Value("")), F("newcomer__agent_id"), Value(""))
SAME = ("namespace", "kind", "key_digest", "value_digest", "said_by", "alone")
UNNAMED = Q(newcomer__provenance_source_id="") | Q(newcomer__provenance_source_id=None)
AT_ONCE = 200  # conflicts that are decided together


@dataclass(frozen=True, slots=True)
class Fold:
    """Conflicts in which one source says the same of the same thing; the oldest stands for all.

    `ids` are those that are decided together, with their `revisions`; `count` how many newcomers say it, and which
    (`newcomers`) where the fold is opened.
    """

    row: PendingConflict
    source: str
    count: int
    ids: tuple[uuid.UUID, ...]
    revisions: tuple[int, ...]
    since: datetime.datetime
    newcomers: frozenset[uuid.UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class Queue:
    """A page of the folds that wait, oldest first, how many there are, and which page it is of how many.

    `after` is the conflict that stands for the first fold of the next page.
    """

    folds: list[Fold]
    left: int
    page: int
    pages: int
    after: uuid.UUID | None


def queue(
    principal: Principal,
    *,
    last: Collection[uuid.UUID] = (),
    namespace: str | None = None,
    page: int = 1,
    limit: int = 50,
) -> Queue:
    """Return what waits for a person; folds that hold one of `last` stand at the end. Inside `access.enter`.

    What a branch took over is listed where the branch is asked for alone. A page that is no longer there is the last
    one. Raise NotFound for a namespace that is not covered.
    """
    rows = waiting(principal, namespace=namespace)
    groups = _groups((rows if namespace else unforked(rows)).order_by())
    groups = groups.annotate(
        count=Count("newcomer", distinct=True),
        since=Min("created_at"),
        ids=ArrayAgg("id", order_by=("created_at", "id")),
        revisions=ArrayAgg("revision", order_by=("created_at", "id")),
        skipped=BoolOr(Q(id__in=list(last))) if last else Value(False),
    )
    left = groups.count()
    pages = max(1, -(-left // limit))
    page = min(page, pages)
    ordered = list(groups.order_by("skipped", "since", "ids")[(page - 1) * limit : page * limit + 1])
    found, after = ordered[:limit], next((group["ids"][0] for group in ordered[limit:]), None)
    rows = visible_conflicts(principal).filter(id__in=[group["ids"][0] for group in found])
    firsts = {row.id: row for row in with_claims(rows)}
    return Queue([_fold(group, firsts[group["ids"][0]]) for group in found], left, page, pages, after)


def unforked(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Conflicts without those that a fork copied, which keep the time of the original in the namespace forked from."""
    return rows.exclude(_copied())


def forked(principal: Principal) -> dict[str, int]:
    """How many folds wait in branches as copies, by the branch's name, with all its users. Inside `access.enter`."""
    groups = _groups(waiting(principal).filter(_copied()).order_by())
    found = Counter(name.partition("/")[0] for name in groups.values_list("namespace__name", flat=True))
    return dict(sorted(found.items()))


def _copied() -> Exists:
    return Exists(
        PendingConflict.objects.filter(
            project=OuterRef("project"),
            namespace=OuterRef("namespace__forked_from"),
            created_at=OuterRef("created_at"),
            kind=OuterRef("kind"),
        )
    )


def queue_length(principal: Principal) -> tuple[int, datetime.datetime | None]:
    """Return how many folds wait, without the copies of forks, and since when the oldest. Inside `access.enter`."""
    groups = _groups(unforked(waiting(principal)).order_by()).annotate(since=Min("created_at"))
    found = groups.aggregate(n=Count("since"), oldest=Min("since"))
    return found["n"], found["oldest"]


def _groups(rows: QuerySet[Any]) -> QuerySet[Any]:
    single = Case(When(Q(newcomer=None) | Q(value_digest=b""), then=F("id")), output_field=UUIDField())
    groups: QuerySet[Any] = rows.annotate(said_by=SOURCE, alone=single).values(*SAME)
    return groups


def _fold(group: dict[str, Any], row: PendingConflict) -> Fold:
    ids, revisions = (tuple(group[name][:AT_ONCE]) for name in ("ids", "revisions"))
    return Fold(row, group["said_by"], max(1, group["count"]), ids, revisions, group["since"])


def fold_of(principal: Principal, row: PendingConflict) -> Fold:
    """Return the fold that a waiting conflict belongs to; the conflict itself stands for it. Inside `access.enter`."""
    same = waiting(principal).filter(
        namespace=row.namespace_id, kind=row.kind, key_digest=row.key_digest, value_digest=row.value_digest
    )
    source = _groups(PendingConflict.objects.within(row.project_id).filter(id=row.id)).get()["said_by"]
    if row.newcomer_id is None or not row.value_digest:
        return single_fold(row, source)
    found = same.annotate(said_by=SOURCE).filter(said_by=source).order_by("created_at", "id")
    rows = list(found.values_list("id", "revision", "newcomer_id", "created_at")[:AT_ONCE])
    others = {conflict_id: revision for conflict_id, revision, _, _ in rows if conflict_id != row.id}
    newcomers = frozenset(newcomer for _, _, newcomer, _ in rows)
    since = min([at for _, _, _, at in rows], default=row.created_at)
    return Fold(row, source, len(newcomers) or 1, (row.id, *others), (row.revision, *others.values()), since, newcomers)


def single_fold(row: PendingConflict, source: str = "") -> Fold:
    """Return the fold of one conflict that is decided by itself."""
    return Fold(row, source, 1, (row.id,), (row.revision,), row.created_at)


def from_source(principal: Principal, row: PendingConflict) -> list[tuple[uuid.UUID, int]]:
    """The first conflicts that wait in the namespace with newcomers of the same source: id and revision, oldest first.

    Where the writer named no source, the owner's other newcomers that name none. Inside `access.enter`.
    """
    if row.newcomer is None:
        return []
    named = row.newcomer.provenance_source_id or ""
    same = Q(newcomer__provenance_source_id=named) if named else UNNAMED & Q(newcomer__owner_id=row.newcomer.owner_id)
    rows = waiting(principal).filter(same, namespace=row.namespace_id)
    return list(rows.order_by("created_at", "id").values_list("id", "revision")[:AT_ONCE])


@dataclass(frozen=True, slots=True)
class Foresight:
    """Fragments of which a claim would be superseded: of those that stand, and of others that wait."""

    replaced: list[Fragment]
    waiting: list[Fragment]


def foresee_acceptance(principal: Principal, row: PendingConflict, *, now: datetime.datetime) -> Foresight:
    """Return what accepting the newcomer would supersede, in the order of the fragments' ids."""
    if row.newcomer_id is None:
        return Foresight([], [])
    with access.enter(principal, why="foresee"):
        waits = PendingConflict.objects.within(row.project_id).pending().filter(newcomer=row.newcomer_id)
        siblings = list(waits.filter(newcomer_claim=row.newcomer_claim) if row.newcomer_claim else waits)
        named: set[uuid.UUID] = {conflict.existing_id for conflict in siblings if conflict.existing_id}
        evaluation = Evaluation(row.project_id, [row.namespace_id], claims=0, now=now)
        claims = challengers(siblings)
        evaluation.read({place_of(claim) for claim in claims})
        request = Settlement(Resolution.SUPERSEDE, row.revision)
        decider = decider_of(principal, siblings, evaluation.namings[row.namespace_id], request)
        yielding = opposition(evaluation, claims, siblings, decider).yielding
        named |= {evaluation.claims[claim_id].fragment_id for claim_id in yielding}
        along = _superseded_along(evaluation, claims, yielding, decider)
        rows = Fragment.objects.within(row.project_id).filter(id__in=named | along, status__in=OPEN).order_by("id")
        return Foresight(
            [one for one in rows if one.id in named and one.status in STANDING],
            [one for one in rows if one.id in along and one.status == Status.QUARANTINED],
        )


def _superseded_along(
    evaluation: Evaluation, chosen: Sequence[Claim], yielding: Collection[uuid.UUID], decider: Decider
) -> set[uuid.UUID]:
    """Return the fragments that would wait no more once these claims stand: said then, or taken back by their owner."""
    found = set()
    for claim in [claim for claim in chosen if place_of(claim) in evaluation.key_states]:
        key_state = evaluation.key_states[place_of(claim)]
        for claim_id in (*yielding, claim.id):
            key_state.forget(claim_id)
        evaluation.claims[claim.id] = claim
        key_state.standing[claim.id] = decider.chosen(claim, key_state)
        for other in key_state.waiting.values():
            if key_state.replaced_by(other) or outdated_by(evaluation, key_state, other):
                found.add(other.fragment_id)
    return found - {claim.fragment_id for claim in chosen}


LASTS = datetime.timedelta(minutes=10)


def reserve(principal: Principal, conflict_id: uuid.UUID, *, now: datetime.datetime) -> None:
    """Names the principal as the one who looks at it, unless another one does, and no longer as looking at others.

    The caller has seen the conflict (`visible_conflict`), inside `access.enter`.
    """
    with access.enter(principal, why="reserve"):
        everything = Reservation.objects.within(principal.project_id)
        everything.filter(owner_id=principal.owner_id).exclude(conflict=conflict_id).delete()
        rows = everything.filter(conflict=conflict_id)
        values = {"owner_id": principal.owner_id, "until": now + LASTS}
        if not rows.filter(Q(until__lte=now) | Q(owner_id=principal.owner_id)).update(**values):
            row = Reservation(project_id=principal.project_id, conflict_id=conflict_id, **values)
            Reservation.objects.bulk_create([row], ignore_conflicts=True)


def reserved(
    principal: Principal, conflict_ids: Collection[uuid.UUID], *, now: datetime.datetime
) -> dict[uuid.UUID, uuid.UUID]:
    """Return by conflict, the other owner who looks at it now. Inside `access.enter`."""
    rows = Reservation.objects.within(principal.project_id).filter(conflict__in=conflict_ids, until__gt=now)
    return dict(rows.exclude(owner_id=principal.owner_id).values_list("conflict_id", "owner_id"))
