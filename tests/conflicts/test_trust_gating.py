"""Trust-gated supersession, promise by promise.

All of it departs in one thing: authority, which is fixed when written, decides instead of trust.
"""

from dataclasses import replace

import pytest

from conflicts.models import PendingConflict
from conflicts.namespace_state import states_of
from memories import access
from memories.ingest import pipeline
from memories.models import Fragment

URL = "/api/v1/fragments"
CLAIM = {"subject": "user", "predicate": "budget_is"}


@pytest.fixture
def store_claim(alice):
    """Stores a claim, by default as Alice's user says it."""

    def post(value, *, by=alice, source="user_explicit", status=201, content=None, claim=CLAIM, **more):
        body = {"namespace": "acme:main", "content": content or f"The budget is {value}."}
        body |= {"claim": {**claim, "value": value, **more}} if claim else more
        body |= {"provenance": {"source": source}} if source else {}
        answer = by.client.post(URL, body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


@pytest.fixture
def carol(project, agent_of):
    """A reviewer who wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "review"])


@pytest.fixture
def pending(carol):
    """The conflicts that wait, as far as asked for."""

    def ask(**query):
        answer = carol.client.get("/api/v1/conflicts", query)
        assert answer.status_code == 200, answer.json()
        return answer.json()["results"]

    return ask


@pytest.fixture
def resolve(carol):
    """Settles a conflict."""

    def settle(conflict, action, **more):
        body = {"action": action, "revision": conflict["revision"], **more}
        answer = carol.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", body, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return settle


@pytest.fixture
def read(alice):
    """A fragment as it stands."""
    return lambda stored: alice.client.get(f"{URL}/{stored['id']}").json()


@pytest.fixture
def found(alice):
    """The ids that a search finds."""

    def ask(**more):
        body = {"namespace": "acme:main", "query": "what is the budget?", **more}
        answer = alice.client.post("/api/v1/search", body, format="json")
        assert answer.status_code == 200, answer.json()
        return {row["id"] for row in answer.json()["results"]}

    return ask


@pytest.fixture
def one_of_each(store_claim, bob):
    """A fragment in each status, by status."""
    active = store_claim("$750")
    replaced = store_claim(
        "Oslo", claim={"subject": "user", "predicate": "office"}, content="The budget office is in Oslo."
    )
    store_claim("Rome", claim={"subject": "user", "predicate": "office"}, content="The budget office is in Rome.")
    waiting = store_claim("$0", by=bob, source="tool_output")
    doubted = store_claim("", claim=None, source="inference", content="The budget is probably for travel.")
    assert bob.client.post(f"{URL}/{doubted['id']}/dispute", {}, format="json").json()["status"] == "disputed"
    away = store_claim("", claim=None, source="document", content="The budget of last year.", by=bob)
    assert bob.client.post(f"{URL}/{away['id']}/archive").status_code == 200
    return {
        "active": active["id"],
        "superseded": replaced["id"],
        "quarantined": waiting["id"],
        "disputed": doubted["id"],
        "archived": away["id"],
    }


class TestFeature3:
    """Feature 3."""

    def test_high_trust_supersedes_low_trust(self, store_claim, bob, read):
        weak = store_claim("$0", by=bob, source="document")
        strong = store_claim("$750")
        assert strong["superseded"] == [weak["id"]]
        old = read(weak)
        assert (old["status"], old["superseded_by"]) == ("superseded", strong["id"])
        assert read(strong)["supersedes"] == [weak["id"]]
        assert [link["id"] for link in read(strong)["links"] if link["kind"] == "supersedes"] == [weak["id"]]

    def test_low_trust_can_not_supersede_high_trust(self, store_claim, bob, read, pending):
        strong = store_claim("$750")
        weak = store_claim("$0", by=bob, source="document")
        assert (weak["status"], weak["superseded"], read(strong)["status"]) == ("quarantined", [], "active")
        (conflict,) = pending()
        assert (conflict["new_id"], conflict["existing_id"]) == (weak["id"], strong["id"])
        assert (conflict["reason"], conflict["kind"]) == ("authority_insufficient", "claim")
        assert (conflict["new_trust"], conflict["existing_trust"]) == pytest.approx((0.6, 1.0))

    def test_equal_trust_newer_wins(self, store_claim, bob, read, pending):
        """Departs: only of the same owner; of another owner it waits for a person."""
        first = store_claim("$750", source="tool_output")
        second = store_claim("$900", source="tool_output")
        assert (second["status"], second["superseded"]) == ("active", [first["id"]])
        third = store_claim("$0", by=bob, source="tool_output")
        assert (third["status"], read(second)["status"]) == ("quarantined", "active")
        assert [conflict["reason"] for conflict in pending()] == ["equal_authority_other_owner"]

    def test_session_claim_does_not_supersede_a_global_claim_even_with_higher_trust(self, store_claim, bob, read):
        lasting = store_claim("$0", by=bob, source="document")
        here = store_claim("$750", scope="session", session_id="s1")
        assert (here["status"], here["superseded"]) == ("active", [])
        assert read(lasting)["status"] == "active"

    def test_periods_that_do_not_overlap_are_no_conflict(self, store_claim, bob):
        """Departs: half-open."""
        store_claim("$750", valid_until="2026-01-01T00:00:00Z")
        later = store_claim("$0", by=bob, source="document", valid_from="2026-01-01T00:00:00Z")
        assert (later["status"], later["pending_conflicts"]) == ("active", [])

    def test_a_predicate_that_is_not_exclusive_is_no_conflict(self, store_claim, bob):
        likes = {"subject": "user", "predicate": "likes"}
        tea = store_claim("tea", claim=likes)
        coffee = store_claim("coffee", claim=likes, by=bob, source="inference")
        assert (coffee["status"], coffee["superseded"]) == ("active", [])
        assert tea["status"] == "active"

    def test_exact_duplicate_corroborates_and_makes_no_new_node(self, store_claim, bob, count):
        """Departs: from an independent owner; said with more authority it is stored and supersedes (restated)."""
        first = store_claim("$750", by=bob, source="document")
        again = store_claim("$750", source="document", status=200)
        assert (again["id"], again["provenance"]["corroboration"], count(Fragment)) == (first["id"], 2, 1)
        restated = store_claim("$750", content="I say so.")
        assert (restated["status"], restated["superseded"]) == ("active", [first["id"]])

    def test_pending_conflicts_are_the_unresolved_ones(self, store_claim, bob, pending, resolve):
        store_claim("$750")
        store_claim("$0", by=bob, source="tool_output")
        store_claim("$1", by=bob, source="tool_output")
        (newest, _) = pending()
        resolve(newest, "reject")
        assert newest["id"] not in {conflict["id"] for conflict in pending()}
        assert len(pending()) == 1

    def test_resolve_supersede_activates_the_newcomer(self, store_claim, bob, pending, resolve, read):
        strong, weak = store_claim("$750"), store_claim("$0", by=bob, source="tool_output")
        settled = resolve(pending()[0], "supersede", note="The user said so on the phone.")
        assert (settled["status"], settled["resolution"]) == ("resolved", "supersede")
        assert settled["note"] == "The user said so on the phone."
        assert (read(weak)["status"], read(strong)["status"]) == ("active", "superseded")
        assert read(strong)["superseded_by"] == weak["id"]

    def test_resolve_reject_archives_the_newcomer(self, store_claim, bob, pending, resolve, read):
        strong, weak = store_claim("$750"), store_claim("$0", by=bob, source="tool_output")
        assert resolve(pending()[0], "reject")["resolution"] == "reject"
        assert (read(weak)["status"], read(strong)["status"]) == ("archived", "active")

    def test_resolve_keep_both_activates_both(self, store_claim, bob, pending, resolve, read):
        """Departs: each has a slot of its own and goes on opposing third values."""
        strong, weak = store_claim("$750"), store_claim("$0", by=bob, source="tool_output")
        assert resolve(pending()[0], "keep_both")["resolution"] == "keep_both"
        assert (read(weak)["status"], read(strong)["status"]) == ("active", "active")
        assert pending() == []

    def test_search_returns_only_active_by_default(self, one_of_each, found):
        assert found(top_k=50) & set(one_of_each.values()) == {one_of_each["active"]}

    def test_search_with_include_all_returns_all_statuses(self, one_of_each, found):
        assert found(filters={"include_all": True}, top_k=50) >= set(one_of_each.values())

    def test_search_with_status_filter_returns_these(self, one_of_each, found):
        hits = found(filters={"status_filter": ["active", "disputed"]}, top_k=50)
        assert hits & set(one_of_each.values()) == {one_of_each["active"], one_of_each["disputed"]}

    def test_what_has_no_claim_goes_on_evolving(self, store_claim, bob, read, pending):
        """Departs: there is no `evolve`; a text without a claim passes the gate by what it is read to say."""
        first = store_claim("", claim=None, content="I live in Seattle.", extract_claim=True)
        moved = store_claim("", claim=None, content="I live in Austin.", extract_claim=True)
        assert (moved["superseded"], read(first)["status"]) == ([first["id"]], "superseded")
        shadow = store_claim("", claim=None, content="The user lives in Oslo.", by=bob, source="tool_output")
        assert (shadow["status"], read(moved)["status"]) == ("quarantined", "active")
        assert [conflict["reason"] for conflict in pending()] == ["free_text"]


class TestPrompt2:
    """Prompt 2, without the lines that feature 3 has too."""

    def test_search_with_session_id_overrides_with_matching_session_claims(self, store_claim, found):
        lasting = store_claim("$750")
        here = store_claim("$900", scope="session", session_id="s1")
        assert found() == {lasting["id"]}
        assert found(session_id="s1") == {here["id"]}
        assert found(session_id="s2") == {lasting["id"]}

    def test_conflicts_are_filtered_by_subject(self, store_claim, bob, pending):
        """Departs: in any spelling."""
        for subject in ("user", "team"):
            claim = {"subject": subject, "predicate": "budget_is"}
            store_claim("$750", claim=claim, content=f"{subject} has $750.")
            store_claim("$0", by=bob, source="tool_output", claim=claim, content=f"{subject} has nothing.")
        assert [conflict["new_claim"]["subject"] for conflict in pending(subject="USER")] == ["user"]
        assert len(pending()) == 2

    def test_supersede_event_is_recorded(self, store_claim, alice):
        """Departs: an event is a row of the fragment's history, kept by triggers."""
        first = store_claim("$750")
        store_claim("$900")
        events = alice.client.get(f"{URL}/{first['id']}/history").json()["events"]
        assert [event["status"] for event in events] == ["active", "superseded"]
        assert all(event["who"]["owner"] == str(alice.principal.owner_id) for event in events)

    def test_conflict_pending_event_is_recorded(self, store_claim, bob, principal):
        """Departs: as above, of the conflict."""
        store_claim("$750")
        (pending,) = store_claim("$0", by=bob, source="tool_output")["pending_conflicts"]
        with access.enter(principal, why="test"):
            (event,) = PendingConflict.objects.get(id=pending["id"]).events.all()
        assert (event.resolution, event.new_authority, event.existing_authority) == ("", 4, 6)
        assert event.pgh_context["owner"] == str(bob.principal.owner_id)

    def test_store_without_claims_checks_no_conflict(self, store_claim, bob, count):
        """Departs: as long as the text states nothing against what stands."""
        store_claim("$750")
        told = store_claim("", claim=None, by=bob, source="tool_output", content="Budgets are planned in spring.")
        assert (told["status"], told["pending_conflicts"]) == ("active", [])
        assert count(PendingConflict) == 0


def test_a_text_with_a_claim_is_heard_after_the_lock_whatever_stood_before(store_claim, bob, monkeypatch):
    """Somebody may have claimed something between the look at the namespace and its lock."""

    def before_that(*given, **asking):
        return {name: replace(state, is_claimed=False) for name, state in states_of(*given, **asking).items()}

    store_claim("$750")
    monkeypatch.setattr(pipeline, "states_of", before_that)
    other = {"subject": "project", "predicate": "city"}
    text = "The user's new budget comes to $900."
    answer = store_claim("Porto", by=bob, source="inference", claim=other, content=text)
    assert answer["status"] == "quarantined"
