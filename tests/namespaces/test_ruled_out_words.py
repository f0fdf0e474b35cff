"""What a branch brings that a person ruled out in the target meanwhile: by when the user said it."""

import pytest

from conflicts.public import ClaimDraft
from tests.conftest import stored
from tests.namespaces.conftest import MAIN, SIDE


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def say(alice):
    """Alice's user says where Ann lives."""

    def write(city, *, where=SIDE, claims=True, key=""):
        body = {"namespace": where, "content": f"Ann's city is {city}.", "provenance": {"source": "user_explicit"}}
        body |= {"claim": {"subject": "ann", "predicate": "city", "value": city}} if claims else {}
        answer = alice.client.post("/api/v1/fragments", body | ({"key": key} if key else {}), format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return write


@pytest.fixture
def rule(alice, bob, carol):
    """A document says Rome in the target, over what the user said there, and a person accepts that."""

    def decide():
        rome = ClaimDraft("ann", "city", "Rome")
        stored(bob.principal, MAIN, "Ann's city is Rome.", claim=rome, source="document")
        (conflict,) = carol.client.get("/api/v1/conflicts", {"namespace": MAIN}).json()["results"]
        wish = {"action": "supersede", "revision": conflict["revision"]}
        answer = carol.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", wish, format="json")
        assert answer.status_code == 200, answer.json()

    return decide


def standing(agent):
    rows = agent.client.get("/api/v1/claims", {"namespace": MAIN, "subject": "ann"}).json()["results"]
    return sorted(row["value"] for row in rows if row["status"] == "active")


def waiting(agent):
    return agent.client.get("/api/v1/conflicts", {"namespace": MAIN}).json()["results"]


@pytest.mark.parametrize("claims", [True, False])
@pytest.mark.parametrize("only", [True, False])
def test_what_was_said_before_the_ruling_stays_out_and_is_counted(carol, say, rule, merge, undo, only, claims):
    said = say("Oslo", claims=claims)
    say("Oslo", where=MAIN)
    rule()
    more = {"only": [said["id"]]} if only else {}
    for done in (merge(dry_run=True, **more), merge(**more)):
        assert done.report["counts"] | {"added": 0, "conflicting": 0, "skipped": 1} == done.report["counts"]
        assert done.report["skipped_because"] == {"precedent_rejected": 1}
    assert (standing(carol), waiting(carol)) == (["Rome"], [])
    (ruling,) = carol.client.get("/api/v1/rulings", {"namespace": MAIN}).json()["results"]
    assert ruling["repeats"] == 1
    assert undo(done).state == "succeeded"
    assert standing(carol) == ["Rome"]


@pytest.mark.parametrize("keyed", [False, True])
def test_what_the_user_said_after_the_ruling_stands_beside_it_and_conflicts(carol, say, rule, merge, keyed):
    say("Oslo", where=MAIN)
    rule()
    if keyed:
        say("Bern", where=MAIN, key="home")
    said = say("Oslo", key="home" if keyed else "")
    for done in (merge(dry_run=True), merge()):
        assert done.report["counts"] | {"added": 0, "conflicting": 1, "skipped": 0} == done.report["counts"]
        assert list(done.report["sources"].values()) == [said["id"]]
    assert standing(carol) == ["Oslo", "Rome"]
    assert len(waiting(carol)) == 1


def test_a_text_that_was_rewritten_after_the_ruling_was_said_then(alice, carol, say, rule, merge):
    said = say("Bern")
    say("Oslo", where=MAIN)
    rule()
    claim = {"subject": "ann", "predicate": "city", "value": "Oslo"}
    changes = {"content": "Ann's city is Oslo.", "claim": claim}
    answer = alice.client.patch(f"/api/v1/fragments/{said['id']}", changes, format="json")
    assert answer.status_code == 200, answer.json()
    assert merge().report["counts"]["conflicting"] == 1
    assert standing(carol) == ["Oslo", "Rome"]
    assert len(waiting(carol)) == 1


@pytest.mark.parametrize("said_later", [False, True])
def test_what_returns_from_the_archive_was_said_when_it_was_written(alice, carol, say, rule, said_later):
    say("Oslo", where=MAIN)
    put_away = say("Bern" if said_later else "Oslo", where=MAIN, key="old")
    if not said_later:
        assert alice.client.post(f"/api/v1/fragments/{put_away['id']}/archive", {}, format="json").status_code == 200
    rule()
    if said_later:
        say("Oslo", where=MAIN, key="old")
        assert alice.client.post(f"/api/v1/fragments/{put_away['id']}/archive", {}, format="json").status_code == 200
        assert standing(carol) == ["Rome"]
    alice.client.post(f"/api/v1/fragments/{put_away['id']}/unarchive", {}, format="json")
    assert standing(carol) == (["Oslo", "Rome"] if said_later else ["Rome"])
    assert len(waiting(carol)) == said_later
