"""`script/server`: everything a NovaMem needs on one machine, in one terminal.

    python -m novamem.server

Brings the embedded Postgres (or uses DATABASE_URL), prepares and migrates it, and keeps the web server, a worker, the
scheduler and the builder of indexes running until Ctrl-C. Their output goes to `logs/` in the data directory.
"""

import fcntl
import os
import shutil
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

from django.core.exceptions import ImproperlyConfigured

from novamem import database, embedded, env, readiness
from novamem.cluster import Unavailable, cluster_of
from novamem.database import Logins, NotPrepared
from novamem.ports import CanNotServe, choose_port
from novamem.processes import Child, stop
from novamem.progress import disk_trouble, say, step

READY = 300.0  # seconds for the web server's first answer
LOOK = 1.0  # seconds between two looks at the programs


def main() -> int:
    """Run until a signal. Answers the exit code."""
    hurried = _interruptible()
    os.umask(0o077)  # logs, locks and counts are nobody else's to read
    try:
        settings = env.load()
        data_dir = env.private_folder(Path(settings.NOVAMEM_DATA_DIR))
        with _single_server_lock(data_dir) as lock:
            port = choose_port(settings.HOST, settings.PORT, chosen=settings.origins()["PORT"] != "default")
            address = f"http://{_reachable(settings.HOST)}:{port}{settings.URL_PREFIX}"
            lock.write(f"{address}, process {os.getpid()}")
            lock.flush()
            with _database(settings, data_dir) as logins:
                readiness.migrate(logins)
                readiness.first_run(logins)
                _serve(settings, logins, port, address, hurried)
    except (ImproperlyConfigured, CanNotServe, NotPrepared, Unavailable) as error:
        say(f"✗ {error}")
        return 1
    except OSError as error:
        say(f"✗ {disk_trouble(error)}")
        return 1
    except KeyboardInterrupt:
        say("stopped")
    return 0


def _interruptible() -> list[int]:
    """Make the first signal a KeyboardInterrupt; further ones only fill the answered list: somebody is in a hurry.

    A shell starts what runs in the background with Ctrl-C ignored, so this is said for SIGINT too.
    """
    hurried: list[int] = []

    def hurry(number: int, _: FrameType | None) -> None:
        hurried.append(number)

    def interrupt(number: int, _: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, hurry)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    return hurried


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


@contextmanager
def _database(settings: env.Settings, data_dir: Path) -> Iterator[Logins]:
    """The logins to a prepared database: one's own, or the embedded one for as long as this lasts."""
    with ExitStack() as stack:
        with step("database"):
            logins = settings.own_database() or stack.enter_context(embedded.running(data_dir))
            database.prepare(logins)
            readiness.check_known(logins)
        yield logins


def _serve(settings: env.Settings, logins: Logins, port: int, address: str, hurried: list[int]) -> None:
    data_dir = Path(settings.NOVAMEM_DATA_DIR)
    env.kept_secret(data_dir / "secret_key")
    children = _children(settings, logins, port)
    web, *others = children
    env.private_folder(web.log.parent)
    try:
        with step("web server"):
            web.start()
            _wait_for(web, address)
        for child in others:
            child.start()
        say(f"\nNovaMem: {address}/   (Ctrl-C stops it; logs in {web.log.parent})\n")
        while True:
            time.sleep(LOOK)
            for child in children:
                child.tend()
            if settings.own_database() is None:
                _tend_postgres(data_dir)
    finally:
        say("stopping")
        stop(children, hurried=lambda: bool(hurried))


def _children(settings: env.Settings, logins: Logins, port: int) -> list[Child]:
    """Return the web server first. Only what builds indexes knows the owner's login."""
    counts = Path(settings.NOVAMEM_DATA_DIR) / "metrics"
    shutil.rmtree(counts, ignore_errors=True)  # of processes that are gone
    counts.mkdir()
    os.environ.update(  # the fork server's, and so what its units begin with
        logins.serving(),
        DJANGO_SETTINGS_MODULE="novamem.settings",
        PYTHONUNBUFFERED="1",
        PROMETHEUS_MULTIPROC_DIR=str(counts),  # /metrics adds the processes up
    )
    logs, most = Path(settings.NOVAMEM_DATA_DIR) / "logs", settings.LOG_MB << 20

    def child(name: str, module: str, *words: str, **more: str) -> Child:
        return Child(name, module, list(words), environment=more, logs=logs, most=most)

    return [
        child("web", "novamem.units", "web", "--port", str(port)),
        child("worker", "novamem.units", "worker"),
        child("scheduler", "novamem.units", "scheduler"),
        child("indexes", "novamem.owner_command", "indexes", "--every", "60", **logins.environment()),
    ]


def _wait_for(web: Child, address: str) -> None:
    deadline = time.monotonic() + READY
    while not _answers(f"{address}/readyz"):
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
        with embedded.running(data_dir):
            pass  # whoever else uses it keeps it running


if __name__ == "__main__":
    sys.exit(main())
