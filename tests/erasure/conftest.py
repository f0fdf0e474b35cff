"""A namespace full of memories that share a secret, and a search for it in every text that is stored."""

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from memories import access, jobs
from memories.models import Operation
from memories.models.enums import EvictionReason
from memories.upkeep.lifecycle.removal import Cause, remove_fragments

MAIN, SIDE = "acme:main", "acme:side"
TEXTUAL = ("text", "character varying", "jsonb", "tsvector", "ARRAY", "bytea", "USER-DEFINED")


@pytest.fixture
def run_as():
    """Runs somebody's operations here and now; their reports."""

    def of(principal):
        def work(kind, place=None, *, dry_run=False, **options):
            wish = {"kind": kind, "namespace": place, "options": options, "dry_run": dry_run}
            ended = jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)
            assert ended.state == "succeeded", ended.error
            return ended.report

        return work

    return of


@pytest.fixture
def run(principal, run_as):
    """Runs an operation here and now; its report."""
    return run_as(principal)


@pytest.fixture
def evict_of():
    """Evicts memories of somebody's, as an operation that can be undone; the operation."""

    def of(principal):
        def away(*ids):
            now = timezone.now()
            with access.enter(principal, why="test"):
                ended = {"state": "succeeded", "finished_at": now, "report": {"evicted": len(ids)}}
                done = Operation.objects.create(project_id=principal.project_id, kind="evict", **ended)
                causes = {i: Cause(EvictionReason.LOW_WEIGHT, {}) for i in ids}
                remove_fragments(principal.project_id, causes, copied="evicted", operation_id=done.id, now=now)
            return done

        return away

    return of


@pytest.fixture
def evict(principal, evict_of):
    """Evicts memories; the operation."""
    return evict_of(principal)


@pytest.fixture
def sweep(principal):
    """Where a word still stands: `table.column` of every table of a project, copies unpacked."""

    def search(word):
        found = []
        with access.enter(principal, why="test"), connection.cursor() as cursor:
            cursor.execute(
                """SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
                   JOIN information_schema.tables t USING (table_schema, table_name)
                   WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'""",
            )
            columns = cursor.fetchall()
            known = {model._meta.db_table for model in apps.get_models()}
            for table, column, kind in columns:
                if kind in TEXTUAL and table in known and not table.startswith(("auth_", "django_")):
                    cursor.execute(
                        f'SELECT count(*) FROM {table} WHERE strpos(lower("{column}"::text), %s) > 0'
                        if kind != "bytea"
                        else f"SELECT count(*) FROM {table} WHERE position(convert_to(%s, 'UTF8') IN \"{column}\") > 0",
                        [word],
                    )
                    if cursor.fetchone()[0]:
                        found.append(f"{table}.{column}")
            found += ["archive copy" for text in copies(principal) if word in text.lower()]
        return found

    return search


def copies(principal):
    from memories.models import Archive

    return [copy.text() for copy in Archive.objects.within(principal.project_id)]
