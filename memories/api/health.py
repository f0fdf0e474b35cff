"""/healthz says that the process answers; /readyz what works, part by part; /metrics counts."""

import datetime
import hmac
import ipaddress
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

from memories import audit, governance
from memories.models import EmbeddingModel, Heartbeat
from memories.models.enums import ModelState
from memories.providers import readiness_of
from memories.rest.problem_details import problem

SILENT = datetime.timedelta(seconds=45)
OK, DEGRADED, DOWN = "ok", "degraded", "down"
NEEDED = ("database", "migrations")


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": OK})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """`ok | degraded | down` per part; 503 while memories can't be read or written."""
    parts = {"database": _database()}
    if parts["database"]["state"] == OK:
        parts |= {"sidecar": _sidecar(), "reduction_client": _reduction_client()}
        parts |= {"migrations": _migrations(), "embedder": _embedder(), "broker": _broker(), "worker": _worker()}
        parts |= {"witness": _witness()} if settings.AUDIT_WITNESS else {}
    states = {name: part["state"] for name, part in parts.items()}
    if any(states.get(name) != OK for name in NEEDED):
        status = DOWN
    else:
        status = OK if set(states.values()) == {OK} else DEGRADED
    if not (_is_trusted(request) or parts["database"]["state"] == OK and request.user.is_authenticated):
        parts = {name: _part(part["state"]) for name, part in parts.items()}
    return JsonResponse({"status": status, "parts": parts}, status=503 if status == DOWN else 200)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus' text, for this machine and for whoever has METRICS_TOKEN."""
    if _is_trusted(request):
        answer: HttpResponse = ExportToDjangoView(request)
        return answer
    if settings.METRICS_TOKEN:
        return problem(401, "unauthenticated", detail="Give METRICS_TOKEN.", headers={"WWW-Authenticate": "Bearer"})
    return problem(403, "not_permitted", detail="Only this machine may ask; METRICS_TOKEN opens it to others.")


def _is_trusted(request: HttpRequest) -> bool:
    """Return whether somebody on this machine asks, and no proxy for others, or somebody who has the token."""
    if settings.METRICS_TOKEN:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), settings.METRICS_TOKEN.encode()):
            return True
    forwarded = any(name in request.headers for name in ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"))
    try:
        return not forwarded and ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _part(state: str, detail: str = "") -> dict[str, str]:
    return {"state": state, **({"detail": detail} if detail else {})}


def _database() -> dict[str, str]:
    try:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return _part(DOWN, "Postgres does not answer")
    return _part(OK)


_migrated = False


def _migrations() -> dict[str, str]:
    global _migrated  # once applied they stay so for this process: the code does not change under it
    if not _migrated:
        try:
            executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
            _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        except Error:
            return _part(DOWN, "the migration table can't be read")
    return _part(OK) if _migrated else _part(DOWN, "run `script/manage upgrade`")


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
