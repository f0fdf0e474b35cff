"""The protocol over standard input and output, for clients that start their servers themselves."""

from typing import Any

from django.utils import timezone

from memories.mcp.callers import Caller, admit
from memories.mcp.registry import PROMPTS, RESOURCES, TOOLS
from memories.mcp.server import build


def serve(*, key: str, namespace: str = "", user: str | None = None) -> None:
    """Serve until the input ends; the key is looked at anew in each call. Raise AuthenticationFailed, Throttled."""

    def caller(request: Any) -> Caller:
        return admit(f"Bearer {key}".encode(), namespace=namespace, user=user, now=timezone.now())

    caller(None)
    build(TOOLS, RESOURCES, PROMPTS, caller_of=caller).run("stdio")
