"""Every path of the server, door by door."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import DisallowedHost
from django.http import HttpResponse
from django.urls import include, path
from django.views import defaults
from drf_spectacular.views import SpectacularAPIView

from memories.api import reference
from memories.api.health import healthz, metrics, readyz
from memories.proxy.errors import ProxyRefused, refusal
from memories.rest.problem_details import problem


def bad_request(request: Any, exception: Exception) -> HttpResponse:
    """Answer what Django refuses before a view sees it, as each door tells errors."""
    message = "This host is not served here." if isinstance(exception, DisallowedHost) else "Bad Request."
    if request.path_info.startswith("/v1/"):
        return refusal(ProxyRefused(400, "malformed", message), request.path_info)
    if request.path_info.startswith(("/api/", "/compat/")):
        return problem(400, "malformed", detail=message)
    return defaults.bad_request(request, exception)


def not_found(request: Any, exception: Exception) -> HttpResponse:
    """Answer a path that is none, as each door tells errors."""
    if f"{request.path_info}/".startswith("/v1/"):
        return refusal(ProxyRefused(404, "not_found", "This path is not served here."), request.path_info)
    if request.path_info.startswith("/compat/"):
        return problem(
            404, "not_supported", detail="This call is not supported here; docs/compatibility.md lists those."
        )
    if request.path_info.startswith("/api/"):
        return problem(404, "not_found", detail="This path is not served here.")
    return defaults.page_not_found(request, exception)


handler400, handler404 = bad_request, not_found
urlpatterns = [
    path("healthz", healthz),
    path("health", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("api/v1/", include("memories.api.urls")),
    path("v1/", include("memories.proxy.urls")),
    path("api/v1/bridges/", include("memories.bridges.urls")),
    path("compat/", include("memories.compat.urls")),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", reference.overview, name="docs"),
    path("api/docs/<slug:name>/", reference.group, name="docs-group"),
    path("admin/", admin.site.urls),
    path("", include("memories.console.urls")),
]
