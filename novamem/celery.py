"""The Celery application. The broker only wakes a worker; what is to be done stands in `Operation` rows."""

import logging.config
import os
from importlib import import_module

from celery import Celery, platforms
from celery.signals import celeryd_after_setup, setup_logging, worker_shutdown
from django.dispatch import receiver
from django_structlog.celery.signals import modify_context_before_task_publish
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")

platforms._setproctitle = None  # worker and scheduler keep the names that they were started by
app = Celery("novamem")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(DjangoStructLogInitStep)  # a task's lines have the id of the request that asked for it


@receiver(modify_context_before_task_publish)
def narrow_context(context: dict[str, object], **_: object) -> None:
    """Of what is known of a request a message carries its id alone: no address, no account."""
    for name in context.keys() - {"request_id", "parent_task_id"}:
        del context[name]


def set_logging_up(**_: object) -> None:
    """Worker and scheduler log as the web server does: Celery would write lines of its own instead."""
    from django.conf import settings  # late: the application is made before there are settings

    logging.config.dictConfig(settings.LOGGING)
    logging.captureWarnings(True)


def start_telemetry(**_: object) -> None:
    """Make each task a span, where telemetry is exported; later than what binds the id of its request."""
    from django.conf import settings  # late, as above

    if settings.EXPORTS_TELEMETRY:
        telemetry = import_module("novamem.telemetry").start()
        telemetry.follow_tasks()
        worker_shutdown.connect(telemetry.stop, weak=False)


setup_logging.connect(set_logging_up)
celeryd_after_setup.connect(start_telemetry)


app.conf.beat_schedule = {
    "heartbeat": {"task": "memories.tasks.heartbeat", "schedule": 10.0, "options": {"expires": 10}},
    "look for work": {"task": "memories.tasks.look_for_work", "schedule": 15.0, "options": {"expires": 15}},
    "evolve": {"task": "memories.tasks.evolve", "schedule": 86_400.0, "options": {"expires": 86_400}},
    "trim proposals": {"task": "memories.tasks.trim_proposals", "schedule": 300.0, "options": {"expires": 300}},
    "seal events": {"task": "memories.tasks.seal_events", "schedule": 60.0, "options": {"expires": 60}},
    "expire requests": {"task": "memories.tasks.expire_requests", "schedule": 3600.0},
    "keep search fast": {"task": "memories.tasks.keep_search_fast", "schedule": 60.0, "options": {"expires": 60}},
    "analyze search": {"task": "memories.tasks.analyze_search", "schedule": 86_400.0},
    "keep small": {"task": "memories.tasks.keep_small", "schedule": 3600.0, "options": {"expires": 3600}},
    "expire copies": {"task": "memories.tasks.expire_copies", "schedule": 3600.0},
    "consolidate": {"task": "memories.tasks.consolidate", "schedule": 3600.0, "options": {"expires": 3600}},
    "back up": {"task": "memories.tasks.back_up", "schedule": 86_400.0, "options": {"expires": 86_400}},
    "expire backups": {"task": "memories.tasks.expire_backups", "schedule": 3600.0},
    "expire consolidations": {"task": "memories.tasks.expire_consolidations", "schedule": 3600.0},
    "expire logins": {"task": "memories.tasks.expire_logins", "schedule": 3600.0},
    "expire calls": {"task": "memories.tasks.expire_calls", "schedule": 86_400.0},
    "expire history": {"task": "memories.tasks.expire_history", "schedule": 86_400.0, "options": {"expires": 86_400}},
    "expire operations": {"task": "memories.tasks.expire_operations", "schedule": 3600.0},
    "expire usage": {"task": "memories.tasks.expire_usage", "schedule": 86_400.0},
    "expire sessions": {"task": "memories.tasks.expire_sessions", "schedule": 3600.0},
    "expire receipts": {"task": "memories.tasks.expire_receipts", "schedule": 3600.0},
}
