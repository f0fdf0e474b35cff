"""The embedded Postgres: there when it is used, gone when it is not.

    with running(data_dir) as logins: …

gives the logins to a Postgres that runs as long as any process uses it this way. `python -m novamem.embedded COMMAND…`
runs a command with both in its settings; those that are set already, or stand in `.env`, are left as they are.

Processes share the server through a lock file: each user holds it shared, and whoever gets it exclusively is alone and
stops Postgres. A guard process waits for that too, so that Postgres also stops after its users were killed.
"""

import argparse
import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import IO
from urllib.parse import quote

import psycopg
from django.core.exceptions import ImproperlyConfigured

from novamem import cluster, env, readiness
from novamem.cluster import PostgresCluster, Unavailable
from novamem.config import take_options
from novamem.database import APP_ROLE, EXTENSIONS, Logins, NotPrepared
from novamem.progress import disk_trouble, say

OWNER, DATABASE = "nova_owner", "novamem"
PASSWORDS = "postgres.passwords"
# Commands that ask for no rows, or migrate them; all others need the tables of this release.
ANY_SCHEMA = {"apidocs", "check", "config", "help", "makemigrations", "migrate", "showmigrations", "spectacular"}
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Process = subprocess.Popen[bytes]


@contextmanager
def running(data_dir: Path, *, disposable: bool = False) -> Iterator[Logins]:
    """The logins to the database in `data_dir`: made, started and shared as needed, stopped by the last one to leave.

    A disposable one is made anew where its data directory was emptied. Raise Unavailable with a hint.
    """
    data_dir = env.private_folder(data_dir).resolve()
    with kept(data_dir, disposable=disposable):
        server = cluster.cluster_of(data_dir)
        with _starting(data_dir):
            passwords = _passwords(data_dir / PASSWORDS, server)
            _make_database(server, passwords)
        yield Logins(*(_url(server, role, passwords, DATABASE) for role in (APP_ROLE, OWNER)))


@contextmanager
def kept(data_dir: Path, *, disposable: bool = False) -> Iterator[IO[str]]:
    """The lock by which Postgres runs until the last process leaves that holds it; forks have to close it.

    Where the cluster exists no password is read. Raise Unavailable with a hint.
    """
    data_dir = env.private_folder(data_dir).resolve()
    lock = data_dir / "postgres.users.lock"
    with _lock_file(lock) as users:
        fcntl.flock(users, fcntl.LOCK_SH)  # waits while somebody stops it
        with ExitStack() as stack:
            stack.enter_context(_starting(data_dir))
            server = cluster.cluster_of(data_dir, disposable=disposable)
            guard = None
            try:
                if not server.data.exists():
                    password = _passwords(data_dir / PASSWORDS, server)[cluster.SUPERUSER]
                    server.make(password, disposable=disposable)
                if server.start():
                    guard = _start_guard(lock, server)
                stack.close()
                yield users
            finally:
                _stop_if_last(users, server, guard)


@contextmanager
def _starting(data_dir: Path) -> Iterator[None]:
    """One process at a time makes and starts it."""
    with _lock_file(data_dir / "postgres.start.lock") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        yield


def _lock_file(path: Path) -> IO[str]:
    file = path.open("a")
    os.fchmod(file.fileno(), 0o600)
    return file


def _stop_if_last(users: IO[str], server: PostgresCluster, guard: Process | None) -> None:
    fcntl.flock(users, fcntl.LOCK_UN)
    alone = True
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # others use it, or the guard stops it: this waits until it has
        alone = False
        fcntl.flock(users, fcntl.LOCK_SH)
    else:
        server.stop()
    fcntl.flock(users, fcntl.LOCK_UN)
    if guard:
        with suppress(subprocess.TimeoutExpired):
            guard.wait(5 if alone else 0)
        guard.returncode = guard.returncode or 0  # it may outlive us, for the others


def _start_guard(lock: Path, server: PostgresCluster) -> Process:
    return subprocess.Popen(
        [sys.executable, "-P", cluster.__file__, str(lock), str(server.home)],  # by file: loads little
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _passwords(path: Path, server: PostgresCluster) -> dict[str, str]:
    """Return the roles' passwords; random, made with the cluster, readable by the data directory's owner only."""
    if not path.exists() and server.data.exists():
        raise Unavailable(f"{path} is missing, and nobody else knows the passwords of the database. Bring it back.")
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    roles = (cluster.SUPERUSER, OWNER, APP_ROLE)
    if missing := [role for role in roles if role not in found]:  # an older installation had no login for the app
        found |= {role: secrets.token_urlsafe(24) for role in missing}
        draft = path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(found))
        draft.rename(path)
    return found


def _url(server: PostgresCluster, role: str, passwords: dict[str, str], name: str) -> str:
    return f"postgres://{role}:{passwords[role]}@{quote(str(server.socket), safe='')}/{name}"


def _make_database(server: PostgresCluster, passwords: dict[str, str]) -> None:
    """Roles, extensions and database, once; again after a start that was cut short. The database comes last."""
    admin = _url(server, cluster.SUPERUSER, passwords, "postgres")
    with _connect(admin) as connection:
        logs_in = connection.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", [APP_ROLE]).fetchone()
        if logs_in != (True,):
            _make_role(connection, APP_ROLE, f"LOGIN PASSWORD '{passwords[APP_ROLE]}'")
        if connection.execute("SELECT true FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            return
        _make_role(connection, OWNER, f"LOGIN CREATEDB BYPASSRLS PASSWORD '{passwords[OWNER]}'")
        # Only a superuser may install them; from the template each later database, also a test's, has them.
        with _connect(_url(server, cluster.SUPERUSER, passwords, "template1")) as template:
            for extension in EXTENSIONS:
                template.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}".encode())
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}".encode())


def _make_role(connection: psycopg.Connection, name: str, rights: str) -> None:
    exists = connection.execute("SELECT true FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    connection.execute(f"{'ALTER' if exists else 'CREATE'} ROLE {name} {rights}".encode())


@contextmanager
def _connect(url: str) -> Iterator[psycopg.Connection]:
    """A connection, waiting for a server that still recovers from a crash."""
    deadline = time.monotonic() + cluster.START
    while True:
        try:
            connection = psycopg.connect(url, autocommit=True)
            break
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline or "authentication failed" in str(error):
                raise Unavailable(f"The embedded Postgres lets nobody in: {error}") from error
            time.sleep(0.1)
    with connection:
        yield connection


def main() -> int:
    """Run a command with the logins to the database in its settings. Answers its exit code."""
    parser = argparse.ArgumentParser(prog="python -m novamem.embedded", description=main.__doc__)
    parser.add_argument(
        "--own", action="store_true", help="an embedded Postgres for tests, even if DATABASE_URL is set"
    )
    parser.add_argument(
        "--migrate", choices=["new", "always"], help="first make the tables: of a new database, or always"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not given.command:
        parser.error("which command?")
    try:
        command = take_options(given.command)
        settings = env.load()
        own = None if given.own else settings.own_database()
        with nullcontext(own) if own else running(Path(settings.NOVAMEM_DATA_DIR), disposable=given.own) as logins:
            if given.migrate == "always":
                readiness.bring_up(logins, dumped=False)
            elif given.migrate:
                readiness.begin(logins)
            if given.migrate and not ANY_SCHEMA & {*command[2:3]} and "--help" not in command:
                readiness.check_current(logins.app)
            return _run(command, {**os.environ, **logins.environment()})
    except (ImproperlyConfigured, NotPrepared, Unavailable) as error:
        say(f"✗ {error}")
        return 1
    except OSError as error:
        say(f"✗ {disk_trouble(error)}")
        return 1


def _run(words: list[str], environment: dict[str, str]) -> int:
    """Return the exit code of a command that gets our signals; as a shell counts it when a signal ended it."""
    child: list[Process] = []

    def forward(number: int, _: FrameType | None) -> None:
        # At a terminal, Ctrl-C reaches the command by itself; a second one would be taken for impatience.
        if child and not (number == signal.SIGINT and sys.stdin and sys.stdin.isatty()):
            child[0].send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        child.append(subprocess.Popen(words, env=environment))
        code = child[0].wait()
    except OSError as error:
        say(f"✗ {words[0]}: {error.strerror}")
        return 127
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main())
