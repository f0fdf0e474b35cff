"""Rooms are synchronous: their work is done in threads, off the event loop, and gives its connection back."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import connection

P = ParamSpec("P")
T = TypeVar("T")
# As many as there are database connections for a process by default.
WORKERS = ThreadPoolExecutor(16, thread_name_prefix="proxy")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` answers, done in a thread."""
    return await sync_to_async(_done, thread_sensitive=False, executor=WORKERS)(work, *args, **kwargs)


def _done(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return work(*args, **kwargs)
    finally:
        connection.close()
