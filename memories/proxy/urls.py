"""Paths under /v1/."""

from django.urls import path

from memories.proxy.formats import FORMATS
from memories.proxy.views import chat, passed

urlpatterns = [
    *(path(form.path, chat, {"form": form}) for form in FORMATS.values()),
    path("<path:path>", passed),
]
