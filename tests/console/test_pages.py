"""Every page of the console: opens for whom it is meant, for nobody else, and asks a known number of queries."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conflicts.public import ClaimDraft
from tests.conftest import stored

# Path and the number of queries that it takes an admin, whatever the project holds.
PAGES = {
    "/": 41,
    "/review/": 61,
    "/cases/": 38,
    "/cases/?pattern=budget": 46,
    "/notices/": 18,
    "/notices/?reason=superseded&namespace=acme:main": 18,
    "/proposals/": 25,
    "/proposals/?namespace=acme:main&kind=supersession": 25,
    "/memories/": 27,
    "/memories/?q=budget&why=1": 36,
    "/beliefs/": 22,
    "/beliefs/?subject=lisbon&predicate=budget&day=2026-01-01": 49,
    "/beliefs/?subject=lisbon&predicate=budget&axis=record": 46,
    "/context/": 16,
    "/context/?q=budget": 29,
    "/consolidation/": 19,
    "/thresholds/": 38,
    "/backups/": 28,
    "/namespaces/": 27,
    "/namespaces/acme:main/merge/": 25,
    "/namespaces/acme:main/comparison/": 21,
    "/recall/": 26,
    "/health/": 40,
    "/rollbacks/": 21,
    "/timeline/": 21,
    "/timeline/changes/?since=2026-01-01T00:00:00Z": 31,
    "/tombstones/": 16,
    "/operations/": 15,
    "/operations/?run=compact": 22,
    "/audit/": 28,
    "/agents/": 18,
    "/containments/": 17,
    "/webhooks/": 21,
    "/connect/": 20,
}
ADMINS = (
    "/thresholds/",
    "/backups/",
    "/namespaces/acme:main/merge/",
    "/audit/",
    "/agents/",
    "/containments/",
    "/rollbacks/",
    "/webhooks/",
)


@pytest.fixture
def world(alice, bob, contradict):
    """A held belief, its challenger, and memories beside them, of which one may outdate the other."""
    for by, value, source in ((alice, "$750", "user_explicit"), (bob, "$0", "document")):
        claim = ClaimDraft("lisbon", "budget", value)
        stored(by.principal, "acme:main", f"The budget is {value}.", source=source, claim=claim)
    herons = ("The heron nests behind the mill.", "The heron no longer nests behind the mill.")
    contradict(*(stored(alice.principal, "acme:main", text) for text in herons))


@pytest.mark.examples
@pytest.mark.parametrize("path", PAGES)
def test_it_opens_and_asks_as_many_queries_for_many(adam, world, alice, path):
    adam.get(path)

    def query_count():
        with CaptureQueriesContext(connection) as seen:
            assert adam.get(path).status_code == 200
        return len(seen)

    few = query_count()
    for n in range(4):
        stored(alice.principal, "acme:main", f"Another memory of number {n}.")
    assert query_count() == few == PAGES[path]


@pytest.mark.examples
@pytest.mark.parametrize("path", PAGES)
def test_viewers_see_no_form_that_changes_anything(vera, world, path):
    page = vera.get(path)
    assert page.status_code == (403 if path in ADMINS else 200)
    assert "csrfmiddlewaretoken" not in page.text.partition('<main id="main"')[2]


@pytest.mark.parametrize("path", PAGES)
def test_who_is_not_logged_in_is_asked_to(anonymous, path):
    assert anonymous.get(path)["Location"].startswith("/login/")
