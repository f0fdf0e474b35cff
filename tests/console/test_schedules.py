"""How often what is scheduled runs: shown with the next three times, set by who administers every project."""

import datetime
import re

import pytest
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from memories import schedules
from memories.access import keys
from tests.console.conftest import post, words


@pytest.mark.parametrize(("where", "name"), [("consolidation", "consolidate"), ("backups", "back up")])
def test_works(adam, where, name):
    assert "switched off, or was not started yet" in words(adam.get(f"/{where}/"))
    answer = post(adam, f"/schedules/{where}/", every="6", period="hours", enabled="yes")
    assert answer["Location"] == f"/{where}/"
    row = PeriodicTask.objects.get(name=name)
    assert (row.enabled, row.interval.schedule.run_every, row.task) == (
        True,
        datetime.timedelta(hours=6),
        schedules.TASKS[name],
    )
    shown = words(adam.get(f"/{where}/"))
    assert re.search(r"Scheduled every 6 hours: next ([\d-]{10} [\d:]{5}( , | UTC)){3}", shown)
    post(adam, f"/schedules/{where}/", every="1", period="days", enabled="yes")
    assert "Scheduled every day: next" in words(adam.get(f"/{where}/"))
    post(adam, f"/schedules/{where}/", every="6", period="hours")
    assert "switched off" in words(adam.get(f"/{where}/"))


def test_the_next_times_are_to_come(db):
    now = timezone.now()
    schedules.set_schedule("consolidate", every=90, period="minutes", enabled=True)
    PeriodicTask.objects.filter(name="consolidate").update(last_run_at=now - datetime.timedelta(days=2))
    found = schedules.schedule("consolidate", now=now)
    assert (found.every, found.period) == (90, "minutes")
    assert [at > now for at in found.ahead] == [True] * 3
    assert found.ahead[0] - now <= datetime.timedelta(minutes=90)
    assert found.ahead[2] - found.ahead[1] == datetime.timedelta(minutes=90)


@pytest.mark.parametrize(
    "form", [{"every": "1"}, {"every": "0"}, {"every": "x"}, {"every": "9" * 9}, {"period": "seconds"}]
)
def test_nothing_runs_so_often(adam, form):
    answer = post(adam, "/schedules/backups/", **{"every": "8", "period": "minutes", "enabled": "yes", **form})
    assert (answer.status_code, "The schedule was not changed" in words(answer)) == (409, True)
    assert not PeriodicTask.objects.exists()
    assert not IntervalSchedule.objects.exists()


def test_who_does_not_administer_every_project_sets_nothing(adam, vera, carl):
    assert post(vera, "/schedules/backups/", every="1", period="hours").status_code == 403
    keys.ensure_project("elsewhere")
    page = adam.get("/consolidation/")
    assert "Change the schedule" not in words(page)
    assert post(adam, "/schedules/backups/", every="1", period="hours").status_code == 403
    assert adam.get("/schedules/no-such/").status_code == 404
    assert not PeriodicTask.objects.exists()


def test_without_a_token_nothing_is_set(adam):
    assert adam.post("/schedules/backups/", {"every": "1", "period": "hours"}).status_code == 403
    assert not PeriodicTask.objects.exists()
