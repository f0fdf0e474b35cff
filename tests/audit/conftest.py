"""A chain of seals over a committed project, and an owner of the database who tampers with it."""

import pytest
from django.apps import apps
from django.db import connections, transaction
from django.utils import timezone

from memories import access, audit, ingest
from memories.audit.journal import Journal


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    """The files outside the database: the key and the journal."""
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def journal(service):
    """The project's file."""
    return Journal(service.project_id)


@pytest.fixture
def keep(service):
    """Stores one fragment, committed."""

    def store(text, *, by=service):
        draft = ingest.Draft(namespace=f"{service.project}:main", content=text)
        return ingest.store(by, ingest.prepare([draft]), now=timezone.now())[0].fragment

    return store


@pytest.fixture
def seal(service, settle):
    """Seals everything that is committed by now."""

    def make():
        settle()
        return audit.seal(service, now=timezone.now())

    return make


@pytest.fixture
def sealed(keep, seal):
    """Three seals; in the second stands one fragment's event alone. The fragments, in order."""
    kept = []
    for text in ("The heron nests.", "The otter swims.", "The mill stands still."):
        kept.append(keep(text))
        seal()
    return kept


@pytest.fixture
def event(service, sealed):
    """The number of the event in the second seal."""
    with access.enter(service, why="test"):
        return apps.get_model("memories", "FragmentEvent").objects.get(pgh_obj_id=sealed[1].id).pk


@pytest.fixture
def tamper():
    """Runs SQL as the owner of the database, past every trigger."""
    tables = ("memories_fragment", "memories_fragmentevent", "memories_namespaceevent", "memories_seal")

    def run(statement, values):
        with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
            for table in tables:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(statement, values)
            assert cursor.rowcount > 0, "nothing was tampered with"
            for table in tables:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")

    return run
