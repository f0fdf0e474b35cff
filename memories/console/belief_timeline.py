"""The timeline of a belief: a lane for each value, drawn over valid time or over the time of recording."""

import datetime
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from conflicts.history import BeliefQuery, Believed, believed_claims, claims, load_lives, timeline
from memories import access
from memories.access import Principal
from memories.models import Claim, Fragment
from memories.models.enums import Status
from memories.models.namespace import scope_name

VALID, RECORD = "valid", "record"
LEFT, WIDTH = 2, 96  # hundredths of the width; heights are pixels, so that no text is scaled
LANE, MOST, KEYS = 46, 200, 100
AXIS, TICKS = 30, 5
VOTED = {"dispute": "disputed", "reinforce": "agreed", "corroborate": "agreed"}
# A disc, a triangle, a diamond, a square and a hollow one.
SHAPES = {
    "agreed": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "disputed": "M0 -6L6 5L-6 5z",
    "replaced": "M0 -7L5 0L0 7L-5 0z",
    "chosen": "M-5 -5H5V5H-5z",
    "ruled out": "M-5 -5H5V5H-5zM-3 -3V3H3V-3z",
}
DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a lane, in hundredths of the width; `trust` is how strong it is drawn."""

    x: float
    width: float
    trust: float
    status: str
    title: str
    url_id: Any


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment on a lane. `shape` is a path around (0, 0): each word has its own."""

    x: float
    word: str
    shape: str
    title: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled time of the axis."""

    x: float
    label: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One value, in its first spelling; `waits` while nobody may believe it yet."""

    value: str
    waits: bool
    y: int
    spans: list[Span]
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class BeliefChart:
    """The drawing of one namespace or user's scope, and what was believed there at the chosen day.

    Nothing is shared between two.
    """

    namespace: str
    lanes: list[Lane]
    height: int
    says: list[Any]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A chart for each namespace, all over the same time."""

    charts: list[BeliefChart]
    first: datetime.datetime
    last: datetime.datetime
    at: datetime.datetime
    at_x: float
    # How many days it is long, and the chosen one among them.
    days: int
    day: int
    ticks: list[Tick]
    # How many of its memories are drawn, of how many.
    drawn: int
    known: int


def keys(principal: Principal, *, namespace: str = "") -> tuple[list[dict[str, Any]], int]:
    """Return the latest subjects and predicates that something is claimed of, by namespace, and how many there are."""
    with access.enter(principal, why="console"):
        rows = Claim.objects.within(principal.project_id).filter(namespace__in=_places(principal, namespace))
        newest = rows.values("namespace__name", "subject", "predicate").annotate(at=Max("fragment__created_at"))
        found = list(newest.order_by("-at", "namespace__name", "subject", "predicate")[:KEYS])
        return found, newest.count() if len(found) == KEYS else len(found)


def places(principal: Principal) -> list[str]:
    """Return the namespaces that may be asked for."""
    with access.enter(principal, why="console"):
        return sorted(row.name for row in access.all_readable(principal))


def _places(principal: Principal, namespace: str) -> Any:
    return access.readable_scopes(principal, [namespace] if namespace else None)


def build_timeline(
    principal: Principal,
    *,
    subject: str,
    predicate: str,
    axis: str,
    day: datetime.date | None,
    now: datetime.datetime,
    namespace: str = "",
) -> Timeline | None:
    """Return the timeline as of now, or of the end of a day; None when nothing was ever claimed of this.

    Raise NotFound for a namespace that is not covered.
    """
    with access.enter(principal, why="console"):
        here = namespace or None
        every = timeline(principal, subject=subject, predicate=predicate, namespace=here, wider=False)
        rows = list(every[:MOST])
        known = every.count() if len(rows) == MOST else len(rows)
        found = load_lives(principal, rows, subject=subject, predicate=predicate)
        if not found:
            return None
        first, last = _ends(found, axis, now)
        at = now if day is None else min(last, datetime.datetime.combine(day, datetime.time.max, datetime.UTC))
        voted = Fragment.objects.within(principal.project_id).prefetch_related("votes")
        fragments = voted.in_bulk([life.fragment_id for life in found])
        votes = _votes(fragments)
        known_at = at if axis == RECORD else None
        query = BeliefQuery(namespace=here, subject=subject, predicate=predicate, as_of=at, known_at=known_at)
        held = claims(principal, query, now=now).filter(id__in=[row.id for row in rows]).order_by("-created_at", "id")
        says = believed_claims(principal, list(held))
    scale = _Scale(first, last)
    charts = []
    for name in sorted({_scope(life) for life in found}):
        lanes = _draw_lanes([life for life in found if _scope(life) == name], fragments, votes, axis, scale)
        charts.append(BeliefChart(name, lanes, LANE * len(lanes) + AXIS, [one for one in says if _scope(one) == name]))
    days, chosen = ((end.date() - first.date()).days for end in (last, at))
    return Timeline(charts, first, last, at, scale.x(at), days, chosen, _ticks(scale), len(rows), known)


def _scope(one: Believed) -> str:
    return scope_name(one.namespace, one.user)


@dataclass(frozen=True, slots=True)
class _Scale:
    first: datetime.datetime
    last: datetime.datetime

    def x(self, at: datetime.datetime) -> float:
        """Return where a time stands."""
        whole = max(1.0, (self.last - self.first).total_seconds())
        share = (min(max(at, self.first), self.last) - self.first).total_seconds() / whole
        return round(LEFT + WIDTH * share, 2)


def _ends(found: Sequence[Any], axis: str, now: datetime.datetime) -> tuple[datetime.datetime, datetime.datetime]:
    begins = [life.beliefs[0].since for life in found if life.beliefs]
    if axis == VALID:
        begins += [life.valid_from for life in found if life.valid_from]
    ends = [life.valid_until for life in found if life.valid_until and axis == VALID]
    return min([*begins, now - DAY]), max([now, *ends])


def _votes(fragments: dict[Any, Fragment]) -> dict[Any, list[tuple[datetime.datetime, str]]]:
    votes: dict[Any, list[tuple[datetime.datetime, str]]] = defaultdict(list)
    for row in fragments.values():
        for vote in sorted(row.votes.all(), key=lambda vote: vote.created_at):
            votes[row.id].append((vote.created_at, str(vote.ballot)))
    return votes


def _draw_lanes(
    found: Sequence[Any], fragments: dict[Any, Fragment], votes: Any, axis: str, scale: _Scale
) -> list[Lane]:
    by_value: dict[bytes, list[Any]] = defaultdict(list)
    for life in found:
        by_value[life.value_digest].append(life)
    lanes = []
    for number, these in enumerate(by_value.values()):
        spans, marks = [], []
        for life in these:
            row = fragments[life.fragment_id]
            spans += _spans(life, row, axis, scale)
            marks += [_mark(scale, at, VOTED.get(ballot, "agreed")) for at, ballot in votes[row.id]]
            ended = [belief.since for belief in life.beliefs if belief.status == "superseded"]
            marks += [_mark(scale, at, "replaced") for at in ended]
            marks += [_mark(scale, one.at, one.decision.replace("_", " ")) for one in life.rulings]
        waits = all(life.status == Status.QUARANTINED for life in these)
        lanes.append(Lane(these[0].value, waits, number * LANE, spans, marks))
    return lanes


def _mark(scale: _Scale, at: datetime.datetime, word: str) -> Mark:
    return Mark(scale.x(at), word, SHAPES[word], f"{word} on {at:%Y-%m-%d}")


def _ticks(scale: _Scale) -> list[Tick]:
    """Five times at equal distances, the ends among them."""
    step = (scale.last - scale.first) / (TICKS - 1)
    form = "%Y-%m-%d" if step >= DAY else "%m-%d %H:%M"
    # The last as it is: worked out, it could lie past the end of the calendar.
    times = [*(scale.first + n * step for n in range(TICKS - 1)), scale.last]
    anchors = ["start", *["middle"] * (TICKS - 2), "end"]
    return [Tick(scale.x(at), at.strftime(form), anchor) for at, anchor in zip(times, anchors, strict=True)]


def _spans(life: Any, row: Fragment, axis: str, scale: _Scale) -> list[Span]:
    worth = row.trust_at(None)
    if axis == VALID:
        parts = [(life.valid_from or scale.first, life.valid_until or scale.last, life.status)]
    else:
        parts = [(belief.since, belief.until or scale.last, belief.status) for belief in life.beliefs]
    return [
        Span(
            scale.x(since),
            max(0.4, round(scale.x(until) - scale.x(since), 2)),
            round(max(0.25, worth), 2),
            status,
            f"{status}, trust {worth:.2f}, {since:%Y-%m-%d} to {until:%Y-%m-%d}",
            row.id,
        )
        for since, until, status in parts
    ]
