"""The Celery application. The broker only wakes a worker; what is to be done stands in `Operation` rows."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")

app = Celery("novamem")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
