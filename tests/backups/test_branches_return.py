"""Branches that were restored: of which memory each is a copy is known again, of those that are gone too."""

import pytest
from django.utils import timezone

from memories import access, upkeep
from memories.backups.bundle.records import KINDS
from memories.models import Fragment, Origin
from memories.models.enums import CopyReason, EvictionReason
from tests.backups.conftest import forged, live

pytestmark = pytest.mark.long

MAIN, SIDE = "acme:main", "acme:side"
TEXTS = [f"The heron nests by the {place}." for place in ("mill", "weir", "pond", "lock", "quay")]


@pytest.fixture
def preview(job, place_of):
    """What a merge would do: how many come, are replaced, are skipped, are forgotten, and why."""

    def plan(source, target):
        ended = job("merge", place=place_of(target), dry_run=True, source=source)
        assert ended.state == "succeeded", ended.error
        return ended.report["counts"], ended.report["skipped_because"]

    return plan


@pytest.fixture
def branched(alice, principal, store, job, place_of):
    """A namespace and its branch: a memory is as it was, others were changed, forgotten or evicted in one of both."""
    for text in TEXTS:
        store(MAIN, text, by=alice.principal)
    assert job("fork", place=place_of(MAIN), target=SIDE).state == "succeeded"
    with access.enter(principal, why="test"):
        rows = {row.content: row for row in Fragment.objects.filter(namespace__name=MAIN)}
        copies = {row.content: row for row in Fragment.objects.filter(namespace__name=SIDE)}
    for row in (copies[TEXTS[1]], rows[TEXTS[2]], rows[TEXTS[3]]):
        body = {"content": f"{row.content[:-1]} now.", "revision": 1}
        assert alice.client.patch(f"/api/v1/fragments/{row.id}", body, format="json").status_code == 200
    assert alice.client.delete(f"/api/v1/fragments/{copies[TEXTS[2]].id}").status_code == 204
    with access.enter(principal, why="test"):
        cause = {copies[TEXTS[3]].id: upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {})}
        upkeep.lifecycle.remove_fragments(
            principal.project_id, cause, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now()
        )


@pytest.mark.usefixtures("branched")
def test_a_merge_does_what_it_would_have_done_before(preview, back_up, restore, wipe, lines):
    ways = (SIDE, MAIN), (MAIN, SIDE)
    before, made = [preview(*way) for way in ways], back_up()
    assert before[0][0] != before[1][0]
    wipe()
    restore(made)
    assert [preview(*way) for way in ways] == before
    assert lines(back_up()) == lines(made)


@pytest.mark.usefixtures("branched")
def test_a_restore_that_ended_before_them_brings_them_when_it_is_run_again(principal, back_up, restore, wipe, lines):
    made = back_up()
    wipe()
    restore(made)
    live(principal, "DELETE FROM memories_origin")
    assert restore(made)["unchanged"] > 0
    assert lines(back_up()) == lines(made)


@pytest.mark.usefixtures("branched")
def test_a_branch_that_was_there_before_its_source_is_its_branch_again(principal, back_up, restore, wipe, lines):
    live(principal, "UPDATE memories_namespace SET created_at = created_at - interval '1 day' WHERE name = %s", SIDE)
    made = back_up()
    wipe()
    restore(made)
    assert lines(back_up()) == lines(made)


@pytest.mark.usefixtures("branched")
def test_of_two_namespaces_that_are_each_others_branches_one_is(principal, back_up, restore, wipe, job, place_of):
    above = "UPDATE memories_namespace SET forked_from_id = %s WHERE name = %s"
    live(principal, above, place_of(SIDE).id, MAIN)
    assert job("fork", place=place_of(MAIN), target="acme:far").state == "succeeded"
    made = back_up()
    wipe()
    restore(made)
    assert sum(place_of(name).forked_from_id is None for name in (MAIN, SIDE)) == 1


@pytest.mark.usefixtures("branched")
def test_a_digest_whose_line_was_forgotten_elsewhere_comes_back(
    alice, principal, back_up, restore, wipe, job, place_of
):
    """It quotes a memory of the branch that it lived in before, whose original is forgotten."""
    with access.enter(principal, why="test"):
        ids = [str(row.id) for row in Fragment.objects.filter(namespace__name=MAIN).order_by("created_at")]
    assert alice.client.post("/api/v1/digests", {"ids": ids[:3]}, format="json").status_code == 201
    assert job("fork", place=place_of(MAIN), target="acme:one").state == "succeeded"
    with access.enter(principal, why="test"):
        row = Fragment.objects.get(namespace__name="acme:one", content=TEXTS[0])
        cause = {row.id: upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {})}
        upkeep.lifecycle.remove_fragments(
            principal.project_id, cause, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now()
        )
    assert job("fork", place=place_of("acme:one"), target="acme:two").state == "succeeded"
    assert alice.client.delete(f"/api/v1/fragments/{ids[0]}").status_code == 204
    with access.enter(principal, why="test"):
        before = Fragment.objects.count()
    made = back_up()
    assert job("drill", backup_id=str(made.id)).state == "succeeded"
    wipe()
    assert restore(made)["blocked_by_erasure"] == 0
    with access.enter(principal, why="test"):
        assert Fragment.objects.count() == before


@pytest.mark.usefixtures("branched")
def test_what_a_branch_forgot_in_a_former_life_is_not_carried(
    alice, principal, preview, back_up, restore, job, place_of
):
    with access.enter(principal, why="test"):
        ids = list(Fragment.objects.filter(namespace__name=SIDE).values_list("id", flat=True))
    for which in ids:
        assert alice.client.delete(f"/api/v1/fragments/{which}").status_code == 204
    made = back_up()
    assert job("fork", place=place_of(MAIN), target=SIDE).state == "succeeded"
    before = preview(SIDE, MAIN)
    restore(made)
    assert preview(SIDE, MAIN) == before


@pytest.mark.usefixtures("branched")
@pytest.mark.parametrize("policy", ["full", "identity"])
def test_a_drill_of_a_branch_alone_proves_it(back_up, job, policy):
    made = back_up(namespaces=[SIDE], policy=policy)
    assert job("drill", backup_id=str(made.id)).state == "succeeded"


@pytest.mark.usefixtures("branched")
def test_a_drill_proves_it(back_up, job):
    assert job("drill", backup_id=str(back_up().id)).state == "succeeded"


@pytest.mark.usefixtures("branched")
def test_an_increment_brings_all_of_them(preview, back_up, restore, wipe, store, job, place_of):
    base = back_up()
    store(SIDE, "Otters swim.")
    assert job("merge", place=place_of(MAIN), source=SIDE).state == "succeeded"
    before, made = preview(MAIN, SIDE), back_up(base=str(base.id))
    wipe()
    restore(made)
    assert preview(MAIN, SIDE) == before


@pytest.mark.usefixtures("branched")
def test_a_stranger_does_not_say_what_is_a_copy_of_what(principal, back_up, restore, wipe, another_key):
    made = back_up()
    wipe()
    another_key()
    assert restore(made)["left_out"]["origin"] == 5
    with access.enter(principal, why="test"):
        assert not Origin.objects.exists()


@pytest.mark.usefixtures("branched")
def test_of_a_memory_that_is_newer_in_the_bundle_the_origin_is_too(principal, back_up, restore):
    def origins():
        with access.enter(principal, why="test"):
            return dict(Origin.objects.filter(fragment_id__in=standing).values_list("fragment_id", "revision"))

    with access.enter(principal, why="test"):
        standing = list(Fragment.objects.filter(namespace__name=SIDE).values_list("id", flat=True).order_by("id"))
    made, before = back_up(), origins()
    live(principal, "UPDATE memories_origin SET revision = 7")
    live(
        principal,
        "UPDATE memories_fragment SET updated_at = created_at - interval '1 second' WHERE id = %s",
        standing[0],
    )
    assert restore(made)["update"] == 1
    assert origins() == dict.fromkeys(standing, 7) | {standing[0]: before[standing[0]]}


@pytest.mark.usefixtures("branched")
def test_of_an_id_that_somebody_else_has_nothing_is_said(principal, charlie, store, back_up, restore, wipe, storage):
    theirs = store("elsewhere:main", "A secret.", by=charlie.principal)
    with access.enter(principal, why="test"):
        copy = Fragment.objects.filter(namespace__name=SIDE).latest("id")
    made = back_up()
    wipe()

    def taken(told):
        for row in (each["row"] for each in told if each.get("kind") in ("fragment", "origin")):
            for column in {"id", "fragment_id"} & row.keys():
                row[column] = row[column].replace(str(copy.id), str(theirs.id))
        told[1:-1] = sorted(told[1:-1], key=lambda each: (KINDS.index(each["kind"]), order_of(each["row"])))

    def order_of(row):
        return (row["fragment_id"], "") if "root_id" in row else (row.get("created_at", ""), row["id"])

    forged(storage / made.file, taken)
    assert restore(made)["rejected"] == {"id_taken": 1}
    with access.enter(principal, why="test"):
        assert Origin.objects.filter(fragment_id=theirs.id).count() == 0
