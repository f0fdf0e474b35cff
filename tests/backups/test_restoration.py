"""What a restore does to what is there: nothing is set back, nothing forgotten returns, belief decides."""

import datetime
import itertools
import uuid

import pytest

from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from memories import access, failpoints
from memories.models import (
    Backup,
    Erasure,
    Project,
    Revision,
)
from tests.backups.conftest import forged, live

DAY = datetime.timedelta(days=1)
NEWLY = "UPDATE memories_fragment SET content = 'New.', updated_at = updated_at + interval '1 second'"


def changed(**values):
    """Lets the fragments of a bundle have other values."""

    def change(told):
        for each in told:
            if each.get("kind") == "fragment":
                each["row"].update(values)
                each["row"]["updated_at"] = values.get("updated_at", each["row"]["updated_at"])

    return change


def test_mem_restore_1_times_are_never_rewritten(principal, store, back_up, restore, wipe, fresh):
    """I-MEM-RESTORE-1: restore must not rewrite createdAt and updatedAt."""
    row = store("acme:main", "The heron nests by the mill.")
    live(principal, "UPDATE memories_fragment SET updated_at = '2026-01-02 03:04:05.678901+00' WHERE id = %s", row.id)
    backup, before = back_up(), fresh(row)
    wipe()
    restore(backup)
    after = fresh(row)
    assert (after.created_at, after.updated_at) == (before.created_at, before.updated_at)
    assert after.revision == before.revision


def test_mem_restore_2_ids_are_kept_exactly(store, back_up, restore, wipe, fresh):
    """I-MEM-RESTORE-2: the id is the identity key."""
    rows = [store("acme:main", f"Heron {n} nests.") for n in range(3)]
    backup = back_up()
    wipe()
    restore(backup)
    assert all(fresh(row).content == row.content for row in rows)


@pytest.mark.parametrize(
    "values",
    [
        {"created_at": "1969-12-31T23:59:59+00:00"},
        {"updated_at": "1970-01-01T00:00:00+00:00"},
        {"updated_at": "NaN"},
        {"updated_at": "2999-01-01T00:00:00+00:00"},
    ],
)
def test_mem_restore_3_what_is_invalid_fails_and_says_so(store, back_up, job, wipe, storage, texts, values):
    """I-MEM-RESTORE-3: fail closed on invalid timestamps; nothing is applied."""
    store("acme:main", "The heron nests by the mill.")
    backup = back_up()
    forged(storage / backup.file, changed(**values))
    wipe()
    ended = job("restore", backup_id=str(backup.id))
    assert (ended.state, ended.error["code"], ended.error["line"]) == ("failed", "broken_bundle", 3)
    assert "no time" in ended.error["detail"]
    assert texts() == []


def test_mem_restore_4_stale_bundles_set_nothing_back(principal, store, back_up, restore, fresh):
    """I-MEM-RESTORE-4: a row is replaced only by a newer one."""
    row = store("acme:main", "The heron nests by the mill.")
    backup = back_up()
    live(principal, f"{NEWLY}, revision = 2 WHERE id = %s", row.id)
    report = restore(backup)
    assert (report["skipped_stale"], report["update"]) == (1, 0)
    assert fresh(row).content == "New."


def test_a_newer_row_replaces_with_its_own_revision(principal, store, back_up, restore, fresh):
    row = store("acme:main", "Old.")
    live(principal, f"{NEWLY}, revision = 5 WHERE id = %s", row.id)
    backup, newer = back_up(), fresh(row)
    live(
        principal,
        "UPDATE memories_fragment SET content = 'Old.', updated_at = %s, revision = 1 WHERE id = %s",
        newer.updated_at - DAY,
        row.id,
    )
    assert restore(backup)["update"] == 1
    after = fresh(row)
    assert (after.content, after.updated_at, after.revision) == ("New.", newer.updated_at, newer.revision)


def test_equal_times_with_other_content_wait_for_a_person(principal, alice, store, back_up, restore, storage, fresh):
    row = store("acme:main", "The heron nests by the mill.")
    backup = back_up()
    forged(storage / backup.file, changed(content="The heron nests by the lake."))
    for _ in range(2):
        assert restore(backup)["conflict"] == 1
    assert fresh(row).content == "The heron nests by the mill."
    with access.enter(principal, why="test"):
        (conflict,) = PendingConflict.objects.within(principal.project_id)
    assert (conflict.kind, conflict.existing_id, conflict.newcomer_id) == ("restore", row.id, None)
    told = alice.client.get(f"/api/v1/conflicts/{conflict.id}")
    assert (told.status_code, told.json()["reason"]) == (200, "equal_time_other_content")


def test_a_plan_changes_nothing_and_foretells(store, back_up, restore, wipe, texts):
    store("acme:main", "The heron nests by the mill.")
    backup = back_up()
    wipe()
    planned = restore(backup, dry_run=True)
    assert (planned["insert"], texts()) == (1, [])
    assert restore(backup)["insert"] == planned["insert"]


def test_what_was_forgotten_stays_so(alice, store, back_up, restore, texts):
    row = store("acme:main", "This is to be forgotten.", by=alice.principal)
    twin = store("acme:main", "The heron nests by the mill.", by=alice.principal)
    backup = back_up()
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    report = restore(backup)
    assert report["blocked_by_erasure"] == 1
    assert report["namespaces"]["acme:main"]["ids"]["blocked_by_erasure"] == [str(row.id)]
    assert texts() == [("acme:main", twin.content, "active")]


def test_fingerprints_travel(alice, store, back_up, restore, wipe, texts):
    row = store("acme:main", "This is to be forgotten.", by=alice.principal)
    before = back_up()
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    after = back_up()
    wipe()
    restore(after)
    assert restore(before)["blocked_by_erasure"] == 1
    body = {"namespace": "acme:main", "content": "This is to be forgotten."}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 409
    assert texts() == []


@pytest.mark.parametrize(("authority", "left"), [(6, 0), (3, 1)], ids=["as_strong", "weaker"])
def test_what_was_forgotten_elsewhere_is_forgotten_here(
    alice, store, back_up, restore, wipe, storage, texts, authority, left
):
    row = store("acme:main", "To be forgotten.", by=alice.principal, source="tool_output")
    before = back_up()
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    after = back_up()

    def weaker(told):
        for each in told:
            if each.get("kind") == "erasure":
                each["row"]["authority"] = authority

    forged(storage / after.file, weaker)
    wipe()
    assert restore(before)["insert"] == 1
    assert restore(after, dry_run=True)["forgotten"] == 1 - left
    assert len(texts()) == 1
    assert restore(after)["forgotten"] == 1 - left
    assert len(texts()) == left
    assert restore(after)["forgotten"] == 0


def test_a_claim_that_is_opposed_passes_the_gate_at_its_authority(alice, bob, store, back_up, restore, wipe, texts):
    weak = ClaimDraft(subject="Ada", predicate="budget", value="$750")
    store("acme:main", "Ada's budget is $750.", by=bob.principal, claim=weak)
    backup = back_up()
    wipe()
    strong = ClaimDraft(subject="Ada", predicate="budget", value="$900")
    more = {"source": "user_explicit"}
    store("acme:main", "Ada's budget is $900.", by=alice.principal, claim=strong, **more)
    report = restore(backup)
    assert report["namespaces"]["acme:main"]["through_the_gate"] == {"quarantined": 1}
    assert {(text, status) for _, text, status in texts()} == {
        ("Ada's budget is $750.", "quarantined"),
        ("Ada's budget is $900.", "active"),
    }


def test_the_stronger_one_that_comes_back_wins(alice, bob, store, back_up, restore, wipe, texts):
    strong = ClaimDraft(subject="Ada", predicate="budget", value="$900")
    store("acme:main", "Ada's budget is $900.", by=alice.principal, claim=strong, source="user_explicit")
    backup = back_up()
    wipe()
    weak = ClaimDraft(subject="Ada", predicate="budget", value="$750")
    store("acme:main", "Ada's budget is $750.", by=bob.principal, claim=weak)
    assert restore(backup)["namespaces"]["acme:main"]["through_the_gate"] == {"active": 1}
    assert {(text, status) for _, text, status in texts()} == {
        ("Ada's budget is $750.", "superseded"),
        ("Ada's budget is $900.", "active"),
    }


def test_a_safety_backup_comes_first(principal, store, back_up, restore):
    store("acme:main", "The heron nests by the mill.")
    report = restore(back_up())
    with access.enter(principal, why="test"):
        made = Backup.objects.get(id=report["safety_backup_id"])
    assert (made.origin, made.records) == ("safety", 2)


def test_provenance_that_differs_is_another_memory(store, back_up, restore, storage, fresh):
    row = store("acme:main", "The heron nests by the mill.")
    backup = back_up()
    forged(storage / backup.file, changed(authority=6))
    report = restore(backup)
    assert report["rejected"] == {"provenance_differs": 1}
    assert fresh(row).authority == row.authority


def test_an_id_that_somebody_else_has_is_rejected(store, charlie, back_up, restore, wipe, storage, texts):
    theirs = store("elsewhere:main", "A secret.", by=charlie.principal)
    store("acme:main", "The heron nests by the mill.")
    backup = back_up()
    forged(storage / backup.file, changed(id=str(theirs.id)))
    wipe()
    report = restore(backup)
    assert (report["rejected"], report["insert"]) == ({"id_taken": 1}, 0)
    assert texts() == []


@pytest.mark.parametrize("which", [1, 2], ids=["superseded too", "the last"])
def test_what_was_followed_by_a_memory_whose_id_somebody_else_has_is_followed_by_none(
    principal, store, charlie, back_up, restore, wipe, storage, fresh, which
):
    theirs = store("elsewhere:main", "A secret.", by=charlie.principal)
    rows = [store("acme:main", f"The heron nests by the {place}.") for place in ("mill", "weir", "pond")]
    for old, new in itertools.pairwise(rows):
        live(principal, "UPDATE memories_fragment SET superseded_by_id = %s WHERE id = %s", new.id, old.id)
    backup = back_up()
    wipe()

    def taken(told):
        names = {str(rows[which].id): str(theirs.id)}
        for each in (each["row"] for each in told if each.get("kind") == "fragment"):
            for column in ("id", "superseded_by_id"):
                each[column] = names.get(each[column], each[column])

    forged(storage / backup.file, taken)
    report = restore(backup)
    assert (report["rejected"], report["insert"]) == ({"id_taken": 1}, 2)
    followed = [row.superseded_by_id for row in map(fresh, rows) if row is not None]
    assert followed == {1: [None, None], 2: [rows[1].id, None]}[which]


def test_former_texts_come_back_once(principal, store, back_up, restore, wipe):
    row = store("acme:main", "Old.")
    live(principal, "UPDATE memories_fragment SET content = 'New.' WHERE id = %s", row.id)
    backup = back_up()
    wipe()
    restore(backup)
    with access.enter(principal, why="test"):
        assert [each.content for each in Revision.objects.filter(fragment=row.id)] == ["Old."]


def test_an_unknown_backup_is_not_found(job):
    ended = job("restore", backup_id=str(uuid.uuid4()))
    assert (ended.state, ended.error["type"]) == ("failed", "NotFound")


def test_rules_that_would_rename_what_is_claimed_here_are_counted(alice, store, back_up, restore, wipe):
    body = {"namespace": "acme:main", "name": "budget", "aliases": ["allowance"], "exclusive": True}
    store("acme:main", "The heron nests by the mill.")
    assert alice.client.post("/api/v1/predicates", body, format="json").status_code == 201
    made = back_up()
    wipe()
    store("acme:main", "Ada is seven.", claim=ClaimDraft(subject="Ada", predicate="age", value="7"))
    assert restore(made)["namespaces"]["acme:main"]["rules_left"] == 1
    wipe()
    assert restore(made)["namespaces"]["acme:main"]["rules_left"] == 0


def test_what_was_forgotten_is_so_by_its_id_under_another_salt(alice, principal, store, back_up, restore, wipe, texts):
    row = store("acme:main", "To be forgotten.", by=alice.principal)
    before = back_up()
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    after = back_up()
    wipe()
    restore(before)
    store("acme:main", "Otters swim.", by=alice.principal)
    with access.enter(principal, why="test"):
        Project.objects.filter(id=principal.project_id).update(salt=b"one more salt".ljust(32))
    report = restore(after)
    assert (report["forgotten"], report["left_out"]) == (1, {"erasure": 1})
    assert [text for _, text, _ in texts()] == ["Otters swim."]


@pytest.mark.parametrize("when", ["restore.staged", "nobody"])
def test_a_project_that_is_used_before_the_bundle_is_applied_is_not_new(
    alice, store, back_up, restore, wipe, monkeypatch, when, recipient
):
    """Fingerprints with another salt would bar nothing: they are left out, and that is told."""
    row = store("acme:main", "To be forgotten.", by=alice.principal)
    store("acme:main", "Otters swim.", by=alice.principal)
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    made = back_up(recipients=[recipient])
    wipe(with_key=False)
    first = {"namespace": "acme:main", "content": "A first memory."}

    def meanwhile(name):
        if name == when:
            assert alice.client.post("/api/v1/fragments", first, format="json").status_code == 201

    monkeypatch.setattr(failpoints, "reach", meanwhile)
    report = restore(made)
    assert (report["insert"], report["left_out"]) == (1, {"erasure": 1} if when == "restore.staged" else {})
    with access.enter(alice.principal, why="test"):
        assert Erasure.objects.count() == (0 if report["left_out"] else 1)
    body = {"namespace": "acme:main", "content": "To be forgotten."}
    status = alice.client.post("/api/v1/fragments", body, format="json").status_code
    assert status == (201 if report["left_out"] else 409)
