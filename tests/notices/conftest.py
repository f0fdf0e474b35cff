"""A committed project in which memories change after answers carried them."""

import time
import uuid

import pytest
from django.db import connection
from django.utils import timezone

from memories import access, ingest
from memories.models import Fragment, Receipt


class Teller:
    """Stores memories, hands them out and changes them; each call is a transaction."""

    def __init__(self, principal):
        self.principal = principal

    def store(self, room="main"):
        draft = ingest.Draft(namespace=f"{self.principal.project}:{room}", content=f"Note {uuid.uuid4()}.")
        return ingest.store(self.principal, ingest.prepare([draft]), now=timezone.now())[0].fragment

    def tell(self, *rows):
        with access.enter(self.principal, why="test"):
            return Receipt.objects.create(
                project_id=rows[0].project_id,
                namespace_id=rows[0].namespace_id,
                fragment_ids=[row.id for row in rows],
                tokens=1,
            )

    def change(self, row, **values):
        with access.enter(self.principal, why="test"):
            Fragment.objects.filter(id=row.id).update(**values)

    def doubt(self, room="main"):
        """A memory that an answer carried, and is disputed since."""
        row = self.store(room)
        self.tell(row)
        self.change(row, status="disputed")
        return row

    def settle(self):
        """Waits for older transactions, of whoever, to end: what is committed by now is news then."""
        end = time.monotonic() + 60
        while not self._settled():
            assert time.monotonic() < end, "an old transaction stays open"
            time.sleep(0.02)

    def _settled(self):
        with access.enter(self.principal, why="test"), connection.cursor() as cursor:
            cursor.execute(
                "SELECT max(recorded_in) < nova_horizon() FROM (SELECT recorded_in FROM memories_recallnotice"
                " UNION ALL SELECT recorded_in FROM memories_fragmentevent"
                " UNION ALL SELECT recorded_in FROM conflicts_pendingconflictevent"
                " UNION ALL SELECT recorded_in FROM memories_operationevent) AS e"
            )
            return cursor.fetchone()[0] is not False


@pytest.fixture
def teller(service):
    """The service itself."""
    return Teller(service)


@pytest.fixture
def admin(committed, agent_of):
    """May do everything in all of the project."""
    return agent_of(committed, owner="admin", verbs=["read", "write", "review", "admin"], ceiling="system")
