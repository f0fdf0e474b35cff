"""The Celery application. The broker only wakes a worker; what is to be done stands in `Operation` rows."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")

app = Celery("novamem")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

app.conf.beat_schedule = {
    "heartbeat": {"task": "memories.tasks.heartbeat", "schedule": 10.0, "options": {"expires": 10}},
    "sweep operations": {"task": "memories.tasks.sweep_operations", "schedule": 15.0, "options": {"expires": 15}},
    "embed pending": {"task": "memories.tasks.embed_pending", "schedule": 15.0, "options": {"expires": 15}},
    "seal events": {"task": "memories.tasks.seal_events", "schedule": 60.0, "options": {"expires": 60}},
    "expire requests": {"task": "memories.tasks.expire_requests", "schedule": 3600.0},
    "keep search fast": {"task": "memories.tasks.keep_search_fast", "schedule": 60.0, "options": {"expires": 60}},
    "expire receipts": {"task": "memories.tasks.expire_receipts", "schedule": 3600.0},
}
