"""Paths under /v1/."""

from django.urls import path

from memories.proxy.views import CHAT, chat, passed

urlpatterns = [
    path(CHAT, chat),
    path("<path:path>", passed),
]
