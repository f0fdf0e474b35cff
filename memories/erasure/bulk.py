"""Erasure of many at once: what a filter finds, if it is as much as the caller expects; all of it or nothing."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from django.db.models.expressions import RawSQL
from django.utils.dateparse import parse_datetime

from conflicts.public import lock_namespace
from conflicts.rulings import with_protection
from memories import access
from memories.access import NotPermitted, Principal
from memories.erasure.backup_copies import backups_of, check_purging, lock_backups
from memories.erasure.fragments import Forgotten, erase, visible_outcome
from memories.errors import NovaError
from memories.models import Fragment, Namespace, Operation, Tombstone
from memories.models.scoring import relevance_of
from memories.operations import BadOptions, Options, Progress
from memories.retrieval import Filters

FEW = 1_000  # so many are forgotten at once; more are an operation
TIMES = ("since", "until", "event_since", "event_until")
RELEVANCE = relevance_of("memories_fragment", now="%s::timestamptz", rate="%s::float8")


class CountDiffers(NovaError):
    """Other memories than the caller expects would be forgotten: by their number."""

    code = "count_differs"
    title = "Nothing was erased"
    outcome: ClassVar[str] = "nothing was forgotten"

    def __init__(self, *, count: int, expected: int) -> None:
        super().__init__(f"{count} memories fit, not {expected}; {self.outcome}")
        self.count = count

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return how many fit."""
        return [{"field": "expected_count", "message": str(self.count)}]


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """What is to be forgotten: the filters of a search without its question, ids, a text, or several of these."""

    filters: Filters = field(default_factory=Filters)
    # Those of evicted memories too; without filters any status fits.
    ids: Sequence[uuid.UUID] = ()
    content: str = ""  # in any guise by which it would be barred

    def options(self) -> dict[str, Any]:
        """For an operation's row."""
        given = {name: value for name, value in asdict(self.filters).items() if value}
        values = {name: value.isoformat() if name in TIMES else value for name, value in given.items()}
        return {"filters": values, "ids": [str(i) for i in self.ids]}

    def by_ids(self, ids: Sequence[uuid.UUID]) -> "ErasureRequest":
        """These ids where a text is given: the row of an operation keeps no words that are to be forgotten."""
        return replace(self, ids=ids, content="") if self.content else self

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> "ErasureRequest":
        """As `options` wrote it."""
        given: dict[str, Any] = {
            name: parse_datetime(v) if name in TIMES else v for name, v in options["filters"].items()
        }
        return cls(Filters(**given), [uuid.UUID(i) for i in options["ids"]])


def preview(
    principal: Principal,
    namespace: Namespace,
    request: ErasureRequest,
    *,
    purge_backups: bool = False,
    now: datetime.datetime,
) -> Forgotten:
    """Return what would be forgotten, and which backups hold it; nothing is. Raise NotPermitted as `check_purging`."""
    check_purging(principal, purge=purge_backups)
    with access.enter(principal, why="forget"):
        found = _find_matching(namespace, request, now=now)
        seen = found and principal.covers_all
        held_in = backups_of(namespace, found, purge=purge_backups, dry_run=True) if seen else []
        return Forgotten(len(found), found, backups=held_in)


def forget_all(
    principal: Principal,
    namespace: Namespace,
    request: ErasureRequest,
    *,
    expected: int,
    authority: int,
    purge_backups: bool = False,
    everywhere: bool = False,
    now: datetime.datetime,
) -> Forgotten:
    """Erase all that fits, with every copy of its texts, in one transaction; the answer is as that of `forget`.

    Raise CountDiffers, and NotPermitted for what is above `authority`; nothing is forgotten then.
    """
    with access.enter(principal, why="forget"):
        lock_backups(principal, purge=purge_backups)
        lock_namespace(namespace.id)
        found = _find_matching(namespace, request, now=now, hold=True)
        check_right(namespace, Forgotten(len(found), found), expected=expected, authority=authority)
        held_in = backups_of(namespace, found, purge=purge_backups)
        erased = erase(namespace.project_id, found, authority=authority, everywhere=everywhere, now=now)
        return visible_outcome(principal, found, erased, held_in)


def check_right(namespace: Namespace, found: Forgotten, *, expected: int, authority: int) -> None:
    """Raise CountDiffers for another count than is expected, NotPermitted for what is above `authority`."""
    if found.count != expected:
        raise CountDiffers(count=found.count, expected=expected)
    if above := _above(namespace.project_id, found.ids, authority):
        raise NotPermitted(f"the authority of {above} of these memories is above this key's ceiling")


def check_forgetting(options: Options) -> None:
    """Raise BadOptions unless they were written by `erasure_options`."""
    if set(options) - {"everywhere"} != {"filters", "ids", "expected_count", "authority", "purge_backups"}:
        raise BadOptions("options", "Say what is to be forgotten, and how many that are.")


def erasure_options(
    request: ErasureRequest, *, expected: int, authority: int, purge_backups: bool, everywhere: bool = False
) -> dict[str, Any]:
    """Return the options of an operation that forgets."""
    how = {"expected_count": expected, "authority": authority, "purge_backups": purge_backups, "everywhere": everywhere}
    return {**request.options(), **how}


def run(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Forget what an operation asks for; begun again after its end it has nothing to do. Raises as `forget_all`."""
    if operation.cursor:
        return dict(operation.cursor)
    options, now = operation.options, operation.created_at
    assert operation.namespace is not None  # the kind asks for one
    if operation.dry_run:
        request, purge = ErasureRequest.read(options), options["purge_backups"]
        return preview(principal, operation.namespace, request, purge_backups=purge, now=now).report()
    with progress.alive(), access.enter(principal, why="forget many"):
        report = forget_all(
            principal,
            operation.namespace,
            ErasureRequest.read(options),
            expected=options["expected_count"],
            authority=options["authority"],
            purge_backups=options["purge_backups"],
            everywhere=options.get("everywhere", False),
            now=now,
        ).report()
        progress.save(stage="forgotten", done=report["count"], total=report["count"], cursor=report)
    return report


def _find_matching(
    namespace: Namespace, request: ErasureRequest, *, now: datetime.datetime, hold: bool = False
) -> list[uuid.UUID]:
    """Return what fits, the oldest first; of what was evicted, what is named by its id."""
    rows = _fitting(namespace, request, now=now)
    rows = rows.select_for_update(of=("self",)).order_by("id") if hold else rows
    found = [row for _, row in sorted(rows.values_list("created_at", "id"))]
    if request.ids and not request.content and request.filters == Filters():
        tombstones = Tombstone.objects.within(namespace.project_id).filter(
            namespace=namespace, original_id__in=request.ids
        )
        tombstones = tombstones.select_for_update(of=("self",)) if hold else tombstones
        found += sorted(set(tombstones.values_list("original_id", flat=True)) - set(found))
    return found


def _fitting(namespace: Namespace, request: ErasureRequest, *, now: datetime.datetime) -> Any:
    filters = request.filters
    rows = Fragment.objects.within(namespace.project_id).filter(filters.conditions(), namespace=namespace)
    if request.ids:
        rows = rows.filter(id__in=request.ids)
    if request.content:
        rows = rows.saying(request.content)
    if filters != Filters():
        rows = rows.filter(status__in=filters.statuses)
    if filters.min_relevance:
        rate = namespace.project.rates_in_force.decay_per_day
        rows = rows.alias(relevance=RawSQL(RELEVANCE, [rate, now])).filter(relevance__gte=filters.min_relevance)
    return rows


def _above(project_id: uuid.UUID, ids: Sequence[uuid.UUID], authority: int) -> int:
    """Return how many of them may not be forgotten with this authority, their own or that of who chose them."""
    rows = Fragment.objects.within(project_id).filter(id__in=ids)
    tombstones = Tombstone.objects.within(project_id).filter(original_id__in=ids, authority__gt=authority)
    return int(with_protection(rows).filter(rank__gt=authority).count()) + int(tombstones.count())
