"""Rooms are synchronous: their work is done in threads, off the event loop, and gives its connection back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connection

P = ParamSpec("P")
T = TypeVar("T")
# As many as there are database connections for a process by default.
WORKERS = ThreadPoolExecutor(16, thread_name_prefix="proxy")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` answers, done in a thread."""
    # Its context stays there: of work that nobody waits for any more it says that a transaction is open.
    run = partial(copy_context().run, partial(_done, work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(WORKERS, run)


def _done(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return work(*args, **kwargs)
    finally:
        connection.close()
