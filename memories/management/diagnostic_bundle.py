"""A diagnostic bundle: what somebody else needs to see to help, in one file, without texts of memories and secrets."""

import json
import platform
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django_celery_beat.models import PeriodicTask

from memories import access
from memories.diagnosis import Diagnosis, numbers_of
from memories.management.shown_settings import shown_settings
from memories.models import Operation, Project
from memories.models.sql import fetch
from memories.readings import readings

LOG_BYTES = 1_000_000  # of each log, its end
OPERATIONS, PROJECTS = 50, 100  # the newest of each project
COLUMNS = (
    "id",
    "kind",
    "state",
    "dry_run",
    "stage",
    "stages",
    "done",
    "total",
    "fence",
    "created_at",
    "started_at",
    "finished_at",
)
CHANGED = "SELECT name, setting, unit FROM pg_settings WHERE source NOT IN ('default', 'override') ORDER BY name"


def write_bundle(path: Path, found: Sequence[Diagnosis]) -> list[str]:
    """Write the file, readable by its owner only, and return what is in it."""
    path.touch(mode=0o600)
    parts: dict[str, Any] = {
        "diagnosis.json": [asdict(each) for each in found],
        "settings.json": shown_settings(),
        "versions.json": _versions(),
    }
    try:
        parts |= {
            "readings.json": numbers_of(readings()),
            "schedules.json": _schedules(),
            "migrations.json": [
                list(row) for row in fetch("SELECT app, name, applied FROM django_migrations ORDER BY id", [])
            ],
            "postgres.json": [list(row) for row in fetch(CHANGED, [])],
            "operations.json": [
                row for project in Project.objects.order_by("name")[:PROJECTS] for row in _operations(project)
            ],
        }
    except DatabaseError as error:
        parts["database.json"] = {"error": type(error).__name__}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in parts.items():
            bundle.writestr(name, json.dumps(content, indent=1, default=str))
        for log in sorted((Path(settings.DATA_DIR) / "logs").glob("*.log")):
            bundle.writestr(f"logs/{log.name}", _end_of(log))
        return bundle.namelist()


def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {
        "novamem": settings.VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": dict(sorted((one.metadata["Name"], one.version) for one in distributions())),
    }
    try:
        found["postgres"] = fetch("SELECT version()", [])[0][0]
        found["extensions"] = dict(fetch("SELECT extname, extversion FROM pg_extension ORDER BY extname", []))
    except DatabaseError:
        found["postgres"] = "does not answer"
    return found


def _schedules() -> list[dict[str, Any]]:
    columns = ("name", "enabled", "interval__every", "interval__period", "last_run_at", "total_run_count")
    return list(PeriodicTask.objects.order_by("name").values(*columns))


def _operations(project: Project) -> list[dict[str, Any]]:
    """Of an error its code; no options and no report, which name namespaces."""
    with access.enter(access.system_principal(project), why="diagnosis"):
        rows = Operation.objects.within(project.id).order_by("-created_at", "-id")[:OPERATIONS]
        return [
            {**{name: getattr(row, name) for name in COLUMNS}, "error": (row.error or {}).get("code")} for row in rows
        ]


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LOG_BYTES))
        return file.read()
