"""Claim-based memory, promise by promise."""

import datetime
import uuid

import pytest
from django.utils import timezone

from conflicts.gate import Assertion, Period
from conflicts.key_state import KeyState
from memories import access, jobs
from memories.models import Claim, Fragment
from memories.models.scoring import trust
from memories.operations import start

URL = "/api/v1/fragments"
ALICE, BOB = uuid.UUID(int=1), uuid.UUID(int=2)
YEAR = {year: datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in range(2018, 2027)}
BUDGET = {"subject": "user", "predicate": "budget_is"}


@pytest.fixture
def say(alice):
    """Stores a fragment, by default with a claim, as Alice's user says it."""

    def post(value, *, by=alice, source="user_explicit", status=201, content=None, claim=BUDGET, **more):
        body = {"namespace": "acme:main", "content": content or f"It is {value}."}
        body |= {"claim": {**claim, "value": value, **more}} if claim else more
        body |= {"provenance": {"source": source}} if source else {}
        answer = by.client.post(URL, body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


def status(agent, stored):
    return agent.client.get(f"{URL}/{stored['id']}").json()["status"]


def assertion(value, *, authority=4, owner=BOB, **more):
    return Assertion(uuid.uuid4(), owner, authority, value, **more)


def key_state(*standing):
    return KeyState(standing={one.fragment_id: one for one in standing})


class TestFeature1:
    """Feature 1."""

    def test_store_with_claim_keeps_the_claim(self, alice, say):
        told = say("$750", exclusive=True, scope="temporal", valid_from="2024-01-01T00:00:00Z")
        kept = alice.client.get(f"{URL}/{told['id']}").json()["claim"]
        expected = {**BUDGET, "value": "$750", "exclusive": True, "scope": "temporal", "session_id": None}
        expected |= {"valid_from": "2024-01-01T00:00:00Z", "valid_until": None, "authority": 6}
        assert {name: kept[name] for name in expected} == expected

    def test_store_conflicting_claim_is_detected_without_a_model(self, say, bob):
        first = say("$750")
        lost = say("$0", by=bob, source="tool_output")
        assert [pending["existing_id"] for pending in lost["pending_conflicts"]] == [first["id"]]

    def test_store_same_claim_twice_is_deduplicated(self, say, bob, count):
        """Departs: it is corroborated by an independent owner only; one's own repetition is only seen."""
        first = say("$750")
        own = say("$750", content="Said again.", status=200)
        assert (own["id"], own["deduplicated"], own["provenance"]["corroboration"]) == (first["id"], True, 1)
        assert own["updated_at"] == first["updated_at"]
        foreign = say("$750", by=bob, source="tool_output", status=200)
        assert (foreign["id"], foreign["provenance"]["corroboration"]) == (first["id"], 2)
        assert foreign["updated_at"] > first["updated_at"]
        assert count(Fragment) == 1

    def test_session_claim_does_not_supersede_a_global_one_when_stored(self, alice, say):
        lasting = say("$750")
        here = say("$900", scope="session", session_id="s1")
        assert (here["status"], here["superseded"], here["pending_conflicts"]) == ("active", [], [])
        assert status(alice, lasting) == "active"

    def test_claims_with_periods_that_do_not_overlap_are_no_conflict(self, alice, say, bob):
        """Departs: periods are half-open, so that the usual example (Seattle until 2022, then Austin) holds."""
        home = {"claim": {"subject": "user", "predicate": "lives_in"}, "scope": "temporal"}
        seattle = say("Seattle", valid_from="2019-01-01T00:00:00Z", valid_until="2022-01-01T00:00:00Z", **home)
        austin = say("Austin", by=bob, source="tool_output", valid_from="2022-01-01T00:00:00Z", **home)
        assert (austin["status"], austin["superseded"], austin["pending_conflicts"]) == ("active", [], [])
        assert status(alice, seattle) == "active"

    def test_claims_with_overlapping_periods_conflict(self, say, bob):
        home = {"claim": {"subject": "user", "predicate": "lives_in"}, "scope": "temporal"}
        say("Seattle", valid_from="2019-01-01T00:00:00Z", valid_until="2022-01-01T00:00:00Z", **home)
        austin = say("Austin", by=bob, source="tool_output", valid_from="2021-12-31T23:59:59Z", **home)
        assert austin["status"] == "quarantined"

    def test_a_predicate_that_is_not_exclusive_never_conflicts(self, say, bob):
        """Departs: the rule of the predicate, else the stronger claim, says so; a weaker request alone does not."""
        say("tea", claim={"subject": "user", "predicate": "likes"})
        assert say("coffee", by=bob, source="tool_output", claim={"subject": "user", "predicate": "likes"})[
            "status"
        ] == ("active")
        free = {"claim": {"subject": "user", "predicate": "collects_stamps_of"}}
        say("Oslo", exclusive=False, **free)
        assert say("Rome", by=bob, source="tool_output", exclusive=False, **free)["status"] == "active"
        say("$750")
        assert say("$0", by=bob, source="tool_output", exclusive=False)["status"] == "quarantined"

    def test_extract_claim_attaches_a_claim(self, say):
        """Departs: without a sidecar the built-in extractor reads, not a language model."""
        told = say("", content="My budget is $750.", claim=None, extract_claim=True)
        claim = told["claim"]
        assert (claim["subject"], claim["predicate"], claim["value"], claim["authority"]) == (
            *("user", "budget", "$750"),
            6,
        )

    def test_session_claim_requires_a_session_id(self, say, count):
        refused = say("$750", scope="session", status=400)
        assert (refused["code"], refused["errors"][0]["field"]) == ("validation", "claim.session_id")
        assert count(Fragment) == 0

    def test_store_without_claim_works_as_before(self, say, count):
        for text in ("The heron nests behind the old mill.", "The heron does not nest there."):
            told = say("", content=text, claim=None)
            assert (told["status"], told["claim"], told["pending_conflicts"]) == ("active", None, [])
        assert count(Claim) == 0


class TestPrompt1:
    """Prompt 1, without the lines that feature 1 has too."""

    def test_store_with_claim_indexes_it(self, say, bob):
        """Departs: the index is a database's, on the key's canonical form, so that no spelling misses it."""
        first = say("$750")
        subjects = ["user", "USER", " User ", "ｕｓｅｒ", "u\u200bser", "uѕer"]
        predicates = ["budget_is", "Budget-Is", "budget is", "has_budget", "BUDGET\u00a0is", "budget__is"]
        for number, (subject, predicate) in enumerate(zip(subjects, predicates, strict=True)):
            claim = {"subject": subject, "predicate": predicate}
            lost = say(f"${number}", by=bob, source="tool_output", claim=claim)
            assert [pending["existing_id"] for pending in lost["pending_conflicts"]] == [first["id"]]

    def test_conflict_check_finds_conflicting_exclusive_claims(self):
        standing = assertion(b"750", authority=6, owner=ALICE)
        assert key_state(standing).opponents(assertion(b"0")) == [standing]

    def test_conflict_check_ignores_the_same_value(self, say, bob):
        assert key_state(assertion(b"750")).opponents(assertion(b"750")) == []
        say("$750")
        assert say("750 USD", by=bob, source="tool_output", status=200)["pending_conflicts"] == []

    def test_conflict_check_ignores_superseded_and_quarantined_memories(self, say, bob):
        say("$750")
        second = say("$900")
        waiting = say("$0", by=bob, source="tool_output")
        third = say("$1", by=bob, source="tool_output")
        assert [pending["existing_id"] for pending in third["pending_conflicts"]] == [second["id"]]
        assert waiting["status"] == third["status"] == "quarantined"

    def test_conflict_check_ignores_predicates_that_are_not_exclusive(self):
        standing = key_state(assertion(b"tea", authority=6, exclusive=False))
        assert standing.opponents(assertion(b"coffee", exclusive=False)) == []

    def test_conflict_check_ignores_periods_that_do_not_overlap(self):
        """Departs: half-open, so touching is no overlap."""
        standing = key_state(assertion(b"Seattle", period=Period(YEAR[2019], YEAR[2022])))
        assert standing.opponents(assertion(b"Austin", period=Period(YEAR[2022], None))) == []

    def test_conflict_check_detects_overlapping_periods(self):
        standing = assertion(b"Seattle", period=Period(YEAR[2019], YEAR[2022]))
        for period in (Period(YEAR[2021], None), Period(None, YEAR[2020]), Period()):
            assert key_state(standing).opponents(assertion(b"Austin", period=period)) == [standing]

    def test_conflict_check_session_claim_does_not_conflict_with_global(self):
        here = assertion(b"900", scope="session", session_id="s1")
        assert key_state(assertion(b"750")).opponents(here) == []
        assert key_state(here).opponents(assertion(b"750")) == []
        assert key_state(here).opponents(assertion(b"750", scope="session", session_id="s2")) == []
        assert key_state(here).opponents(assertion(b"750", scope="session", session_id="s1")) == [here]

    @pytest.mark.parametrize("missing", ["subject", "predicate", "value"])
    def test_claim_validation_missing_field_is_an_error(self, alice, count, missing):
        whole = {**BUDGET, "value": "$750"}
        absent = {name: value for name, value in whole.items() if name != missing}
        for claim in (absent, *({**whole, missing: bad} for bad in ("", "   ", None, 7))):
            body = {"namespace": "acme:main", "content": "It is $750.", "claim": claim}
            answer = alice.client.post(URL, body, format="json")
            assert (answer.status_code, answer.json()["code"]) == (400, "validation")
            assert [error["field"] for error in answer.json()["errors"]] == [f"claim.{missing}"]
        assert count(Fragment) == count(Claim) == 0

    def test_provenance_defaults_applied_when_not_specified(self, say):
        told = say("$750", source=None)
        assert (told["provenance"]["source"], told["provenance"]["corroboration"], told["trust"]) == (
            *("inference", 1),
            0.5,
        )

    def test_trust_with_user_explicit_is_1(self):
        assert trust(source="user_explicit") == 1.0

    def test_trust_with_inference_is_a_half(self):
        assert trust(source="inference") == 0.5

    def test_trust_with_corroboration_bonus(self):
        assert trust(source="inference", corroboration=2) == pytest.approx(0.55)
        assert trust(source="inference", corroboration=5) == pytest.approx(0.7)
        assert trust(source="inference", corroboration=50) == pytest.approx(0.7)

    def test_trust_with_disputes_is_reduced(self):
        assert trust(source="tool_output", disputes=1) == pytest.approx(0.7)
        assert trust(source="tool_output", reinforcements=1, disputes=2) == pytest.approx(0.8)

    def test_confidence_equals_trust(self, say, bob):
        told = say("$750", by=bob, source="document")
        assert told["confidence"] == told["trust"] == told["provenance"]["trust"] == 0.6

    def test_deindex_removes_the_claim(self, alice, say, bob):
        """Departs: to take out of the index is to archive or forget."""
        for leave in ("archive", "delete"):
            first = say("$750", content=f"Gone by {leave}.")
            if leave == "archive":
                assert alice.client.post(f"{URL}/{first['id']}/archive").status_code == 200
            else:
                assert alice.client.delete(f"{URL}/{first['id']}").status_code == 204
            free = say("$0", by=bob, source="tool_output", content=f"After {leave}.")
            assert (free["status"], free["pending_conflicts"]) == ("active", [])
            assert bob.client.delete(f"{URL}/{free['id']}").status_code == 204

    @pytest.mark.parametrize("target", ["keywords", "embeddings"])
    def test_rebuild_keeps_the_claims(self, target, say, bob, principal, project):
        """Departs: claims are canonical rows; what is rebuilt is search, and the gate stays as it is."""
        first = say("$750")
        with access.enter(principal, why="test"):
            place = Fragment.objects.get(id=first["id"]).namespace
            wish = {"kind": "rebuild", "namespace": place, "options": {"target": target}, "dry_run": False}
            operation = start(principal, **wish, now=timezone.now())
        assert jobs.run(principal, operation.id).state == "succeeded"
        assert say("$0", by=bob, source="tool_output")["pending_conflicts"][0]["existing_id"] == first["id"]

    def test_exclusive_is_true_when_not_specified(self, say):
        """Departs: where a rule is registered or built in, that says it."""
        assert say("blue", claim={"subject": "user", "predicate": "shirt_of_the_day"})["claim"]["exclusive"] is True
        assert say("tea", claim={"subject": "user", "predicate": "likes"})["claim"]["exclusive"] is False


def test_what_is_extracted_is_a_claim_like_any_other(say, bob):
    say("", content="My budget is $750.", claim=None, extract_claim=True)
    assert say("$0", by=bob, source="tool_output")["status"] == "quarantined"


def test_what_comes_back_to_be_repeated_by_now_was_archived_for_nothing(alice, bob, principal):
    claim = {"subject": "user", "predicate": "lives_in", "value": "Lisbon"}

    def say(agent, content):
        body = {"namespace": "acme:main", "content": content, "claim": claim}
        return agent.client.post("/api/v1/fragments", body, format="json").json()["id"]

    mine = say(alice, "The user lives in Lisbon.")
    assert alice.client.post(f"/api/v1/fragments/{mine}/archive").status_code == 200
    theirs = say(bob, "Lisbon is where the user lives.")
    assert alice.client.post(f"/api/v1/fragments/{mine}/unarchive").status_code == 200
    with access.enter(principal, why="test"):
        row = Fragment.objects.get(id=mine)
    assert (row.status, row.archived_reason, str(row.superseded_by_id)) == ("superseded", "", theirs)
