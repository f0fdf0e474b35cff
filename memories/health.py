"""Health: what works, part by part: `ok | degraded | down`."""

import datetime
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from memories import audit, governance
from memories.models import EmbeddingModel, Heartbeat
from memories.models.enums import ModelState
from memories.models.sql import fetch
from memories.providers import readiness_of

PATIENCE = 3.0  # seconds for the database to answer
SILENT = datetime.timedelta(seconds=45)
OK, DEGRADED, DOWN = "ok", "degraded", "down"
NEEDED = ("database", "migrations")
Part = dict[str, str]
_WAITING = ThreadPoolExecutor(1, thread_name_prefix="probe")
_lock = threading.Lock()
_probe: Future[None] = Future()
_probe.set_result(None)


def check_parts() -> dict[str, Part]:
    """Return each part's state, with a detail where there is one."""
    parts = {"database": _database()}
    if parts["database"]["state"] == OK:
        parts |= {"sidecar": _sidecar(), "reduction_client": _reduction_client()}
        parts |= {"migrations": _migrations(), "embedder": _embedder(), "broker": _broker(), "worker": _worker()}
        parts |= {"seals": _part(DEGRADED, trouble)} if (trouble := audit.sealed_elsewhere()) else {}
        parts |= {"witness": _witness()} if settings.AUDIT_WITNESS else {}
    return parts


def status_of(parts: dict[str, Part]) -> str:
    """Return the whole's state: down while memories can't be read or written."""
    if any(parts.get(name, {}).get("state", DOWN) == DOWN for name in NEEDED):
        return DOWN
    return OK if {part["state"] for part in parts.values()} == {OK} else DEGRADED


def without_details(parts: dict[str, Part]) -> dict[str, Part]:
    """Return the states alone."""
    return {name: _part(part["state"]) for name, part in parts.items()}


def _part(state: str, detail: str = "") -> dict[str, str]:
    return {"state": state, **({"detail": detail} if detail else {})}


def _database() -> dict[str, str]:
    try:
        _asked().result(timeout=PATIENCE)
    except (Error, TimeoutError):
        return _part(DOWN, "Postgres does not answer")
    return _part(OK)


def _asked() -> Future[None]:
    """Return the question that is under way, or a new one: one thread waits for a database that hangs, whoever asks.

    Nothing of libpq's or of Postgres' ends the wait for a server that stands still.
    """
    global _probe
    with _lock:
        if _probe.done():
            _probe = _WAITING.submit(_ask)
        return _probe


def _ask() -> None:
    connection = connections[DEFAULT_DB_ALIAS]
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """Return all that this process's code has, which does not change under it."""
    loader = MigrationLoader(connections[DEFAULT_DB_ALIAS])
    return frozenset(loader.disk_migrations)


def _migrations() -> Part:
    try:
        found = {(app, name) for app, name in fetch("SELECT app, name FROM django_migrations", [])}
        known = _known_migrations()
    except Error:
        return _part(DOWN, "the migration table can't be read")
    if known - found:
        return _part(DOWN, "run `script/manage upgrade`")
    apps = {app for app, _ in known}
    newer = sorted(f"{app}.{name}" for app, name in found - known if app in apps)
    if newer:
        return _part(DEGRADED, f"the database is of a newer release, which has {newer[0]}: start that release")
    return _part(OK)


def _embedder() -> dict[str, str]:
    model = EmbeddingModel.objects.filter(state=ModelState.ACTIVE).first()
    if model is None:
        return _part(DEGRADED, "no embedding model is active")
    readiness = readiness_of(model)
    return _part(OK if readiness == "ready" else DEGRADED, f"{model.name} is {readiness}")


def _broker() -> dict[str, str]:
    try:
        with current_app.connection_for_write(connect_timeout=1) as connection:
            connection.ensure_connection(max_retries=1, timeout=1)
    except Exception as error:  # noqa: BLE001  # each broker library has errors of its own
        return _part(DEGRADED, type(error).__name__)
    return _part(OK)


def _worker() -> dict[str, str]:
    beat: Any = Heartbeat.objects.filter(part="worker").first()
    if beat is None:
        return _part(DEGRADED, "no worker was seen yet")
    silent = timezone.now() - beat.at
    return _part(OK) if silent < SILENT else _part(DEGRADED, f"last seen {silent.total_seconds():.0f} s ago")


def _witness() -> dict[str, str]:
    """Return what the last seals met: writes never wait for it."""
    silence = audit.witness_silence()
    return _part(DEGRADED if silence else OK, silence)


def _sidecar() -> dict[str, str]:
    """Return what the last calls showed; nobody is asked for this. No language model is no trouble."""
    works, detail = governance.health.sidecar_state()
    return _part(OK if works else DEGRADED, detail)


def _reduction_client() -> dict[str, str]:
    if name := governance.judge_name():
        return _part(OK, f"{name} is bound")
    if settings.REDUCTION_CLIENT:
        return _part(DEGRADED, "REDUCTION_CLIENT can't be used: whatever is proposed is blocked")
    return _part(DEGRADED, "nobody is bound: proposals are " + ("skipped" if governance.is_shut() else "advisory only"))
