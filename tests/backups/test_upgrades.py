"""Records as earlier versions wrote them."""

import json

import pytest

from conflicts.models import Predicate
from memories import access
from tests.backups.conftest import forged

MAIN = "acme:main"


@pytest.mark.parametrize(("newer_wins", "policy"), [(True, "newest"), (False, "review")])
def test_a_bundle_that_says_newer_wins_is_read(
    principal, alice, store, storage, back_up, restore, wipe, newer_wins, policy
):
    store(MAIN, "The heron nests by the mill.")
    rule = {"namespace": MAIN, "name": "mascot", "policy": "keep_both"}
    assert alice.client.post("/api/v1/predicates", rule, format="json").status_code == 201
    row = back_up()

    def former(told):
        for each in told:
            if each.get("kind") == "predicate":
                del each["row"]["policy"]
                each["row"]["newer_wins"] = newer_wins
        return json.loads(json.dumps(told))

    forged(storage / row.file, former)
    wipe()
    restore(row, trust_signer=row.signer)
    with access.enter(principal, why="test"):
        assert Predicate.objects.within(principal.project_id).get().policy == policy


def test_a_policy_comes_back_as_it_was(principal, alice, store, back_up, restore, wipe):
    store(MAIN, "The heron nests by the mill.")
    rule = {"namespace": MAIN, "name": "mascot", "policy": "keep_both"}
    assert alice.client.post("/api/v1/predicates", rule, format="json").status_code == 201
    row = back_up()
    wipe()
    restore(row, trust_signer=row.signer)
    with access.enter(principal, why="test"):
        assert Predicate.objects.within(principal.project_id).get().policy == "keep_both"
