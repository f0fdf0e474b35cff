"""Schedules: seeded from the code, edited in the database."""

import datetime

import pytest
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from novamem.celery import app
from novamem.schedules import SeededScheduler


@pytest.fixture
def start(committed):
    """Starts the scheduler anew, as beat does, which gives its connection back in between; the schedules go after."""

    def begin():
        scheduler = SeededScheduler(app, lazy=True)
        scheduler.setup_schedule()
        return scheduler

    yield begin
    PeriodicTask.objects.all().delete()
    IntervalSchedule.objects.all().delete()


def test_every_schedule_of_the_code_is_seeded(start):
    start()
    names = set(PeriodicTask.objects.values_list("name", flat=True))
    assert names >= set(app.conf.beat_schedule)
    hourly = PeriodicTask.objects.get(name="consolidate")
    assert (hourly.task, hourly.interval.every, hourly.interval.period) == (
        "memories.tasks.consolidate",
        3600,
        "seconds",
    )


def test_what_an_administrator_changed_stays(start):
    start()
    daily = IntervalSchedule.objects.create(every=1, period="days")
    PeriodicTask.objects.filter(name="consolidate").update(interval=daily, enabled=False)
    PeriodicTask.objects.filter(name="heartbeat").delete()
    start()
    kept = PeriodicTask.objects.get(name="consolidate")
    assert (kept.interval, kept.enabled) == (daily, False)
    assert PeriodicTask.objects.filter(name="heartbeat").exists()


def test_a_schedule_whose_place_another_has_taken_goes(start):
    start()
    interval = IntervalSchedule.objects.get(every=15, period="seconds")
    PeriodicTask.objects.create(name="embed pending", task="memories.tasks.embed_pending", interval=interval)
    start()
    assert not PeriodicTask.objects.filter(name="embed pending").exists()
    assert PeriodicTask.objects.filter(name="look for work").exists()


def test_a_changed_schedule_is_the_one_that_counts(start):
    start()
    daily = IntervalSchedule.objects.create(every=1, period="days")
    PeriodicTask.objects.filter(name="consolidate").update(interval=daily)
    assert start().schedule["consolidate"].schedule.run_every == datetime.timedelta(days=1)
