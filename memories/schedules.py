"""Schedules: how often what is scheduled runs. Rows of django-celery-beat, which are the whole installation's."""

import datetime
from dataclasses import dataclass, field
from typing import Any

import structlog
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from memories.errors import NovaError
from memories.models import Membership, Project
from memories.models.enums import Role

AHEAD = 3
TASKS = {"consolidate": "memories.tasks.consolidate", "back up": "memories.tasks.back_up"}
PERIODS = (IntervalSchedule.MINUTES, IntervalSchedule.HOURS, IntervalSchedule.DAYS)
LEAST, MOST = datetime.timedelta(minutes=5), datetime.timedelta(days=366)
log = structlog.get_logger(__name__)


class BadSchedule(NovaError):
    """Nothing runs so often, or so seldom."""

    status = 400
    code = "validation"
    title = "The schedule was not changed"


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often something runs: every so many `period`s; `ahead` are the next three times, none while switched off."""

    name: str
    enabled: bool = False
    every: int | None = None
    period: str = IntervalSchedule.HOURS
    ahead: list[datetime.datetime] = field(default_factory=list)


def schedule(name: str, *, now: datetime.datetime) -> Schedule:
    """The schedule as it stands; switched off while it was never seeded, without numbers where it is no interval."""
    row = PeriodicTask.objects.filter(name=name).select_related("interval").first()
    if row is None:
        return Schedule(name)
    if row.interval is None:
        return Schedule(name, enabled=row.enabled)
    every, period = _words(row.interval.schedule.run_every)
    return Schedule(name, row.enabled, every, period, _ahead(row, now) if row.enabled else [])


def last_run(name: str, *, now: datetime.datetime) -> datetime.datetime | None:
    """Return when it was last queued; None for never."""
    row = PeriodicTask.objects.filter(name=name).first() if name else None
    at: datetime.datetime | None = row.last_run_at if row else None
    return min(at, now) if at else None


def _words(length: datetime.timedelta) -> tuple[int, str]:
    """In the largest unit that measures it whole."""
    minutes = max(1, round(length.total_seconds() / 60))
    if minutes % 1440 == 0:
        return minutes // 1440, IntervalSchedule.DAYS
    return (minutes // 60, IntervalSchedule.HOURS) if minutes % 60 == 0 else (minutes, IntervalSchedule.MINUTES)


def _ahead(row: Any, now: datetime.datetime) -> list[datetime.datetime]:
    period = row.interval.schedule.run_every
    first = (row.last_run_at or row.date_changed or now) + period
    if first < now:
        first += period * ((now - first) // period + 1)
    return [first + period * n for n in range(AHEAD)]


def set_schedule(name: str, *, every: int, period: str, enabled: bool) -> None:
    """Set it; the scheduler hears of it within seconds. Raise BadSchedule below 5 minutes and above 366 days."""
    if period not in PERIODS or not 0 < every <= MOST // LEAST:
        raise BadSchedule("Give a whole number of minutes, hours or days.")
    length = datetime.timedelta(**{period: every})
    if not LEAST <= length <= MOST:
        raise BadSchedule("Use 5 minutes at the least, 366 days at the most.")
    interval, _ = IntervalSchedule.objects.get_or_create(every=every, period=period)
    others = {"crontab": None, "solar": None, "clocked": None}
    seconds = int(length.total_seconds())
    values = {"task": TASKS[name], "interval": interval, "enabled": enabled, "expire_seconds": seconds, **others}
    PeriodicTask.objects.update_or_create(name=name, defaults=values)
    log.info("schedule_set", schedule=name, every=every, period=period, enabled=enabled)


def may_schedule(user: Any) -> bool:
    """Whether a person may set what concerns every project: an administrator of all of them, or of the server."""
    if user.is_superuser:
        return True
    administered = Membership.objects.filter(user=user, role=Role.ADMIN).values("project")
    return not Project.objects.exclude(id__in=administered).exists()
