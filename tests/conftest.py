"""The cast and the ground of the tests: real Postgres, the app role, a project of its own for every test."""

import datetime
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from memories import access, ingest, keys
from memories.access import Principal
from memories.models import Fragment, Project
from memories.providers import active_model
from novamem import broker, database
from novamem.celery import app as celery

# Each process of a parallel run has a database of its own.
TEST_DATABASE = os.environ.get("TEST_DATABASE", "novamem_test") + os.environ.get("PYTEST_XDIST_WORKER", "")


hypothesis.settings.register_profile("novamem", deadline=None)  # machines are noisy
hypothesis.settings.load_profile("novamem")


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """Builds the test database once, as the owner; the app role, which the tests run as, could not."""
    with django_db_blocker.unblock():
        url = database.prepare_database(settings.ENV["DATABASE_URL"], TEST_DATABASE)
        celery.conf.broker_transport_options = broker.transport_options(url)
        for alias in connections:
            connections[alias].close()
            connections[alias].settings_dict["NAME"] = TEST_DATABASE
        call_command("migrate", database="owner", verbosity=0)
        active_model()
    yield
    with django_db_blocker.unblock():
        for alias in connections:
            connections[alias].close()
            if pool := getattr(connections[alias], "pool", None):
                pool.close()


@dataclass(frozen=True, slots=True)
class Agent:
    """A key with a client that uses it."""

    client: APIClient
    key: str
    row: Any
    principal: Principal


@pytest.fixture
def project(db: None) -> Project:
    """Alice's and Bob's project."""
    return keys.ensure_project("acme")


@pytest.fixture
def principal(project: Project) -> Principal:
    """The service itself in the project."""
    return access.system_principal(project)


Issue = Callable[..., Agent]


@pytest.fixture
def agent_of() -> Issue:
    """Issues a key in a project and a client for it."""

    def issue(project: Project, **wish: Any) -> Agent:
        owner = wish.pop("owner", None)
        wanted = {"namespaces": [f"{project.name}:*"], "verbs": ["read", "write"], "ceiling": "tool_output"}
        issued = keys.issue(project, keys.Wish(**{**wanted, **wish}), owner=owner)
        client = APIClient(headers={"Authorization": f"Bearer {issued.text}"})
        found = access.principal_of_key(issued.text, now=timezone.now())
        assert found is not None
        return Agent(client, issued.text, issued.row, found)

    return issue


@pytest.fixture
def alice(project: Project, agent_of: Issue) -> Agent:
    """Owns what the tests store; may do everything an agent may, up to user_explicit."""
    return agent_of(project, owner="alice", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def bob(project: Project, agent_of: Issue) -> Agent:
    """In Alice's team; an ordinary tool."""
    return agent_of(project, owner="bob")


@pytest.fixture
def charlie(db: None, agent_of: Issue) -> Agent:
    """Another project's agent: sees nothing of Alice's."""
    return agent_of(keys.ensure_project("elsewhere"), owner="charlie", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def reader(project: Project, agent_of: Issue) -> Agent:
    """Reads one namespace only."""
    return agent_of(project, owner="reader", namespaces=["acme:main"], verbs=["read"])


@pytest.fixture
def now() -> datetime.datetime:
    """The time at which the test began."""
    return timezone.now()


Store = Callable[..., Fragment]


@pytest.fixture
def store(principal: Principal) -> Store:
    """Stores one fragment through the write path."""

    def keep(namespace: str, content: str, *, by: Principal = principal, **more: Any) -> Fragment:
        draft = ingest.Draft(namespace=namespace, content=content, **more)
        return ingest.keep(by, ingest.prepare([draft]), now=timezone.now())[0].fragment

    return keep


Count = Callable[[Any], int]


@pytest.fixture
def count(principal: Principal) -> Count:
    """Counts the project's rows of a model; outside `enter` row-level security would answer 0."""

    def number(model: Any) -> int:
        with access.enter(principal, why="test"):
            found: int = model.objects.within(principal.project_id).count()
        return found

    return number


@pytest.fixture
def committed(django_db_setup: None, django_db_blocker: Any) -> Iterator[Project]:
    """A project whose rows other threads and processes see; it is deleted afterwards, its events stay.

    Not to be used together with `db`, which keeps a test in one transaction.
    """
    with django_db_blocker.unblock():
        made = keys.ensure_project(f"committed-{secrets.token_hex(4)}")
        try:
            yield made
        finally:
            with connections["owner"].cursor() as cursor:
                cursor.execute("DELETE FROM memories_project WHERE id = %s", [made.id])
            for alias in connections:
                connections[alias].close()


@pytest.fixture
def service(committed: Project) -> Principal:
    """The service itself in the committed project."""
    return access.system_principal(committed)


@pytest.fixture
def anonymous() -> Client:
    """Nobody."""
    return Client()
