"""Provenance, trust and feedback, promise by promise."""

import uuid

import pytest

from memories import access
from memories.models import Fragment

URL = "/api/v1/fragments"
WEIGHTS = {
    "user_explicit": 1.0,
    "system": 0.95,
    "tool_output": 0.85,
    "user_implicit": 0.7,
    "document": 0.6,
    "inference": 0.5,
}
TEXT = "The heron nests behind the old mill."


@pytest.fixture
def told(alice):
    """What Alice told, under a source class."""

    def post(source=None, content=TEXT):
        body = {"namespace": "acme:main", "content": content, **({"provenance": {"source": source}} if source else {})}
        answer = alice.client.post(URL, body, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()

    return post


@pytest.fixture
def others(project, agent_of):
    """Agents of as many other owners, tools like Bob."""

    def issue(number):
        return [agent_of(project, owner=f"other {n}") for n in range(number)]

    return issue


def vote(agent, fragment, ballot, *, status=200, **body):
    answer = agent.client.post(f"{URL}/{fragment['id']}/{ballot}", body, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


class TestFeature2:
    """Feature 2."""

    @pytest.mark.parametrize("source", WEIGHTS)
    def test_store_with_provenance_computes_trust(self, told, source):
        body = told(source)
        assert body["provenance"]["source"] == source
        assert body["trust"] == body["provenance"]["trust"] == pytest.approx(WEIGHTS[source])

    def test_user_explicit_is_trusted_more_than_inference(self, told):
        assert told("user_explicit")["trust"] > told("inference")["trust"]

    def test_corroborate_three_times_increases_trust(self, told, others):
        """Departs: three independent owners, each with a source of its own, not three calls."""
        fragment = told("document")
        seen = [
            vote(agent, fragment, "corroborate", source_id=f"book {n}")["trust"] for n, agent in enumerate(others(3))
        ]
        assert seen == pytest.approx([0.65, 0.7, 0.75])

    def test_dispute_below_threshold_makes_it_disputed(self, told, bob):
        """Departs: the threshold is .4, for .3 can't be reached."""
        body = vote(bob, told("inference"), "dispute", reason="I looked.")
        assert (body["status"], body["trust"]) == ("disputed", 0.35)

    def test_reinforce_increments_reinforcements_and_boosts_trust(self, told, bob):
        body = vote(bob, told("document"), "reinforce")
        assert (body["reinforcements"], body["trust"]) == (1, 0.75)

    def test_default_provenance_is_assigned_when_none_is_provided(self, told):
        """Departs: it also says who wrote it and with which authority."""
        body = told()["provenance"]
        assert (body["source"], body["corroboration"], body["trust"], body["authority"]) == ("inference", 1, 0.5, 1)
        assert body["owner"]

    def test_confidence_is_trust(self, alice, told):
        """Departs from the line (trust, strength, importance): confidence is trust."""
        fragment = told("tool_output")
        for importance in (0.1, 0.9):
            answer = alice.client.patch(f"{URL}/{fragment['id']}", {"importance": importance}, format="json").json()
            assert answer["confidence"] == answer["trust"] == 0.85


class TestPrompt3:
    """Prompt 3, without the lines that feature 2 has too."""

    def test_dispute_increments_disputes(self, told, bob):
        assert vote(bob, told("document"), "dispute")["disputes"] == 1

    def test_dispute_recomputes_trust_lower(self, told, bob):
        body = vote(bob, told("document"), "dispute")
        assert (body["trust"], body["confidence"]) == (0.45, 0.45)

    def test_dispute_of_a_missing_memory_is_not_found(self, bob):
        """Departs: 404 instead of null; so do corroborate and reinforce."""
        assert vote(bob, {"id": uuid.uuid4()}, "dispute", status=404)["code"] == "not_found"

    def test_corroborate_increments_corroboration(self, told, bob):
        assert vote(bob, told("document"), "corroborate", source_id="a walk")["corroboration"] == 2

    def test_corroborate_recomputes_trust_higher(self, told, bob):
        assert vote(bob, told("document"), "corroborate", source_id="a walk")["trust"] == 0.65

    def test_corroborate_of_a_missing_memory_is_not_found(self, bob):
        assert vote(bob, {"id": uuid.uuid4()}, "corroborate", status=404)["code"] == "not_found"

    def test_reinforce_increments_reinforcements(self, told, others):
        """Departs: once per owner."""
        fragment, agents = told("document"), others(2)
        assert [vote(agent, fragment, "reinforce")["reinforcements"] for agent in [*agents, *agents]] == [1, 2, 2, 2]

    def test_reinforce_recomputes_confidence(self, told, bob):
        assert vote(bob, told("user_implicit"), "reinforce")["confidence"] == 0.85

    def test_several_disputes_drive_trust_below_threshold(self, told, bob, others):
        """Departs: votes are weighed as shares, (r − d)/(r + d), each owner's once."""
        fragment = told("inference")
        vote(bob, fragment, "reinforce")
        seen = [vote(agent, fragment, "dispute") for agent in others(6)]
        assert [body["trust"] for body in seen] == pytest.approx([0.5, 0.45, 0.425, 0.41, 0.4, 0.3929])
        assert [body["status"] for body in seen] == ["active"] * 5 + ["disputed"]

    def test_dispute_and_corroborate_balance_out(self, told, bob, others):
        fragment = told("inference")
        assert vote(bob, fragment, "dispute")["status"] == "disputed"
        seen = [vote(agent, fragment, "corroborate", source_id=f"book {n}") for n, agent in enumerate(others(3))]
        assert [body["trust"] for body in seen][1:] == pytest.approx([0.45, 0.5])
        assert (seen[-1]["status"], seen[-1]["disputes"], seen[-1]["corroboration"]) == ("active", 1, 4)


def test_age_lowers_trust_when_read_and_never_the_authority(told, alice, time_machine, now):
    fragment = told("tool_output")
    for days, trust in ((365 / 2, 0.8), (365, 0.75), (3650, 0.75)):
        time_machine.move_to(now.timestamp() + days * 86_400)
        answer = alice.client.get(f"{URL}/{fragment['id']}").json()
        assert (answer["trust"], answer["provenance"]["authority"]) == (pytest.approx(trust, abs=1e-4), 4)


def test_no_vote_raises_authority(told, others, principal):
    fragment = told("inference")
    for n, agent in enumerate(others(5)):
        vote(agent, fragment, "reinforce")
        vote(agent, fragment, "corroborate", source_id=f"book {n}")
    with access.enter(principal, why="test"):
        row = Fragment.objects.get(id=fragment["id"])
    assert (row.authority, row.corroboration, row.reinforcements) == (1, 6, 5)
