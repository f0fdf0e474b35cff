"""Brings a prepared database to where the code expects it: migrated, first run done; each only when there is need.

What was done stands as a comment on Django's own table of migrations, with a digest of the migration files, of
requirements.txt (other packages bring migrations too) and of the table's rows. So a start with nothing to do asks one
question in plain SQL and does not load Django.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psycopg import sql

from novamem import database, dumps, env
from novamem.database import Connection, Logins, NotPrepared
from novamem.progress import say, step

POLL = 0.2  # seconds
STATE = """
    SELECT coalesce(obj_description('django_migrations'::regclass), '{}'),
        (SELECT json_agg(app || '.' || name ORDER BY app, name) FROM django_migrations)
"""


def begin(logins: Logins) -> None:
    """Prepare and migrates a database that nobody has migrated yet; leaves any other as it is."""
    if not logins.owner:
        return  # a machine that only serves: whoever has the owner's login migrates
    with database.connect(logins.owner, setting=database.OWNER) as connection:
        if _is_migrated(connection):
            return
        with _alone(connection):
            if _state(connection) is not None:
                return
            database.prepare(logins)
            _migrate(logins, dumped=False)


def bring_up(logins: Logins, *, dumped: bool = True) -> None:
    """Prepare and migrate a database as far as it is needed; `dumped` before its tables change."""
    database.prepare(logins)
    migrate(logins, dumped=dumped)


def check_known(logins: Logins) -> None:
    """Raise NotPrepared when another version has already changed the tables."""
    with database.connect(logins.owner, setting=database.OWNER) as connection:
        unknown = unknown_migrations(connection)
    if unknown:
        raise NotPrepared(
            f"The database is of another release, which had {', '.join(unknown)}. Start that release or a newer one; "
            "what it exports (`script/manage export`) can be restored into an empty database of this one."
        )


def check_current(url: str) -> None:
    """Raise NotPrepared unless the tables are those of this code; asked as what serves, in a tenth of a second."""
    with database.connect(url) as connection:
        unknown, applied = unknown_migrations(connection), _applied(connection)
    if unknown:
        raise NotPrepared(
            f"The database is of another release, which had {', '.join(unknown)}: start that release or a newer one."
        )
    if pending := _pending(applied):
        raise NotPrepared(
            f"The database lacks {len(pending)} migrations of this release ({pending[0]} first): run "
            "`script/manage upgrade`, with DATABASE_OWNER_URL set, before this starts."
        )


def _pending(applied: list[str]) -> list[str]:
    """Return our migrations that are not among these."""
    return [name for name in _file_digests() if name not in applied]


def unknown_migrations(connection: Connection) -> list[str]:
    """Return what was applied to our tables and this code does not have, or has with other words."""
    state, applied = _state(connection) or ({}, [])
    files = _file_digests()
    apps = {name.partition(".")[0] for name in files}
    kept = state.get("files", {})
    unknown = [name for name in applied if name.partition(".")[0] in apps and name not in files]
    return unknown + [name for name in applied if name in files and kept.get(name, files[name]) != files[name]]


def migrate(logins: Logins, *, dumped: bool = True) -> None:
    """Apply migrations, unless all were applied before; a database that has tables is dumped first.

    Raise NotPrepared with Django's words when one fails.
    """
    with database.connect(logins.owner, setting=database.OWNER) as connection, _alone(connection):
        _migrate(logins, dumped=dumped)


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """One process at a time makes tables; who waits only asks now and then, for an index waits for open queries."""
    said = False
    while connection.execute("SELECT pg_try_advisory_lock(%s)", [database.MIGRATION_LOCK]).fetchone() != (True,):
        if not said:
            say("… another process makes the tables")
        said = True
        time.sleep(POLL)
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", [database.MIGRATION_LOCK])


def _migrate(logins: Logins, *, dumped: bool) -> None:
    check_known(logins)
    with database.connect(logins.owner, setting=database.OWNER) as connection:
        done, applied = _is_migrated(connection), _applied(connection)
        if done.get("migrated") == _digest(connection):
            return
    if dumped and applied and _pending(applied):
        _dump(logins)
    with step("migrations"):
        _manage(logins, "migrate", "--database", "owner", "--noinput", "--verbosity", "0")
    _save_logins(logins, first_run=done.get("first_run", False))


def _dump(logins: Logins) -> None:
    """Keep the database as it is. Raise NotPrepared: nothing was changed yet."""
    data_dir = Path(env.load().NOVAMEM_DATA_DIR)
    try:
        with step("dump of the database"):
            path = dumps.dump_before(env.VERSION, logins.owner, data_dir)
    except (NotPrepared, OSError) as error:
        raise NotPrepared(
            f"The database could not be dumped before its tables change, so they were left alone: {error} "
            "Make room or a dump of your own, then run `script/manage upgrade --no-dump`."
        ) from error
    say(f"  the database as it was: {path}")


def first_run(logins: Logins) -> None:
    """Make the first admin, key and memories, once; what they are is printed on stdout."""
    with database.connect(logins.owner, setting=database.OWNER) as connection:
        if _is_migrated(connection).get("first_run"):
            return
    with step("first admin, key and memories"):
        answer = _manage(logins, "firstrun")
    sys.stdout.write(answer)
    sys.stdout.flush()
    _save_logins(logins, first_run=True)


def _state(connection: Connection) -> tuple[dict[str, Any], list[str]] | None:
    row = connection.execute("SELECT to_regclass('django_migrations') IS NOT NULL").fetchone()
    if row != (True,):
        return None
    comment, applied = connection.execute(STATE).fetchone() or ("{}", None)
    return json.loads(comment), applied or []


def _applied(connection: Connection) -> list[str]:
    state = _state(connection)
    return state[1] if state else []


def _is_migrated(connection: Connection) -> dict[str, Any]:
    state = _state(connection)
    return state[0] if state else {}


def _digest(connection: Connection) -> str:
    parts = [json.dumps(_applied(connection)).encode()]
    parts += [path.read_bytes() for path in (*_migration_files(), env.ROOT / "requirements.txt")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _migration_files() -> list[Path]:
    return sorted(env.ROOT.glob("*/migrations/[0-9]*.py"))


def _file_digests() -> dict[str, str]:
    """Return by migration: what its file says, so that one that was folded since is noticed."""
    return {
        f"{path.parent.parent.name}.{path.stem}": hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in _migration_files()
    }


def _save_logins(logins: Logins, *, first_run: bool) -> None:
    with database.connect(logins.owner, setting=database.OWNER) as connection:
        state = json.dumps({"migrated": _digest(connection), "first_run": first_run, "files": _file_digests()})
        connection.execute(sql.SQL("COMMENT ON TABLE django_migrations IS {}").format(state))


def _manage(logins: Logins, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(env.ROOT / "manage.py"), *words],
        env={**os.environ, **logins.environment()},
        cwd=env.ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotPrepared(f"manage.py {words[0]} failed:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout
