"""Paths under /v1/."""

from django.urls import path

from memories.proxy.formats import CHAT_COMPLETIONS, MESSAGES, RESPONSES
from memories.proxy.views import chat, passed

urlpatterns = [
    *(path(form.path, chat, {"form": form}) for form in (CHAT_COMPLETIONS, RESPONSES, MESSAGES)),
    path("<path:path>", passed),
]
