"""The workload: in which projects a worker may find something to do. One statement asks for all of them."""

import datetime
from collections.abc import Iterable
from enum import StrEnum

from memories.models import Project
from memories.models.sql import fetch


class Work(StrEnum):
    """What `nova_workload` knows of."""

    OPERATIONS = "operations"
    EMBEDDINGS = "embeddings"
    EXCHANGES = "exchanges"
    READINGS = "readings"
    PROPOSALS = "proposals"
    CONNECTIONS = "connections"
    WEBHOOKS = "webhooks"
    WRITES = "writes"  # within ten minutes, or not sealed yet


def kinds_due(kinds: Iterable[Work], *, now: datetime.datetime) -> list[Work]:
    """Return of which of these something may have to be done in any project."""
    asked = "SELECT kind FROM unnest(%s::text[]) AS kind WHERE EXISTS (SELECT FROM nova_workload(kind, %s))"
    return [Work(kind) for (kind,) in fetch(asked, [[*map(str, kinds)], now])]


def projects_with(work: Work, *, now: datetime.datetime) -> list[Project]:
    """Return the projects where this may have to be done, by name; never one too few, but of what failed."""
    due = [project_id for (project_id,) in fetch("SELECT nova_workload(%s, %s)", [work, now])]
    return list(Project.objects.filter(id__in=due).order_by("name"))
