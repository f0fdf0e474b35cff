"""Export policies: explicit, versioned, every bucket with its reason."""

import gzip
import json

import pytest

from conflicts.public import ClaimDraft
from memories import access
from memories.backups.bundle import policies
from memories.models.sql import execute


@pytest.fixture
def manifest(storage):
    def read(row):
        return json.loads(gzip.decompress((storage / row.file).read_bytes()).splitlines()[0])

    return read


def texts_of(lines):
    return [told["row"]["content"] for line in lines if (told := json.loads(line))["kind"] == "fragment"]


def test_mem_backup_1_the_policy_is_explicit_and_versioned(store, back_up, manifest):
    """I-MEM-BACKUP-1: export policy is explicit and versioned."""
    told = manifest(back_up(policy="identity"))
    assert (told["policy"], told["policyVersion"], told["schemaVersion"]) == ("identity", policies.VERSION, 3)


def test_mem_vers_3_the_selection_stands_in_the_envelope(store, back_up, manifest):
    """I-MEM-VERS-3: bundle selection policy is recorded in the envelope."""
    store("acme:main", "The heron nests by the mill.")
    told = manifest(back_up(namespaces=["acme:main"]))
    assert (told["policy"], told["namespaces"], told["embeddings"]) == ("full", ["acme:main"], False)


def test_mem_backup_2_anchors_are_never_dropped(old, back_up, lines, monkeypatch):
    """I-MEM-BACKUP-2: anchors are never dropped due to recency limits."""
    for n in range(4):
        old(900 + n, f"I am called Ada {n}.", is_anchor=True)
        old(n, f"Reflection {n}.", category="reflection")
    monkeypatch.setattr(policies, "IDENTITY", tuple((*row[:3], row[3] and 2, row[4]) for row in policies.IDENTITY))
    kept = texts_of(lines(back_up(policy="identity")))
    assert sorted(kept) == [*(f"I am called Ada {n}." for n in range(4)), "Reflection 0.", "Reflection 1."]


def test_mem_backup_3_the_order_is_canonical(principal, old, back_up, lines):
    """I-MEM-BACKUP-3: hash stability depends on canonical ordering, not on the database's."""
    for n in (3, 1, 2):
        old(n, f"Heron {n} nests.")
    first = lines(back_up())
    with access.enter(principal, why="test"):
        execute("UPDATE memories_access SET access_count = access_count WHERE project_id = %s", [principal.project_id])
    assert lines(back_up()) == first
    assert texts_of(first) == ["Heron 3 nests.", "Heron 2 nests.", "Heron 1 nests."]


def test_mem_backup_4_buckets_are_counted_with_reasons(store, back_up, manifest):
    """I-MEM-BACKUP-4: bucket membership is observable."""
    store("acme:main", "I am called Ada.", is_anchor=True, category="knowledge")
    store("acme:main", "We moved.", category="narrative_checkpoint")
    store("acme:main", "Rest more.", category="lesson")
    store("acme:main", "Herons eat fish.", category="knowledge")
    store("acme:main", "Nothing of note.")
    row = back_up(policy="identity")
    assert manifest(row)["counts"] == row.counts
    assert [(each["bucket"], each["reason"], each["count"]) for each in row.counts] == [
        ("anchors", "anchor", 1),
        ("narrative_checkpoints", "checkpoint", 1),
        ("reflections", "recent", 1),
        ("knowledge", "important", 1),
    ]


def test_an_identity_is_restored_and_drilled(store, back_up, restore, wipe, texts, job):
    store("acme:main", "I am called Ada.", is_anchor=True)
    store("acme:main", "Nothing of note.")
    row = back_up(policy="identity")
    assert job("drill", backup_id=str(row.id)).state == "succeeded"
    wipe()
    assert restore(row)["insert"] == 1
    assert [text for _, text, _ in texts()] == ["I am called Ada."]


def test_what_names_no_other_is_restored_as_it_was(alice, store, link, back_up, restore, wipe, lines, job):
    """An anchor that was replaced by, and is linked to, what the policy does not take."""
    called = {name: ClaimDraft(subject="me", predicate="name", value=name) for name in ("Ada", "Bob")}
    anchor = store("acme:main", "I am called Ada.", by=alice.principal, claim=called["Ada"], is_anchor=True)
    other = store("acme:main", "We met in Oslo.", by=alice.principal, is_anchor=True)
    plain = store("acme:main", "I am called Bob.", by=alice.principal, claim=called["Bob"])
    link(anchor, plain, kind="related")
    link(anchor, other, kind="related")
    row = back_up(policy="identity")
    assert job("drill", backup_id=str(row.id)).state == "succeeded"
    wipe()
    assert restore(row)["insert"] == 2
    told = alice.client.get(f"/api/v1/fragments/{anchor.id}").json()
    assert (told["status"], told["superseded_by"]) == ("superseded", None)
    assert lines(back_up(policy="identity")) == lines(row)
    (held,) = [told for line in lines(row) if (told := json.loads(line))["row"]["id"] == str(anchor.id)]
    assert [each["other_id"] for each in held["links"]] == [str(other.id)]


def test_what_waits_in_a_conflict_is_in_no_identity(alice, bob, store, back_up, lines, job):
    """Its conflict would not come along, so that nobody could ever settle it."""
    blue, green = (ClaimDraft(subject="sky", predicate="colour", value=value) for value in ("blue", "green"))
    store("acme:main", "The sky is blue.", by=alice.principal, claim=blue, source="user_explicit", category="knowledge")
    waits = {"claim": green, "category": "knowledge", "is_anchor": True}
    assert store("acme:main", "The sky is green.", by=bob.principal, **waits).status == "quarantined"
    row = back_up(policy="identity")
    assert texts_of(lines(row)) == ["The sky is blue."]
    assert [each["count"] for each in row.counts] == [0, 0, 0, 1]
    assert job("drill", backup_id=str(row.id)).state == "succeeded"


def test_an_empty_project_has_a_bundle_too(project, back_up, manifest, restore, job):
    row = back_up()
    assert (manifest(row)["schemaVersion"], row.records) == (3, 0)
    assert job("drill", backup_id=str(row.id)).state == "succeeded"
    assert restore(row)["insert"] == 0
