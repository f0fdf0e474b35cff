"""A restore of what another instance signed: a document at most, unless its signer is trusted."""

import dataclasses
import uuid

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, jobs, operations
from memories.models import (
    Access,
    Embedding,
    Link,
    PendingEmbedding,
)
from memories.models.sql import execute
from memories.operations import BadOptions
from tests.backups.conftest import forged


def test_of_an_unknown_signer_nothing_is_believed_above_a_document(
    alice, store, back_up, restore, wipe, another_key, fresh
):
    claim = ClaimDraft(subject="Ada", predicate="budget", value="$900")
    row = store("acme:main", "Ada's budget is $900.", by=alice.principal, claim=claim, source="user_explicit")
    backup = back_up()
    another_key()
    wipe()
    report = restore(backup)
    after = fresh(row)
    assert report["foreign"] is True
    assert (row.authority, after.authority, after.source) == (6, 2, "document")
    assert after.owner_id != row.owner_id
    assert report["left_out"] == {"owner": 1}


@pytest.mark.parametrize(("ceiling", "importance"), [("inference", 0.69), ("user_explicit", 0.95)])
def test_what_an_unknown_signer_weighs_is_bounded_by_who_restores_it(
    principal, store, back_up, wipe, another_key, fresh, ceiling, importance
):
    row = store("acme:main", "Ada's budget is $900.", importance=0.95)
    backup = back_up()
    another_key()
    wipe()
    by = dataclasses.replace(principal, ceiling=ceiling)
    wish = {"kind": "restore", "namespace": None, "options": {"backup_id": str(backup.id)}, "dry_run": False}
    assert jobs.run(by, operations.start(by, **wish, now=timezone.now()).id).state == "succeeded"
    assert fresh(row).importance == importance


def test_of_an_unknown_signer_nothing_reaches_what_stands_here(
    principal, alice, store, back_up, restore, storage, link, another_key
):
    live = store("acme:main", "The heron nests by the mill.", by=alice.principal)
    one = store("acme:main", "Otters sleep.", by=alice.principal)
    other = store("acme:main", "Badgers dig.", by=alice.principal)
    link(one, live, kind="related")
    link(one, other, kind="related")
    link(one, other, kind="supersedes")
    alice.client.get(f"/api/v1/fragments/{one.id}")
    with access.enter(principal, why="test"):
        execute(
            "INSERT INTO memories_access"
            " (fragment_id, project_id, access_count, count_at_tier, last_accessed_at, stability)"
            " VALUES (%s, %s, 999, 0, now(), 10) ON CONFLICT (fragment_id) DO UPDATE SET access_count = 999",
            [one.id, principal.project_id],
        )
    row = back_up(include_embeddings=True)
    for each in (one, other):
        with access.enter(principal, why="test"):
            execute("DELETE FROM memories_fragment WHERE id = %s", [each.id])
    forged(
        storage / row.file,
        lambda told: [each for each in told if (each.get("row") or {}).get("id") != str(live.id)],
    )
    another_key()
    report = restore(row)
    assert report["left_out"] == {"owner": 1, "access": 1, "vector": 2, "link": 3}
    with access.enter(principal, why="test"):
        links = Link.objects.within(principal.project_id).filter(fragment=one.id).exclude(kind="similar")
        assert [(each.other_id, each.kind) for each in links] == [(other.id, "related")]
        assert not Access.objects.filter(fragment__in=[one.id, other.id]).exists()
        assert not Embedding.objects.filter(fragment__in=[one.id, other.id]).exists()
        assert PendingEmbedding.objects.filter(fragment__in=[one.id, other.id]).count() == 2


def test_a_trusted_signer_is_believed(alice, store, back_up, restore, wipe, another_key, fresh):
    row = store("acme:main", "Ada's budget is $900.", by=alice.principal, source="user_explicit")
    backup = back_up()
    another_key()
    wipe()
    assert restore(backup, trust_signer=backup.signer)["foreign"] is False
    assert fresh(row).authority == 6


def test_a_fingerprint_of_somebody_else_restores_nothing(alice, store, back_up, restore, job, wipe, another_key, texts):
    store("acme:main", "Ada's budget is $900.", by=alice.principal, source="user_explicit")
    backup = back_up()
    stranger = another_key()
    wipe()
    for dry_run in (True, False):
        ended = job("restore", backup_id=str(backup.id), trust_signer=stranger, dry_run=dry_run)
        assert (ended.state, ended.error["code"]) == ("failed", "wrong_signer")
        assert ended.error["signer"] == backup.signer
    assert texts() == []
    assert restore(backup, trust_signer=backup.signer)["insert"] == 1


@pytest.mark.parametrize("wanted", ["00aa", "--json", "g" * 64, 7])
def test_only_a_fingerprint_names_a_signer(wanted, job):
    with pytest.raises(BadOptions, match="64 hexadecimal digits"):
        job("restore", backup_id=str(uuid.uuid4()), trust_signer=wanted)


def test_what_waited_for_somebody_elsewhere_is_left_out(alice, bob, store, back_up, restore, wipe, texts, another_key):
    held = ClaimDraft("Ada", "budget", "$750")
    store("acme:main", "Ada's budget is $750.", by=alice.principal, claim=held)
    store("acme:main", "Ada's budget is $900.", by=bob.principal, claim=ClaimDraft("Ada", "budget", "$900"))
    made = back_up()
    assert [status for *_, status in texts()] == ["active", "quarantined"]
    wipe()
    another_key()
    report = restore(made)
    assert (report["insert"], report["left_out"]["quarantined"]) == (1, 1)
    assert [status for *_, status in texts()] == ["active"]
