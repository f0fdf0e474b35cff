"""A memory for chats: a client of OpenAI or Anthropic that asks through the server's proxy."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote

Client = TypeVar("Client")


def with_memory(
    client: Client,
    url: str,
    key: str,
    *,
    namespace: str | None = None,
    user: str | None = None,
    session: str | None = None,
    upstream: str | None = None,
    own_key: bool = False,
) -> Client:
    """Return a copy of a client of OpenAI or Anthropic, sync or async, whose chats have a memory.

    What is said is remembered in the namespace, of the user if one is named; what is known is put before each question.
    `upstream` is one of the services that the server's operator named; with `own_key` the client's own key goes there,
    where the operator allows it. Raise TypeError for another kind of client.
    """
    copy = getattr(client, "with_options", None) or getattr(client, "copy", None)
    maker = type(client).__module__.partition(".")[0]
    if copy is None or maker not in ("openai", "anthropic"):
        raise TypeError(f"{type(client).__name__} is no client of OpenAI or Anthropic")
    headers = {
        "X-NovaMem-Namespace": namespace,
        "X-NovaMem-User": None if user is None else quote(user, safe=""),
        "X-NovaMem-Session": session,
        "X-NovaMem-Upstream": upstream,
        "X-NovaMem-Upstream-Key": getattr(client, "api_key", None) if own_key else None,
    }
    base = url.rstrip("/") + ("/v1" if maker == "openai" else "")
    named = {name: value for name, value in headers.items() if value is not None}
    made: Client = copy(base_url=base, api_key=key, default_headers=named)
    return made
