"""The web server's processes: uvicorn on one socket that sends answers at once."""

import asyncio
import logging
import multiprocessing
import os
import socket
from collections.abc import Callable, Sized
from contextlib import suppress
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
# For each connection that it has already a process lets others come first for so many seconds.
PAUSE, LONGEST_PAUSE = 0.0002, 0.005
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


class FairListener:
    """Takes connections off a socket that several processes share: those of them that serve fewer are sooner there.

    An event loop takes all that wait as soon as it sees one, and its neighbour has none of them.
    """

    def __init__(self, listening: socket.socket, connections: Sized, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._listening, self._connections, self._protocol = listening, connections, protocol
        self._taking = asyncio.create_task(self._take())

    def close(self) -> None:
        """Take no more."""
        self._taking.cancel()

    async def wait_closed(self) -> None:
        """Wait for nothing: connections have their own ends."""

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await _readable(self._listening)
            await asyncio.sleep(min(len(self._connections) * PAUSE, LONGEST_PAUSE))
            try:
                taken, _ = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError):  # another process has it, or nobody any more
                continue
            except OSError:
                log.exception("no connection could be taken")
                await asyncio.sleep(TICK)
                continue
            taken.setblocking(False)
            with suppress(OSError):
                await loop.connect_accepted_socket(self._protocol, taken)


async def _readable(listening: socket.socket) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listening, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(listening)


class QuietServer(uvicorn.Server):
    """Looks once a second at what uvicorn looks at ten times, and at once when it has to end."""

    _ending: asyncio.Event
    _loop: asyncio.AbstractEventLoop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections fairly."""
        await super().startup(sockets=[])
        self.servers = [FairListener(each, self.server_state.connections, self._protocol) for each in sockets or []]  # type: ignore[misc]

    def _protocol(self) -> asyncio.Protocol:
        config = self.config
        return config.http_protocol_class(config=config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg]

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
        self._parent = os.getpid()
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
        setproctitle("novamem: web process")
        super().target(sockets)


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
    listening.listen(config.backlog)
    listening.setblocking(False)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if processes == 1:
        QuietServer(config).run(sockets=[listening])
        return 0
    preload.load()
    supervisor = multiprocess.Multiprocess(config, sockets=[listening])
    supervisor.run()
    return int(any(process.exitcode == FAILED for process in supervisor.processes))
