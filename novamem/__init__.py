"""Wiring only: settings, the embedded database, the web and worker entry points.

Celery's application is made with the package, so that whoever queues a task finds it as `celery.current_app`.
"""

from novamem.celery import app

__all__ = ["app"]
