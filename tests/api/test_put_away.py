"""A memory of whose text compaction left nothing: no door hands its placeholder to an agent."""

import datetime

import pytest

from memories import access
from memories.language.abridgement import ARCHIVED
from memories.models import Fragment

SAYS = "I previously knew about heron and mill with Ada Byron around"
QUERY = "Where does the heron nest?"


@pytest.fixture
def put_away(store, principal):
    """A memory that is only its vector by now."""
    who = [{"text": "Ada Byron", "label": "person", "confidence": 0.9}]
    row = store("acme:main", f"{QUERY} Behind the mill.", topics=["heron", "mill"], entities=who, source_type="atlas")
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=row.id).update(content=ARCHIVED, compression="hash")
    return row


DOORS = {
    "search": ("api/v1/search", {"namespace": "acme:main", "query": QUERY, "floor": 0}),
    "context": ("api/v1/context", {"namespace": "acme:main", "query": QUERY, "floor": 0}),
    "context in xml": ("api/v1/context", {"namespace": "acme:main", "query": QUERY, "floor": 0, "format": "xml"}),
    "atlas": ("api/v1/bridges/atlas/enrich", {"namespace": "acme:main", "query": QUERY}),
    "taste vault": ("api/v1/bridges/taste-vault/supplement", {"namespace": "acme:main", "context": QUERY}),
}


@pytest.mark.parametrize("door", DOORS)
def test_it_says_what_it_was_about(door, alice, put_away):
    path, body = DOORS[door]
    answer = alice.client.post(f"/{path}", body, format="json")
    assert answer.status_code == 200, answer.content
    assert SAYS in answer.content.decode()
    assert ARCHIVED not in answer.content.decode()


def test_by_its_id_too(alice, put_away):
    told = alice.client.get(f"/api/v1/fragments/{put_away.id}").json()
    assert (told["content"].startswith(SAYS), told["compression"]) == (True, "hash")
    assert alice.client.get(f"/compat/mem0/v1/memories/{put_away.id}/").json()["memory"].startswith(SAYS)


def test_of_nothing_known_it_invents_nothing():
    row = Fragment(compression="hash", content=ARCHIVED, event_at=datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC))
    assert row.shown == "I previously knew about something around March 2026, but its words were put away to save room."
