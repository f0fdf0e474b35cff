"""What happens around the requests that the web server answers (ASGI's lifespan)."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

Event = dict[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Event, Receive, Send], Awaitable[None]]


def tended(application: Application, *, during: Callable[[], AbstractAsyncContextManager[None]]) -> Application:
    """Return the application, inside a context that is entered before the first request and left after the last."""

    async def answer(scope: Event, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await application(scope, receive, send)
            return
        await receive()
        async with during():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    return answer
