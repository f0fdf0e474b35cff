"""NovaMem, a long-term memory for agents, over HTTP.

    from novamem_client import NovaMem

    with NovaMem("http://127.0.0.1:8000", "nova_…") as memory:
        memory.fragments.store(namespace="demo:main", content="The heron nests behind the old mill.")
        for hit in memory.search(namespace="demo:main", query="where does the heron nest?")["results"]:
            print(hit["score"], hit["content"])

Methods are grouped as the API's addresses are, and named as its operations; `models` has the types of what they take
and answer. What could not be done raises Problem or Unreachable.
"""

from __future__ import annotations

from types import TracebackType

import httpx

from novamem_client.api import Api
from novamem_client.async_api import AsyncApi
from novamem_client.memory import with_memory
from novamem_client.transport import VERSION, AsyncTransport, NovaMemError, Problem, Transport, Unreachable

__version__ = VERSION
__all__ = ["AsyncNovaMem", "NovaMem", "NovaMemError", "Problem", "Unreachable", "with_memory"]


class NovaMem(Api):
    """A server, as a key sees it; with `user`, the person behind the agent whose memories are meant.

    A request that may be sent again safely is tried up to `retries` times more, as late as the server asks; what stores
    or changes carries a key against being done twice. `timeout` in seconds. `http` is a client of your own.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        user: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(Transport(url, key, user=user, timeout=timeout, retries=retries, http=http))

    def close(self) -> None:
        """Close its connections."""
        self._transport.close()

    def __enter__(self) -> NovaMem:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncNovaMem(AsyncApi):
    """The same, to be awaited."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        user: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(AsyncTransport(url, key, user=user, timeout=timeout, retries=retries, http=http))

    async def close(self) -> None:
        """Close its connections."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncNovaMem:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
