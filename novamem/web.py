"""The web server's processes: uvicorn on one socket that sends answers at once."""

import asyncio
import logging
import mmap
import multiprocessing
import os
import socket
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from setproctitle import setproctitle
from uvicorn._subprocess import subprocess_started
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import multiprocess

from novamem import env, preload
from novamem.lifetime import tie_to
from novamem.logs import logging_config

GRACE = 5  # seconds for requests to end
# A worker that says nothing for so many seconds is replaced. On a busy machine starting one takes longer than uvicorn's
# five seconds of patience: each would be replaced before it answered anything.
PATIENCE = 60
# Seconds within which the head of a request has to be there, from the connection or its first byte on.
HEAD = 15.0
TICK = 1.0  # seconds
MOST_PROCESSES, NOBODY = 256, -1  # slots of counts, and what stands in one that no process has
PAUSE = 0.005  # seconds for which a process that has more connections lets others come first
FORKED = multiprocessing.get_context("fork")
log = logging.getLogger(__name__)
FAILED = 3  # what a process of uvicorn's ends with that could not start


class TimedProtocol(HttpToolsProtocol):
    """HTTP on one connection, which ends when the head of a request takes too long: uvicorn would wait for ever."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the next head, once a former request was answered."""
        if self._late is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Wait no more: the body has its own limits."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nobody."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._late = self.loop.call_later(HEAD, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class CountedProtocol(TimedProtocol):
    """One of the connections that are counted."""

    def __init__(self, *, noted: Callable[[int], None], **given: Any) -> None:
        super().__init__(**given)
        self._noted = noted

    def connection_made(self, transport: Any) -> None:
        """Count it."""
        super().connection_made(transport)
        self._noted(len(self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        super().connection_lost(exc)
        self._noted(len(self.connections))


class ConnectionCounts:
    """How many connections each process has that serves on one socket: numbers in memory that all of them share."""

    def __init__(self) -> None:
        self._counts = memoryview(mmap.mmap(-1, MOST_PROCESSES * 4)).cast("i")
        self._counts[:] = memoryview(array("i", [NOBODY] * MOST_PROCESSES))
        self._processes: list[ServingProcess | None] = [None] * MOST_PROCESSES

    def join(self, process: "ServingProcess") -> int:
        """Return a new process's slot, that of one that has ended or a further one. Only the parent knows which."""
        free = (n for n, one in enumerate(self._processes) if one is None or one.process.exitcode is not None)
        slot = next(free, MOST_PROCESSES - 1)
        self._processes[slot], self._counts[slot] = process, 0
        return slot

    def note(self, slot: int, connections: int) -> None:
        """Write down how many connections a process has."""
        self._counts[slot] = connections

    def is_ahead(self, slot: int) -> bool:
        """Return whether a process has more connections than another, beyond an eighth."""
        own = self._counts[slot]
        return any(NOBODY < count < own - own // 8 for count in self._counts)


class FairListener:
    """Takes connections off a socket that several processes share, one by one: whoever has more lets others come first.

    An event loop would take all that wait as soon as it sees one, and its neighbour has none of them.
    """

    def __init__(self, listening: socket.socket, server: "QuietServer") -> None:
        self._listening, self._server = listening, server
        self._loop, self._ready = asyncio.get_running_loop(), asyncio.Event()
        listening.setblocking(False)
        listening.listen(server.config.backlog)
        self._taking = asyncio.create_task(self._take_all())

    def close(self) -> None:
        """Take no more."""
        self._loop.remove_reader(self._listening)
        self._taking.cancel()

    async def wait_closed(self) -> None:
        """Wait for nothing: connections have their own ends."""

    async def _take_all(self) -> None:
        while True:
            self._ready.clear()
            self._loop.add_reader(self._listening, self._ready.set)
            await self._ready.wait()
            self._loop.remove_reader(self._listening)
            if self._server.is_ahead():
                await asyncio.sleep(PAUSE)
            try:
                await self._take()
            except Exception:  # whatever it is: nobody else takes connections here
                log.exception("no connection could be taken")
                await asyncio.sleep(TICK)

    async def _take(self) -> None:
        try:
            taken, _ = self._listening.accept()
        except (BlockingIOError, ConnectionError):  # another process has it, or its caller has left
            return
        taken.setblocking(False)
        await self._loop.connect_accepted_socket(self._server.protocol, taken)


class QuietServer(uvicorn.Server):
    """Looks once a second at what uvicorn looks at ten times, and at once when it has to end."""

    _ending: asyncio.Event
    _loop: asyncio.AbstractEventLoop

    # Where several processes serve on one socket: how many connections each has, and the slot of this one.
    counts: ConnectionCounts | None = None
    slot = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets if self.counts is None else [])
        if self.counts is not None:
            listeners: list[Any] = [FairListener(each, self) for each in sockets or []]
            self.servers = listeners  # they end as uvicorn's own do

    def is_ahead(self) -> bool:
        """Return whether this process has more connections than another."""
        return self.counts is not None and self.counts.is_ahead(self.slot)

    def protocol(self) -> asyncio.Protocol:
        """Return what serves a connection, and counts it."""
        assert self.counts is not None
        config, state, noted = self.config, self.server_state, partial(self.counts.note, self.slot)
        return CountedProtocol(config=config, server_state=state, app_state=self.lifespan.state, noted=noted)

    async def main_loop(self) -> None:
        """Tick until the end."""
        self._ending, self._loop = asyncio.Event(), asyncio.get_running_loop()
        while not await self.on_tick(0):  # each of these is the tenth of uvicorn's, which tells the date
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), TICK)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End by a signal."""
        super().handle_exit(sig, frame)
        if hasattr(self, "_loop"):
            self._loop.call_soon_threadsafe(self._ending.set)


class ServingProcess(multiprocess.Process):
    """One of several processes on a socket: forked, so that it shares what its parent has loaded."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._parent, self._slot = os.getpid(), counts.join(self)
        given = {"config": config, "target": self.target, "sockets": sockets, "stdin_fileno": None}
        self.process = FORKED.Process(target=subprocess_started, kwargs=given)  # type: ignore[assignment]  # not spawned

    def start(self) -> None:
        """Keep one end of the pipe: while both are held, an answer of one that died is waited for to the end."""
        super().start()
        self.child_conn.close()

    def target(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve, for as long as the parent lives."""
        tie_to(self._parent)
        self._server = QuietServer(self.config)
        self._server.counts, self._server.slot = counts, self._slot
        setproctitle("novamem: web process")
        super().target(sockets)


counts = ConnectionCounts()
multiprocess.Process = ServingProcess  # type: ignore[misc]  # the name by which uvicorn makes them


def serve(settings: env.Settings, *, host: str, port: int, processes: int) -> int:
    """Serve until a signal. Return the exit code: 1 when a process could not start."""
    config = uvicorn.Config(
        "novamem.asgi:application",
        host=host,
        port=port,
        workers=processes,
        log_level=settings.LOG_LEVEL.lower(),
        log_config=logging_config(level=settings.LOG_LEVEL, style=settings.LOG_FORMAT),
        http="novamem.web:TimedProtocol",
        access_log=False,
        server_header=False,
        proxy_headers=settings.BEHIND_TLS,
        forwarded_allow_ips=settings.TRUSTED_PROXIES,
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=PATIENCE,
        ws="none",  # a handshake is a request like any other
    )
    listening = config.bind_socket()
    # Handed on from here asyncio would not set it, and every answer would wait 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if processes == 1:
        QuietServer(config).run(sockets=[listening])
        return 0
    preload.load()
    supervisor = multiprocess.Multiprocess(config, sockets=[listening])
    supervisor.run()
    return int(any(process.exitcode == FAILED for process in supervisor.processes))
