"""`script/manage upgrade`: brings the database to what this release expects, as the owner of its tables.

It makes logins, extensions, rights and queue where they are missing, applies migrations, and changes nothing when there
is nothing to do. A database that has tables is dumped into the data directory before they change. Exit codes: 0 done,
or nothing to do; 1 it failed, or with --check: migrations are pending; 2 the database is of a newer or another release;
3 with --check, or for arguments that are not understood: it can't be told.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from novamem import database, embedded, env, readiness
from novamem.cluster import Unavailable
from novamem.config import take_options
from novamem.database import Logins, NotPrepared
from novamem.progress import disk_trouble, say

DONE, PENDING, NEWER, UNKNOWN = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """What a database lacks of this release, and what it has that this release does not know."""

    release: str
    pending: list[str]
    unknown: list[str]

    @property
    def exit_code(self) -> int:
        """0 when they are the same."""
        return NEWER if self.unknown else PENDING if self.pending else DONE


def main(words: list[str] | None = None) -> int:
    """Upgrade, or looks. Answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="script/manage upgrade", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only say what there is to do")
    parser.add_argument("--no-dump", action="store_true", help="do not dump the database before its tables change")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
    try:
        given = parser.parse_args(take_options(["manage.py", *(sys.argv[1:] if words is None else words)])[1:])
    except SystemExit as end:
        return UNKNOWN if end.code else DONE  # argparse's own 2 has a meaning here
    try:
        settings = env.load()
        with _logins(settings) as logins:
            if not given.check and not logins.owner:
                raise NotPrepared(f"Only the owner of the tables may upgrade. {database.HINT}")
            found = _compare(logins)
            if not given.check and not found.unknown:
                readiness.bring_up(logins, dumped=not given.no_dump)
    except (ImproperlyConfigured, NotPrepared, Unavailable) as error:
        say(f"✗ {error}")
        return UNKNOWN if given.check else 1
    except OSError as error:
        say(f"✗ {disk_trouble(error)}")
        return UNKNOWN if given.check else 1
    sys.stdout.write((json.dumps(asdict(found)) if given.as_json else _told(found, check=given.check)) + "\n")
    return found.exit_code if given.check or found.unknown else DONE


@contextmanager
def _logins(settings: env.Settings) -> Iterator[Logins]:
    if own := settings.own_database():
        yield own
    else:
        with embedded.running(Path(settings.NOVAMEM_DATA_DIR)) as logins:
            yield logins


def _compare(logins: Logins) -> SchemaDifference:
    """Raise NotPrepared when there is no database."""
    alias = "owner" if logins.owner else "default"
    with database.connect(
        logins.owner or logins.app, setting=database.OWNER if logins.owner else database.APP
    ) as found:
        unknown = readiness.unknown_migrations(found)
    os.environ |= {**logins.environment(), "DJANGO_SETTINGS_MODULE": "novamem.settings"}
    import django  # late, as all that needs the settings: they want a database
    from django.db import connections
    from django.db.migrations.executor import MigrationExecutor

    django.setup()
    executor = MigrationExecutor(connections[alias])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    connections[alias].close()
    return SchemaDifference(env.VERSION, [f"{one.app_label}.{one.name}" for one, _ in plan], unknown)


def _told(found: SchemaDifference, *, check: bool) -> str:
    if found.unknown:
        return (
            f"The database is of a newer or another release than this one ({found.release}), which had "
            f"{', '.join(found.unknown)}. Run that release or a newer one."
        )
    if not found.pending:
        return f"The database is that of release {found.release}: nothing to do."
    if check:
        listed = "".join(f"\n    {name}" for name in found.pending)
        return (
            f"`script/manage upgrade` has {len(found.pending)} migrations of release {found.release} to apply:{listed}"
        )
    return f"The database is that of release {found.release} now: {len(found.pending)} migrations were applied."


if __name__ == "__main__":
    sys.exit(main())
