"""Backups and packs at rest: who has the file alone reads nothing; an identity opens it, on the server only."""

import gzip
import json
import secrets

import pyrage
import pytest
from django.core.management import CommandError, call_command

from memories import access, backups, packs
from memories.backups.encryption import HEADER
from memories.models import Backup

TEXT = "The heron nests behind the old mill."
READS = ("verify", "drill", "restore")


@pytest.fixture
def stranger(tmp_path):
    """An identity file that opens nothing of ours."""
    path = tmp_path / "stranger"
    path.write_text(f"{pyrage.x25519.Identity.generate()}\n")
    return path


@pytest.fixture
def made(store, back_up, recipient):
    """An encrypted backup of one memory."""
    store("acme:main", TEXT)
    return back_up(recipients=[recipient])


def test_the_file_holds_nothing_that_can_be_read(made, storage):
    content = (storage / made.file).read_bytes()
    assert content.startswith(HEADER)
    assert b"heron" not in content
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(content)
    assert made.encrypted
    assert made.file.endswith(".ndjson.gz.age")


@pytest.mark.long
def test_no_file_of_the_folder_ever_held_it_in_plain(store, back_up, recipient, storage, monkeypatch):
    """What is half written is encrypted too."""
    for _ in range(40):
        store("acme:main", secrets.token_hex(900))
    seen = []

    def look(name):
        if name == "backup.written":
            seen.extend(path.read_bytes()[: len(HEADER)] for path in storage.iterdir())

    monkeypatch.setattr("memories.failpoints.reach", look)
    back_up(recipients=[recipient])
    assert set(seen) <= {HEADER, b""}
    assert HEADER in seen


@pytest.mark.parametrize("kind", READS)
def test_it_is_read_with_the_identity_and_not_without(kind, made, job, settings, stranger, wipe, texts):
    wipe()
    for path, why in (("", "name the identity file"), (str(stranger), "does not open"), ("/nowhere", "can't be used")):
        with_it, settings.BACKUP_IDENTITY_FILE = settings.BACKUP_IDENTITY_FILE, path
        ended = job(kind, backup_id=str(made.id))
        assert (ended.state, ended.error["code"]) == ("failed", "identity_missing"), path
        assert why in ended.error["detail"]
        settings.BACKUP_IDENTITY_FILE = with_it
    assert texts() == []
    ended = job(kind, backup_id=str(made.id))
    assert ended.state == "succeeded", ended.error
    assert [text for _, text, _ in texts()] == ([TEXT] if kind == "restore" else [])


def test_a_missing_identity_is_no_verdict_on_the_backup(made, job, settings, principal):
    settings.BACKUP_IDENTITY_FILE = ""
    job("verify", backup_id=str(made.id))
    assert backups.get_backup(principal, made.id).verdict == ""


def test_a_changed_byte_is_found(made, job, storage, principal):
    path = storage / made.file
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    assert job("verify", backup_id=str(made.id)).error["code"] == "file_changed"
    with access.enter(principal, why="test"):
        Backup.objects.filter(id=made.id).update(sha256="")
    assert job("restore", backup_id=str(made.id)).error["code"] == "broken_bundle"


def test_the_setting_encrypts_every_backup_but_those_that_are_pushed(store, back_up, recipient, settings):
    settings.BACKUP_RECIPIENTS = [recipient]
    store("acme:main", TEXT)
    assert back_up().encrypted
    assert back_up(origin="scheduled").encrypted
    assert not back_up(origin="sync").encrypted
    assert not back_up(recipients=[]).encrypted


def test_a_scheduled_backup_is_not_proven_without_the_identity(store, job, recipient, settings):
    store("acme:main", TEXT)
    settings.BACKUP_RECIPIENTS, settings.BACKUP_IDENTITY_FILE = [recipient], ""
    report = job("backup", origin="scheduled", prove=True).report
    assert (report["encrypted"], report["unproven"]) == (True, "identity_missing")
    assert "proofs" not in report


@pytest.mark.parametrize("wrong", [["age1nobody"], ["ssh-ed25519 x"], "age1", [7], [""] * 21])
def test_a_recipient_that_is_none_is_refused(wrong, alice):
    answer = alice.client.post("/api/v1/backups", {"recipients": wrong}, format="json")
    assert answer.status_code == 400
    assert "recipients" in str(answer.json())


def test_the_api_says_what_is_encrypted_and_gives_it_as_it_is(made, alice, storage):
    shown = alice.client.get(f"/api/v1/backups/{made.id}").json()
    assert shown["encrypted"] is True
    got = b"".join(alice.client.get(f"/api/v1/backups/{made.id}/download").streaming_content)
    assert got == (storage / made.file).read_bytes()
    refused = alice.client.get(f"/api/v1/backups/{made.id}/download?format=json")
    assert (refused.status_code, refused.json()["code"]) == (409, "encrypted")


def test_an_encrypted_upload_waits_for_the_servers_identity(made, alice, storage, settings, wipe, job, texts):
    wipe()
    path = storage / made.file
    opens, settings.BACKUP_IDENTITY_FILE = settings.BACKUP_IDENTITY_FILE, ""
    with path.open("rb") as file:
        answer = alice.client.post("/api/v1/restores", {"upload": file})
    assert (answer.status_code, answer.json()["code"]) == (409, "identity_missing")
    settings.BACKUP_IDENTITY_FILE = opens
    with path.open("rb") as file:
        answer = alice.client.post("/api/v1/restores", {"upload": file})
    assert answer.status_code == 202, answer.content
    row = backups.get_backup(alice.principal, answer.json()["options"]["backup_id"])
    assert row.encrypted
    assert (storage / row.file).read_bytes() == path.read_bytes(), "it is kept as it came"


def test_a_pack_is_encrypted_and_searched_with_the_identity(store, job, recipient, storage, place_of, settings):
    store("acme:main", TEXT)
    ended = job("pack", place=place_of("acme:main"), recipients=[recipient])
    assert ended.report["encrypted"] is True
    path = storage / f"{ended.id}.pack"
    assert path.read_bytes().startswith(HEADER)
    assert [hit.content for hit in packs.search(path, "heron")] == [TEXT]
    settings.BACKUP_IDENTITY_FILE = ""
    with pytest.raises(backups.encryption.IdentityMissing):
        packs.search(path, "heron")


def test_the_commands_take_recipients_and_an_identity(principal, store, recipient, settings, tmp_path, capsys):
    store("acme:main", TEXT)
    file, identity = tmp_path / "acme.age", settings.BACKUP_IDENTITY_FILE
    settings.BACKUP_IDENTITY_FILE = ""
    call_command("export", str(file), "--project", principal.project, "--recipient", recipient)
    assert file.read_bytes().startswith(HEADER)
    assert not file.with_name("acme.age.key").exists(), "an encrypted bundle brings its salt along"
    with pytest.raises(CommandError, match="--identity"):
        call_command("verify", str(file))
    call_command("verify", str(file), "--identity", identity)
    capsys.readouterr()
    call_command("backup", "list", "--json")
    assert {row["encrypted"] for row in json.loads(capsys.readouterr().out)} == {True}
