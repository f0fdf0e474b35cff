"""A decision between values of a key on which somebody stronger said one as one of many."""

import pytest
from django.utils import timezone

from conflicts.resolution import visible_conflict
from conflicts.resolution.review_queue import foresee_acceptance
from memories import access
from tests.conflicts.rulings.conftest import decide, only, pending, status, take_back


class TestOneOfMany:
    """On a key that takes what its strongest speaker says, somebody stronger said a value as one of many."""

    @pytest.fixture
    def motto(self):
        return {"subject": "acme", "predicate": "motto"}

    @pytest.fixture
    def chosen(self, store_claim, read_out, paper, carol, motto):
        """Who says which value; a person chooses `new` over `old`, and `many` is what did not oppose either."""

        def choose(many):
            beside, old = many("faster", claim=motto, exclusive=False), read_out("cheaper", claim=motto)
            new = store_claim("greener", by=paper, source="inference", claim=motto)
            assert [beside["status"], old["status"], new["status"]] == ["active", "active", "quarantined"]
            with access.enter(carol.principal, why="test"):
                row = visible_conflict(carol.principal, only(new["pending_conflicts"])["id"])
                replaced = foresee_acceptance(carol.principal, row, now=timezone.now()).replaced
            decide(carol, row.id, "supersede")
            foreseen = {str(fragment.id) for fragment in replaced}
            assert foreseen == {f["id"] for f in (beside, old) if status(carol, f) == "superseded"}
            return {"many": beside, "old": old, "new": new, "conflict": row.id}

        return choose

    def test_what_is_chosen_replaces_a_tools_value_too(self, chosen, store_tool_claim, carol):
        said = chosen(many=store_tool_claim)
        assert [status(carol, said[part]) for part in ("many", "old", "new")] == ["superseded", "superseded", "active"]
        assert pending(carol) == []

    def test_the_users_word_stands_beside_what_is_chosen_until_somebody_decides(self, chosen, store_claim, carol):
        said = chosen(many=store_claim)
        assert [status(carol, said[part]) for part in ("many", "old", "new")] == ["active", "superseded", "active"]
        opened = only(pending(carol))
        assert (opened["new_claim"]["value"], opened["existing_claim"]["value"]) == ("faster", "greener")
        decide(carol, opened["id"], "supersede")
        assert [status(carol, said[part]) for part in ("many", "new")] == ["active", "superseded"]
        take_back(carol, opened["id"])
        assert [status(carol, said[part]) for part in ("many", "new")] == ["active", "active"]
        assert only(pending(carol))["id"] == opened["id"]

    def test_undone_the_users_word_waits_for_nobody(self, chosen, store_claim, carol):
        said = chosen(many=store_claim)
        take_back(carol, said["conflict"])
        assert [status(carol, said[part]) for part in ("many", "old", "new")] == ["active", "active", "quarantined"]
        assert only(pending(carol))["id"] == str(said["conflict"])
