"""Dumps of the whole database by Postgres' own programs: made before tables change, should it have to be undone."""

import datetime
import os
import shutil
import subprocess
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from novamem import env
from novamem.cluster import programs
from novamem.database import NotPrepared

KEPT = 3  # of before upgrades, the newest
# What an empty database that was prepared has: extensions, queue. Rights of the app's login stay, owners do not.
LEFT_OUT = ("--exclude-extension=*", "--exclude-schema=pgmq", "--no-owner")
NAMES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}


def dump_before(release: str, url: str, data_dir: Path) -> Path:
    """Dump the database into the data directory, and let go of older ones. Raise NotPrepared when that fails."""
    folder = env.private_folder(data_dir / "dumps")
    path = folder / f"before-{release}-{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}.dump"
    dump(url, path)
    for older in sorted(folder.glob("before-*.dump"), key=lambda each: each.stat().st_mtime)[:-KEPT]:
        older.unlink()
    return path


def dump(url: str, path: Path) -> None:
    """Dump the database that the owner's URL leads to into a file of its owner's alone. Raise NotPrepared."""
    draft = path.with_name(f"{path.name}.part")
    draft.touch(mode=0o600)
    try:
        _run("pg_dump", url, "--format=custom", *LEFT_OUT, "--file", str(draft))
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def restore(url: str, path: Path) -> None:
    """Bring a dump into an empty database that was prepared, as its owner. Raise NotPrepared."""
    database = str(conninfo_to_dict(url)["dbname"])
    _run("pg_restore", url, "--no-owner", "--exit-on-error", "--dbname", database, str(path))


def _run(program: str, url: str, *words: str) -> None:
    """Run a program of Postgres, which is told by its environment where the database is: others see its words."""
    parts = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
    given = {NAMES.get(key, f"PG{key.upper()}"): value for key, value in parts.items()}
    try:
        done = subprocess.run(
            [_path_of(program), *words], env={**os.environ, **given}, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise NotPrepared(f"{program} can't be run: {error.strerror}.") from error
    if done.returncode:
        raise NotPrepared(f"{program} failed: {done.stderr.strip() or done.returncode}")


def _path_of(program: str) -> str:
    """Return the program of the embedded Postgres, as new as any that is supported, or else the one on the path."""
    bundled = programs() / program
    return str(bundled) if bundled.exists() else shutil.which(program) or program
