"""migrate: Django's own, online: a migration that can't have a lock soon lets others pass and tries again."""

import time
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.migrations import Migration

OCCUPIED = {"55P03", "40P01"}  # no lock within the time, a deadlock
LOCK_TIMEOUT = "500ms"  # who comes later queues behind whoever waits for a lock
PAUSE, PATIENCE = 1.0, 1800.0  # seconds between tries, and of all tries: longer than a backup
INVALID = """
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid AND c.relname = ANY (%s)
"""


class Command(migrate.Command):
    """As Django's."""

    migration: Migration | None = None  # the one that is being applied

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate. Raise CommandError when others keep the tables for too long."""
        self.connection = connections[options["database"]]
        until = time.monotonic() + PATIENCE
        try:
            while not self._tried(until, *args, **options):
                time.sleep(PAUSE)
        finally:
            self._execute("RESET lock_timeout")

    def _tried(self, until: float, *args: Any, **options: Any) -> bool:
        """Whether all was applied; what was applied before a lock was not to be had stays."""
        try:
            super().handle(*args, **options)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) not in OCCUPIED:
                raise
            if time.monotonic() > until:
                raise CommandError(
                    f"Other transactions have kept what {self.migration} changes for {PATIENCE / 60:.0f} minutes: "
                    "wait for them or end them (pg_stat_activity lists them), then upgrade again."
                ) from error
            return False
        return True

    def migration_progress_callback(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        """Limit the waits of what is rolled back as a whole; an index that is built concurrently holds nobody up."""
        if migration and action in ("apply_start", "unapply_start"):
            self.migration = migration
            if not migration.atomic:
                self._drop_invalid_indexes()
            self._execute(f"SET lock_timeout = '{LOCK_TIMEOUT if migration.atomic else 0}'")
        super().migration_progress_callback(action, migration, fake)

    def _drop_invalid_indexes(self) -> None:
        """Drop what an interrupted migration left of an index of a model, so that it can be built anew."""
        names = [index.name for model in apps.get_models() for index in model._meta.indexes]
        with self.connection.cursor() as cursor:
            cursor.execute(INVALID, [names])
            found = [name for (name,) in cursor.fetchall()]
        for name in found:
            self._execute(f"DROP INDEX CONCURRENTLY {self.connection.ops.quote_name(name)}")

    def _execute(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
