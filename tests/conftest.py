"""The cast and the ground of the tests: real Postgres, the app's login, a project of its own for every test."""

import datetime
import functools
import gc
import hashlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import hypothesis
import pytest
import pytest_randomly
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.db import OperationalError, connections
from django.test import Client
from django.utils import timezone
from django_prometheus.middleware import Metrics
from psycopg.errors import DeadlockDetected
from rest_framework.test import APIClient

from memories import access, ingest
from memories.access import Principal, keys
from memories.models import EmbeddingModel, Fragment, Project, sql
from memories.providers import active_model, embeddings, endpoint
from memories.providers.fake_endpoint import FakeEndpoint, serving
from novamem import broker, database, env
from novamem.celery import app as celery
from novamem.database import Logins

# Fixtures that several rooms share.
pytest_plugins = ["tests.ages", "tests.governed", "tests.killing", "tests.places"]

# Each process of a parallel run has a database of its own.
TEST_DATABASE = os.environ.get("TEST_DATABASE", "novamem_test") + os.environ.get("PYTEST_XDIST_WORKER", "")


# The suite tries the same examples every time; HYPOTHESIS_PROFILE=search looks for new ones. Machines are noisy.
hypothesis.settings.register_profile("novamem", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "novamem"))


# Files are looked up when they are asked for, or every test's client would list them all first.
django_settings.WHITENOISE_AUTOREFRESH = True
# Hashing a password as it should be takes a third of a second, and most tests of the console make a person.
django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Every client would read the certificates of all authorities anew, which takes longer than most requests.
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)
# Three times a test torch would be seeded for a card that is not there.
pytest_randomly.entrypoint_reseeds = []


# What the tables of the tests come from; with other files they are made anew.
SCHEMA = ("memories/migrations", "memories/models", "conflicts/migrations", "conflicts/models.py", "novamem")
TEMPLATE = "novamem_test_of_"


def _template(server: Logins) -> str:
    """The migrated database that each process's own is a copy of: migrating takes half a minute."""
    places = [django_settings.ROOT / place for place in SCHEMA]
    files = sorted(file for place in places for file in (place.rglob("*") if place.is_dir() else [place]))
    texts = [file.read_bytes() for file in files if file.suffix in (".py", ".sql")]
    texts.append((django_settings.ROOT / "requirements.txt").read_bytes())
    name = TEMPLATE + hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
    with database.template_database(server, name) as is_empty:
        if is_empty:
            _drop_other_templates(server, name)
            _use_database(name)
            call_command("migrate", database="owner", verbosity=0)
            _leave_database()
    return name


def _drop_other_templates(server: Logins, name: str) -> None:
    with database.connect(server.owner, setting=database.OWNER) as connection:
        others = "SELECT datname FROM pg_database WHERE starts_with(datname, %s) AND datname <> %s"
        for (other,) in connection.execute(others, [TEMPLATE, name]).fetchall():
            database.drop_database(server, other)


def _use_database(name: str) -> None:
    for alias in connections:
        connections[alias].close()
        connections[alias].settings_dict["NAME"] = name


def _leave_database() -> None:
    for alias in connections:
        connections[alias].close()
        connections[alias].close_pool()


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """Builds the test database once, as the owner; the app's login, which the tests use, could not."""
    with django_db_blocker.unblock():
        server = env.load().own_database()
        assert server
        logins = database.prepare_database(server, TEST_DATABASE, template=_template(server))
        celery.conf.broker_transport_options = broker.transport_options(logins.app)
        _use_database(TEST_DATABASE)
        active_model()
    Metrics.get_instance()  # two threads that ask for it first at one time would both make it
    yield
    with django_db_blocker.unblock():
        _leave_database()


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
        issued = keys.issue(project, keys.KeyRequest(**{**wanted, **wish}), owner=owner)
        client = APIClient(headers={"Authorization": f"Bearer {issued.text}"})
        found = access.principal_of_key(issued.text, now=timezone.now())
        assert found is not None
        return Agent(client, issued.text, issued.row, found)

    return issue


@pytest.fixture
def alice(project: Project, agent_of: Issue) -> Agent:
    """Owns what the tests store; may do everything an agent may, up to user_explicit, and read wide."""
    wish = {"ceiling": "user_explicit", "verbs": ["read", "write", "review", "admin"], "may_read_wide": True}
    return agent_of(project, owner="alice", **wish)


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


@pytest.fixture
def small_endpoint(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEndpoint]:
    """An embeddings endpoint for vectors of 64 dimensions."""
    monkeypatch.setattr(endpoint, "PAUSE", 0.0)
    monkeypatch.setattr(embeddings, "_made", {})
    with serving(dim=64) as running:
        settings.EMBEDDINGS_URL = running.url
        yield running


Store = Callable[..., Fragment]


def stored(by: Principal, namespace: str, content: str, **more: Any) -> Fragment:
    """One fragment, stored through the write path."""
    if "claim" in more:
        more["claims"] = [claim for claim in [more.pop("claim")] if claim]
    draft = ingest.Draft(namespace=namespace, content=content, **more)
    return ingest.store(by, ingest.prepare([draft]), now=timezone.now())[0].fragment


@pytest.fixture
def store(principal: Principal) -> Store:
    """Stores one fragment through the write path."""

    def keep(namespace: str, content: str, *, by: Principal = principal, **more: Any) -> Fragment:
        return stored(by, namespace, content, **more)

    return keep


StoreAll = Callable[..., list[Fragment]]


@pytest.fixture
def store_all(principal: Principal) -> StoreAll:
    """Stores many texts at once, alike but for what they say: one by one they take seven times as long."""

    def keep(namespace: str, contents: Iterable[str], *, by: Principal = principal, **more: Any) -> list[Fragment]:
        drafts = [ingest.Draft(namespace=namespace, content=content, **more) for content in contents]
        return [one.fragment for one in ingest.store(by, ingest.prepare(drafts), now=timezone.now())]

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


@contextmanager
def as_owner() -> Iterator[database.Connection]:
    """A connection of the tables' owner: it commits, beside the transaction that a test may run in."""
    url = database.url_for(django_settings.ENV["DATABASE_OWNER_URL"], TEST_DATABASE)
    with database.connect(url, setting=database.OWNER) as connection:
        yield connection


def take_away(*users: int) -> None:
    """Delete committed accounts with all that belongs to them; the app's login may not."""
    with as_owner() as connection:
        connection.execute(
            """DELETE FROM otp_static_statictoken t USING otp_static_staticdevice d
            WHERE t.device_id = d.id AND d.user_id = ANY(%s)""",
            [list(users)],
        )
        for table in ("otp_static_staticdevice", "otp_totp_totpdevice", "django_admin_log", "memories_membership"):
            connection.execute(f"DELETE FROM {table} WHERE user_id = ANY(%s)".encode(), [list(users)])
        connection.execute("DELETE FROM auth_user WHERE id = ANY(%s)", [list(users)])


@pytest.fixture
def superuser_of(django_db_setup: None) -> Callable[[str], Any]:
    """Makes a superuser of a name, as the owner of the tables; it goes after the test."""

    def make(username: str) -> Any:
        with as_owner() as connection:
            connection.execute(
                """INSERT INTO auth_user (username, password, is_superuser, is_staff, is_active, first_name, last_name,
                    email, date_joined) VALUES (%s, %s, true, true, true, '', '', '', now())""",
                [username, make_password("a long enough one")],
            )
        return get_user_model()._default_manager.get(username=username)

    return make


@contextmanager
def _a_committed_project() -> Iterator[Project]:
    made = keys.ensure_project(f"committed-{secrets.token_hex(4)}")
    try:
        yield made
    finally:
        _delete_project(made)
        connections["default"].close()


def _delete_project(project: Project, tries: int = 3) -> None:
    """A server that still counts what was read there may be in the way once."""
    try:
        with connections["owner"].cursor() as cursor:
            cursor.execute("DELETE FROM memories_project WHERE id = %s", [project.id])
    except OperationalError as error:
        if tries == 1 or not isinstance(error.__cause__, DeadlockDetected):
            raise
        _delete_project(project, tries - 1)


@pytest.fixture
def committed(django_db_setup: None, django_db_blocker: Any) -> Iterator[Project]:
    """A project whose rows other threads and processes see; it is deleted afterwards, its events stay.

    Not to be used together with `db`, which keeps a test in one transaction.
    """
    with django_db_blocker.unblock(), _a_committed_project() as made:
        yield made


@pytest.fixture
def committed_floor(committed: Project) -> Iterator[None]:
    """The active model has a floor that texts without a word of the question miss; taken away afterwards."""
    active_model()
    EmbeddingModel.objects.update(floor=0.4)
    yield
    EmbeddingModel.objects.update(floor=None)


@pytest.fixture
def neighbour(django_db_setup: None, django_db_blocker: Any) -> Iterator[Project]:
    """Another committed project, whose people and agents see nothing of the first."""
    with django_db_blocker.unblock(), _a_committed_project() as made:
        yield made


@pytest.fixture(autouse=True)
def _nobody_stays(request: pytest.FixtureRequest, django_db_blocker: Any) -> Iterator[None]:
    """A test that commits takes its projects and people away again: others count those of the whole database."""
    yield
    if "superuser_of" in request.fixturenames:
        with as_owner() as connection:
            made = connection.execute("SELECT id FROM auth_user WHERE is_superuser").fetchall()
        take_away(*(number for (number,) in made))
    if "django_db_setup" in request.fixturenames and "db" not in request.fixturenames:
        with django_db_blocker.unblock(), connections["owner"].cursor() as cursor:
            cursor.execute("DELETE FROM memories_membership")
            cursor.execute("DELETE FROM memories_project RETURNING name")
            stayed = cursor.fetchall()
            cursor.execute("DELETE FROM auth_user RETURNING username")
            stayed += cursor.fetchall()
            for table in ("django_session", "memories_loginevent"):  # no key leads from them to whom they name
                cursor.execute(f"DELETE FROM {table}")  # TRUNCATE makes files anew, which takes ten times as long
        assert not stayed


@pytest.fixture
def service(committed: Project) -> Principal:
    """The service itself in the committed project."""
    return access.system_principal(committed)


@pytest.fixture
def settle(service: Principal) -> Callable[[], None]:
    """Waits for whatever transaction of this database is open by now, such as one that counts its rows, to end."""

    def wait() -> None:
        with access.enter(service, why="test"):
            ((last,),) = sql.fetch("SELECT pg_current_xact_id()::text::bigint", [])
        end = time.monotonic() + 60
        while _horizon(service) <= last:
            assert time.monotonic() < end, "an old transaction stays open"
            time.sleep(0.02)

    return wait


def _horizon(principal: Principal) -> int:
    with access.enter(principal, why="test"):
        return sql.horizon()


@pytest.fixture
def storage(settings: Any, tmp_path: Path) -> Path:
    """Where the test's bundles lie; the instance's key is its own too."""
    settings.DATA_DIR = tmp_path
    options = {"location": str(tmp_path / "backups"), "file_permissions_mode": 0o600}
    mine = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "backups": mine}
    return tmp_path / "backups"


@pytest.fixture(scope="session")
def web_environment(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What another process needs to work on the test database; no setting of whoever runs the tests."""
    return {
        **{name: value for name, value in os.environ.items() if name not in env.Settings.model_fields},
        "DATABASE_URL": database.url_for(django_settings.ENV["DATABASE_URL"], TEST_DATABASE),
        "EMBEDDER": "fake",
        "LOG_LEVEL": "WARNING",
        "NOVAMEM_DATA_DIR": str(tmp_path_factory.mktemp("data")),
        "SECRET_KEY": "of the test",
        "PYTHONPATH": f"{django_settings.ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }


@contextmanager
def web_server(environment: dict[str, str], *, log: Any = None) -> Iterator[str]:
    """The address of a web server process with these settings; it logs to a file, else here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "novamem.units", "web", "--port", str(port), "--processes", "1"]
    process = subprocess.Popen(command, cwd=django_settings.ROOT, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while not _answers(url):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="session")
def web(web_environment: dict[str, str]) -> Iterator[str]:
    """The address of a web server process on the test database; it sees rows that are committed."""
    with web_server(web_environment) as url:
        yield url


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz", trust_env=False).status_code == httpx2.codes.OK
    except httpx2.TransportError:
        return False


@pytest.fixture
def anonymous() -> Client:
    """Nobody."""
    return Client()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Four in five examples of a rule are long."""
    for item in items:
        spec = getattr(item, "callspec", None)
        if spec and item.get_closest_marker("examples") and max(spec.indices.values()) % 5:
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """What was collected stays until the end: the garbage collector need not look at it again and again."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
