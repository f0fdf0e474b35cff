"""/api/v1/backups and /api/v1/restores."""

import gzip
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memories import access, backups, jobs
from memories.backups import storage as backup_storage
from memories.models import Backup, Namespace, Operation


@pytest.fixture
def finish(principal):
    """Runs what a request has started; the operation."""

    def work(answer):
        assert answer.status_code == 202, answer.content
        jobs.run(principal, uuid.UUID(answer.json()["id"]))
        with access.enter(principal, why="test"):
            return Operation.objects.get(id=answer.json()["id"])

    return work


@pytest.fixture
def made(alice, store, finish):
    """Alice's backup of one memory."""
    store("acme:main", "The heron nests by the mill.", by=alice.principal)
    ended = finish(alice.client.post("/api/v1/backups", {"project": "acme"}, format="json"))
    return ended.report["backup_id"]


def upload(agent, data, **more):
    body = {"upload": SimpleUploadedFile("bundle.ndjson.gz", data), **more}
    return agent.client.post("/api/v1/restores", body, format="multipart")


def test_works(alice, made, finish, wipe, texts):
    (listed,) = alice.client.get("/api/v1/backups").json()["results"]
    assert (listed["id"], listed["policy"], listed["records"]) == (made, "full", 3)
    assert listed["counts"] == [{"bucket": "everything", "reason": "full", "count": 1}]
    data = b"".join(alice.client.get(f"/api/v1/backups/{made}/download?format=bundle").streaming_content)
    assert b'"schemaVersion":3' in gzip.decompress(data).splitlines()[0]
    for kind in ("verify", "drill"):
        assert finish(alice.client.post(f"/api/v1/backups/{made}/{kind}")).state == "succeeded"
    told = alice.client.get(f"/api/v1/backups/{made}").json()
    assert (told["verdict"], told["drill_verdict"]) == ("sound", "sound")
    assert alice.client.get("/api/v1/stats").json()["backups"]["last_drill_age_seconds"] < 600
    wipe()
    planned = finish(alice.client.post("/api/v1/restores", {"backup_id": made, "dry_run": True}, format="json"))
    assert (planned.report["insert"], texts()) == (1, [])
    wish = {"backup_id": made, "plan_id": str(planned.id)}
    assert finish(alice.client.post("/api/v1/restores", wish, format="json")).report["insert"] == 1
    again = alice.client.post("/api/v1/restores", wish, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "plan_used")
    assert len(texts()) == 1
    assert len(alice.client.get("/api/v1/restores").json()["results"]) == 2


def test_a_file_that_is_sent_along(alice, made, finish, wipe, texts):
    data = b"".join(alice.client.get(f"/api/v1/backups/{made}/download").streaming_content)
    wipe()
    assert finish(upload(alice, data)).report["insert"] == 1
    assert len(texts()) == 1


@pytest.mark.parametrize(
    "data", [b"hello", b"", gzip.compress(b"{}\n", mtime=0), gzip.compress(b"x" * 1000, mtime=0)[:-9]]
)
def test_what_is_no_bundle_is_refused_at_once(alice, data, texts):
    answer = upload(alice, data)
    assert answer.status_code == 400
    assert answer.json()["code"] in ("broken_bundle", "validation")
    assert alice.client.get("/api/v1/backups").json()["results"] == []


def test_a_truncated_upload_is_refused_by_its_operation(alice, made, finish, wipe, texts):
    data = b"".join(alice.client.get(f"/api/v1/backups/{made}/download").streaming_content)
    wipe()
    ended = finish(upload(alice, data[:-20]))
    assert (ended.state, ended.error["code"], texts()) == ("failed", "broken_bundle", [])


def test_a_broken_upload_is_not_kept_but_one_that_was_proven_is(alice, principal, made, finish, storage):
    data = b"".join(alice.client.get(f"/api/v1/backups/{made}/download").streaming_content)

    def kept():
        return {each["id"] for each in alice.client.get("/api/v1/backups").json()["results"]} - {str(made)}

    files = set(storage.iterdir())
    assert finish(upload(alice, data[:-20], dry_run="true")).error["code"] == "broken_bundle"
    assert (kept(), set(storage.iterdir())) == (set(), files)
    assert finish(upload(alice, data, dry_run="true")).state == "succeeded"
    (proven,) = kept()
    with access.enter(principal, why="test"):
        Backup.objects.filter(id=proven).update(verdict="sound")
        (storage / Backup.objects.get(id=proven).file).write_bytes(data[:-20])
    body = {"backup_id": proven, "dry_run": True}
    assert finish(alice.client.post("/api/v1/restores", body, format="json")).error["code"] == "broken_bundle"
    assert kept() == {proven}


def test_another_projects_bundle_is_refused(alice, charlie, made):
    data = b"".join(alice.client.get(f"/api/v1/backups/{made}/download").streaming_content)
    answer = upload(charlie, data)
    assert (answer.status_code, answer.json()["code"]) == (400, "wrong_project")
    assert charlie.client.get("/api/v1/backups").json()["results"] == []


def test_without_the_verb_or_the_whole_project_there_is_no_right_to_it(project, bob, made, agent_of):
    part = agent_of(project, owner="part", namespaces=["acme:main"], verbs=["read", "admin"])
    for agent, status in ((bob, 403), (part, 404)):
        for method, path in (("get", f"backups/{made}/download"), ("delete", f"backups/{made}")):
            assert getattr(agent.client, method)(f"/api/v1/{path}").status_code == status
        body = {"backup_id": made}
        assert agent.client.post("/api/v1/restores", body, format="json").status_code == status
    assert part.client.get("/api/v1/backups").json()["results"] == []
    for body in ({}, {"namespaces": ["acme:main"]}):
        answer = part.client.post("/api/v1/backups", body, format="json")
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
        assert "name a namespace" not in answer.json()["detail"]
    assert upload(part, b"hello").status_code == 403


def test_others_and_missing_ones_look_the_same(charlie, made):
    for which in (made, uuid.uuid4()):
        assert charlie.client.get(f"/api/v1/backups/{which}").status_code == 404
        assert charlie.client.post("/api/v1/restores", {"backup_id": str(which)}, format="json").status_code == 404
        assert charlie.client.delete(f"/api/v1/backups/{which}").status_code == 404


def test_protecting_twice_under_one_key_is_one_request(alice, made):
    def protect(protected):
        body, headers = {"protected": protected}, {"Idempotency-Key": "p1"}
        return alice.client.post(f"/api/v1/backups/{made}/protect", body, format="json", headers=headers)

    assert protect(True).json() == protect(True).json()
    assert protect(False).status_code == 422


def test_protected_ones_stay(alice, made, storage):
    assert alice.client.post(f"/api/v1/backups/{made}/protect").json()["protected"] is True
    refused = alice.client.delete(f"/api/v1/backups/{made}")
    assert (refused.status_code, refused.json()["code"]) == (409, "still_needed")
    assert len(list(storage.iterdir())) == 1
    body = {"protected": False}
    assert alice.client.post(f"/api/v1/backups/{made}/protect", body, format="json").json()["protected"] is False
    assert alice.client.delete(f"/api/v1/backups/{made}").status_code == 204
    assert list(storage.iterdir()) == []


def test_a_key_repeated_makes_one_backup(alice, made, principal):
    extra = {"headers": {"Idempotency-Key": "once"}}
    answers = [alice.client.post("/api/v1/backups", {}, format="json", **extra) for _ in range(2)]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_missing_file_is_told(alice, made, storage):
    for file in storage.iterdir():
        file.unlink()
    answer = alice.client.get(f"/api/v1/backups/{made}/download")
    assert (answer.status_code, answer.json()["code"]) == (410, "file_missing")


def test_retention_keeps_the_newest_the_protected_and_their_bases(principal, back_up, settings, storage):
    settings.BACKUP_KEEP = 2
    first, second = back_up(), back_up()
    third = back_up(base=str(first.id))
    guarded = back_up()
    backups.protect(principal, guarded.id, protected=True)
    last = back_up(base=str(third.id))
    fourth = back_up()
    assert backups.expire(principal, now=timezone.now()) == 1
    with access.enter(principal, why="test"):
        assert set(Backup.objects.values_list("id", flat=True)) == {
            *(first.id, third.id, guarded.id, last.id, fourth.id)
        }
    assert not (storage / second.file).exists()
    assert len(list(storage.iterdir())) == 5


def test_without_room_nothing_is_written(principal, job, storage, monkeypatch):
    monkeypatch.setattr(backup_storage, "SPARE", 1 << 60)
    ended = job("backup")
    assert (ended.state, ended.error["code"]) == ("failed", "no_space")
    assert list(storage.iterdir()) == []


def test_the_daily_backup_is_proven(principal, store, anonymous):
    store("acme:main", "The heron nests by the mill.")
    for _ in range(2):
        jobs.back_up_daily(principal, now=timezone.now())
    with access.enter(principal, why="test"):
        (operation,) = Operation.objects.filter(kind="backup")
    ended = jobs.run(principal, operation.id)
    for which in ended.report["proofs"]:
        assert jobs.run(principal, uuid.UUID(which)).state == "succeeded"
    with access.enter(principal, why="test"):
        (row,) = Backup.objects.all()
    assert (row.origin, row.verdict, row.drill_verdict) == ("scheduled", "sound", "sound")
    told = anonymous.get("/metrics").content.decode()
    assert "novamem_drill_age_seconds " in told
    assert "novamem_backup_age_seconds " in told
    assert "acme" not in told


@pytest.mark.parametrize("options", [{"namespaces": ["acme:nope"]}, {"base": str(uuid.uuid4())}])
def test_a_backup_of_what_is_not_there_is_refused(alice, made, count, options):
    before = count(Operation)
    assert alice.client.post("/api/v1/backups", options, format="json").status_code == 404
    body = {"kind": "backup", "options": options}
    refused = alice.client.post("/api/v1/operations", body, format="json")
    assert (refused.status_code, [e["field"] for e in refused.json()["errors"]]) == (400, list(options))
    assert count(Operation) == before


def test_what_goes_before_it_is_saved_is_told_by_a_clear_code(alice, principal, store, finish):
    store("acme:other", "The boat lies in the reeds.")
    made = alice.client.post("/api/v1/backups", {"namespaces": ["acme:other"]}, format="json")
    with access.enter(principal, why="test"):
        Namespace.objects.get(name="acme:other").delete()
    ended = finish(made)
    assert (ended.state, ended.error["code"], ended.error["missing"]) == ("failed", "not_found", "namespace")
