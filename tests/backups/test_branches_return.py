"""Branches that were restored: of which memory each is a copy is known again, of those that are gone too."""

import pytest
from django.utils import timezone

from memories import access, upkeep
from memories.backups.records import KINDS
from memories.models import Fragment, Namespace, Origin
from memories.models.words import CopyReason, EvictionReason
from tests.backups.conftest import forged, live

MAIN, SIDE = "acme:main", "acme:side"
TEXTS = [f"The heron nests by the {place}." for place in ("mill", "weir", "pond", "lock", "quay")]


@pytest.fixture
def place(principal):
    def find(name):
        with access.enter(principal, why="test"):
            return Namespace.objects.within(principal.project_id).get(name=name)

    return find


@pytest.fixture
def preview(job, place):
    """What a merge would do: how many come, are replaced, are skipped, are forgotten, and why."""

    def plan(source, target):
        ended = job("merge", place=place(target), dry_run=True, source=source)
        assert ended.state == "succeeded", ended.error
        return ended.report["counts"], ended.report["skipped_because"]

    return plan


@pytest.fixture
def branched(alice, principal, store, job, place):
    """A namespace and its branch: a memory is as it was, others were changed, forgotten or evicted in one of both."""
    for text in TEXTS:
        store(MAIN, text, by=alice.principal)
    assert job("fork", place=place(MAIN), target=SIDE).state == "succeeded"
    with access.enter(principal, why="test"):
        rows = {row.content: row for row in Fragment.objects.filter(namespace__name=MAIN)}
        copies = {row.content: row for row in Fragment.objects.filter(namespace__name=SIDE)}
    for row in (copies[TEXTS[1]], rows[TEXTS[2]], rows[TEXTS[3]]):
        body = {"content": f"{row.content[:-1]} now.", "revision": 1}
        assert alice.client.patch(f"/api/v1/fragments/{row.id}", body, format="json").status_code == 200
    assert alice.client.delete(f"/api/v1/fragments/{copies[TEXTS[2]].id}").status_code == 204
    with access.enter(principal, why="test"):
        cause = {copies[TEXTS[3]].id: upkeep.Cause(EvictionReason.LOW_WEIGHT, {})}
        upkeep.leave(principal.project_id, cause, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now())


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
def test_a_branch_that_was_there_before_its_source_is_its_branch_again(principal, back_up, restore, wipe, lines):
    live(principal, "UPDATE memories_namespace SET created_at = created_at - interval '1 day' WHERE name = %s", SIDE)
    made = back_up()
    wipe()
    restore(made)
    assert lines(back_up()) == lines(made)


@pytest.mark.usefixtures("branched")
def test_namespaces_that_are_each_others_branches_are_refused(back_up, job, storage):
    made = back_up()

    def each_other(told):
        for row in (each["row"] for each in told if each.get("kind") == "namespace"):
            row["forked_from"] = {MAIN: SIDE, SIDE: MAIN}[row["name"]]

    forged(storage / made.file, each_other)
    ended = job("restore", backup_id=str(made.id))
    assert (ended.state, ended.error["code"]) == ("failed", "broken_bundle")


@pytest.mark.usefixtures("branched")
def test_a_drill_proves_it(back_up, job):
    assert job("drill", backup_id=str(back_up().id)).state == "succeeded"


@pytest.mark.usefixtures("branched")
def test_an_increment_brings_all_of_them(preview, back_up, restore, wipe, store, job, place):
    base = back_up()
    store(SIDE, "Otters swim.")
    assert job("merge", place=place(MAIN), source=SIDE).state == "succeeded"
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
    def told():
        with access.enter(principal, why="test"):
            return dict(Origin.objects.filter(fragment_id__in=standing).values_list("fragment_id", "revision"))

    with access.enter(principal, why="test"):
        standing = list(Fragment.objects.filter(namespace__name=SIDE).values_list("id", flat=True).order_by("id"))
    made, before = back_up(), told()
    live(principal, "UPDATE memories_origin SET revision = 7")
    live(
        principal,
        "UPDATE memories_fragment SET updated_at = created_at - interval '1 second' WHERE id = %s",
        standing[0],
    )
    assert restore(made)["update"] == 1
    assert told() == dict.fromkeys(standing, 7) | {standing[0]: before[standing[0]]}


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
        told[1:-1] = sorted(told[1:-1], key=lambda each: (KINDS.index(each["kind"]), place_of(each["row"])))

    def place_of(row):
        return (row["fragment_id"], "") if "root_id" in row else (row.get("created_at", ""), row["id"])

    forged(storage / made.file, taken)
    assert restore(made)["rejected"] == {"id_taken": 1}
    with access.enter(principal, why="test"):
        assert Origin.objects.filter(fragment_id=theirs.id).count() == 0
