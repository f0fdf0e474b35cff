"""Schedules in the database: seeded from `novamem.celery`, edited in Django's admin, and never overwritten."""

from typing import Any

from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler

# One schedule, "look for work", has taken their place.
REPLACED = ("sweep operations", "embed pending", "ingest exchanges", "read pending", "keep connections")


class SeededScheduler(DatabaseScheduler):  # type: ignore[misc]  # the library has no types
    """The scheduler of django-celery-beat, which would write each default anew at every start."""

    def update_from_dict(self, mapping: dict[str, Any]) -> None:
        """Add the schedules that are missing; what an administrator changed, or switched off, stays."""
        PeriodicTask.objects.filter(name__in=REPLACED).delete()
        known = set(PeriodicTask.objects.filter(name__in=mapping).values_list("name", flat=True))
        super().update_from_dict({name: entry for name, entry in mapping.items() if name not in known})
