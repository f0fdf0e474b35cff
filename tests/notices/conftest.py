"""A committed project in which memories change after answers carried them."""

import uuid

import pytest
from django.utils import timezone

from memories import access, ingest
from memories.models import Fragment, Receipt


class Teller:
    """Stores memories, hands them out and changes them; each call is a transaction."""

    def __init__(self, principal, settle):
        self.principal, self.settle = principal, settle

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


@pytest.fixture
def teller(service, settle):
    """The service itself."""
    return Teller(service, settle)


@pytest.fixture
def admin(committed, agent_of):
    """May do everything in all of the project."""
    return agent_of(committed, owner="admin", verbs=["read", "write", "review", "admin"], ceiling="system")
