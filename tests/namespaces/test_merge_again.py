"""A memory that was merged is named once more, after something became of it on either side."""

from dataclasses import replace

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import ingest
from memories.models import Origin
from tests.namespaces.conftest import MAIN, SIDE

CODE = {"source": "tool_output"}


def gate(value):
    return {"claim": ClaimDraft("gate", "code", value)}


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def brought(store, alice, merge, rows):
    """A memory of the branch, and its copy in the target."""
    store(MAIN, "The heron nests.", by=alice.principal)
    row = store(SIDE, "Gate code is 1", by=alice.principal, **CODE, **gate("1"))
    assert merge(only=[str(row.id)]).report["counts"]["added"] == 1
    (copy,) = rows(MAIN, content=row.content)
    return row, copy


@pytest.fixture
def become(alice, store):
    """Lets something become of a memory."""

    def do(what, row, place):
        if what == "archived":
            ingest.updates.archive(alice.principal, row.id, now=timezone.now())
        else:
            store(place, "The gate's code is 2", by=alice.principal, source="user_explicit", **gate("2"))

    return do


@pytest.mark.parametrize("what", ["archived", "superseded"])
def test_what_went_in_the_branch_has_nothing_to_bring_where_it_stands(brought, become, merge, digest, rows, what):
    row, copy = brought
    become(what, row, SIDE)
    before = digest()
    told = merge(only=[str(row.id)])
    assert (told.state, told.report["reasons"]) == ("succeeded", {str(row.id): "repeats"})
    assert digest() == before
    assert told.report["beside"] == {str(row.id): str(copy.id)}
    assert rows(MAIN, id=copy.id)[0].status == "active"


def test_what_went_on_both_sides_has_nothing_to_bring(brought, become, merge, digest):
    row, copy = brought
    become("superseded", copy, MAIN)
    become("archived", row, SIDE)
    before = digest()
    told = merge(only=[str(row.id)])
    assert (told.state, told.report["reasons"]) == ("succeeded", {str(row.id): "superseded"})
    assert (digest(), told.report["beside"]) == (before, {})


def test_what_a_person_accepted_in_the_branch_waits_on_in_the_target(store, alice, carol, fork, merge, digest):
    store(MAIN, "Gate code is 2", by=alice.principal, source="user_explicit", **gate("2"))
    fork()
    row = store(SIDE, "Gate code is 1", by=alice.principal, **CODE, **gate("1"))
    assert merge(only=[str(row.id)]).report["counts"]["conflicting"] == 1
    (conflict,) = carol.client.get("/api/v1/conflicts", {"namespace": SIDE}).json()["results"]
    wish = {"action": "supersede", "revision": conflict["revision"]}
    assert carol.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", wish, format="json").status_code == 200
    before = digest()
    told = merge(only=[str(row.id)])
    assert (told.state, told.report["reasons"]) == ("succeeded", {str(row.id): "repeats"})
    assert digest() == before


@pytest.mark.parametrize(("what", "ends"), [("archived", "active"), ("superseded", "quarantined")])
def test_a_copy_that_went_in_the_target_is_heard_again(
    brought, become, merge, undo, rows, belief, digest, count, what, ends
):
    row, copy = brought
    become(what, copy, MAIN)
    before, origins = belief(), count(Origin)
    looked = merge(only=[str(row.id)], dry_run=True)
    assert belief() == before
    done = merge(only=[str(row.id)])
    assert (done.state, done.error) == ("succeeded", None)
    assert done.report["counts"] == looked.report["counts"]
    named = done.report["added" if ends == "active" else "conflicting"]
    assert (named, done.report["sources"]) == ([str(copy.id)], {str(copy.id): str(row.id)})
    assert [each.status for each in rows(MAIN, content=row.content)] == [ends]
    after = digest()
    assert merge(only=[str(row.id)]).report["reasons"] == {str(row.id): "repeats"}
    assert digest() == after
    assert undo(done).state == "succeeded"
    assert (belief(), count(Origin)) == (before, origins)


@pytest.mark.parametrize("rejects", [False, True])
def test_what_a_person_put_away_in_the_target_stays_so(
    brought, principal, store, alice, carol, merge, rows, digest, rejects
):
    row, copy = brought
    if rejects:
        store(MAIN, "The gate's code is 2", by=alice.principal, source="user_explicit", **gate("2"))
        assert merge(only=[str(row.id)]).report["counts"]["conflicting"] == 1
        (conflict,) = carol.client.get("/api/v1/conflicts", {"namespace": MAIN}).json()["results"]
        wish = {"action": "reject", "revision": conflict["revision"]}
        answer = carol.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", wish, format="json")
        assert answer.status_code == 200, answer.json()
    else:
        ingest.updates.archive(replace(principal, kind="person"), copy.id, now=timezone.now())
    before = digest()
    told = merge(only=[str(row.id)])
    reason = "rejected" if rejects else "by_person"
    assert (told.state, told.report["reasons"]) == ("succeeded", {str(row.id): reason})
    assert (digest(), [each.status for each in rows(MAIN, content=row.content)]) == (before, ["archived"])


def test_what_a_person_ruled_out_in_the_target_stays_so(brought, store, alice, carol, merge, digest):
    row, _ = brought
    store(MAIN, "The gate's code is 3", by=alice.principal, source="document", **gate("3"))
    (conflict,) = carol.client.get("/api/v1/conflicts", {"namespace": MAIN}).json()["results"]
    wish = {"action": "supersede", "revision": conflict["revision"]}
    assert carol.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", wish, format="json").status_code == 200
    before = digest()
    told = merge(only=[str(row.id)])
    assert (told.state, told.report["reasons"]) == ("succeeded", {str(row.id): "precedent_rejected"})
    assert digest() == before


@pytest.mark.parametrize("stands", [True, False])
def test_a_copy_that_says_otherwise_by_now_says_it_again(brought, alice, change, merge, undo, rows, belief, stands):
    row, copy = brought
    other = {"content": "Gate code is 7", "claim": {"subject": "gate", "predicate": "code", "value": "7"}}
    answer = alice.client.patch(f"/api/v1/fragments/{copy.id}", other | {"revision": 1}, format="json")
    assert answer.status_code == 200, answer.json()
    if not stands:
        ingest.updates.archive(alice.principal, copy.id, now=timezone.now())
    change(row, updated_at=timezone.now())
    before = belief()
    done = merge(only=[str(row.id)])
    assert (done.state, done.report["sources"]) == ("succeeded", {str(copy.id): str(row.id)})
    assert (rows(MAIN, id=copy.id)[0].content, rows(MAIN, id=copy.id)[0].status) == (row.content, "active")
    assert undo(done).state == "succeeded"
    assert belief() == before


def test_a_whole_merge_brings_an_edit_whose_copy_went_while_the_former_words_came_back(
    brought, alice, principal, change, merge, rows
):
    row, copy = brought
    person = replace(principal, kind="person", ceiling="user_explicit")
    other = {"content": "Gate code is 7", "claim": {"subject": "gate", "predicate": "code", "value": "7"}}
    assert alice.client.patch(f"/api/v1/fragments/{row.id}", other | {"revision": 1}, format="json").status_code == 200
    assert merge().state == "succeeded"
    (later,) = rows(MAIN, content="Gate code is 7")
    ingest.updates.archive(person, later.id, now=timezone.now())
    change(copy, status="active", superseded_by=None)
    change(row, updated_at=timezone.now())
    told = merge()
    assert (told.state, told.error) == ("succeeded", None)
    assert [each.status for each in rows(MAIN, id=later.id)] == ["archived"]
