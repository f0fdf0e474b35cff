"""/namespaces/NAME/comparison/: what two namespaces believe otherwise, ticked and merged in part."""

import pytest

from conflicts.public import ClaimDraft
from memories import access, jobs
from memories.models import Fragment, Operation
from tests.console.conftest import post, words


@pytest.fixture
def two(store):
    """A namespace and another one that says something else."""
    store("acme:main", "The budget is $5.", claims=[ClaimDraft("lisbon", "budget", "$5")])
    store("acme:main", "The limit is 7.", claims=[ClaimDraft("lisbon", "limit", "7")])
    store("acme:side", "The budget is $1.", claims=[ClaimDraft("lisbon", "budget", "$1")])
    store("acme:side", "The limit is 7.", claims=[ClaimDraft("lisbon", "limit", "7")])
    store("acme:side", "The speed is 3.", claims=[ClaimDraft("lisbon", "speed", "3")])


@pytest.mark.usefixtures("two")
def test_it_names_what_differs_and_what_is_ticked_is_merged(adam, principal):
    page = adam.get("/namespaces/acme:side/comparison/", {"other": "acme:main"})
    assert "lisbon · budget $1 $5 lisbon · speed 3 nothing" in words(page)
    assert "limit" not in words(page)
    with access.enter(principal, why="test"):
        wanted = Fragment.objects.get(namespace__name="acme:side", content="The speed is 3.").id
    led = post(adam, "/namespaces/acme:side/merge/", step="look", target="acme:main", only=str(wanted))
    with access.enter(principal, why="test"):
        plan = Operation.objects.get(kind="merge")
    assert plan.options == {"source": "acme:side", "only": [str(wanted)]}
    jobs.run(principal, plan.id)
    page = adam.get(led.url)
    assert "just the 1 memory that you ticked" in words(page)
    assert "Only there: come in 1 The speed is 3." in words(page)
    post(adam, "/namespaces/acme:side/merge/", step="merge", target="acme:main", preview=str(plan.id))
    with access.enter(principal, why="test"):
        run = Operation.objects.get(kind="merge", dry_run=False)
    ended = jobs.run(principal, run.id)
    assert (ended.state, ended.report["counts"]["added"]) == ("succeeded", 1)


@pytest.mark.usefixtures("two")
def test_viewers_look_and_strangers_see_nothing(vera):
    page = vera.get("/namespaces/acme:side/comparison/?other=acme:main")
    assert "lisbon · budget" in words(page)
    assert 'name="only"' not in page.text
    assert vera.get("/namespaces/acme:side/comparison/?other=acme:nowhere").status_code == 404
    assert vera.get("/namespaces/acme:nowhere/comparison/").status_code == 404


def test_where_there_is_nothing_to_compare(vera, store):
    store("acme:main", "The heron nests.")
    assert "There is no other namespace" in words(vera.get("/namespaces/acme:main/comparison/"))
    store("acme:side", "The heron nests.")
    assert "Both believe the same." in words(vera.get("/namespaces/acme:main/comparison/"))
