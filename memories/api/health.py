"""/healthz says that the process answers; /readyz what works, part by part; /metrics counts."""

import hmac
import ipaddress
import os
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest, multiprocess

from memories import health, readings
from memories.rest.problem_details import problem


def _probe(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Return a view that is read only and never kept; another method is refused before anybody asks for a token."""
    return csrf_exempt(never_cache(require_safe(view)))


@_probe
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": health.OK})


@_probe
def readyz(request: HttpRequest) -> JsonResponse:
    """`ok | degraded | down` per part; 503 while memories can't be read or written."""
    parts = health.check_parts()
    status = health.status_of(parts)
    if not (_is_trusted(request) or parts["database"]["state"] == health.OK and request.user.is_authenticated):
        parts = health.without_details(parts)
    return JsonResponse({"status": status, "parts": parts}, status=503 if status == health.DOWN else 200)


@_probe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus' text, for this machine and for whoever has METRICS_TOKEN."""
    if _is_trusted(request):
        return HttpResponse(generate_latest(_registry()), content_type=CONTENT_TYPE_LATEST)
    if settings.METRICS_TOKEN:
        return problem(401, "unauthenticated", detail="Give METRICS_TOKEN.", headers={"WWW-Authenticate": "Bearer"})
    return problem(403, "not_permitted", detail="Only this machine may ask; METRICS_TOKEN opens it to others.")


def _registry() -> CollectorRegistry:
    """Return what this process counts, or what several add up, with the readings, which any of them can take."""
    if readings.COUNTS not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(readings.Readings())
    return registry


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
