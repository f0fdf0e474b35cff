"""/review/: who else says so, what else is claimed of the same thing, and how often somebody repeated it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import stored
from tests.console.conftest import decide, words


@pytest.fixture
def three(agent_of, project):
    """Three owners who know nothing of each other."""
    return [agent_of(project, owner=name).principal for name in ("wiki", "crm", "chat")]


def test_challengers_of_one_value_name_each_other(rita, challenge, three):
    conflicts = [challenge("Seattle", by=one, source_id=f"s{n}") for n, one in enumerate(three)]
    text = words(rita.get(f"/review/{conflicts[0].id}/"))
    assert "Who agrees crm s1 (waits too); chat s2 (waits too)" in text
    assert "Who agrees nobody else" in text.partition("Challenger")[0]
    text = words(rita.get(f"/review/{conflicts[2].id}/"))
    assert "Who agrees wiki s0 (waits too); crm s1 (waits too)" in text


def test_other_values_that_wait_are_named(rita, challenge, three):
    alone = challenge("$9")
    assert "Also claimed" not in words(rita.get(f"/review/{alone.id}/"))
    decide(rita, alone, "reject")
    seattle, denver, portland = (challenge(v, by=one) for v, one in zip(("$1", "$2", "$3"), three, strict=True))
    page = rita.get(f"/review/{seattle.id}/")
    text = words(page)
    assert "Also claimed of this $2 by crm $3 by chat" in text
    assert f'href="/review/{denver.id}/"' in page.text
    assert f'href="/review/{portland.id}/"' in page.text


def test_plain_words_that_wait_are_among_the_candidates(rita, held, bob, challenge):
    conflict = challenge("$1")
    stored(bob.principal, "acme:main", "Lisbon's budget is $400.", source="document")
    assert "Also claimed of this $400 by bob" in words(rita.get(f"/review/{conflict.id}/"))


def test_what_one_owner_repeats_is_counted(rita, challenge, bob, count, held):
    conflict = challenge("$0", source_id="scraped")
    assert "Repeated" not in words(rita.get(f"/review/{conflict.id}/"))
    body = {
        "namespace": "acme:main",
        "content": "The budget is $0.",
        "claim": {"subject": "lisbon", "predicate": "budget", "value": "$0"},
        "provenance": {"source": "document", "source_id": "scraped"},
    }
    for _ in range(8):
        assert bob.client.post("/api/v1/fragments", body, format="json").json()["deduplicated"]
    text = words(rita.get(f"/review/{conflict.id}/"))
    assert "Repeated said 9 times by its owner" in text
    # A batch counts each.
    bob.client.post("/api/v1/fragments/batch", {"fragments": [body, body]}, format="json")
    assert "Repeated said 11 times by its owner" in words(rita.get(f"/review/{conflict.id}/"))


def test_another_owner_is_a_voice_and_no_repetition(rita, held, alice, bob, challenge):
    body = {
        "namespace": "acme:main",
        "content": "The budget is $750.",
        "claim": {"subject": "lisbon", "predicate": "budget", "value": "$750"},
        "provenance": {"source": "document"},
    }
    assert bob.client.post("/api/v1/fragments", body, format="json").json()["deduplicated"]
    text = words(rita.get(f"/review/{challenge('$0').id}/"))
    assert "Repeated" not in text
    assert "Who agrees bob" in text


@pytest.mark.long
def test_many_challengers_ask_no_more(rita, challenge, agent_of, project):
    first = challenge("$1")
    rita.get(f"/review/{first.id}/")

    def query_count():
        with CaptureQueriesContext(connection) as queries:
            assert rita.get(f"/review/{first.id}/").status_code == 200
        return len(queries)

    few = query_count()
    for n in range(4):
        challenge("$1", by=agent_of(project, owner=f"o{n}").principal)
        challenge(f"${n + 3}", source_id=f"s{n}")
    assert query_count() == few
