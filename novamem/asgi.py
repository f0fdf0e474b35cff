"""The web entry point: `uvicorn novamem.asgi:application`."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")

django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402  # the applications have to be ready

from memories import mcp, providers, proxy, readings, usage_counters  # noqa: E402  # likewise
from novamem.asgi_bridge import Pages  # noqa: E402  # likewise
from novamem.lifespan import tended  # noqa: E402  # likewise
from novamem.request_limits import Bounded  # noqa: E402  # likewise
from novamem.url_prefix import below  # noqa: E402  # likewise

readings.forget_dead_processes()
usage_counters.start_writer(meanwhile=readings.read_pool)
providers.load_model_in_background()

telemetry = import_module("novamem.telemetry").start() if settings.EXPORTS_TELEMETRY else None
agents = mcp.Door()
streams = Bounded()
# Half of the connections: more pages at a time would only wait for one.
pages = Pages(threads=max(1, settings.ENV["DATABASE_POOL_SIZE"] // 2))
STREAMS = ("/v1/", "/api/v1/events")


@asynccontextmanager
async def serving() -> AsyncIterator[None]:
    """The agents' protocol runs meanwhile; what is still to be captured and counted is waited for."""
    import_module(settings.ROOT_URLCONF)
    gc.collect()
    gc.freeze()  # what is loaded lasts: no later collection looks at it, which took a fifth of a large batch's time
    async with agents.running():
        yield
    await proxy.stop()
    # uvicorn ends by the signal that stopped it, which runs nothing at exit
    await asyncio.to_thread(usage_counters.finish)
    if telemetry:
        await asyncio.to_thread(telemetry.stop)


async def led(scope: Any, receive: Any, send: Any) -> None:
    """Lead to the pages and the API, to what streams, or to the agents' protocol."""
    page = scope["type"] == "http" and not scope["path"].startswith(STREAMS)
    if page and scope["path"] in mcp.PATHS:
        await streams.guard(agents, scope, receive, send)
    else:
        await (pages if page else streams)(scope, receive, send)


entrance = telemetry.traced(led, known=mcp.PATHS) if telemetry else led
if settings.URL_PREFIX:
    entrance = below(settings.URL_PREFIX, entrance)
application = tended(entrance, during=serving)
