"""Nothing grows with time that nobody bounds, counts and shows."""

from django.apps import apps
from django.conf import settings

from memories import tasks
from memories.growth import growing
from novamem import celery, env

# What grows with memories and what is said about them; with people, keys and projects; with changes of the set-up.
MEMORIES = (
    "fragment claim embedding keywords keywordstatistics documentfrequency link mention entity relation cluster",
    "clustermember clusterlabel connected episode episodemember access origin revision pendingconnection",
    "pendingembedding pendingreading heardpair tombstone erasure recallcheck recallrun containment",
)
BELIEF = ("pendingconflict predicate repetition reservation ruling vote",)
PEOPLE = ("apikey authorization grant membership namespace owner project savedview embeddingmodel heartbeat webhook",)
OTHERS = (
    "auth_group auth_permission auth_user django_content_type otp_static_staticdevice otp_static_statictoken",
    "otp_totp_totpdevice django_celery_beat_clockedschedule django_celery_beat_crontabschedule",
    "django_celery_beat_intervalschedule django_celery_beat_periodictask django_celery_beat_periodictasks",
    "django_celery_beat_solarschedule",
)
# By what an operator does by hand; nothing is written to it.
BY_HAND = ["django_admin_log", "pghistory_context"]


def test_each_table_grows_with_something_or_is_bounded():
    tables = {model._meta.db_table for model in apps.get_models() if model._meta.managed}
    tables -= {"pghistory_events", "pghistory_events_default"}
    bounded = {table for each in growing() for table in each.tables}
    known = {f"memories_{name}" for line in MEMORIES + PEOPLE for name in line.split()}
    known |= {f"conflicts_{name}" for line in BELIEF for name in line.split()}
    known |= {name for line in OTHERS for name in line.split()} | {*BY_HAND}
    assert bounded <= tables
    assert not bounded & known
    assert tables - bounded - known == set()


def test_each_bound_is_a_setting_and_a_schedule_that_there_are():
    for each in growing():
        assert each.setting or each.schedule, each.what
        assert not each.setting or each.setting in env.Settings.model_fields
        assert not each.setting or each.setting in settings.ENV
        assert not each.schedule or each.schedule in celery.app.conf.beat_schedule


def test_each_scheduled_task_is_there():
    for entry in celery.app.conf.beat_schedule.values():
        assert hasattr(tasks, entry["task"].rpartition(".")[2])
