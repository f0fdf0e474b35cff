"""The parts of a NovaMem, each a program in the foreground: `script/manage web | worker | scheduler`.

They need a database that `script/manage upgrade` has brought up, log in to it as what serves, and forget the owner of
the tables if they are told who that is. Exit codes: 0 after SIGTERM or Ctrl-C; 1 when it can't start or can't go on,
and one line on stderr says why and what to do; 2 for arguments that are not understood.
"""

import argparse
import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import psycopg
from django.core.exceptions import ImproperlyConfigured
from kombu import Connection as Broker

from novamem import database, env, readiness, web
from novamem.config import take_options
from novamem.database import NotPrepared
from novamem.ports import CanNotServe, choose_port
from novamem.progress import disk_trouble, say

COUNTS = "PROMETHEUS_MULTIPROC_DIR"
ALONE = ["--without-heartbeat", "--without-gossip", "--without-mingle"]  # our own heartbeat is a task and a row
LOST = 3.0  # seconds for an end by a signal
PULSE = 5.0  # seconds between looks at the scheduler's lock


def main(words: list[str] | None = None) -> int:
    """Run one unit until a signal. Answers the exit code."""
    given = _parser().parse_args(take_options(["manage.py", *(sys.argv[1:] if words is None else words)])[1:])
    os.umask(0o077)  # what it writes is nobody else's to read
    _forget_owner()
    _take_signals()
    try:
        settings = env.load()
        if not settings.DATABASE_URL:
            raise CanNotServe(
                "DATABASE_URL is not set: a unit needs a Postgres, as postgres://nova_app:password@host:5432/name; "
                "script/server brings an embedded one."
            )
        database.check_serving(settings.DATABASE_URL)
        readiness.check_current(settings.DATABASE_URL)
        unit = {"web": _web, "worker": _worker, "scheduler": _scheduler}[given.unit]
        return unit(settings, given)
    except (ImproperlyConfigured, CanNotServe, NotPrepared) as error:
        say(f"✗ {' '.join(str(error).split())}")
        return 1
    except OSError as error:
        say(f"✗ {disk_trouble(error)}")
        return 1


def _forget_owner() -> None:
    """Begin anew without the owner's login: what a process began with can be read of it, and of what it forks."""
    if os.environ.get(database.OWNER):
        os.environ[database.OWNER] = ""
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    os.environ[database.OWNER] = ""  # also what `.env` names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="script/manage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    units = parser.add_subparsers(dest="unit", required=True)
    served = "Serves API, console, /mcp and /v1/; SIGHUP replaces its processes one by one, not the code."
    serving = units.add_parser("web", help="the web server", description=served)
    serving.add_argument("--host", help="the address to listen on (default: HOST)")
    serving.add_argument("--port", type=int, help="the port to listen on (default: PORT)")
    serving.add_argument("--processes", type=int, help="how many processes (default: WEB_PROCESSES)")
    worked = "Does what waits in the queue; as many as you like. What a killed one began another one finishes."
    working = units.add_parser("worker", help="a worker", description=worked)
    working.add_argument("--threads", type=int, default=4, help="how many jobs at a time (default: %(default)s)")
    scheduled = "Queues what is due. One of a database is at work at a time; further ones wait for it to end."
    units.add_parser("scheduler", help="the scheduler", description=scheduled)
    return parser


def _take_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    signal.signal(signal.SIGALRM, lambda _, __: os._exit(0))
    # Nothing was lost once the interpreter ends, which takes its handlers away: a late alarm would look like a death.
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


def _end(_: int, __: FrameType | None) -> None:
    """The end by a signal, before and after what runs here takes it for its own.

    What a signal raises is lost where it comes in the middle of a callback: then the alarm ends the process.
    """
    signal.setitimer(signal.ITIMER_REAL, LOST)
    sys.exit(0)


def _web(settings: env.Settings, given: argparse.Namespace) -> int:
    host = given.host or settings.HOST
    port = choose_port(host, settings.PORT if given.port is None else given.port, chosen=True)
    processes = given.processes or settings.WEB_PROCESSES
    env.kept_secret(env.private_folder(Path(settings.NOVAMEM_DATA_DIR)) / "secret_key")
    try:
        with _counts(processes):
            return web.serve(settings, host=host, port=port, processes=processes)
    except SystemExit as end:  # a thread that somebody's late request still holds is not waited for
        os._exit(int(end.code or 0))


@contextmanager
def _counts(processes: int) -> Iterator[None]:
    """A folder in which several processes add up what /metrics tells, unless script/server has given one."""
    if processes == 1 or COUNTS in os.environ:
        yield
        return
    os.environ[COUNTS] = tempfile.mkdtemp(prefix="novamem-metrics-")
    try:
        yield
    finally:
        shutil.rmtree(os.environ[COUNTS], ignore_errors=True)


def _worker(settings: env.Settings, given: argparse.Namespace) -> int:
    _check_broker(settings)
    return _celery("worker", "-P", "threads", "-c", str(given.threads), "-l", settings.LOG_LEVEL, *ALONE)


def _scheduler(settings: env.Settings, _: argparse.Namespace) -> int:
    _check_broker(settings)
    with psycopg.connect(settings.DATABASE_URL) as connection:
        _wait_for_turn(connection)
        threading.Thread(target=_keep_turn, args=[connection], daemon=True).start()
        return _celery("beat", "-l", settings.LOG_LEVEL)


def _check_broker(settings: env.Settings) -> None:
    """Raise CanNotServe when the broker is not there; that of our own Postgres is, by now."""
    if settings.CELERY_BROKER_URL == "pgmq://":
        return
    try:
        with Broker(settings.CELERY_BROKER_URL, connect_timeout=5) as broker:
            broker.ensure_connection(max_retries=1, timeout=5)
    except Exception as error:  # each broker's library has errors of its own
        where = Broker(settings.CELERY_BROKER_URL).as_uri()  # without the password
        raise CanNotServe(
            f"The broker {where} is not reached ({error}): start it, or set CELERY_BROKER_URL to another one."
        ) from error


def _wait_for_turn(connection: psycopg.Connection) -> None:
    """Wait until no other scheduler is at work on this database.

    A lock of a transaction, for a pooler between hands on none of a session. Open and idle it keeps nobody waiting.
    """
    is_told = False
    while connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [database.SCHEDULER_LOCK]).fetchone() != (True,):
        if not is_told:
            say("another scheduler is at work on this database; this one waits for it to end")
        is_told = True
        connection.rollback()
        time.sleep(PULSE)


def _keep_turn(connection: psycopg.Connection) -> None:
    """Show that the lock is still held; without it this process ends, for another one may have it."""
    try:
        while True:
            time.sleep(PULSE)
            connection.execute("SELECT 1")
    except psycopg.Error as error:
        say(f"✗ The scheduler lost its connection to the database ({' '.join(str(error).split())}): start it again.")
        os._exit(1)


def _celery(*words: str) -> int:
    """Return the exit code of Celery's command line."""
    from celery.bin.celery import celery

    from novamem.celery import app, set_logging_up

    set_logging_up()  # before Celery, which warns while it starts
    app.Beat = app.subclass_with_self("novamem.beat:PromptBeat")
    try:
        celery.main(args=["-q", "-A", "novamem", *words], prog_name="celery")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
