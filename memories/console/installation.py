"""/installation/: for operators: what works, what waits, and what grows, of the whole installation."""

from typing import Any

from django.db import DatabaseError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import health, schedules
from memories.access import NotPermitted
from memories.console.auth import member
from memories.growth import growth
from memories.readings import NAMES, Measurement, readings

# Which of the readings are numbers to look at, in this order.
SHOWN = (
    "queue_messages",
    "operations",
    "operation_wait_seconds",
    "operations_ended_day",
    "vectors_pending",
    "connections_pending",
    "exchanges_pending",
    "conflicts_waiting",
    "seal_age_seconds",
    "backup_age_seconds",
    "drill_age_seconds",
    "projects",
    "projects_without_backup",
    "projects_without_drill",
    "database_connections",
    "database_connections_most",
)
OCTETS = ("database_bytes", "backup_bytes", "disk_free_bytes")


@require_safe
@never_cache
@member
def installation(request: Any) -> HttpResponse:
    """Return the page; it is the operator's."""
    if not request.principal.is_operator:
        raise NotPermitted("the installation is the operator's to see")
    parts = health.check_parts()
    try:
        found = readings()
    except DatabaseError:
        found = []
    now = timezone.now()
    grown = [(row, schedules.last_run(row.growing.schedule, now=now)) for row in growth(found)]
    context = {
        "status": health.status_of(parts),
        "parts": parts.items(),
        "numbers": [(_words(each), round(each.value)) for name in SHOWN for each in found if each.name == name],
        "octets": [(_words(each), int(each.value)) for name in OCTETS for each in found if each.name == name],
        "grown": grown,
        "now": now,
    }
    return render(request, "console/installation.html", context)


def _words(reading: Measurement) -> str:
    text = NAMES[reading.name][0].rstrip(".")
    return f"{text}: {reading.label}" if reading.label else text
