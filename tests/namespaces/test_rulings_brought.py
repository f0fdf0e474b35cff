"""Rulings that a merge brings, in the namespace and in its users' scopes, go with it when it is taken back."""

import pytest

from conflicts.rulings import ruled_on
from memories import access
from memories.models import Claim, Namespace
from tests.namespaces.conftest import MAIN, SIDE

CODE = {"subject": "door", "predicate": "code"}
PLACES = [None, "ann"]


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def claim_code(alice, agent_of, project):
    """Claims the code of the door, as the user or as a document; what became of it."""
    agents = {"user_explicit": alice, "document": agent_of(project, owner="doc", ceiling="document")}

    def post(value, user, *, source="document", namespace=MAIN):
        body = {"namespace": namespace, "content": f"The code is {value}.", "claim": {**CODE, "value": value}}
        body |= {"provenance": {"source": source}} | ({"user": user} if user else {})
        answer = agents[source].client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201, answer.content
        return answer.json()

    return post


@pytest.fixture
def rejected(claim_code, carol, fork):
    """In the branch 99Z was ruled out, for everybody and for Ann."""
    for user in PLACES:
        claim_code("11A", user, source="user_explicit")
    fork()
    for user in PLACES:
        asked = {"user": user} if user else {}
        (conflict,) = claim_code("99Z", user, namespace=SIDE)["pending_conflicts"]
        path = f"/api/v1/conflicts/{conflict['id']}"
        body = {"action": "reject", "revision": carol.client.get(path, asked).json()["revision"], **asked}
        assert carol.client.post(f"{path}/resolve", body, format="json").status_code == 200


def listed(agent, **query):
    answer = agent.client.get("/api/v1/rulings", query)
    assert answer.status_code == 200, answer.content
    return [(row["namespace"], row["user"]) for row in answer.json()["results"]]


@pytest.mark.parametrize("branch_is_gone", [False, True])
def test_undone_with_the_merge(claim_code, rejected, merge, undo, principal, place_of, carol, branch_is_gone):
    done = merge()
    assert set(listed(carol, namespace=MAIN, all_users=True)) == {(MAIN, None), (MAIN, "ann")}
    if branch_is_gone:
        with access.enter(principal, why="test"):
            Namespace.objects.filter(name__startswith=SIDE).delete()
    assert undo(done).state == "succeeded"
    assert listed(carol, namespace=MAIN, all_users=True) == []
    assert [claim_code("99Z", user)["status"] for user in PLACES] == ["quarantined", "quarantined"]


def test_what_merges_bring_binds_in_the_scopes_until_then(claim_code, rejected, merge):
    merge()
    assert [claim_code("99Z", user)["status"] for user in PLACES] == ["archived", "archived"]


def test_listed_for_one_user_or_for_all(rejected, carol):
    everybody = {(SIDE, None), (SIDE, "ann")}
    assert listed(carol) == listed(carol, namespace=SIDE) == [(SIDE, None)]
    assert set(listed(carol, namespace=SIDE, user="ann")) == set(listed(carol, user="ann")) == everybody
    assert set(listed(carol, all_users=True)) == everybody
    spelled = {"subject": "Door", "predicate": "Code"}
    assert set(listed(carol, namespace=SIDE, all_users=True, **spelled)) == everybody
    assert listed(carol, all_users=True, subject="window") == []


def test_known_beside_a_memory_of_a_user(rejected, principal):
    with access.enter(principal, why="test"):
        out = list(Claim.objects.within(principal.project_id).filter(value="99Z").values_list("fragment_id", flat=True))
        assert len(out) == 2
        assert set(ruled_on(principal, out)) == set(out)
