"""Which backups stay by the calendar."""

import datetime
import uuid

import pytest

from memories import access, backups
from memories.backups.retention import last_of_periods
from memories.models import Backup

NOON = datetime.datetime(2026, 3, 31, 12, tzinfo=datetime.UTC)  # a Tuesday


def backup(day, **values):
    """One that was made so many days before."""
    made = NOON - datetime.timedelta(days=day)
    return Backup(id=uuid.uuid4(), created_at=made, policy=values.pop("policy", "full"), **values)


def days(rows):
    return sorted({(NOON - row.created_at).days for row in rows})


@pytest.mark.parametrize(
    ("weeks", "months", "kept"),
    [
        (0, 0, []),
        (3, 0, [0, 2, 9]),  # this week's last, and those of two Sundays
        (0, 3, [0, 31, 59]),  # of March, February and January
        (2, 2, [0, 2, 31]),
    ],
)
def test_the_last_of_each_week_and_month_stays(weeks, months, kept):
    daily = [backup(day) for day in range(100)]
    assert days(last_of_periods(daily, weeks=weeks, months=months)) == kept


def test_periods_without_any_do_not_count():
    rows = [backup(0), backup(40), backup(80)]
    assert days(last_of_periods(rows, weeks=3, months=0)) == [0, 40, 80]


@pytest.mark.parametrize(
    "worse",
    [{"verdict": "broken_bundle"}, {"drill_verdict": "failed"}, {"policy": "identity"}, {"base_id": uuid.uuid4()}],
)
def test_none_that_is_unsound_or_not_whole_stands_for_a_period(worse):
    rows = [backup(0, **worse), backup(1, verdict="sound"), backup(2)]
    assert days(last_of_periods(rows, weeks=1, months=0)) == [1]


def test_retention_goes_by_the_newest_and_the_calendar(principal, settings):
    settings.BACKUP_KEEP, settings.BACKUP_WEEKLY, settings.BACKUP_MONTHLY = 2, 2, 2
    for day in range(70):
        row = backup(day, policy_version=1, origin="scheduled", file=f"acme-{day}", size=1)
        row.project_id = principal.project_id
        with access.enter(principal, why="test"):
            row.save(force_insert=True)
    assert backups.expire(principal, now=NOON) == 66
    with access.enter(principal, why="test"):
        assert days(Backup.objects.all()) == [0, 1, 2, 31]
