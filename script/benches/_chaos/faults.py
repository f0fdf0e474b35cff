"""What is done to the product while clients write: kills, silence, full disks, wrong clocks, cut wires."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from novamem import env
from novamem.database import APP

from .arena import EMBEDDED, SMALL_DISK, WIRED, Arena

CLOCKS = (
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of trouble: `strike` makes it and returns when it is over."""

    name: str
    strike: Callable[[Arena], None]
    kind: str = EMBEDDED


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def kill_web_process(arena: Arena) -> None:
    """One of those that answer."""
    _kill([random.choice(arena.product.web_processes())])


def kill_web_master(arena: Arena) -> None:
    """The one that keeps them."""
    _kill([arena.product.unit("web")])


def kill_worker(arena: Arena) -> None:
    """What works on operations."""
    _kill([arena.product.unit("worker")])


def kill_scheduler(arena: Arena) -> None:
    """What queues what is due."""
    _kill([arena.product.unit("scheduler")])


def kill_backend(arena: Arena) -> None:
    """One session's process; Postgres ends all others and recovers."""
    _kill([random.choice(arena.product.backends())])


def kill_postmaster(arena: Arena) -> None:
    """The first process of Postgres."""
    _kill([arena.product.postmaster()])


def kill_supervisor(arena: Arena) -> None:
    """What keeps all others; they go with it."""
    _kill([arena.product.supervisor()])


def kill_everything(arena: Arena) -> None:
    """All at once, as when the power fails; the disk's own cache stays."""
    postmaster = arena.product.postmaster()
    supervisor = arena.product.supervisor()
    _kill([supervisor, *supervisor.children(recursive=True), postmaster, *postmaster.children()])
    supervisor.wait(10)


@contextmanager
def stopped(processes: Iterable[psutil.Process]) -> Iterator[None]:
    """Processes that are there and do nothing."""
    held = list(processes)
    try:
        for process in held:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        yield
    finally:
        for process in held:
            with suppress(psutil.NoSuchProcess):
                process.resume()


@contextmanager
def hung_database(arena: Arena) -> Iterator[None]:
    """Every process of Postgres stands still: connections are taken, nothing is answered."""
    postmaster = arena.product.postmaster()
    with stopped([postmaster]), stopped(postmaster.children()):
        yield


def hang_database(arena: Arena) -> None:
    """For a while."""
    with hung_database(arena):
        arena.rest()


def hang_worker(arena: Arena) -> None:
    """For longer than its lease."""
    with stopped([arena.product.unit("worker")]):
        arena.rest()


def fill_disk(arena: Arena) -> None:
    """The disk of the database and the backups has no room for a while."""
    assert arena.disk is not None
    ballast = arena.disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\0" * (1 << 16))
        arena.rest()
    finally:
        ballast.unlink()


def cut_wire(arena: Arena) -> None:
    """Connections between product and database break, and new ones are refused."""
    assert arena.database is not None
    arena.database.cut()
    arena.rest()
    arena.database.mend()


def swallow(arena: Arena) -> None:
    """The wire between product and database stays and hands on nothing."""
    assert arena.database is not None
    arena.database.hang()
    arena.rest()
    arena.database.mend()


def take_connections(arena: Arena) -> None:
    """Somebody else holds every connection that Postgres has; the product's own ended."""
    with ExitStack() as stack:
        deadline = time.monotonic() + arena.hold
        while time.monotonic() < deadline:
            try:
                stack.enter_context(psycopg.connect(arena.product.logins[APP]))
            except psycopg.OperationalError:
                for backend in arena.product.backends():
                    with suppress(psutil.NoSuchProcess):
                        backend.send_signal(signal.SIGTERM)
                time.sleep(0.05)


def jump(days: int) -> Callable[[Arena], None]:
    """A worker whose clock goes wrong by days does the work for a while."""

    def strike(arena: Arena) -> None:
        clock = next(path for path in CLOCKS if Path(path).exists())
        faked = {"LD_PRELOAD": clock, "FAKETIME": f"{days:+d}d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        with stopped([arena.product.unit("worker")]), arena.product.log_of("worker-clock").open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "novamem.units", "worker"],
                cwd=env.ROOT,
                env={**arena.product.environment, **faked},
                stdout=log,
                stderr=log,
            )
            arena.rest()
            arena.rest()
            assert worker.poll() is None, "the worker with the wrong clock ended by itself"
            worker.terminate()
            worker.wait(30)

    return strike


def has_clock() -> bool:
    """Return whether libfaketime is installed."""
    return any(Path(path).exists() for path in CLOCKS)


def hang_upstream(arena: Arena) -> None:
    """The upstream takes chats and never answers."""
    arena.upstream.hang()
    arena.rest()
    arena.upstream.mend()


KILLS = {
    "web process": kill_web_process,
    "web master": kill_web_master,
    "worker": kill_worker,
    "scheduler": kill_scheduler,
    "backend": kill_backend,
    "postmaster": kill_postmaster,
    "supervisor": kill_supervisor,
    "everything": kill_everything,
}
FAULTS = [
    *(Fault(name, strike) for name, strike in KILLS.items()),
    Fault("hung worker", hang_worker),
    Fault("hung database", hang_database),
    Fault("hung upstream", hang_upstream),
    Fault("out of connections", take_connections),
    Fault("clock +1 day", jump(1)),
    Fault("clock -1 day", jump(-1)),
    Fault("cut wire", cut_wire, WIRED),
    Fault("silent wire", swallow, WIRED),
    Fault("full disk", fill_disk, SMALL_DISK),
]
