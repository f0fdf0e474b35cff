"""Every path of the server, door by door."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from memories.api import reference
from memories.api.health import healthz, metrics, readyz

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
