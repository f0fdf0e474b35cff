"""Namespaces over the API: pages by name, and the language by which their words are stemmed."""

import uuid

import pytest

from memories import access, jobs
from memories.models import Namespace
from memories.models.sql import fetch
from memories.operations import BadOptions

URL = "/api/v1/namespaces"


def test_pages_hold_every_namespace_once(alice):
    for number in range(5):
        alice.client.post(URL, {"name": f"acme:n{number}"}, format="json")
    first = alice.client.get(URL, {"limit": 2}).json()
    assert [row["name"] for row in first["results"]] == ["acme:n0", "acme:n1"]
    assert first["previous"] is None
    second = alice.client.get(first["next"]).json()
    third = alice.client.get(second["next"]).json()
    assert [row["name"] for row in (*second["results"], *third["results"])] == ["acme:n2", "acme:n3", "acme:n4"]
    assert third["next"] is None
    assert alice.client.get(third["previous"]).json()["results"] == second["results"]
    assert alice.client.get(URL).json()["next"] is None


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"cursor": "x"}, {"what": 1}])
def test_nonsense_is_refused(alice, query):
    assert alice.client.get(URL, query).status_code == 400


def words(principal):
    """Return the stems of all that is kept, for each memory."""
    with access.enter(principal, why="test"):
        return [set(found) for (found,) in fetch("SELECT tsvector_to_array(words) FROM memories_keywords", [])]


def test_a_namespace_is_made_in_a_language_or_gets_another_one(alice, principal):
    made = alice.client.post(URL, {"name": "acme:main", "language": "german"}, format="json").json()
    assert made["language"] == "german"
    again = alice.client.post(URL, {"name": "acme:main", "language": "french"}, format="json").json()
    assert again["language"] == "german"
    for user in (None, "ann"):
        body = {"namespace": "acme:main", "content": "Die Häuser stehen am See.", **({"user": user} if user else {})}
        alice.client.post("/api/v1/fragments", body, format="json")
    assert [{"haus", "häuser"} & found for found in words(principal)] == [{"haus"}, {"haus"}]
    changed = alice.client.patch(URL, {"name": "acme:main", "language": "simple"}, format="json").json()
    assert (changed["language"], changed["archive_policy"]) == ("simple", "episodic")
    assert jobs.run(principal, uuid.UUID(changed["operation"])).state == "succeeded"
    assert [{"haus", "häuser"} & found for found in words(principal)] == [{"häuser"}, {"häuser"}]
    same = alice.client.patch(URL, {"name": "acme:main", "language": "simple"}, format="json").json()
    assert same["operation"] is None


def test_a_language_that_there_is_not_is_named(alice):
    for send in (alice.client.post, alice.client.patch):
        answer = send(URL, {"name": "acme:main", "language": "klingon"}, format="json")
        assert (answer.status_code, "german" in str(answer.json())) == (400, True)
    assert Namespace.objects.count() == 0


def test_a_change_of_nothing_is_refused(alice):
    alice.client.post(URL, {"name": "acme:main"}, format="json")
    answer = alice.client.patch(URL, {"name": "acme:main"}, format="json")
    assert (answer.status_code, "archive_policy" in str(answer.json())) == (400, True)


def test_no_language_is_set_whose_keywords_cannot_be_built(alice, monkeypatch):
    made = alice.client.post(URL, {"name": "acme:main"}, format="json").json()

    def refuse(*_, **__):
        raise BadOptions("options", "no")

    monkeypatch.setattr(jobs, "start", refuse)
    assert alice.client.patch(URL, {"name": "acme:main", "language": "german"}, format="json").status_code == 400
    assert alice.client.get(URL).json()["results"] == [made]
    assert made["language"] != "german"


def test_only_an_admin_changes_it(bob, alice):
    alice.client.post(URL, {"name": "acme:main"}, format="json")
    assert bob.client.patch(URL, {"name": "acme:main", "language": "german"}, format="json").status_code == 403
