"""What a containment in force reaches comes out of a backup contained, and belief is as if it had not been written."""

import pytest
from django.utils import timezone

from memories import access
from memories.containment import by_owner, contain, undo
from memories.models import Fragment, Namespace

KEY = {"subject": "gate", "predicate": "opening"}
HONEST, STOLEN, ASIDE = "The gate opens at 8.", "The gate opens at 9.", "The gate code is 9999."


@pytest.fixture
def mallory(project, agent_of):
    """A tool whose key was stolen."""
    return agent_of(project, owner="mallory")


@pytest.fixture
def told(project, agent_of):
    """Stores a memory by an agent, with a value of the key if any."""
    paper = agent_of(project, owner="paper", ceiling="document")

    def say(content, value=None, *, by=paper, source="document"):
        claim = {"claim": {**KEY, "value": value}} if value else {}
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}, **claim}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()

    return say


@pytest.fixture
def stolen(told, mallory, back_up):
    """A backup from before anybody knew: the stolen key's value had replaced the document's."""
    told(HONEST, "08:00")
    told(STOLEN, "09:00", by=mallory, source="tool_output")
    told(ASIDE, by=mallory)
    return back_up()


@pytest.fixture
def contained(stolen, principal):
    """The containment of the stolen key's owner."""
    with access.enter(principal, why="test"):
        ground = by_owner(principal, "mallory")
    return contain(principal, ground, now=timezone.now())


def standing(principal):
    with access.enter(principal, why="test"):
        return dict(Fragment.objects.values_list("content", "status"))


@pytest.fixture
def lose(principal):
    """The memories are gone, the accounts and what was contained are not."""

    def away():
        with access.enter(principal, why="test"):
            Fragment.objects.all().delete()
            Namespace.objects.all().delete()

    return away


CONTAINED = {HONEST: "active", STOLEN: "quarantined", ASIDE: "quarantined"}


def test_what_comes_back_is_contained_and_can_be_taken_back(principal, stolen, contained, lose, restore):
    assert standing(principal) == CONTAINED
    lose()
    plan = restore(stolen, dry_run=True)
    assert (plan["insert"], plan["contained"]) == (3, 2)
    report = restore(stolen)
    assert (report["insert"], report["contained"]) == (3, 2)
    assert standing(principal) == CONTAINED
    undo(principal, contained.id, now=timezone.now())
    assert standing(principal) == {HONEST: "superseded", STOLEN: "active", ASIDE: "active"}


def test_what_stands_for_it_is_no_part_of_it(principal, stolen, contained, job):
    report = job("restore", backup_id=str(stolen.id), into="acme:side").report
    assert report["left_out"] == {"contained": 2}
    with access.enter(principal, why="test"):
        rows = Fragment.objects.filter(namespace__name="acme:side").values_list("content", flat=True)
        assert list(rows) == [HONEST]


def test_after_it_was_taken_back_nothing_is_contained(principal, stolen, contained, lose, restore):
    undo(principal, contained.id, now=timezone.now())
    lose()
    assert restore(stolen)["contained"] == 0
    assert standing(principal) == {HONEST: "superseded", STOLEN: "active", ASIDE: "active"}
