"""`script/server`: everything a NovaMem needs on one machine, in one terminal.

    python -m novamem.server

Brings the embedded Postgres (or uses DATABASE_URL), prepares and migrates it. Then it begins anew without the owner's
login, loads what its programs share, and keeps them running until Ctrl-C, forked from itself: the web server, a worker,
the scheduler and the builder of indexes. Their output goes to `logs/` in the data directory.
"""

import argparse
import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, NamedTuple, Never

from django.core.exceptions import ImproperlyConfigured

from novamem import database, embedded, env, preload, readiness
from novamem.cluster import Unavailable, cluster_of
from novamem.database import NotPrepared
from novamem.ports import CanNotServe, choose_port
from novamem.processes import SIGNALS, Child, stop
from novamem.progress import disk_trouble, say, step

READY = 300.0  # seconds for the web server's first answer
LOOK = 1.0  # seconds between two looks at the programs


class Handed(NamedTuple):
    """What a server tells itself as it begins anew: where it answers, and the descriptors of open files."""

    port: int
    address: str
    login: int  # with the login of the tables' owner, for what builds indexes alone
    lock: int
    postgres: int | None = None  # the lock by which the embedded one runs


class Stopped(BaseException):
    """A signal has asked the server to end."""


def main() -> int:
    """Run until a signal. Answers the exit code."""
    told: list[int] = []
    try:
        _take_signals(told)
        os.umask(0o077)  # logs, locks and counts are nobody else's to read
        settings = env.load()
        data_dir = env.private_folder(Path(settings.NOVAMEM_DATA_DIR))
        if given := _handed_on():
            _supervise(settings, data_dir, given, told)
        else:
            _bring_up(settings, data_dir, told)
    except (ImproperlyConfigured, CanNotServe, NotPrepared, Unavailable) as error:
        say(f"✗ {error}")
        return 1
    except OSError as error:
        say(f"✗ {disk_trouble(error)}")
        return 1
    except Stopped:
        say("stopped")
    return 0


def _take_signals(told: list[int]) -> None:
    """Note signals in a list. The first one raises Stopped; after further ones somebody is in a hurry.

    What a signal raises is lost where it comes in the middle of a callback: so the list is looked at, too.
    A shell starts what runs in the background with Ctrl-C ignored, so this is said for SIGINT too.
    """

    def note(number: int, _: FrameType | None) -> None:
        told.append(number)
        if len(told) == 1:
            raise Stopped

    for number in SIGNALS:
        signal.signal(number, note)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # which waited while this process began anew


def _heed(told: list[int]) -> None:
    """Raise Stopped where a signal has come."""
    if told:
        raise Stopped


def _reachable(host: str) -> str:
    """Return the host as it stands in a URL for a browser on this machine."""
    here = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{here}]" if ":" in here else here


@contextmanager
def _single_server_lock(data_dir: Path) -> Iterator[IO[str]]:
    """One server a data directory: a second scheduler would do everything twice. The file says who it is."""
    with (data_dir / "server.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CanNotServe(
                f"NovaMem runs already in {data_dir}: {lock.read()}. Stop it, or set another NOVAMEM_DATA_DIR."
            ) from None
        lock.truncate(0)
        yield lock


def _bring_up(settings: env.Settings, data_dir: Path, told: list[int]) -> Never:
    """Prepare the database, and begin anew without its owner's login; locks are handed on."""
    with ExitStack() as stack:
        lock = stack.enter_context(_single_server_lock(data_dir))
        port = choose_port(settings.HOST, settings.PORT, chosen=settings.origins()["PORT"] != "default")
        address = f"http://{_reachable(settings.HOST)}:{port}{settings.URL_PREFIX}"
        lock.write(f"{address}, process {os.getpid()}")
        lock.flush()
        handed = [lock.fileno()]
        with step("database"):
            logins = settings.own_database()
            if logins is None:
                handed.append(stack.enter_context(embedded.kept(data_dir)).fileno())
                logins = stack.enter_context(embedded.running(data_dir))
            database.prepare(logins)
            readiness.check_known(logins)
        readiness.migrate(logins)
        readiness.first_run(logins)
        handed.insert(0, _file_in_memory(logins.owner))
        for file in handed:
            os.set_inheritable(file, True)
        words = [*sys.orig_argv[1:], "--anew", str(port), address, *map(str, handed)]
        environment = {
            **os.environ,
            **logins.serving(),
            "CELERY_SKIP_CHECKS": "1",  # Django's: they are made before programs are forked
            "DJANGO_SETTINGS_MODULE": "novamem.settings",
            "PYTHONUNBUFFERED": "1",
            "PROMETHEUS_MULTIPROC_DIR": str(data_dir / "metrics"),  # /metrics adds the processes up
        }
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until the handlers are there again
        _heed(told)
        os.execve(sys.executable, [sys.executable, *words], environment)


def _file_in_memory(text: str) -> int:
    """Return the descriptor of a file that has no name, with this text."""
    if sys.platform == "linux":
        file = os.memfd_create("login")
    else:
        with tempfile.TemporaryFile() as nameless:
            file = os.dup(nameless.fileno())
    os.write(file, text.encode())
    return file


def _handed_on() -> Handed | None:
    """Return what this process was told before it began anew."""
    parser = argparse.ArgumentParser(prog="script/server", description=__doc__)
    parser.add_argument("--anew", nargs="+", help=argparse.SUPPRESS)
    if not (words := parser.parse_args().anew):
        return None
    port, address, *files = words
    return Handed(int(port), address, *map(int, files))


def _supervise(settings: env.Settings, data_dir: Path, given: Handed, told: list[int]) -> None:
    with ExitStack() as stack:
        locks = [given.lock]
        for file in (given.lock, given.login):
            os.set_inheritable(file, False)
        if given.postgres is not None:
            locks.append(stack.enter_context(embedded.kept(data_dir)).fileno())
            os.close(given.postgres)
        env.kept_secret(data_dir / "secret_key")
        children = _children(settings, data_dir, given, locks)
        web, *others = children
        env.private_folder(web.log.parent)
        stack.callback(stop, children, hurried=lambda: len(told) > 1)
        stack.callback(say, "stopping")
        with step("applications and embedding model"):
            preload.load()
            _heed(told)
        with step("web server"):
            web.start()
            _wait_for(web, given.address, told)
        for child in others:
            child.start()
        say(f"\nNovaMem: {given.address}/   (Ctrl-C stops it; logs in {web.log.parent})\n")
        while True:
            time.sleep(LOOK)
            _heed(told)
            for child in children:
                child.tend()
            if given.postgres is not None:
                _tend_postgres(data_dir)


def _children(settings: env.Settings, data_dir: Path, given: Handed, locks: list[int]) -> list[Child]:
    """Return the web server first. Only what builds indexes may read the owner's login."""
    counts = data_dir / "metrics"
    shutil.rmtree(counts, ignore_errors=True)  # of processes that are gone
    counts.mkdir()
    logs, most = data_dir / "logs", settings.LOG_MB << 20

    def child(name: str, module: str, *words: str, without: list[int]) -> Child:
        return Child(name, module, list(words), logs=logs, most=most, without=[*locks, *without])

    login = given.login
    return [
        child("web", "novamem.units", "web", "--port", str(given.port), without=[login]),
        child("worker", "novamem.units", "worker", without=[login]),
        child("scheduler", "novamem.units", "scheduler", without=[login]),
        child("indexes", "novamem.owner_command", str(login), "indexes", "--every", "60", without=[]),
    ]


def _wait_for(web: Child, address: str, told: list[int]) -> None:
    deadline = time.monotonic() + READY
    while not _answers(f"{address}/readyz"):
        _heed(told)
        if web.exit_code is not None:
            raise CanNotServe(f"The web server ended:\n{web.last_words()}")
        if time.monotonic() > deadline:
            raise CanNotServe(f"The web server is not ready after {READY:.0f} s:\n{web.last_words()}")
        time.sleep(0.05)


def _answers(url: str) -> bool:
    """Whether the server is there and can work. That it does not like our Host header (ALLOWED_HOSTS) is no matter."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(OSError):
        try:
            with opener.open(url, timeout=10):
                return True
        except urllib.error.HTTPError as error:
            return error.code < 500
    return False


def _tend_postgres(data_dir: Path) -> None:
    if cluster_of(data_dir).pid() is None:
        say("✗ Postgres ended and starts again")
        with embedded.kept(data_dir):
            pass  # this server keeps it already, and so it goes on


if __name__ == "__main__":
    sys.exit(main())
