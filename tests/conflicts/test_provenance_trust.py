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
def store_fragment(alice):
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
    def test_store_with_provenance_computes_trust(self, store_fragment, source):
        body = store_fragment(source)
        assert body["provenance"]["source"] == source
        assert body["trust"] == body["provenance"]["trust"] == pytest.approx(WEIGHTS[source])

    def test_user_explicit_is_trusted_more_than_inference(self, store_fragment):
        assert store_fragment("user_explicit")["trust"] > store_fragment("inference")["trust"]

    def test_corroborate_three_times_increases_trust(self, store_fragment, others):
        """Departs: three independent owners, each with a source of its own, not three calls."""
        fragment = store_fragment("document")
        seen = [
            vote(agent, fragment, "corroborate", source_id=f"book {n}")["trust"] for n, agent in enumerate(others(3))
        ]
        assert seen == pytest.approx([0.65, 0.7, 0.75])

    def test_dispute_below_threshold_makes_it_disputed(self, store_fragment, bob):
        """Departs: the threshold is .4, for .3 can't be reached."""
        body = vote(bob, store_fragment("inference"), "dispute", reason="I looked.")
        assert (body["status"], body["trust"]) == ("disputed", 0.35)

    def test_reinforce_increments_reinforcements_and_boosts_trust(self, store_fragment, bob):
        body = vote(bob, store_fragment("document"), "reinforce")
        assert (body["reinforcements"], body["trust"]) == (1, 0.75)

    def test_default_provenance_is_assigned_when_none_is_provided(self, store_fragment):
        """Departs: it also says who wrote it and with which authority."""
        body = store_fragment()["provenance"]
        assert (body["source"], body["corroboration"], body["trust"], body["authority"]) == ("inference", 1, 0.5, 1)
        assert body["owner"]

    def test_confidence_is_trust(self, alice, store_fragment):
        """Departs from the line (trust, strength, importance): confidence is trust."""
        fragment = store_fragment("tool_output")
        for importance in (0.1, 0.9):
            answer = alice.client.patch(f"{URL}/{fragment['id']}", {"importance": importance}, format="json").json()
            assert answer["confidence"] == answer["trust"] == 0.85


class TestPrompt3:
    """Prompt 3, without the lines that feature 2 has too."""

    def test_dispute_increments_disputes(self, store_fragment, bob):
        assert vote(bob, store_fragment("document"), "dispute")["disputes"] == 1

    def test_dispute_recomputes_trust_lower(self, store_fragment, bob):
        body = vote(bob, store_fragment("document"), "dispute")
        assert (body["trust"], body["confidence"]) == (0.45, 0.45)

    def test_dispute_of_a_missing_memory_is_not_found(self, bob):
        """Departs: 404 instead of null; so do corroborate and reinforce."""
        assert vote(bob, {"id": uuid.uuid4()}, "dispute", status=404)["code"] == "not_found"

    def test_corroborate_increments_corroboration(self, store_fragment, bob):
        assert vote(bob, store_fragment("document"), "corroborate", source_id="a walk")["corroboration"] == 2

    def test_corroborate_recomputes_trust_higher(self, store_fragment, bob):
        assert vote(bob, store_fragment("document"), "corroborate", source_id="a walk")["trust"] == 0.65

    def test_corroborate_of_a_missing_memory_is_not_found(self, bob):
        assert vote(bob, {"id": uuid.uuid4()}, "corroborate", status=404)["code"] == "not_found"

    def test_reinforce_increments_reinforcements(self, store_fragment, others):
        """Departs: once per owner."""
        fragment, agents = store_fragment("document"), others(2)
        assert [vote(agent, fragment, "reinforce")["reinforcements"] for agent in [*agents, *agents]] == [1, 2, 2, 2]

    def test_reinforce_recomputes_confidence(self, store_fragment, bob):
        assert vote(bob, store_fragment("user_implicit"), "reinforce")["confidence"] == 0.85

    def test_several_disputes_drive_trust_below_threshold(self, store_fragment, bob, others):
        """Departs: votes are weighed as shares, (r − d)/(r + d), each owner's once."""
        fragment = store_fragment("inference")
        vote(bob, fragment, "reinforce")
        seen = [vote(agent, fragment, "dispute") for agent in others(6)]
        assert [body["trust"] for body in seen] == pytest.approx([0.5, 0.45, 0.425, 0.41, 0.4, 0.3929])
        assert [body["status"] for body in seen] == ["active"] * 5 + ["disputed"]

    def test_dispute_and_corroborate_balance_out(self, store_fragment, bob, others):
        fragment = store_fragment("inference")
        assert vote(bob, fragment, "dispute")["status"] == "disputed"
        seen = [vote(agent, fragment, "corroborate", source_id=f"book {n}") for n, agent in enumerate(others(3))]
        assert [body["trust"] for body in seen][1:] == pytest.approx([0.45, 0.5])
        assert (seen[-1]["status"], seen[-1]["disputes"], seen[-1]["corroboration"]) == ("active", 1, 4)


def test_age_lowers_trust_when_read_and_never_the_authority(store_fragment, alice, time_machine, now):
    fragment = store_fragment("tool_output")
    for days, trust in ((365 / 2, 0.8), (365, 0.75), (3650, 0.75)):
        time_machine.move_to(now.timestamp() + days * 86_400)
        answer = alice.client.get(f"{URL}/{fragment['id']}").json()
        assert (answer["trust"], answer["provenance"]["authority"]) == (pytest.approx(trust, abs=1e-4), 4)


def test_no_vote_raises_authority(store_fragment, others, principal):
    fragment = store_fragment("inference")
    for n, agent in enumerate(others(5)):
        vote(agent, fragment, "reinforce")
        vote(agent, fragment, "corroborate", source_id=f"book {n}")
    with access.enter(principal, why="test"):
        row = Fragment.objects.get(id=fragment["id"])
    assert (row.authority, row.corroboration, row.reinforcements) == (1, 6, 5)
