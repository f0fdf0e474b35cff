"""/notices/: which answers carried what does not hold any more, for everybody who reads."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import access
from memories.models import Fragment
from tests.console.conftest import budget, decide, post, words


def ask(agent, query="budget"):
    answer = agent.client.post("/api/v1/context", {"query": query, "namespace": "acme:main"}, format="json")
    assert answer.status_code == 200


@pytest.fixture
def outdated(alice, bob, store):
    """Bob was told $750, which $900 took the place of since."""
    old = store("acme:main", "The budget is $750.", by=alice.principal, source="document", claim=budget("$750"))
    ask(bob)
    new = store("acme:main", "The budget is $900.", by=alice.principal, source="tool_output", claim=budget("$900"))
    return old, new


def test_it_says_what_notices_are_where_there_are_none(vera):
    page = words(vera.get("/notices/"))
    assert "No notice yet" in page
    assert "A receipt is kept of each answer" in page


@pytest.mark.parametrize("role", ["vera", "rita", "adam"])
def test_everybody_reads_what_changed_what_holds_and_who_was_told(request, outdated, bob, role):
    old, new = outdated
    page = request.getfixturevalue(role).get("/notices/")
    text = words(page)
    assert "replaced The budget is $750. just now" in text
    assert "What holds now: The budget is $900." in text
    assert f"Carried by the answer to bob {bob.row} just now in acme:main" in text
    for row in (old, new):
        assert f'href="/memories/{row.id}/"' in page.text


def test_a_list_is_narrowed_down(vera, outdated, store):
    store("acme:other", "Herons nest.")
    for query in ("?reason=superseded", "?namespace=acme:main", "?reason=superseded&namespace=acme:main"):
        assert "The budget is $750." in words(vera.get(f"/notices/{query}"))
    for query in ("?reason=disputed", "?namespace=acme:other"):
        page = words(vera.get(f"/notices/{query}"))
        assert "No notice with these filters" in page
        assert "$750" not in page


@pytest.mark.parametrize("query", ["reason=weather", "namespace=acme:nowhere", "namespace=elsewhere:main", "cursor=x"])
def test_what_is_no_filter_is_not_found(vera, outdated, query):
    assert vera.get(f"/notices/?{query}").status_code == 404


def test_many_notices_take_as_many_queries_as_few(vera, outdated, alice, bob, store):
    vera.get("/notices/")

    def query_count():
        with CaptureQueriesContext(connection) as seen:
            assert vera.get("/notices/").status_code == 200
        return len(seen)

    few = query_count()
    for value in ("$1,000", "$1,100"):
        ask(alice), ask(bob)
        store("acme:main", f"The budget is {value}.", by=alice.principal, source="tool_output", claim=budget(value))
    assert words(vera.get("/notices/")).count("What holds now") == 5
    assert query_count() == few


@pytest.mark.usefixtures("outdated")
def test_other_projects_see_nothing(carl):
    assert "No notice yet" in words(carl.get("/notices/"))


def test_what_stands_again_and_does_not_any_more(vera, principal, bob, store):
    row = store("acme:main", "The heron nests behind the mill.")
    ask(bob, "heron")

    def change(**values):
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id=row.id).update(**values)

    change(status="disputed")
    change(status="active")
    assert "By now it is active." in words(vera.get("/notices/?reason=disputed"))
    assert "stands again The heron nests behind the mill." in words(vera.get("/notices/?reason=restored"))
    change(status="archived")
    assert "By now it is archived." in words(vera.get("/notices/?reason=restored"))


def test_what_a_decision_replaced_holds_again_once_that_is_undone(vera, rita, held, challenge, bob):
    ask(bob)
    decide(rita, challenge("$0"), "accept")
    assert "What holds now: The budget is $0." in words(vera.get("/notices/?reason=superseded"))
    post(rita, "/review/undo/")
    text = words(vera.get("/notices/?reason=superseded"))
    assert "What holds now" not in text
    assert "By now it is active." in text


def test_what_was_replaced_again_leads_to_what_holds(vera, outdated, alice, store):
    store("acme:main", "The budget is $1,000.", by=alice.principal, source="tool_output", claim=budget("$1,000"))
    assert "What holds now: The budget is $1,000." in words(vera.get("/notices/"))


def test_a_forgotten_memory_leaves_no_notice(vera, adam, outdated, alice):
    old, new = outdated
    assert alice.client.delete(f"/api/v1/fragments/{new.id}").status_code == 204
    page = words(vera.get("/notices/"))
    assert "$900" not in page
    alice.client.delete(f"/api/v1/fragments/{old.id}")
    assert "$750" not in words(vera.get("/notices/"))
