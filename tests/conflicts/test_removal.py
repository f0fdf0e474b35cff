"""What the gate lets nobody of equal authority replace, nobody of equal authority removes to make room for itself."""

import pytest
from django.utils import timezone

from memories import access, erasure
from memories.models import Fragment

FRAGMENTS = "/api/v1/fragments"
CEO = {"subject": "firm", "predicate": "ceo"}
REMOVALS = {
    "forget": lambda agent, row: agent.client.delete(f"{FRAGMENTS}/{row['id']}"),
    "archive": lambda agent, row: agent.client.post(f"{FRAGMENTS}/{row['id']}/archive", {}, format="json"),
    "mem0": lambda agent, row: agent.client.delete(f"/compat/mem0/v1/memories/{row['id']}/"),
}


@pytest.fixture(params=["user_explicit", "tool_output"])
def rank(request):
    return request.param


@pytest.fixture
def writer(agent_of, project, rank):
    """Makes keys of that ceiling, each with an owner of its own."""
    return lambda owner, **more: agent_of(project, owner=owner, ceiling=rank, **more)


def say(agent, value, rank, **more):
    body = {"namespace": "acme:main", "content": f"The ceo of the firm is {value}.", "provenance": {"source": rank}}
    body |= {"claim": {**CEO, "value": value}, **more}
    answer = agent.client.post(FRAGMENTS, body, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


def believed(agent):
    found = agent.client.get("/api/v1/claims", {"namespace": "acme:main", **CEO}).json()["results"]
    return [one["value"] for one in found]


@pytest.mark.parametrize("way", REMOVALS)
@pytest.mark.parametrize("verbs", [["read", "write"], ["read", "write", "review"]])
def test_an_equal_does_not_settle_its_own_conflict_by_removing_what_stands(writer, rank, way, verbs):
    ursula, eve = writer("ursula"), writer("eve", verbs=verbs)
    standing = say(ursula, "Ada", rank)
    assert say(eve, "Mallory", rank)["status"] == "quarantined"
    assert REMOVALS[way](eve, standing).status_code == 403
    assert believed(ursula) == ["Ada"]


@pytest.mark.parametrize("way", REMOVALS)
def test_an_equal_makes_no_room_beforehand(writer, rank, way):
    ursula, eve = writer("ursula"), writer("eve")
    standing = say(ursula, "Ada", rank)
    assert REMOVALS[way](eve, standing).status_code == 403
    assert believed(ursula) == ["Ada"]


@pytest.mark.parametrize("way", REMOVALS)
def test_its_owner_and_a_reviewer_remove_it(writer, rank, way):
    ursula, rita = writer("ursula"), writer("rita", verbs=["read", "write", "review"])
    for agent in (ursula, rita):
        standing = say(ursula, f"Ada of {agent.key[:9]}", rank)
        assert REMOVALS[way](agent, standing).status_code < 300
        assert believed(ursula) == []


@pytest.mark.parametrize("way", REMOVALS)
def test_what_claims_nothing_and_what_waits_an_equal_may_remove(writer, rank, way):
    ursula, eve = writer("ursula"), writer("eve")
    body = {"namespace": "acme:main", "content": "Herons, otters and reeds.", "provenance": {"source": rank}}
    plain = ursula.client.post(FRAGMENTS, body, format="json").json()
    say(eve, "Ada", rank)
    for row in (plain, say(ursula, "Mallory", rank)):
        assert REMOVALS[way](eve, row).status_code < 300


@pytest.mark.parametrize("rank", ["user_explicit"], indirect=True)
def test_the_operator_removes_what_somebody_disputes(writer, agent_of, project, principal, rank):
    standing = say(writer("ursula"), "Ada", rank)
    weak = agent_of(project, owner="weak", ceiling="inference")
    weak.client.post(f"{FRAGMENTS}/{standing['id']}/dispute", {"reason": "No."}, format="json")
    operator = access.system_principal(project, ceiling=rank)
    erasure.forget(operator, standing["id"], now=timezone.now())
    with access.enter(principal, why="test"):
        assert not Fragment.objects.filter(id=standing["id"]).exists()
