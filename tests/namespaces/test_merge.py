"""A merge replays what a branch wrote through the target's gate; it can be looked at first and taken back."""

import datetime
from dataclasses import replace

import pytest
from django.utils import timezone

from conflicts.models import PendingConflict, Vote
from conflicts.public import ClaimDraft
from memories import access, erasure, ingest, jobs, operations
from memories.models import Access, Claim, Embedding, Fragment, Origin, Tombstone
from memories.models.bulk import COPY_FROM
from memories.upkeep.lifecycle.snapshots import copy_fragments as take_copies
from tests.namespaces.conftest import MAIN, SIDE

LISTS = ("added", "superseded", "conflicting", "skipped", "blocked_by_erasure", "forgotten", "carried")


def named(text, rows):
    (found,) = [row for row in rows if row.content == text]
    return found


@pytest.fixture
def begun(store, alice, fork):
    """Two memories, and a branch of them."""
    kept = store(MAIN, "The heron nests by the mill.", by=alice.principal, source_id="s1")
    aged = store(MAIN, "Ada is six.", by=alice.principal, claim=ClaimDraft("Ada", "age", "6"), source="tool_output")
    fork()
    return kept, aged


def test_nothing_new_changes_nothing(begun, merge, digest):
    before = digest()
    told = merge().report
    assert {name: told[name] for name in LISTS} == dict.fromkeys(LISTS, [])
    assert digest() == before


def test_what_the_branch_wrote_is_added_with_its_authority(begun, merge, store, bob, rows, principal):
    made = store(
        SIDE,
        "Otters swim at night.",
        by=bob.principal,
        source="document",
        parents=[named_in(rows, SIDE).id],
        tags=["o"],
    )
    told = merge().report
    assert told["counts"]["added"] == 1
    row = named("Otters swim at night.", rows())
    assert told["added"] == [str(row.id)]
    same = ("authority", "source", "owner_id", "grant_id", "created_at", "updated_at", "tags", "type", "importance")
    assert [getattr(row, name) for name in same] == [getattr(made, name) for name in same]
    assert row.parents == row.roots == [begun[0].id]
    with access.enter(principal, why="test"):
        assert Embedding.objects.filter(fragment_id=row.id).count() == 1
        assert Origin.objects.get(fragment_id=row.id).origin_id == made.id


def named_in(rows, place):
    return named("The heron nests by the mill.", rows(place))


def test_many_come_with_the_vectors_that_they_have(begun, merge, principal):
    texts = [
        ingest.Draft(namespace=SIDE, content=f"Otter {n} swims.", source_type="document") for n in range(COPY_FROM)
    ]
    ingest.store(principal, ingest.prepare(texts), now=timezone.now())
    told = merge().report
    assert told["counts"]["added"] == COPY_FROM
    with access.enter(principal, why="test"):
        assert Embedding.objects.filter(fragment_id__in=told["added"]).count() == COPY_FROM


def test_twice_is_once(begun, merge, store, bob, digest):
    store(SIDE, "Otters swim at night.", by=bob.principal)
    merge()
    before = digest()
    told = merge().report
    assert {name: told[name] for name in LISTS} == dict.fromkeys(LISTS, [])
    assert digest() == before


def test_a_claim_of_the_branch_passes_the_gate(begun, merge, store, alice, bob, rows, principal):
    older = ClaimDraft("Ada", "age", "7")
    store(SIDE, "Ada is seven.", by=alice.principal, claim=older, source="tool_output")
    told = merge().report
    assert told["superseded"] == [str(begun[1].id)]
    assert [(row.content, row.status) for row in rows()][-2:] == [
        ("Ada is six.", "superseded"),
        ("Ada is seven.", "active"),
    ]


def test_a_weaker_claim_waits_in_quarantine(begun, fork, merge, store, alice, bob, rows, principal):
    store(SIDE, "Ada lives in Rome.", by=bob.principal, claim=ClaimDraft("Ada", "lives in", "Rome"), source="document")
    store(
        MAIN,
        "Ada lives in Oslo.",
        by=alice.principal,
        claim=ClaimDraft("Ada", "lives in", "Oslo"),
        source="tool_output",
    )
    told = merge().report
    row = named("Ada lives in Rome.", rows())
    assert (told["conflicting"], told["added"], row.status) == ([str(row.id)], [], "quarantined")
    with access.enter(principal, why="test"):
        conflict = PendingConflict.objects.get(newcomer=row.id)
    assert conflict.existing_id == named("Ada lives in Oslo.", rows()).id


def test_what_repeats_is_skipped_and_corroborates(begun, merge, store, alice, bob, rows):
    store(MAIN, "Bo is tall.", by=alice.principal, claim=ClaimDraft("Bo", "height", "tall"), source="tool_output")
    said = store(SIDE, "Bo is tall!", by=bob.principal, claim=ClaimDraft("Bo", "height", "tall"))
    told = merge().report
    assert (told["skipped"], told["skipped_because"]) == ([str(said.id)], {"repeats": 1})
    assert named("Bo is tall.", rows()).corroboration == 2


def test_it_replays_in_the_order_in_which_it_was_written(begun, merge, store, alice, rows):
    for age in ("7", "8"):
        store(SIDE, f"Ada is {age}.", by=alice.principal, claim=ClaimDraft("Ada", "age", age), source="tool_output")
    told = merge().report
    standing = {row.content: row.status for row in rows()}
    assert standing["Ada is 8."] == "active"
    assert standing["Ada is 7."] == standing["Ada is six."] == "superseded"
    assert told["superseded"] == [str(begun[1].id)]
    assert told["counts"]["history"] == 1
    assert named("Ada is 7.", rows()).superseded_by_id == named("Ada is 8.", rows()).id


@pytest.mark.parametrize(("mine", "theirs", "stays"), [(0.9, 0.4, "new"), (0.4, 0.9, "old"), (0.5, 0.5, "old")])
def test_of_one_source_the_more_relevant_stays(store, bob, merge, change, texts, rows, mine, theirs, stays):
    old = store(MAIN, "The old text.", by=bob.principal, source_id="doc")
    new = store(SIDE, "The new text.", by=bob.principal, source_id="doc")
    moment = timezone.now()
    change(old, base_relevance=theirs, created_at=old.created_at, updated_at=moment)
    with access.enter(bob.principal, why="test"):
        for row in (old, new):  # read at the same moment: as fresh as each other
            Access.objects.create(project_id=row.project_id, fragment=row, access_count=1, last_accessed_at=moment)
    change(new, base_relevance=mine)
    told = merge().report
    assert texts() == [f"The {stays} text."]
    assert [told["added"] != [], told["superseded"], told["skipped"]] == (
        [True, [str(old.id)], []] if stays == "new" else [False, [], [str(new.id)]]
    )


@pytest.mark.parametrize(
    ("mine", "theirs", "stays"), [("document", "tool_output", "old"), ("tool_output", "document", "new")]
)
def test_relevance_does_not_beat_authority(store, bob, merge, change, texts, mine, theirs, stays):
    old = store(MAIN, "The old text.", by=bob.principal, source_id="doc", source=theirs)
    new = store(SIDE, "The new text.", by=bob.principal, source_id="doc", source=mine)
    change(old if stays == "new" else new, base_relevance=1.0)
    change(new if stays == "new" else old, base_relevance=0.1)
    merge()
    assert texts() == [f"The {stays} text."]


def test_of_several_new_ones_of_a_source_one_is_left(store, bob, merge, texts, rows):
    store(MAIN, "Something else.", by=bob.principal)
    for n in range(3):
        store(SIDE, f"Text {n}.", by=bob.principal, source_id="doc")
    told = merge().report
    assert told["counts"]["added"] == 1
    assert told["skipped_because"] == {"same_source": 2}
    assert len(texts()) == 2


def test_a_changed_text_takes_the_place_of_the_old(begun, merge, alice, rows, texts, now):
    twin = named_in(rows, SIDE)
    ingest.updates.revise(alice.principal, twin.id, changes={"content": "The heron left."}, revision=None, now=now)
    told = merge().report
    assert texts() == ["Ada is six.", "The heron left."]
    assert told["superseded"] == [str(begun[0].id)]
    assert named("The heron left.", rows()).source_id == "s1"
    ingest.updates.revise(
        alice.principal, twin.id, changes={"content": "The heron is back."}, revision=None, now=timezone.now()
    )
    merge()
    assert texts() == ["Ada is six.", "The heron is back."]


def test_what_changed_on_both_sides_ends_as_it_was_changed_last(begun, merge, alice, rows, texts, now):
    later = now + datetime.timedelta(seconds=5)
    aged = named("Ada is six.", rows(SIDE))
    ingest.updates.revise(
        alice.principal, aged.id, changes={"content": "Ada is six years old."}, revision=None, now=now
    )
    ingest.updates.revise(alice.principal, begun[1].id, changes={"content": "Ada is 6."}, revision=None, now=later)
    told = merge().report
    assert told["skipped_because"] == {"older": 1}
    assert "Ada is 6." in texts()


def test_details_votes_and_reads_are_carried(begun, merge, alice, bob, rows, principal, change):
    twin = named_in(rows, SIDE)
    alice.client.patch(f"/api/v1/fragments/{twin.id}", {"importance": 0.9, "tags": ["bird"]}, format="json")
    bob.client.post(f"/api/v1/fragments/{twin.id}/reinforce", format="json")
    told = merge().report
    row = named_in(rows, MAIN)
    assert told["carried"] == [str(row.id)]
    assert (row.importance, row.reinforcements) == (pytest.approx(0.945, abs=0.01), 1)
    assert "bird" in row.tags
    with access.enter(principal, why="test"):
        assert Vote.objects.filter(fragment=row.id).count() == 1
    assert merge().report["carried"] == []


@pytest.mark.parametrize(("kind", "why"), [("key", "by_hand"), ("person", "by_person")])
def test_what_was_put_away_by_hand_is_put_away(begun, merge, alice, rows, now, kind, why):
    ingest.updates.archive(replace(alice.principal, kind=kind), named_in(rows, SIDE).id, now=now)
    merge()
    row = named_in(rows, MAIN)
    assert (row.status, row.archived_reason) == ("archived", why)


def test_a_dry_run_says_the_same_and_changes_nothing(begun, merge, store, alice, bob, digest, rows, now):
    store(SIDE, "Otters swim at night.", by=bob.principal)
    store(SIDE, "Ada is seven.", by=alice.principal, claim=ClaimDraft("Ada", "age", "7"), source="tool_output")
    store(SIDE, "The mill is old.", by=bob.principal, source_id="s1")
    erasure.forget(alice.principal, named_in(rows, SIDE).id, now=now)
    before, aside = digest(), digest(SIDE)
    told = merge(dry_run=True)
    assert (told.state, told.error) == ("succeeded", None)
    assert (digest(), digest(SIDE)) == (before, aside)
    assert merge().report == told.report
    assert told.report["counts"]["added"] == 3
    assert told.report["forgotten"] == [str(begun[0].id)]


def test_a_dry_run_names_memories_that_are_there(begun, merge, store, alice, bob, rows, principal):
    came = store(SIDE, "Otters swim at night.", by=bob.principal)
    older = store(SIDE, "Ada is seven.", by=alice.principal, claim=ClaimDraft("Ada", "age", "7"), source="tool_output")
    weak = store(SIDE, "Bo is short.", by=bob.principal, claim=ClaimDraft("Bo", "height", "short"), source="document")
    tall = ClaimDraft("Bo", "height", "tall")
    held = store(MAIN, "Bo is tall.", by=alice.principal, claim=tall, source="tool_output")
    mill = store(MAIN, "The mill is old.", by=alice.principal, source_id="s2", source="tool_output")
    same = store(SIDE, "The mill is new.", by=bob.principal, source_id="s2", source="document")
    told = merge(dry_run=True).report
    assert [told["sources"][i] for i in told["added"]] == [str(came.id), str(older.id)]
    assert [told["sources"][i] for i in told["conflicting"]] == [str(weak.id)]
    assert told["beside"] == {
        str(begun[1].id): str(older.id),
        told["conflicting"][0]: str(held.id),
        str(same.id): str(mill.id),
    }
    assert told["reasons"] == {str(same.id): "authority"}
    standing = {str(row.id) for row in [*rows(), *rows(SIDE)]}
    assert {*told["sources"].values(), *told["beside"].values(), *told["reasons"]} <= standing


def test_a_text_that_a_person_chose_when_a_stronger_writer_merges_the_same_source_stays(
    begun, merge, store, alice, agent_of, project, bob, rows
):
    weak = agent_of(project, owner="model", ceiling="inference")
    budget = ClaimDraft("trip", "budget", "$750")
    store(MAIN, "The budget of the trip is $750.", by=alice.principal, claim=budget, source="tool_output")
    chosen = store(MAIN, "The trip budget is $900 now.", by=weak.principal, source_id="s9", source="inference")
    judge = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review"])
    (conflict,) = judge.client.get("/api/v1/conflicts").json()["results"]
    path = f"/api/v1/conflicts/{conflict['id']}"
    wish = {"action": "supersede", "revision": judge.client.get(path).json()["revision"]}
    assert judge.client.post(f"{path}/resolve", wish, format="json").status_code == 200
    came = store(SIDE, "The hotel has a pool.", by=bob.principal, source_id="s9", source="document")
    assert merge().report["reasons"] == {str(came.id): "authority"}
    assert named(chosen.content, rows()).status == "active"


def test_of_several_of_a_source_the_best_is_named_beside_the_others(store, bob, merge, rows):
    first, last = (store(SIDE, f"Text {n}.", by=bob.principal, source_id="doc") for n in range(2))
    store(MAIN, "Something else.", by=bob.principal)
    told = merge(dry_run=True).report
    assert list(told["sources"].values()) == [str(last.id)]
    assert told["beside"] == {str(first.id): str(last.id)}


def test_undo_gives_the_former_state(begun, merge, undo, store, alice, bob, rows, belief, now, count):
    store(SIDE, "Otters swim at night.", by=bob.principal)
    store(SIDE, "Ada is seven.", by=alice.principal, claim=ClaimDraft("Ada", "age", "7"), source="tool_output")
    store(SIDE, "Ada is eight.", by=bob.principal, claim=ClaimDraft("Ada", "age", "8"))
    twin = named_in(rows, SIDE)
    bob.client.post(f"/api/v1/fragments/{twin.id}/reinforce", format="json")
    ingest.updates.revise(alice.principal, twin.id, changes={"content": "The heron left."}, revision=None, now=now)
    before, origins = belief(), count(Origin)
    done = merge()
    assert belief() != before
    back = undo(done)
    assert (back.state, back.error) == ("succeeded", None)
    assert belief() == before
    assert count(Origin) == origins
    again = merge()
    assert again.report == done.report


def test_undo_gives_back_who_upheld_the_former_words(begun, merge, undo, store, alice, bob, rows, belief):
    tea = store(MAIN, "Ada drinks tea.", by=alice.principal, key="drink")
    bob.client.post(f"/api/v1/fragments/{tea.id}/reinforce", format="json")
    store(SIDE, "Ada drinks milk.", by=alice.principal, key="drink")
    before = belief()
    done = merge()
    milk = named("Ada drinks milk.", rows())
    assert (milk.id, milk.reinforcements) == (tea.id, 0)
    assert undo(done).state == "succeeded"
    assert belief() == before


def test_undo_says_which_rows_changed_since(begun, merge, undo, store, bob, alice, rows, digest):
    store(SIDE, "Otters swim at night.", by=bob.principal)
    done = merge()
    row = named("Otters swim at night.", rows())
    ingest.updates.revise(alice.principal, row.id, changes={"importance": 0.2}, revision=None, now=timezone.now())
    before = digest()
    refused = undo(done)
    assert (refused.state, refused.error["code"]) == ("failed", "cannot_undo")
    assert refused.report["changed_since"] == {"count": 1, "ids": [str(row.id)]}
    assert digest() == before


def test_a_dry_run_can_not_be_undone(begun, merge, undo, store, bob):
    store(SIDE, "Otters swim at night.", by=bob.principal)
    with pytest.raises(jobs.NotUndoable):
        undo(merge(dry_run=True))


def test_what_the_target_forgot_does_not_come_back(begun, merge, store, alice, bob, rows, texts, now):
    erasure.forget(alice.principal, begun[0].id, now=now)
    twin = named_in(rows, SIDE)
    told = merge().report
    assert (told["blocked_by_erasure"], told["added"]) == ([str(twin.id)], [])
    # Nor in other words, nor said anew in the branch.
    ingest.updates.revise(
        alice.principal, twin.id, changes={"content": "By the mill nests a heron."}, revision=None, now=now
    )
    told = merge().report
    assert (told["blocked_by_erasure"], told["added"]) == ([str(twin.id)], [])
    assert texts() == ["Ada is six."]


def test_what_the_branch_forgot_goes_in_the_target_too(begun, merge, alice, bob, rows, texts, store, now):
    erasure.forget(alice.principal, named_in(rows, SIDE).id, now=now)
    told = merge().report
    assert told["forgotten"] == [str(begun[0].id)]
    assert texts() == ["Ada is six."]
    assert merge().report["forgotten"] == []


def test_what_was_evicted_from_the_target_is_not_brought_back(begun, merge, principal, rows, now):
    with access.enter(principal, why="test"):
        take_copies(principal.project_id, [begun[0].id], reason="evicted", operation_id=None, now=now)
        Tombstone.objects.create(
            project_id=principal.project_id,
            namespace_id=begun[0].namespace_id,
            original_id=begun[0].id,
            reason="low_weight",
        )
        Fragment.objects.filter(id=begun[0].id).delete()
    told = merge().report
    assert (told["skipped_because"], told["added"]) == ({"evicted": 1}, [])
    assert len(rows()) == 1


def test_main_merges_into_its_branch_too(begun, merge, store, alice, texts, now):
    store(MAIN, "The mill was painted.", by=alice.principal)
    erasure.forget(alice.principal, begun[0].id, now=now)
    told = merge(MAIN, SIDE).report
    assert told["counts"]["added"] == told["counts"]["forgotten"] == 1
    assert texts(SIDE) == ["Ada is six.", "The mill was painted."]


def test_two_branches_of_one_source_meet(begun, fork, merge, store, bob, texts):
    fork(MAIN, "acme:other")
    store(SIDE, "Otters swim at night.", by=bob.principal)
    store("acme:other", "Badgers dig at night.", by=bob.principal)
    assert merge(SIDE, "acme:other").report["counts"]["added"] == 1
    assert merge("acme:other", MAIN).report["counts"]["added"] == 2
    told = merge(SIDE, MAIN).report
    assert (told["counts"]["added"], told["counts"]["skipped"]) == (0, 0)
    assert len(texts()) == 4


def test_with_itself_or_with_nothing_it_is_refused(begun, merge, count):
    with pytest.raises(jobs.BadOptions):
        merge(MAIN, MAIN)
    with pytest.raises(access.NotFound):
        merge("acme:nowhere", MAIN)


def test_a_merge_bound_to_its_preview_merges_what_was_shown(begun, merge, store, digest):
    store(SIDE, "Otters swim at night.")
    plan = merge(dry_run=True)
    before = digest()
    store(SIDE, "Bats fly at dusk.")
    refused = merge(plan_id=str(plan.id))
    assert (refused.state, refused.error["code"]) == ("failed", "plan_changed")
    assert digest() == before
    again = merge(dry_run=True)
    assert merge(plan_id=str(again.id)).report["counts"]["added"] == 2
    with pytest.raises(operations.PlanUsed):
        merge(plan_id=str(again.id))


def test_several_claims_are_forked_and_merged_each_by_itself(store, alice, bob, fork, merge, undo, belief, principal):
    def claims_in(place):
        with access.enter(principal, why="test"):
            mine = Claim.objects.within(principal.project_id).filter(namespace__name=place)
            return sorted(mine.values_list("value", "status"))

    tool = {"by": bob.principal, "source": "tool_output"}
    user = {"by": alice.principal, "source": "user_explicit"}
    two = [ClaimDraft("Ada", "age", "7"), ClaimDraft("Ada", "dog name", "Rex")]
    store(MAIN, "Ada is six.", **user, claim=ClaimDraft("Ada", "age", "6"))
    store(MAIN, "Ada is seven and has Rex.", **tool, claims=two)
    fork()
    assert claims_in(SIDE) == claims_in(MAIN) == [("6", "active"), ("7", "quarantined"), ("Rex", "active")]
    before = belief()
    more = [ClaimDraft("Ada", "cat name", "Tom"), ClaimDraft("Ada", "dog name", "Max")]
    store(SIDE, "Ada has Tom and Max.", **user, claims=more)
    store(MAIN, "The cat is Kit.", **user, claim=ClaimDraft("Ada", "cat name", "Kit"))
    between = belief()
    done = merge()
    assert done.state == "succeeded", done.error
    assert ("Rex", "superseded") in claims_in(MAIN)
    assert ("Max", "active") in claims_in(MAIN)
    assert undo(done).state == "succeeded"
    assert belief() == between != before
