"""Rulings: a person's decision binds whoever is believed less than the person."""

import uuid

import pytest
from django.utils import timezone

from conflicts.rulings import with_protection
from memories import access
from memories.models import Fragment
from memories.models.sql import fetch
from memories.upkeep.protections import IS_CHOSEN
from tests.conflicts.rulings.conftest import (
    CLAIM,
    READING,
    context,
    decide,
    get,
    only,
    pending,
    rulings,
    search,
    status,
    take_back,
    write,
)


class TestBinding:
    """What a decision protects, and what it opens again."""

    def test_a_later_write_waits_and_opens_the_ruling_again(self, ruled, store_tool_claim, carol):
        late = store_tool_claim("$99,999")
        assert (late["status"], late["superseded"]) == ("quarantined", [])
        assert status(carol, ruled["paper"]) == "active"
        opened = only(pending(carol))
        assert opened["new_claim"]["value"] == "$99,999"
        told = opened["ruling"]
        assert (told["by"], told["note"], told["authority"]) == ("carol", "signed on Monday", 6)
        assert [one["value"] for one in told["chosen"]] == ["$84,000"]
        assert [one["value"] for one in told["ruled_out"]] == ["$48,000"]
        assert told["at"] == get(carol, f"conflicts/{ruled['conflict']}")["resolved_at"]

    @pytest.mark.parametrize("past", [False, True])
    def test_a_session_of_who_is_weaker_than_the_ruling_hides_nothing(self, past, ruled, store_tool_claim, carol):
        store_tool_claim("$99,999", scope="session", session_id="s1")
        asked = {"namespace": "acme:main", "subject": CLAIM["subject"], "predicate": CLAIM["predicate"]}
        moment = {"known_at": timezone.now().isoformat()} if past else {}
        found = get(carol, "claims", session_id="s1", **asked, **moment)["results"]
        assert [row["value"] for row in found if row["status"] == "active"] == ["$84,000"]

    def test_free_texts_of_another_value_wait_too(self, ruled, carol, bob):
        body = {
            "namespace": "acme:main",
            "content": "Acme's contract value is $13.",
            "provenance": {"source": "tool_output"},
        }
        late = bob.client.post("/api/v1/fragments", body, format="json").json()
        assert late["status"] == "quarantined", late
        assert only(pending(carol))["kind"] == "text"

    def test_fragments_keep_their_own_authority(self, ruled, carol):
        row = get(carol, f"fragments/{ruled['paper']['id']}")
        assert (row["provenance"]["source"], row["claim"]["authority"]) == ("document", 2)

    def test_undo_brings_back_what_stood_although_writes_wait(self, ruled, store_tool_claim, carol):
        late = store_tool_claim("$99,999")
        take_back(carol, ruled["conflict"])
        assert status(carol, ruled["user"]) == "active"
        assert [status(carol, each) for each in (ruled["paper"], late)] == ["quarantined", "quarantined"]
        assert {row["existing_id"] for row in pending(carol)} == {ruled["user"]["id"]}
        assert rulings(carol) == []
        assert store_tool_claim("$77,777")["status"] == "quarantined"

    def test_the_writer_itself_may_not_replace_what_was_ruled(self, ruled, read_out, carol):
        assert read_out("$85,000")["status"] == "quarantined"
        assert status(carol, ruled["paper"]) == "active"

    def test_a_rejection_protects_nothing(self, store_claim, read_out, store_tool_claim, carol, project, agent_of):
        held = read_out("$10")
        guess = store_claim("$20", by=agent_of(project, owner="guesser", ceiling="inference"), source="inference")
        decide(carol, only(guess["pending_conflicts"])["id"], "reject")
        assert [one["value"] for one in only(rulings(carol))["ruled_out"]] == ["$20"]
        assert only(rulings(carol))["chosen"] == []
        assert store_tool_claim("$30")["superseded"] == [held["id"]]

    @pytest.mark.parametrize("keep", ["pair", "period", "predicate"])
    def test_keeping_both_protects_both(self, store_claim, read_out, store_tool_claim, carol, keep):
        held, other = store_claim("$10", source="user_implicit"), read_out("$20")
        decide(carol, only(other["pending_conflicts"])["id"], "keep_both", keep=keep)
        assert sorted(one["value"] for one in only(rulings(carol))["chosen"]) == ["$10", "$20"]
        third = store_tool_claim("$30")
        assert third["superseded"] == []
        assert [status(carol, each) for each in (held, other)] == ["active", "active"]

    def test_what_repeats_a_value_that_was_ruled_out_is_archived_and_counted(self, ruled, store_tool_claim, carol):
        assert store_tool_claim("$48,000")["status"] == store_tool_claim(" $48,000 ")["status"] == "archived"
        row = only(rulings(carol))
        assert (row["repeats"], row["repeated_at"] is not None) == (2, True)
        assert pending(carol) == []

    @pytest.mark.parametrize("deed", ["archive", "dispute", "delete", "patch"])
    def test_weak_hands_can_not_move_what_was_ruled(self, ruled, carol, project, agent_of, deed):
        writer = agent_of(project, owner="paper", ceiling="tool_output").client
        here = f"/api/v1/fragments/{ruled['paper']['id']}"
        claim = {**CLAIM, "value": "$1"}
        answer = {
            "archive": lambda: writer.post(f"{here}/archive", {}, format="json"),
            "dispute": lambda: writer.post(f"{here}/dispute", {"reason": "no"}, format="json"),
            "delete": lambda: writer.delete(here),
            "patch": lambda: writer.patch(here, {"claim": claim}, format="json"),
        }[deed]()
        assert answer.status_code == (200 if deed == "dispute" else 403)
        assert status(carol, ruled["paper"]) == "active"

    def test_disputes_of_what_was_ruled_only_open_a_review(self, ruled, carol, project, agent_of):
        for name in ("d1", "d2", "d3", "d4"):
            by = agent_of(project, owner=name, ceiling="system").client
            told = by.post(f"/api/v1/fragments/{ruled['paper']['id']}/dispute", {"reason": "no"}, format="json").json()
            assert told["counted"] is False
        assert status(carol, ruled["paper"]) == "active"
        assert [row["kind"] for row in pending(carol)] == ["dispute"]


class TestChanging:
    """Who may change a ruling, and what the user's own words do."""

    def test_another_reviewer_of_no_lower_ceiling_may(self, ruled, store_tool_claim, project, agent_of, carol):
        late = only(store_tool_claim("$99,999")["pending_conflicts"])["id"]
        weak = agent_of(project, owner="weak", ceiling="system", verbs=["read", "review"])
        assert decide(weak, late, "supersede", code=403)["code"] == "not_permitted"
        assert decide(weak, late, "keep_both", code=403)["code"] == "not_permitted"
        assert take_back(weak, ruled["conflict"], code=403)["code"] == "not_permitted"
        dan = agent_of(project, owner="dan", ceiling="user_explicit", verbs=["read", "review"])
        decide(dan, late, "supersede")
        row = only(rulings(carol))
        assert (row["by"], [one["value"] for one in row["chosen"]]) == ("dan", ["$99,999"])
        assert {one["value"] for one in row["ruled_out"]} == {"$84,000", "$48,000"}
        take_back(dan, late)
        assert only(rulings(carol))["by"] == "carol"

    def test_a_weaker_reviewer_may_reject_what_is_against_it(self, ruled, store_tool_claim, project, agent_of, carol):
        late = only(store_tool_claim("$99,999")["pending_conflicts"])["id"]
        weak = agent_of(project, owner="weak", ceiling="system", verbs=["read", "review"])
        decide(weak, late, "reject")
        assert sorted(row["authority"] for row in rulings(carol)) == [5, 6]

    def test_a_ruling_is_as_strong_as_its_decider(
        self, store_claim, read_out, store_tool_claim, project, agent_of, carol
    ):
        held = store_claim("$10", source="user_implicit")
        late = only(read_out("$20")["pending_conflicts"])["id"]
        weak = agent_of(project, owner="weak", ceiling="user_implicit", verbs=["read", "review"])
        decide(weak, late, "supersede")
        assert only(rulings(carol))["authority"] == 3
        assert store_tool_claim("$30")["status"] == "active"
        assert status(carol, held) == "superseded"

    def test_the_users_later_words_are_served_beside_it_labelled(self, ruled, store_claim, carol):
        later = store_claim("$50,000")
        assert (later["status"], later["superseded"]) == ("active", [])
        assert only(later["pending_conflicts"])["existing_id"] == ruled["paper"]["id"]
        assert only(pending(carol))["ruling"]["by"] == "carol"
        found = {row["id"]: row["contested"] for row in search(carol)}
        assert found[later["id"]] == [{"id": ruled["paper"]["id"], "part": "user"}]
        assert found[ruled["paper"]["id"]] == [{"id": later["id"], "part": "ruling"}]
        block = context(carol)
        assert "against what a reviewer decided) It is worth $50,000" in block
        assert "the user says otherwise since) It is worth $84,000" in block

    def test_also_where_one_key_writes_for_both(self, store_claim, carol):
        store_claim("$48,000")
        paper = store_claim("$84,000", source="document")
        decide(carol, only(paper["pending_conflicts"])["id"], "supersede")
        later = store_claim("$50,000")
        assert (later["status"], later["superseded"]) == ("active", [])

    @pytest.mark.parametrize(("action", "left"), [("supersede", "$50,000"), ("reject", "$84,000")])
    def test_somebody_decides_between_both(self, ruled, store_claim, carol, action, left):
        later = store_claim("$50,000")
        decide(carol, only(pending(carol))["id"], action)
        found = search(carol)
        assert [row["claim"]["value"] for row in found] == [left]
        assert found[0]["contested"] == []
        assert (pending(carol), status(carol, later)) == ([], "active" if action == "supersede" else "archived")

    def test_the_users_next_words_replace_their_last(self, ruled, store_claim, carol):
        first = store_claim("$50,000")
        second = store_claim("$51,000")
        assert (second["status"], second["superseded"]) == ("active", [first["id"]])
        assert [row["new_id"] for row in pending(carol)] == [second["id"]]

    def test_the_user_may_insist_on_what_was_ruled_out(self, ruled, store_claim):
        again = store_claim("$48,000")
        assert (again["status"], len(again["pending_conflicts"])) == ("active", 1)

    def test_the_users_free_text_opens_it_again_and_is_served_beside_it(self, ruled, alice, carol):
        later = write(alice, "The ACME contract value is $50,000.")
        assert later["status"] == "active"
        conflict = only(pending(carol))
        assert (conflict["kind"], conflict["new_id"], conflict["existing_id"]) == (
            "text",
            later["id"],
            ruled["paper"]["id"],
        )
        assert conflict["ruling"]["by"] == "carol"
        found = {row["id"]: row["contested"] for row in search(carol)}
        assert found[later["id"]] == [{"id": ruled["paper"]["id"], "part": "user"}]
        assert found[ruled["paper"]["id"]] == [{"id": later["id"], "part": "ruling"}]

    @pytest.mark.parametrize(("action", "left"), [("supersede", "$50,000"), ("reject", "$84,000")])
    def test_somebody_decides_on_the_users_free_text(self, ruled, alice, carol, action, left):
        later = write(alice, "The ACME contract value is $50,000.")
        conflict = only(pending(carol))
        decide(carol, conflict["id"], action)
        assert [left in row["content"] for row in search(carol)] == [True]
        assert pending(carol) == []
        take_back(carol, conflict["id"])
        assert (status(carol, later), status(carol, ruled["paper"]), len(pending(carol))) == ("active", "active", 1)

    def test_the_users_free_text_that_agrees_opens_nothing(self, ruled, alice, carol):
        write(alice, "The ACME contract value is $84,000.")
        assert pending(carol) == []


class TestReadings:
    """Predicates that the newest value answers."""

    @pytest.fixture
    def waiting(self, store_claim, read_out):
        """A document's reading against the user's."""
        store_claim("19", claim=READING)
        return only(read_out("25", claim=READING)["pending_conflicts"])["id"]

    def test_they_take_no_ruling_by_themselves(self, waiting, store_tool_claim, carol):
        decide(carol, waiting, "supersede")
        assert rulings(carol) == []
        assert store_tool_claim("21", claim=READING)["status"] == "active"

    def test_they_take_one_when_the_person_says_so(self, waiting, store_tool_claim, carol):
        decide(carol, waiting, "supersede", ruling=True)
        assert [one["value"] for one in only(rulings(carol))["chosen"]] == ["25"]
        assert store_tool_claim("21", claim=READING)["status"] == "quarantined"


class TestReading:
    """The list of rulings."""

    def test_it_is_narrowed_in_any_spelling(self, ruled, carol):
        assert rulings(carol, subject="ACME", predicate="Contract_Value", namespace="acme:main") == rulings(carol)
        assert rulings(carol, subject="other") == rulings(carol, predicate="other") == []

    def test_nobody_else_sees_it(self, ruled, charlie, agent_of, project):
        assert rulings(charlie) == []
        assert rulings(agent_of(project, owner="x", namespaces=["acme:other"])) == []

    def test_pages(self, store_claim, read_out, carol):
        for number in range(3):
            claim = {"subject": f"s{number}", "predicate": "motto"}
            store_claim("a", claim=claim)
            decide(carol, only(read_out("b", claim=claim)["pending_conflicts"])["id"], "reject")
        first = get(carol, "rulings", limit=2)
        rest = carol.client.get(first["next"]).json()
        assert len({row["id"] for row in [*first["results"], *rest["results"]]}) == 3

    def test_what_is_forgotten_leaves_no_word(self, ruled, carol, alice):
        assert alice.client.delete(f"/api/v1/fragments/{ruled['user']['id']}").status_code == 204
        row = only(rulings(carol))
        assert (row["note"], [one["value"] for one in row["ruled_out"]]) == ("", [None])


class TestRules:
    """A changed rule of a predicate names rulings anew with the claims that they are about."""

    def test_a_ruling_holds_when_its_predicate_gets_another_name(self, ruled, alice, store_tool_claim):
        body = {"namespace": "acme:main", "name": "worth", "aliases": ["contract value"], "normaliser": "money"}
        made = alice.client.post("/api/v1/predicates", body, format="json")
        assert made.status_code == 201, made.json()
        again = store_tool_claim("84000 USD", claim={"subject": "acme", "predicate": "worth"})
        assert (again["status"], again["pending_conflicts"]) == ("active", [])
        other = store_tool_claim("$99,999", claim={"subject": "acme", "predicate": "worth"})
        assert (other["status"], other["superseded"]) == ("quarantined", [])
        back = store_tool_claim("$48,000", claim={"subject": "acme", "predicate": "worth"})
        assert back["status"] == "archived"


def test_rulings_are_read_once_for_many_memories(ruled, principal):
    with access.enter(principal, why="test"):
        rows = Fragment.objects.within(principal.project_id)
        assert dict(with_protection(rows).values_list("id", "ruled"))[uuid.UUID(ruled["paper"]["id"])] == 6
        plans = [
            with_protection(rows).filter(rank__gt=3).explain(),
            "\n".join(row[0] for row in fetch(f"EXPLAIN SELECT FROM memories_fragment f WHERE {IS_CHOSEN}", [])),
        ]
    for plan in plans:
        assert "conflicts_ruling" in plan
        assert "SubPlan" not in plan
