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
    "ingest exchanges": {"task": "memories.tasks.ingest_exchanges", "schedule": 15.0, "options": {"expires": 15}},
    "read pending": {"task": "memories.tasks.read_pending", "schedule": 15.0, "options": {"expires": 15}},
    "evolve": {"task": "memories.tasks.evolve", "schedule": 86_400.0, "options": {"expires": 86_400}},
    "trim proposals": {"task": "memories.tasks.trim_proposals", "schedule": 300.0, "options": {"expires": 300}},
    "seal events": {"task": "memories.tasks.seal_events", "schedule": 60.0, "options": {"expires": 60}},
    "expire requests": {"task": "memories.tasks.expire_requests", "schedule": 3600.0},
    "keep connections": {"task": "memories.tasks.keep_connections", "schedule": 15.0, "options": {"expires": 15}},
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
