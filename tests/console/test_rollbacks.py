"""/rollbacks/: a namespace as it was, planned first."""

import datetime

import pytest
from django.utils import timezone

from memories import access, jobs
from memories.models import Operation
from tests.console.conftest import post, words


def run(principal, **which):
    with access.enter(principal, why="test"):
        operation = Operation.objects.filter(kind="rollback", state="queued", **which).get()
    return jobs.run(principal, operation.id)


@pytest.fixture
def planned(adam, store, principal):
    """A plan to before a memory was stored, and the page that leads on."""
    at = timezone.now()
    store("acme:main", "The heron nests behind the mill.")
    answer = post(adam, "/rollbacks/", namespace="acme:main", to=(at - datetime.timedelta(days=1)).isoformat())
    assert answer.status_code == 409
    return answer


def test_a_time_before_the_namespace_is_refused(planned):
    assert "The namespace was made later." in words(planned)


def test_it_is_planned_run_and_taken_back(adam, store, principal):
    store("acme:main", "The otter fishes by night.")
    answer = post(adam, "/rollbacks/", namespace="acme:main", to=timezone.now().isoformat())
    assert answer.status_code == 303
    plan = run(principal, dry_run=True)
    assert plan.state == "succeeded", plan.error
    page = adam.get(answer.url)
    assert "Rollback: preview" in words(page)
    assert "Came since: are archived 0" in words(page)
    assert "Run this plan" in words(page)
    led = post(adam, f"/rollbacks/{plan.id}/run/")
    assert led.status_code == 302
    done = run(principal, dry_run=False)
    assert done.options["plan_id"] == str(plan.id)
    assert "Undo" in words(adam.get(f"/operations/{done.id}/"))
    assert "acme:main" in words(adam.get("/rollbacks/"))
    assert "Run this plan" not in words(adam.get(answer.url))


def test_what_a_form_must_say(adam, store):
    store("acme:main", "The otter fishes by night.")
    assert "Say to when." in words(post(adam, "/rollbacks/", namespace="acme:main", to="soon"))
    assert "Choose a namespace." in words(post(adam, "/rollbacks/", to="2026-01-01T00:00"))
    assert "Give a time that is over." in words(post(adam, "/rollbacks/", namespace="acme:main", to="2999-01-01T00:00"))
    assert post(adam, "/rollbacks/", namespace="acme:nowhere", to="2026-01-01T00:00").status_code == 404


def test_from_the_timeline_it_begins_a_moment_before(adam, store):
    store("acme:main", "The otter fishes by night.")
    page = adam.get("/rollbacks/", {"namespace": "acme:main", "to": "2026-03-01T10:00:00.123456+02:00"}).text
    assert 'value="2026-03-01T08:00:00.123"' in page
    assert "<option selected>acme:main</option>" in page


def test_only_admins(rita):
    assert rita.get("/rollbacks/").status_code == 403
