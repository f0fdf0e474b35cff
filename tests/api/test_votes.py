"""Votes and the archive: reinforce, dispute, corroborate, archive, unarchive (docs/spec.md §4, feedback)."""

import uuid
from dataclasses import replace

import pytest

from memories import access, ingest
from memories.models import Fragment

URL = "/api/v1/fragments"
TEXT = "The heron nests behind the old mill."
CLAIM = {"subject": "user", "predicate": "budget_is"}


@pytest.fixture
def store_fragment(alice):
    """What Alice told; any field of a fragment, its source class first."""

    def post(source="document", *, by=alice, status=201, **more):
        provenance = {"source": source, **more.pop("provenance", {})}
        body = {"namespace": "acme:main", "content": TEXT, "provenance": provenance, **more}
        answer = by.client.post(URL, body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


@pytest.fixture
def dave(project, agent_of):
    """Another tool, of another owner than Bob's."""
    return agent_of(project, owner="dave")


def vote(agent, fragment, ballot, *, status=200, headers=None, **body):
    answer = agent.client.post(f"{URL}/{fragment['id']}/{ballot}", body, format="json", headers=headers)
    assert answer.status_code == status, answer.json()
    return answer.json()


def read(agent, fragment):
    return agent.client.get(f"{URL}/{fragment['id']}").json()


def counts(body):
    """Of the answer to a vote, or of a fragment."""
    flat = {**body, **body.get("provenance", {})}
    return [flat[name] for name in ("reinforcements", "disputes", "corroboration")]


class TestReinforce:
    """It helped."""

    def test_it_is_fresher_and_weighs_more_each_time(self, alice, bob, store_fragment, principal):
        fragment = store_fragment(importance=0.5)
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id=fragment["id"]).update(base_relevance=0.5)
        for relevance, importance in ((0.55, 0.55), (0.595, 0.6), (0.6355, 0.65)):
            vote(bob, fragment, "reinforce")
            row = read(alice, fragment)
            assert (row["base_relevance"], row["importance"]) == pytest.approx((relevance, importance))
        assert (row["reinforcements"], row["trust"]) == (1, 0.75)

    def test_it_counts_as_read_now(self, alice, bob, store_fragment, now):
        fragment = store_fragment()
        assert fragment["last_accessed_at"] is None
        vote(bob, fragment, "reinforce")
        row = read(alice, fragment)
        assert row["last_accessed_at"] >= now.isoformat()[:19]
        assert row["updated_at"] == fragment["updated_at"]

    def test_importance_stays_within_bounds(self, alice, bob, store_fragment):
        fragment = store_fragment(importance=0.98)
        for _ in range(2):
            vote(bob, fragment, "reinforce")
            assert read(alice, fragment)["importance"] == 1.0

    def test_on_ones_own_it_adds_no_trust(self, alice, project, agent_of, store_fragment):
        fragment = store_fragment(importance=0.5)
        second = agent_of(project, owner="alice")
        for agent in (alice, second):
            body = vote(agent, fragment, "reinforce")
            assert (body["counted"], body["trust"], counts(body)) == (False, 0.6, [0, 0, 1])
            assert body["reason"] == "own_memory"
        assert read(alice, fragment)["importance"] == pytest.approx(0.6)


class TestDispute:
    """It is wrong."""

    def test_the_last_vote_of_an_owner_counts(self, bob, store_fragment):
        fragment = store_fragment()
        for ballot, expected, trust in (
            ("reinforce", [1, 0, 1], 0.75),
            ("dispute", [0, 1, 1], 0.45),
            ("dispute", [0, 1, 1], 0.45),
            ("reinforce", [1, 0, 1], 0.75),
        ):
            body = vote(bob, fragment, ballot)
            assert (body["counted"], counts(body), body["trust"]) == (True, expected, trust)

    def test_two_keys_of_one_owner_are_one(self, bob, project, agent_of, store_fragment):
        fragment, second = store_fragment(), agent_of(project, owner="bob")
        for agent in (bob, second):
            assert counts(vote(agent, fragment, "dispute")) == [0, 1, 1]

    def test_on_ones_own_it_does_not_count(self, alice, store_fragment):
        body = vote(alice, store_fragment("inference"), "dispute", reason="I erred.")
        assert (body["counted"], body["status"], counts(body), body["conflict_id"]) == (
            *(False, "active", [0, 0, 1]),
            None,
        )

    @pytest.mark.parametrize(
        ("source", "status", "trust"),
        [("inference", "disputed", 0.35), ("document", "active", 0.45), ("tool_output", "active", 0.7)],
    )
    def test_below_the_threshold_it_is_disputed(self, bob, store_fragment, source, status, trust):
        body = vote(bob, store_fragment(source), "dispute")
        assert (body["counted"], body["status"], body["trust"], body["conflict_id"]) == (True, status, trust, None)

    @pytest.mark.parametrize("source", ["system", "user_explicit"])
    def test_a_weaker_owner_only_opens_a_review(self, bob, dave, store_fragment, source):
        fragment = store_fragment(source)
        first, second = vote(bob, fragment, "dispute", reason="No."), vote(dave, fragment, "dispute")
        for body in (first, second):
            assert (body["counted"], body["status"], counts(body)) == (False, "active", [0, 0, 1])
            assert body["reason"] == "ceiling_below_authority"
        assert first["conflict_id"] == second["conflict_id"]
        assert first["trust"] == fragment["trust"]

    def test_it_comes_back_when_the_dispute_is_taken_back(self, alice, bob, store_fragment):
        fragment = store_fragment("inference")
        assert vote(bob, fragment, "dispute")["status"] == "disputed"
        body = vote(bob, fragment, "reinforce")
        assert (body["status"], body["trust"]) == ("active", 0.65)
        assert read(alice, fragment)["status"] == "active"

    def test_what_is_disputed_still_stands_against_newcomers(self, bob, dave, store_fragment):
        fragment = store_fragment("inference", claim={**CLAIM, "value": "$750"})
        assert vote(bob, fragment, "dispute")["status"] == "disputed"
        other = store_fragment("inference", by=dave, content="Nothing.", claim={**CLAIM, "value": "$0"})
        assert (other["status"], other["pending_conflicts"][0]["existing_id"]) == ("quarantined", fragment["id"])

    def test_what_a_person_disputed_no_vote_brings_back(self, bob, store_fragment, project, agent_of):
        fragment = store_fragment("user_explicit")
        review = vote(bob, fragment, "dispute")["conflict_id"]
        carol = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "review"])
        wish = {"action": "supersede", "revision": 1}
        assert carol.client.post(f"/api/v1/conflicts/{review}/resolve", wish, format="json").status_code == 200
        assert vote(bob, fragment, "reinforce")["status"] == "disputed"


class TestCorroborate:
    """Another source says so too."""

    def test_once_per_owner(self, bob, store_fragment, project, agent_of):
        fragment = store_fragment()
        assert vote(bob, fragment, "corroborate", source_id="a walk")["counted"] is True
        for agent in (bob, agent_of(project, owner="bob")):
            body = vote(agent, fragment, "corroborate", source_id="another walk")
            assert (body["counted"], body["corroboration"], body["trust"]) == (False, 2, 0.65)
            assert body["reason"] == "owner_voted_before"

    def test_once_per_source(self, bob, dave, store_fragment):
        fragment = store_fragment()
        assert vote(bob, fragment, "corroborate", source_id="a walk")["corroboration"] == 2
        body = vote(dave, fragment, "corroborate", source_id="a walk")
        assert (body["counted"], body["corroboration"], body["reason"]) == (False, 2, "source_heard_before")

    def test_never_from_where_it_comes_from(self, alice, bob, store_fragment):
        fragment = store_fragment(provenance={"source_id": "the guide"})
        assert vote(bob, fragment, "corroborate", source_id="the guide")["reason"] == "source_heard_before"
        assert vote(bob, fragment, "corroborate", source_id=fragment["id"])["counted"] is False
        assert vote(alice, fragment, "corroborate", source_id="a walk")["reason"] == "own_memory"
        counted = vote(bob, fragment, "corroborate", source_id="a walk")
        assert (counted["counted"], counted["reason"]) == (True, None)

    def test_never_by_what_was_derived_from_it(self, bob, dave, store_fragment):
        """A digest of a claim, or of another digest of it, says nothing new."""
        claim = {**CLAIM, "value": "$750"}
        root = store_fragment(claim=claim)
        summary = store_fragment("inference", by=bob, content="A digest of it.", provenance={"parents": [root["id"]]})
        for parents in ([root["id"]], [summary["id"]]):
            echo = {"content": "Said again.", "provenance": {"parents": parents}}
            again = store_fragment("document", by=dave, status=200, claim=claim, **echo)
            assert (again["id"], again["provenance"]["corroboration"]) == (root["id"], 1)
        assert vote(bob, root, "corroborate", source_id=root["id"])["counted"] is False

    def test_the_bonus_ends_at_two_tenths(self, store_fragment, project, agent_of):
        fragment = store_fragment()
        for n in range(6):
            body = vote(agent_of(project, owner=f"o{n}"), fragment, "corroborate", source_id=f"s{n}")
        assert (body["corroboration"], body["trust"]) == (7, 0.8)

    def test_it_is_news_and_a_repetition_is_not(self, alice, bob, store_fragment):
        fragment = store_fragment()
        vote(bob, fragment, "corroborate", source_id="a walk")
        once = read(alice, fragment)["updated_at"]
        assert once > fragment["updated_at"]
        vote(bob, fragment, "corroborate", source_id="a walk")
        assert read(alice, fragment)["updated_at"] == once

    def test_without_a_source_the_owner_is_one(self, bob, dave, store_fragment):
        fragment = store_fragment()
        assert [vote(agent, fragment, "corroborate")["corroboration"] for agent in (bob, bob, dave)] == [2, 2, 3]


class TestRewritten:
    """A vote is on the words that were read."""

    @pytest.fixture
    def upheld(self, alice, bob, dave, project, agent_of, store_fragment):
        """A claim that one owner reinforces, one says too, and one disputes; by Alice, under her own name for it."""
        fragment = store_fragment(key="budget", claim={**CLAIM, "value": "$750"})
        vote(bob, fragment, "reinforce")
        vote(dave, fragment, "corroborate", source_id="a walk")
        vote(agent_of(project, owner="erin"), fragment, "dispute", reason="No.")
        assert counts(read(alice, fragment)) == [1, 1, 2]
        return fragment

    @pytest.mark.parametrize(
        "change", [{"content": "The heron left."}, {"claim": {**CLAIM, "value": "$900"}}], ids=["text", "claim"]
    )
    def test_nobody_upheld_what_it_says_now(self, alice, upheld, change):
        answer = alice.client.patch(f"{URL}/{upheld['id']}", change, format="json")
        assert (answer.status_code, counts(answer.json())) == (200, [0, 1, 1]), answer.json()
        assert counts(read(alice, upheld)) == [0, 1, 1]

    def test_nor_what_replaced_it_under_its_key(self, alice, upheld, store_fragment):
        body = store_fragment(status=200, key="budget", content="Wire it all.", claim={**CLAIM, "value": "$900"})
        assert (body["id"], body["replaced"], counts(body)) == (upheld["id"], True, [0, 1, 1])

    def test_details_are_no_other_words(self, alice, upheld, store_fragment):
        answer = alice.client.patch(f"{URL}/{upheld['id']}", {"tags": ["river"], "content": TEXT}, format="json")
        assert counts(answer.json()) == [1, 1, 2]
        body = store_fragment(status=200, key="budget", claim={**CLAIM, "value": "$750"}, tags=["mill"])
        assert counts(body) == [1, 1, 2]

    def test_the_same_claim_named_again_is_no_other(self, alice, upheld):
        same = {"claim": {**CLAIM, "value": "$750"}}
        answer = alice.client.patch(f"{URL}/{upheld['id']}", same, format="json")
        assert (answer.status_code, counts(answer.json())) == (200, [1, 1, 2])

    def test_nor_is_one_whose_period_the_gate_ended(self, alice, bob, store_fragment):
        claim = {**CLAIM, "scope": "temporal", "valid_from": "2024-01-01T00:00:00Z"}
        first = store_fragment(key="then", claim={**claim, "value": "$750"})
        vote(bob, first, "reinforce")
        store_fragment(content="More.", claim={**claim, "value": "$900", "valid_from": "2025-01-01T00:00:00Z"})
        assert read(alice, first)["claim"]["valid_until"]
        body = store_fragment(status=200, key="then", claim={**claim, "value": "$750"})
        assert counts(body) == [1, 0, 1]

    def test_the_same_owners_may_vote_on_the_new_words(self, alice, bob, dave, upheld):
        alice.client.patch(f"{URL}/{upheld['id']}", {"content": "The heron left."}, format="json")
        assert vote(bob, upheld, "reinforce")["counted"]
        assert vote(dave, upheld, "corroborate", source_id="a walk")["counted"]
        assert counts(read(alice, upheld)) == [1, 1, 2]

    def test_without_those_who_upheld_it_it_is_disputed(self, alice, bob, dave, store_fragment):
        fragment = store_fragment("inference")
        vote(bob, fragment, "reinforce")
        assert vote(dave, fragment, "dispute")["status"] == "active"
        answer = alice.client.patch(f"{URL}/{fragment['id']}", {"content": "The heron left."}, format="json")
        assert (answer.json()["status"], counts(answer.json())) == ("disputed", [0, 1, 1])


def test_reinforcing_keeps_no_error_of_binary_fractions(alice, bob, store_fragment):
    fragment = store_fragment(importance=0.5)
    seen = []
    for _ in range(8):
        vote(bob, fragment, "reinforce")
        seen.append(read(alice, fragment)["importance"])
    assert seen == [0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9]


class TestArchive:
    """Out of all default answers, and back as far as the gate allows."""

    def test_there_and_back(self, alice, store_fragment):
        fragment = store_fragment("tool_output", claim={**CLAIM, "value": "$750"})
        assert vote(alice, fragment, "archive")["status"] == "archived"
        question = {"namespace": "acme:main", "query": TEXT}
        assert alice.client.post("/api/v1/search", question, format="json").json()["results"] == []
        assert alice.client.get(URL).json()["results"] == []
        assert vote(alice, fragment, "unarchive")["status"] == "active"
        assert len(alice.client.post("/api/v1/search", question, format="json").json()["results"]) == 1

    def test_twice_is_not_open(self, alice, store_fragment):
        fragment = store_fragment()
        assert vote(alice, fragment, "unarchive", status=409)["code"] == "not_open"
        vote(alice, fragment, "archive")
        assert vote(alice, fragment, "archive", status=409)["code"] == "not_open"

    def test_what_was_replaced_is_history(self, alice, store_fragment):
        first = store_fragment(claim={**CLAIM, "value": "$750"})
        store_fragment(content="More.", claim={**CLAIM, "value": "$900"})
        for move in ("archive", "unarchive"):
            assert vote(alice, first, move, status=409)["code"] == "not_open"
        assert read(alice, first)["status"] == "superseded"

    def test_above_the_ceiling_is_not_permitted(self, alice, bob, store_fragment):
        fragment = store_fragment("system")
        assert vote(bob, fragment, "archive", status=403)["code"] == "not_permitted"
        vote(alice, fragment, "archive")
        assert vote(bob, fragment, "unarchive", status=403)["code"] == "not_permitted"
        assert read(alice, fragment)["status"] == "archived"

    def test_back_it_passes_the_gate(self, bob, store_fragment):
        weak = store_fragment(by=bob, claim={**CLAIM, "value": "$0"})
        vote(bob, weak, "archive")
        strong = store_fragment("user_explicit", content="What the user says.", claim={**CLAIM, "value": "$750"})
        assert vote(bob, weak, "unarchive")["status"] == "quarantined"
        assert read(bob, strong)["status"] == "active"

    def test_what_a_person_rejected_no_key_brings_back(self, bob, store_fragment, project, agent_of):
        store_fragment("user_explicit", claim={**CLAIM, "value": "$750"})
        lost = store_fragment("tool_output", by=bob, content="Nothing.", claim={**CLAIM, "value": "$0"})
        carol = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "review"])
        path = f"/api/v1/conflicts/{lost['pending_conflicts'][0]['id']}"
        wish = {"action": "reject", "revision": 1}
        assert carol.client.post(f"{path}/resolve", wish, format="json").status_code == 200
        assert vote(bob, lost, "unarchive", status=403)["code"] == "not_permitted"
        assert read(bob, lost)["status"] == "archived"

    def test_what_a_person_archived_no_key_brings_back(self, alice, store_fragment, now):
        fragment = store_fragment()
        person = replace(alice.principal, kind="person")
        ingest.updates.archive(person, uuid.UUID(fragment["id"]), now=now)
        assert vote(alice, fragment, "unarchive", status=403)["code"] == "not_permitted"
        assert read(alice, fragment)["status"] == "archived"
        ingest.updates.unarchive(person, uuid.UUID(fragment["id"]), now=now)
        assert read(alice, fragment)["status"] == "active"

    def test_what_waited_because_of_it_ends(self, bob, store_fragment):
        store_fragment("user_explicit", claim={**CLAIM, "value": "$750"})
        lost = store_fragment("tool_output", by=bob, content="Nothing.", claim={**CLAIM, "value": "$0"})
        vote(bob, lost, "archive")
        conflict = bob.client.get(f"/api/v1/conflicts/{lost['pending_conflicts'][0]['id']}").json()
        assert conflict["resolution"] == "obsolete"


class TestRefusing:
    """Who may not, and what is no vote."""

    @pytest.mark.parametrize("ballot", ["reinforce", "dispute", "corroborate", "archive", "unarchive"])
    def test_foreign_and_missing_look_the_same_and_a_reader_may_not(
        self, alice, charlie, reader, store_fragment, ballot
    ):
        fragment = store_fragment()
        assert vote(charlie, fragment, ballot, status=404)["code"] == "not_found"
        assert vote(alice, {"id": uuid.uuid4()}, ballot, status=404)["code"] == "not_found"
        assert vote(reader, fragment, ballot, status=403)["code"] == "not_permitted"
        assert vote(alice, fragment, ballot, status=400, weight=9)["errors"][0]["field"] == "weight"
        row = read(alice, fragment)
        assert (row["status"], counts(row)) == ("active", [0, 0, 1])

    def test_bad_words_are_named(self, bob, store_fragment):
        fragment = store_fragment()
        for ballot, field, bad in (
            ("dispute", "reason", "x" * 1001),
            ("dispute", "reason", 5),
            ("corroborate", "source_id", "x" * 256),
            ("corroborate", "source_id", ""),
            ("corroborate", "source_id", None),
        ):
            problem = vote(bob, fragment, ballot, status=400, **{field: bad})
            assert (problem["code"], problem["errors"][0]["field"]) == ("validation", field)
        for raw in (b'{"reason": "a\\u0000b"}', b'{"reason": "\\ud800"}'):
            answer = bob.client.post(f"{URL}/{fragment['id']}/dispute", raw, content_type="application/json")
            assert answer.status_code == 400, answer.content
        assert read(bob, fragment)["disputes"] == 0

    @pytest.mark.parametrize("ballot", ["reinforce", "corroborate"])
    def test_one_idempotency_key_has_one_effect(self, alice, bob, store_fragment, ballot):
        fragment, key = store_fragment(importance=0.5), {"Idempotency-Key": "k1"}
        first, second = (vote(bob, fragment, ballot, headers=key) for _ in range(2))
        assert first == second
        assert first["counted"] is True
        assert read(alice, fragment)["importance"] == pytest.approx(0.55 if ballot == "reinforce" else 0.5)
        problem = vote(bob, fragment, "dispute", headers=key, status=422)
        assert problem["code"] == "idempotency_mismatch"


class TestOutvoted:
    """Five owners as strong as a fragment dispute it, and nobody supports it."""

    @pytest.fixture
    def owners(self, project, agent_of):
        return [agent_of(project, owner=f"owner-{n}", ceiling="tool_output") for n in range(6)]

    @pytest.mark.parametrize("source", ["document", "user_implicit", "tool_output"])
    def test_the_fifth_dispute_makes_it_disputed(self, alice, store_fragment, owners, source):
        fragment = store_fragment(source)
        for owner in owners[:4]:
            assert vote(owner, fragment, "dispute")["status"] == "active"
        assert vote(owners[4], fragment, "dispute")["status"] == "disputed"
        assert read(alice, fragment)["disputes"] == 5

    @pytest.mark.parametrize("ballot", ["corroborate", "reinforce"])
    def test_any_support_keeps_it(self, store_fragment, owners, ballot):
        fragment = store_fragment("tool_output")
        vote(owners[5], fragment, ballot)
        for owner in owners[:5]:
            assert vote(owner, fragment, "dispute")["status"] == "active"

    def test_one_owner_counts_once(self, store_fragment, owners):
        fragment = store_fragment("tool_output")
        for _ in range(6):
            assert vote(owners[0], fragment, "dispute")["status"] == "active"

    def test_weaker_owners_do_not_outvote(self, project, agent_of, store_fragment):
        fragment = store_fragment("tool_output")
        for n in range(6):
            weak = agent_of(project, owner=f"weak-{n}", ceiling="inference")
            assert vote(weak, fragment, "dispute")["status"] == "active"

    def test_what_the_user_said_is_not_outvoted(self, project, agent_of, store_fragment):
        fragment = store_fragment("user_explicit")
        for n in range(6):
            peer = agent_of(project, owner=f"peer-{n}", ceiling="user_explicit")
            vote(peer, fragment, "dispute")
        assert vote(peer, fragment, "dispute")["status"] == "active"
