"""Ages, for whoever watches: how old each project's last backup is, and its last good drill."""

from collections.abc import Iterator

from django.db import DatabaseError
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from memories import access
from memories.backups.retention import backup_status
from memories.models import Project

NAMES = {
    "last_backup_at": (
        "novamem_backup_age_seconds",
        "Since the last backup, of the project where that is longest ago.",
    ),
    "last_drill_at": ("novamem_drill_age_seconds", "Since the last drill that found a backup sound, likewise."),
}


class Ages(Collector):
    """Asked of the database each time, since workers make backups and web processes tell of them.

    No names of projects: who reads metrics need not know them.
    """

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing is asked at registration: there may be no database yet."""
        return [GaugeMetricFamily(name, text) for name, text in NAMES.values()]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the gauges that have a value. Without a database the other metrics are told all the same."""
        now = timezone.now()
        try:
            statuses = [
                backup_status(access.system_principal(row), now=now) for row in Project.objects.order_by("name")
            ]
        except DatabaseError:
            return
        for key, (name, text) in NAMES.items():
            if times := [each[key] for each in statuses if each[key]]:
                yield GaugeMetricFamily(name, text, value=(now - min(times)).total_seconds())
