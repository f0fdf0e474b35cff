"""What a person types in place of both sides is a memory of their own."""

import pytest

from memories.upkeep.thresholds import set_thresholds
from tests.conflicts.rulings.conftest import decide, get, only, pending, rulings, search, status, take_back


class TestCorrecting:
    """Edit, then accept."""

    @pytest.fixture
    def corrected(self, store_claim, read_out, carol):
        """Neither: it is $52,000."""
        user, paper = store_claim("$48,000"), read_out("$84,000")
        conflict = only(paper["pending_conflicts"])["id"]
        typed = {"content": "ACME's contract is worth $52,000 a year.", "value": "$52,000"}
        decide(carol, conflict, "supersede", correction=typed)
        return {"user": user, "paper": paper, "conflict": conflict}

    def test_a_new_memory_stands_and_the_challenger_is_kept_as_written(self, corrected, carol):
        row = only(search(carol))
        assert (row["claim"]["value"], row["provenance"]["source"]) == ("$52,000", "user_explicit")
        assert row["provenance"]["owner"] == str(carol.principal.owner_id)
        paper = get(carol, f"fragments/{corrected['paper']['id']}")
        assert (paper["content"], paper["claim"]["value"]) == ("It is worth $84,000.", "$84,000")
        assert (paper["status"], paper["revision"]) == ("archived", corrected["paper"]["revision"])
        assert {(link["id"], link["kind"]) for link in row["links"]} >= {(paper["id"], "related")}
        assert get(carol, f"fragments/{corrected['user']['id']}")["superseded_by"] == row["id"]
        ruling = only(rulings(carol))
        assert (ruling["edited"], [one["value"] for one in ruling["chosen"]]) == (True, ["$52,000"])
        assert sorted(one["value"] for one in ruling["ruled_out"]) == ["$48,000", "$84,000"]

    def test_it_holds_and_can_be_taken_back(self, corrected, store_tool_claim, carol):
        late = store_tool_claim("$99,999")
        assert late["status"] == "quarantined"
        take_back(carol, corrected["conflict"])
        assert [row["claim"]["value"] for row in search(carol)] == ["$48,000"]
        assert [status(carol, each) for each in (corrected["paper"], late)] == ["quarantined", "quarantined"]

    def test_it_weighs_by_the_rates_of_its_project(self, store_claim, read_out, carol, principal):
        own = {"weight_base": "0.35", "weight_entity": "0", "weight_valence": "0", "weight_manual": "0.1"}
        set_thresholds(principal, own)
        store_claim("$48,000")
        late = only(read_out("$84,000")["pending_conflicts"])["id"]
        decide(carol, late, "supersede", correction={"content": "It is worth $52,000.", "value": "$52,000"})
        assert only(search(carol))["importance"] == pytest.approx(0.45)

    def test_it_goes_with_accepting_only(self, store_claim, read_out, carol):
        store_claim("$48,000")
        late = only(read_out("$84,000")["pending_conflicts"])["id"]
        told = decide(carol, late, "reject", code=400, correction={"content": "x", "value": "y"})
        assert told["code"] == "validation"
        assert decide(carol, late, "supersede", code=409, correction={"content": "x"})["code"] == "not_applicable"
        assert len(pending(carol)) == 1


class TestBadInput:
    """Exact problems, nothing changed."""

    def test_a_stale_revision(self, store_claim, read_out, carol):
        store_claim("$48,000")
        late = only(read_out("$84,000")["pending_conflicts"])["id"]
        body = {"action": "supersede", "revision": 7}
        answer = carol.client.post(f"/api/v1/conflicts/{late}/resolve", body, format="json")
        assert (answer.status_code, answer.json()["code"]) == (409, "stale_revision")
        assert rulings(carol) == []

    def test_a_key_that_vanished(self, store_claim, read_out, carol, alice):
        held, paper = store_claim("$48,000"), read_out("$84,000")
        late = only(paper["pending_conflicts"])["id"]
        assert alice.client.delete(f"/api/v1/fragments/{paper['id']}").status_code == 204
        answer = carol.client.post(
            f"/api/v1/conflicts/{late}/resolve", {"action": "supersede", "revision": 1}, format="json"
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "already_resolved")
        assert (rulings(carol), status(carol, held)) == ([], "active")

    def test_nonsense_in_the_list(self, carol):
        for query in ({"limit": 0}, {"cursor": "x"}, {"what": "x"}, {"subject": "x" * 101}):
            assert carol.client.get("/api/v1/rulings", query).status_code == 400
        assert carol.client.get("/api/v1/rulings", {"namespace": "elsewhere:main"}).status_code == 404


class TestText:
    """Conflicts of free text and disputes leave the ruling on the memory."""

    def test_a_rejected_text_stays_out(self, alice, bob, carol):
        def write(by, text, source):
            body = {"namespace": "acme:main", "content": text, "provenance": {"source": source}, "extract_claim": True}
            if by is bob:
                del body["extract_claim"]
            return by.client.post("/api/v1/fragments", body, format="json").json()

        write(alice, "I live in Oslo.", "user_explicit")
        late = write(bob, "The user lives in Madrid.", "tool_output")
        assert late["status"] == "quarantined"
        decide(carol, only(pending(carol))["id"], "reject")
        ruling = only(rulings(carol))
        assert (ruling["fragment_id"], ruling["chosen"]) == (late["id"], [])
        assert write(bob, "Also: the user lives in Madrid.", "tool_output")["status"] == "archived"
        assert only(rulings(carol))["repeats"] == 1

    def test_a_dispute(self, store_claim, carol, bob):
        held = store_claim("$48,000")
        bob.client.post(f"/api/v1/fragments/{held['id']}/dispute", {"reason": "no"}, format="json")
        decide(carol, only(pending(carol))["id"], "supersede")
        assert only(rulings(carol))["fragment_id"] == held["id"]
