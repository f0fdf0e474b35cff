"""People in front of the console."""

import html
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from memories import access, jobs
from memories.access import keys
from memories.models import Backup, Fragment, Membership, Operation
from tests.conftest import stored


def a_person(username: str, *projects: Any, role: str = "viewer") -> Any:
    """Someone who may log in and belongs to these projects."""
    user = get_user_model()._default_manager.create_user(username, password="a long enough one")
    for project in projects:
        Membership.objects.create(user=user, project=project, role=role)
    return user


def logged_in(user: Any) -> Client:
    """A browser in which the person is logged in, and which checks CSRF as a real one is checked."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    return client


@pytest.fixture
def vera(project):
    """A viewer of Alice's project, in front of her browser."""
    return logged_in(a_person("vera", project))


@pytest.fixture
def carl(db):
    """A member of another project."""
    return logged_in(a_person("carl", keys.ensure_project("elsewhere"), role="admin"))


@pytest.fixture
def wanda(project):
    """A member of two projects."""
    return logged_in(a_person("wanda", project, keys.ensure_project("elsewhere")))


@pytest.fixture
def nobody(db):
    """Has an account, and belongs to no project."""
    return logged_in(a_person("nora"))


@pytest.fixture
def adam(project):
    """An admin of Alice's project."""
    return logged_in(a_person("adam", project, role="admin"))


@pytest.fixture
def root(project, superuser_of):
    """A superuser, who is an admin of Alice's project too."""
    user = superuser_of("root")
    Membership.objects.create(user=user, project=project, role="admin")
    return logged_in(user)


@pytest.fixture
def rita(project):
    """A reviewer of Alice's project."""
    return logged_in(a_person("rita", project, role="reviewer"))


@pytest.fixture
def rob(project):
    """Another one."""
    return logged_in(a_person("rob", project, role="reviewer"))


def words(page: Any) -> str:
    """The page's text."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


def misnamed(page: Any) -> list[tuple[str, str]]:
    """What can be pressed and is called otherwise than what stands on it: whoever speaks to it says what they see."""
    found = re.findall(r'<(button|summary|a)\b[^>]*aria-label="([^"]*)"[^>]*>(.*?)</\1>', page.text, re.DOTALL)
    said = [(name, " ".join(re.sub(r"<[^>]+>", " ", shown).split())) for _, name, shown in found]
    return [(name, shown) for name, shown in said if shown.lower() not in name.lower()]


def post(client: Client, path: str, *, headers: Any = None, **form: Any) -> Any:
    """Sends a form as a page that shows it would."""
    if "csrftoken" not in client.cookies:
        client.get("/memories/", follow=True)
    return client.post(path, {"csrfmiddlewaretoken": client.cookies["csrftoken"].value, **form}, headers=headers or {})


@pytest.fixture
def held(alice):
    """What Alice's user said."""
    return stored(alice.principal, "acme:main", "The budget is $750.", source="user_explicit", claim=budget("$750"))


def budget(value, subject="lisbon"):
    return ClaimDraft(subject, "budget", value)


@pytest.fixture
def challenge(held, bob, principal):
    """A document that says otherwise; answers its conflict."""

    def say(value="$0", *, by=bob.principal, source_id="", subject="lisbon", **more):
        content = more.pop("content", f"The budget is {value}.")
        wish = {"source": "document", "claim": budget(value, subject), "provenance_source_id": source_id, **more}
        row = stored(by, "acme:main", content, **wish)
        with access.enter(principal, why="test"):
            return PendingConflict.objects.get(newcomer=row)

    return say


def now_is(principal, conflict):
    """The conflict as it is now, with the status of both sides."""
    with access.enter(principal, why="test"):
        row = PendingConflict.objects.select_related("newcomer", "existing").get(id=conflict.id)
        return row.resolution, row.newcomer.status, row.existing.status


def decide(client, conflict, action, **more):
    return post(client, "/review/decide/", item=f"{conflict.id}:{conflict.revision}", action=action, **more)


@pytest.fixture
def work(principal):
    """Runs what is queued, and what that queues."""

    def do():
        while queued := _queued(principal):
            for operation_id in queued:
                jobs.run(principal, operation_id)

    return do


def _queued(principal):
    with access.enter(principal, why="test"):
        return list(Operation.objects.filter(state="queued").values_list("id", flat=True))


@pytest.fixture
def backup(adam, store, principal, work):
    """One of a memory that is gone since."""
    row = store("acme:main", "The heron nests behind the mill.")
    assert post(adam, "/backups/", policy="full").status_code == 303
    work()
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=row.id).delete()
        return Backup.objects.get()
