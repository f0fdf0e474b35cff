"""A real browser in front of a real server, whose rows are committed."""

import os
import shutil
import threading
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.db import connection, connections
from django.utils import timezone
from playwright.sync_api import expect

from memories import access, ingest, jobs
from memories.access import keys
from memories.models import Membership, Operation, Project
from tests.conftest import take_away

# The browser's event loop runs in the thread of the tests; Django would refuse every query in it.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

# A machine under load answers late; what does not come at all is missed all the same.
expect.set_options(timeout=20_000)

PASSWORD = "a long enough one"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "chromium")
QUIETLY = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Silent(WSGIRequestHandler):
    """Says nothing on standard error."""

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A project of its own, with a person who may look at it, on a running server."""

    url: str
    project: Project
    username: str


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """The system's chromium instead of a downloaded one."""
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": QUIETLY}


@pytest.fixture(scope="session")
def base_url():
    """None; the plugin's own fixture is built in a way that pytest 9 warns of."""
    return


@pytest.fixture(scope="module")
def server(django_db_setup, django_db_blocker):
    """The address of a server over the test database, for the tests of a module."""
    httpd = ThreadedWSGIServer(("127.0.0.1", 0), Silent)
    httpd.set_app(get_wsgi_application())
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    with django_db_blocker.unblock():
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        httpd.server_close()
        thread.join()
        connection.close()


@pytest.fixture
def stage(server):
    """An empty project and its viewer."""
    name = f"stage-{uuid.uuid4().hex[:12]}"
    project = keys.ensure_project(name)
    user = get_user_model()._default_manager.create_user(name, password=PASSWORD)
    Membership.objects.create(user=user, project=project, role="viewer")
    yield Stage(server, project, name)
    take_away(*Membership.objects.filter(project=project).values_list("user_id", flat=True), user.pk)
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM memories_project WHERE id = %s", [project.id])
    connections["owner"].close()


@pytest.fixture
def store_texts(stage):
    """Stores texts in the project, oldest first; answers their ids."""

    def store_all(*texts: str, agent: str = "main") -> list[str]:
        principal = access.system_principal(stage.project)
        drafts = [ingest.Draft(namespace=f"{stage.project.name}:{agent}", content=text) for text in texts]
        admissions = ingest.store(principal, ingest.prepare(drafts), now=timezone.now())
        return [str(admission.fragment.id) for admission in admissions]

    return store_all


@pytest.fixture
def complaints(page):
    """What the browser complained about: script errors, and everything that the content policy refused."""
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    return heard


@pytest.fixture
def at_memories(page, stage, complaints):
    """Logs in by the form and stands before the memories; afterwards nothing may have been complained about."""

    def go(path: str = "/memories/") -> Any:
        page.goto(f"{stage.url}/login/?next={path}")
        page.get_by_label("Username").fill(stage.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"**{path}")
        return page

    yield go
    assert complaints == []


@pytest.fixture
def work(stage):
    """What a worker would do now: runs what is queued, and what that queues."""
    principal = access.system_principal(stage.project)

    def do():
        while queued := _queued(principal):
            for operation_id in queued:
                jobs.run(principal, operation_id)

    return do


def _queued(principal):
    with access.enter(principal, why="test"):
        return list(Operation.objects.filter(state="queued").values_list("id", flat=True))
