"""What the dashboard shows: what needs a person first, then how the memory grows, is trusted and fades."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min
from django.db.models.functions import TruncDate
from django.urls import reverse

from conflicts.resolution import waiting
from conflicts.resolution.review_queue import queue_length
from memories import access, backups, governance, upkeep
from memories.access import Principal
from memories.console.charts import Chart, bars, stacks
from memories.console.explorer_query import ALL, ON, ExplorerQuery
from memories.console.figures import WEEK, Figures, figures_of
from memories.console.searches import Searches, searches_of
from memories.models import Backup, Fragment, Operation, Proposal
from memories.models.enums import OperationState, SourceClass, Status, Verb
from memories.models.namespace import NamespaceQuerySet
from memories.upkeep.thresholds import thresholds_of

DAYS = 30


@dataclass(frozen=True, slots=True)
class Need:
    """Something that waits for a person, or does not: its word, number and the page behind it."""

    word: str
    title: str
    number: str
    detail: str
    url: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The dashboard."""

    needs: list[Need]
    counts: list[tuple[str, int, str]]
    growth: Chart
    quarrel: Chart
    trusted: Chart
    fading: Chart
    crossings: list[tuple[str, int, str]]
    searches: Searches
    capacity: Any
    octets: int
    is_new: bool


def overview(principal: Principal, *, now: datetime.datetime) -> Overview:
    """Return all of it, in a fixed number of queries."""
    proofs = backups.backup_status(principal, now=now)
    with access.enter(principal, why="console"):
        namespaces = access.readable_scopes(principal)
        rows = Fragment.objects.within(principal.project_id).filter(namespace__in=namespaces)
        days = _days(now)
        since = datetime.datetime.combine(days[0], datetime.time(), datetime.UTC)
        own = thresholds_of(principal.project_id)
        found = figures_of(rows, since=since, now=now, own=own)
        opened = _opened_by_day(principal, since)
        saved = (
            [_backup(proofs, now, broken=Backup.objects.within(principal.project_id).broken().count())]
            if Verb.ADMIN in principal.verbs
            else []
        )
        capacity = upkeep.lifecycle.Capacity.of(found.total, own)
        return Overview(
            needs=[*_needs(principal, rows, found.held, now), *_proposed(principal, namespaces, now), *saved],
            counts=[(word, found.status[word], _list(status=word)) for word in Status.values],
            growth=bars(
                [(str(day), found.stored[day]) for day in days],
                says=f"memories stored in the last {DAYS} days",
                link=lambda day: _list(status=ALL, day=day),
            ),
            quarrel=_conflict_rate(days, found.stored, opened),
            trusted=_trusted(found),
            fading=bars(
                [(f"{n / 10:.1f}", found.relevant[n]) for n in range(10)],
                says="active memories by relevance now",
                link=lambda tenth: _list(relevance=tenth),
            ),
            searches=searches_of(principal, days),
            octets=found.octets + capacity.vectors,
            crossings=[
                ("get cold within a week", found.cooling, _list(relevance="cooling")),
                ("fade within a week", found.fading, _list(relevance="fading")),
            ],
            capacity=capacity,
            is_new=not found.total,
        )


def _days(now: datetime.datetime) -> list[datetime.date]:
    today = now.date()
    return [today - datetime.timedelta(days=n) for n in range(DAYS - 1, -1, -1)]


def _opened_by_day(principal: Principal, since: datetime.datetime) -> dict[Any, int]:
    """Return how many conflicts were opened by day."""
    made = waiting(principal, status="all").filter(created_at__gte=since).order_by()
    days = made.annotate(day=TruncDate("created_at")).values_list("day")
    return dict(days.annotate(n=Count("id")))


def _needs(principal: Principal, rows: Any, held: int, now: datetime.datetime) -> list[Need]:
    left, oldest = queue_length(principal)
    failed = Operation.objects.within(principal.project_id).filter(
        state=OperationState.FAILED, finished_at__gte=now - WEEK
    )
    broken = failed.count()
    return [
        Need(
            "waiting" if left else "ok",
            "Conflicts waiting",
            str(left),
            _since(oldest, now),
            reverse("console:review"),
        ),
        Need(
            "failed" if broken else "ok",
            "Failed operations",
            str(broken),
            "in the last week",
            reverse("console:operations") + f"?state=failed&days={WEEK.days}",
        ),
        Need(
            "quarantined" if held else "ok",
            "New in quarantine",
            str(held),
            _in_a_week(rows, held, now),
            _list(status=Status.QUARANTINED.value, day=f"{_days(now)[-WEEK.days]}{ON}"),
        ),
    ]


def _in_a_week(rows: Any, held: int, now: datetime.datetime) -> str:
    """Return over which time so many were held, and how many of them branches copied: the queue has those once."""
    recent = rows.filter(status=Status.QUARANTINED, created_at__date__gt=(now - WEEK).date())
    copied = held - recent.unforked().count() if held else 0
    return "in the last week" + (f", {copied} of them copied by branches" if copied > 0 else "")


def _proposed(principal: Principal, namespaces: NamespaceQuerySet, now: datetime.datetime) -> list[Need]:
    """Return what a language model proposed and a person decides; nothing without a model, unless something waits."""
    rows = Proposal.objects.within(principal.project_id).filter(namespace__in=namespaces, waiting=True)
    left = rows.aggregate(n=Count("id"), oldest=Min("created_at"))
    if not left["n"] and not governance.health.has_sidecar():
        return []
    word = "waiting" if left["n"] else "ok"
    return [Need(word, "Proposals waiting", str(left["n"]), _since(left["oldest"], now), reverse("console:proposals"))]


def _since(oldest: datetime.datetime | None, now: datetime.datetime) -> str:
    if oldest is None:
        return "nothing to decide"
    days = (now.date() - oldest.date()).days
    return f"the oldest for {days} {'day' if days == 1 else 'days'}" if days else "the oldest from today"


def _days_ago(at: datetime.datetime, now: datetime.datetime) -> str:
    days = (now.date() - at.date()).days
    return f"{days} days ago" if days > 1 else "yesterday" if days == 1 else "today"


def _backup(proofs: dict[str, Any], now: datetime.datetime, *, broken: int) -> Need:
    drilled, restored, made = (proofs[f"last_{name}_at"] for name in ("drill", "restore", "backup"))
    detail = "no restore was tried yet"
    if made is None:
        detail = "nothing is saved yet"
    elif drilled:
        detail = f"last proven by a restore {_days_ago(drilled, now)}"
    elif restored:
        detail = f"last restored {_days_ago(restored, now)}, no test restore yet"
    if broken:
        return Need(
            "failed", "Backups", str(proofs["count"]), f"{broken} can’t be restored", reverse("console:backups")
        )
    word = "ok" if proofs["are_proven"] else "missing" if made is None else "unproven"
    return Need(word, "Backups", str(proofs["count"]), detail, reverse("console:backups"))


def _conflict_rate(days: list[datetime.date], stored: Mapping[Any, int], opened: dict[Any, int]) -> Chart:
    rates = [(str(day), round(1000 * opened.get(day, 0) / stored[day], 1) if stored.get(day) else 0) for day in days]
    return bars(rates, says="conflicts per 1,000 memories stored, by day")


def _list(**filters: Any) -> str:
    """Return the explorer's list of these."""
    return ExplorerQuery(**filters).url()


def _believed(tenth: str, source: str) -> str:
    return _list(trust=tenth, source=source)


def _trusted(found: Figures) -> Chart:
    """Return a source that stores much of little trust stands out as a lump."""
    tenths = [
        (f"{n / 10:.1f}", [(s, found.trusted[n, s]) for s in SourceClass.values if found.trusted[n, s]])
        for n in range(10)
    ]
    return stacks(tenths, says="active memories by trust, and who said them", link=_believed)
