"""What stands between a request and a model that an operator may bind: it may fail, and is done without then."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import structlog
from django.db import connection

from memories.providers.circuit import Circuit
from memories.providers.sidecar import refuse_transaction

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger(__name__)


class ModelGuard:
    """Lets a model rest that failed often, and tells of a failure once, until it works again. Threads may share it."""

    def __init__(self, event: str, *, failure: type[Exception]) -> None:
        self._event, self._failure = event, failure
        self._circuit, self._failing = Circuit(), threading.Event()

    @contextmanager
    def asking(self, *, texts: int) -> Iterator[None]:
        """Around asking it about so many texts. Raise InsideTransaction, and what a failure is where it rests.

        A slow one keeps no connection of the pool meanwhile.
        """
        refuse_transaction()
        if not connection.in_atomic_block:
            connection.close()
        if not self._circuit.enter():
            raise self._failure("it failed often and rests")
        works = False
        try:
            yield
            works = True
            self._failing.clear()
        except self._failure as error:
            if not self._failing.is_set():
                self._failing.set()
                log.warning(self._event, texts=texts, why=str(error)[:200])
            raise
        finally:
            self._circuit.leave(worked=works)


class ModelThread:
    """The one thread of a model in this process: a tokenizer can't be used by two at once.

    Who has waited long enough leaves it behind; what takes too long goes on without anybody waiting for it.
    """

    def __init__(self, name: str, *, failure: type[Exception]) -> None:
        self._failure = failure
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    def run(self, timeout: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what it answers in so many seconds. Raise the failure for whatever goes wrong."""
        future = self._thread.submit(work, *args, **kwargs)
        try:
            return future.result(timeout)
        except TimeoutError as error:
            future.cancel()
            raise self._failure("no answer in time") from error
        except Exception as error:  # torch raises whatever it likes
            raise self._failure(f"{type(error).__name__}: {error}") from error
