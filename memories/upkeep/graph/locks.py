"""Locks on what is worked on: one worker a project, and fragments in the order in which everybody locks them."""

import uuid
from collections.abc import Sequence

from django.db import connection

from memories.models import Fragment

# Rather than make anybody else wait until Postgres ends one of both, upkeep gives way and tries again later.
PATIENCE = "500ms"


def lock_connections(project_id: uuid.UUID, *, patient: bool = False) -> bool:
    """Return whether the connections of the project are ours until the transaction ends; `patient` waits for them."""
    function = "pg_advisory_xact_lock" if patient else "pg_try_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [f"connections {project_id}"])
        return patient or bool(cursor.fetchone()[0])


def lock_fragments(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> list[Fragment]:
    """Return the fragments that are still there, locked. Gives up after half a second: OperationalError."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
    rows = Fragment.objects.within(project_id).filter(id__in=ids).order_by("id")
    return list(rows.select_for_update(no_key=True))
