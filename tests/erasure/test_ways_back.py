"""A forgotten memory is tried back through every door: none brings it."""

import datetime
import uuid

import pytest
from django.utils import timezone

from memories import access, ingest, namespaces, upkeep
from memories.ingest.captures import CapturedTurn
from memories.models import Backup, Erasure, Fragment, Namespace, Tombstone
from memories.models.enums import EvictionReason
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from tests.erasure.test_forget import post

TEXT = "The safe opens with xyzzyplugh."
MAIN = "acme:main"
pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def namespace_row(principal, store):
    """The namespace."""
    store(MAIN, "The heron nests.")
    with access.enter(principal, why="test"):
        return Namespace.objects.get(name=MAIN)


def there(principal, name=MAIN):
    with access.enter(principal, why="test"):
        return Fragment.objects.filter(namespace__name=name, content__icontains="xyzzyplugh").count()


def evicted_digest(principal, alice, evict, name, *, evicted=True):
    """A digest that quotes the secret, and is evicted; its id."""
    with access.enter(principal, why="test"):
        rows = Fragment.objects.filter(namespace__name=name).order_by("created_at", "id")
        body = {"ids": [str(row.id) for row in rows], "method": "extractive"}
    made = alice.client.post("/api/v1/digests", body, format="json").json()["id"]
    assert there(principal, name) == 2
    if evicted:
        evict(uuid.UUID(made))
    return made


@pytest.mark.long
def test_no_way_leads_back(alice, principal, namespace_row, store, run, now, evict, sweep):
    store(MAIN, "The otter swims.")
    row = store(MAIN, TEXT, by=alice.principal, tags=["safe"])
    run("fork", namespace_row, target="acme:side")
    gone = evicted_digest(principal, alice, evict, MAIN)
    evicted_digest(principal, alice, evict, "acme:side", evicted=False)
    left = store(MAIN, "The vault opens with xyzzyplugh.", by=alice.principal, tags=["vault"], topics=["xyzzyplugh"])
    evict(left.id)
    backup = run("backup", namespaces=[MAIN])["backup_id"]
    run("pack", namespace_row)
    assert post(alice, {"ids": [str(left.id)], "expected_count": 1})["count"] == 1
    assert post(alice, {"tags": ["safe"], "include_all": True, "expected_count": 1})["count"] == 1
    assert there(principal) == 0
    # Stored, in other spellings; ingested; captured; told by an event.
    for text in (TEXT, TEXT.upper(), TEXT.replace(" ", "   ")):
        body = {"namespace": MAIN, "content": text}
        assert alice.client.post("/api/v1/fragments", body, format="json").json()["code"] == "blocked_by_erasure"
    alice.client.post("/api/v1/ingest", {"namespace": MAIN, "text": TEXT}, format="json")
    turns = [{"role": "user", "content": TEXT, "source_id": "t1"}]
    alice.client.post("/api/v1/ingest", {"namespace": MAIN, "messages": turns}, format="json")
    said = {"namespace": MAIN, "conversation_id": "c", "receipt_id": None, "now": now}
    assert ingest.captures.capture(alice.principal, [CapturedTurn("user", TEXT, "t1", 0)], **said)
    ingest.captures.ingest_exchanges(principal, now=now + datetime.timedelta(minutes=1))
    event = {"namespace": MAIN, "insights": [TEXT]}
    alice.client.post("/api/v1/bridges/atlas/retrospectives", event, format="json")
    assert there(principal) == 0
    # Unarchived, restored from a tombstone: nothing is left of it.
    assert alice.client.post(f"/api/v1/fragments/{row.id}/unarchive", format="json").status_code == 404
    for gone_id in (row.id, left.id, gone):
        assert alice.client.post(f"/api/v1/tombstones/{gone_id}/restore", format="json").status_code == 404
    # Merged from a branch that still holds it; forked anew; restored from a backup that does.
    assert there(principal, "acme:side") == 2
    with access.enter(principal, why="test"):
        side = Namespace.objects.get(name="acme:side")
    assert run("merge", namespace_row, source="acme:side")["counts"]["blocked_by_erasure"] == 2
    with access.enter(principal, why="test"):  # as if it had been forgotten everywhere: the branch would pass it on
        Erasure.objects.update(namespace_id=None)
    assert run("fork", side, target="acme:deep")["blocked_by_erasure"] == 2
    assert run("restore", backup_id=backup)["blocked_by_erasure"] == 1
    upkeep.graph.refresh_graph(principal, now=now)
    assert (there(principal), there(principal, "acme:deep")) == (0, 0)
    # Nor does any copy, tombstone or conflict say it: what is left is the branch's.
    with access.enter(principal, why="test"):
        Namespace.objects.filter(name="acme:side").delete()
    assert sweep("xyzzyplugh") == []


def test_neither_does_the_archive_of_its_twin(alice, principal, namespace_row, store, now):
    row = store(MAIN, TEXT, by=alice.principal)
    twin = store("acme:other", TEXT, by=alice.principal)
    with access.enter(principal, why="test"):
        cause = Cause(EvictionReason.LOW_WEIGHT, {})
        remove_fragments(principal.project_id, {twin.id: cause}, copied="evicted", operation_id=None, now=now)
    assert post(alice, {"ids": [str(row.id)], "expected_count": 1, "everywhere": True})["count"] == 1
    answer = alice.client.post(f"/api/v1/tombstones/{twin.id}/restore", format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "blocked_by_erasure")
    assert there(principal, "acme:other") == 0
    with access.enter(principal, why="test"):
        assert Tombstone.objects.count() == 1
        assert namespaces.is_empty(Namespace.objects.get(name="acme:other"))


def test_backups_that_hold_it_are_named_and_purged(
    alice, principal, namespace_row, store, run, django_capture_on_commit_callbacks
):
    before = run("backup", namespaces=[MAIN])["backup_id"]
    with access.enter(principal, why="test"):  # to history a test is one moment
        Backup.objects.update(created_at=timezone.now() - datetime.timedelta(hours=1))
    rows = [store(MAIN, text, by=alice.principal) for text in (TEXT, "Otters swim.")]
    elsewhere = store("acme:other", "Badgers dig.", by=alice.principal)
    run("backup", namespaces=["acme:other"])
    held = [run("backup", namespaces=[MAIN])["backup_id"] for _ in range(2)]
    with access.enter(principal, why="test"):
        Backup.objects.filter(id=held[0]).update(protected=True)
    assert elsewhere
    told = post(alice, {"ids": [str(rows[0].id)], "expected_count": 1})["backups"]
    assert [(row["id"], row["purged"]) for row in told] == [(held[1], False), (held[0], False)]
    body = {"ids": [str(rows[1].id)], "expected_count": 1, "purge_backups": True}
    with django_capture_on_commit_callbacks(execute=True):
        told = post(alice, body)["backups"]
    assert [(row["id"], row["purged"]) for row in told] == [(held[1], True), (held[0], False)]
    with access.enter(principal, why="test"):
        left = {str(row.id) for row in Backup.objects.filter(namespaces=[MAIN])}
    assert left == {before, held[0]}


def test_forgetting_one_names_them_to_an_admin_of_the_project(
    alice, bob, reader, principal, namespace_row, store, run, django_capture_on_commit_callbacks
):
    rows = [store(MAIN, text, by=bob.principal) for text in (TEXT, "Otters swim.", "Badgers dig.", "Cranes dance.")]
    held = run("backup", namespaces=[MAIN])["backup_id"]
    pack = run("pack", namespace_row)["pack_id"]
    answer = alice.client.get(f"/api/v1/packs/{pack}/download")
    assert (answer.status_code, len(b"".join(answer.streaming_content)) > 0) == (200, True)
    paths = [f"/api/v1/fragments/{row.id}" for row in rows]
    with django_capture_on_commit_callbacks(execute=True):
        answer = alice.client.delete(paths[0])
    assert (answer.status_code, answer["X-NovaMem-Backups"]) == (204, held)
    # A pack is a copy on its way out: it goes with what it holds.
    assert alice.client.get(f"/api/v1/packs/{pack}/download").status_code == 410
    assert bob.client.delete(f"{paths[1]}?purge_backups=true").status_code == 403
    answer = bob.client.delete(paths[1])
    assert (answer.status_code, answer.has_header("X-NovaMem-Backups")) == (204, False)
    with django_capture_on_commit_callbacks(execute=True):
        assert alice.client.delete(f"{paths[2]}?purge_backups=true").status_code == 204
    answer = alice.client.delete(paths[3])
    assert (answer.status_code, answer.has_header("X-NovaMem-Backups")) == (204, False)
    with access.enter(principal, why="test"):
        assert not Backup.objects.exists()
