"""What fingerprints are keyed with: in no plain bundle, so that nobody guesses from it what was forgotten."""

import gzip
import json
from pathlib import Path

import pyrage
import pytest
from django.core.management import CommandError, call_command

from memories.models import Project
from tests.backups.conftest import forged

SECRET = "The safe opens with 4711."


@pytest.fixture
def forgotten(alice, store):
    """A project that remembers one text and has forgotten another."""
    row = store("acme:main", SECRET, by=alice.principal)
    store("acme:main", "Otters swim.", by=alice.principal)
    assert alice.client.delete(f"/api/v1/fragments/{row.id}").status_code == 204
    return row


@pytest.fixture
def says_again(alice):
    """Whether the forgotten text is taken again."""

    def ask():
        body = {"namespace": "acme:main", "content": SECRET}
        return alice.client.post("/api/v1/fragments", body, format="json").status_code == 201

    return ask


def manifest(content):
    return json.loads(gzip.decompress(content).splitlines()[0])


def salt_of(principal):
    return bytes(Project.objects.values_list("salt", flat=True).get(id=principal.project_id))


def test_a_plain_bundle_names_the_salt_and_does_not_hold_it(forgotten, back_up, storage, principal):
    content = (storage / back_up().file).read_bytes()
    salt = salt_of(principal)
    assert manifest(content)["salt"] == ""
    assert len(manifest(content)["saltName"]) == 64
    unpacked = gzip.decompress(content)
    assert salt.hex().encode() not in unpacked
    assert salt not in unpacked


def test_an_encrypted_bundle_brings_it_to_a_new_machine(
    forgotten, back_up, restore, wipe, recipient, storage, principal, says_again, settings
):
    made, salt = back_up(recipients=[recipient]), salt_of(principal)
    with Path(settings.BACKUP_IDENTITY_FILE).open() as file:
        identity = pyrage.x25519.Identity.from_str(file.read().splitlines()[-1])
    assert manifest(pyrage.decrypt((storage / made.file).read_bytes(), [identity]))["salt"] == salt.hex()
    wipe(with_key=False)
    report = restore(made)
    assert (report["left_out"], report["key_file_needed"]) == ({}, False)
    assert salt_of(principal) == salt
    assert not says_again()


def test_without_it_a_new_machine_says_what_is_lost(forgotten, back_up, restore, wipe, says_again):
    made = back_up()
    wipe(with_key=False)
    planned = restore(made, dry_run=True)
    assert (planned["left_out"], planned["key_file_needed"]) == ({"erasure": 1}, True)
    report = restore(made)
    assert (report["insert"], report["left_out"], report["key_file_needed"]) == (1, {"erasure": 1}, True)
    assert says_again()


def test_where_nothing_is_keyed_no_key_file_is_asked_for(store, back_up, restore, wipe):
    store("acme:main", "Otters swim.")
    made = back_up()
    wipe(with_key=False)
    report = restore(made)
    assert (report["insert"], report["left_out"], report["key_file_needed"]) == (1, {}, False)


def test_the_key_file_is_its_owners_alone_and_brings_it_along(forgotten, principal, wipe, says_again, tmp_path, capsys):
    file = tmp_path / "acme.gz"
    call_command("export", str(file), "--project", principal.project)
    key = tmp_path / "acme.gz.key"
    assert key.stat().st_mode & 0o777 == 0o600
    salt = salt_of(principal)
    wipe(with_key=False)
    call_command("restore", str(file), "--dry-run")
    told = capsys.readouterr().err
    assert "1 fingerprints of forgotten texts are left out" in told
    assert "--key FILE" in told
    call_command("restore", str(file), "--key", str(key))
    assert "left out:" not in capsys.readouterr().err
    assert salt_of(principal) == salt
    assert not says_again()


def test_the_command_writes_the_key_file(principal, tmp_path, store, wipe):
    key = tmp_path / "key"
    key.write_text("something longer than a key, which was here before" * 10)
    key.chmod(0o644)
    call_command("backup", "key", str(key), "--project", principal.project)
    assert key.stat().st_mode & 0o777 == 0o600
    assert json.loads(key.read_text()) == {"project": "acme", "salt": salt_of(principal).hex()}


@pytest.mark.parametrize(
    "told", ["", "[]", "{}", '{"project": "acme", "salt": "zz"}', '{"project": "acme", "salt": "00"}', None]
)
def test_a_key_file_that_is_none_is_refused(told, forgotten, principal, wipe, tmp_path):
    file, key = tmp_path / "acme.gz", tmp_path / "key"
    call_command("export", str(file), "--project", principal.project)
    key.write_text(json.dumps({"project": "other", "salt": "00" * 32}) if told is None else told)
    wipe(with_key=False)
    with pytest.raises(CommandError, match="key file"):
        call_command("restore", str(file), "--key", str(key))


def test_a_project_with_fingerprints_of_its_own_takes_no_other_key(forgotten, principal, tmp_path, store):
    file, key = tmp_path / "acme.gz", tmp_path / "key"
    call_command("export", str(file), "--project", principal.project)
    key.write_text(json.dumps({"project": "acme", "salt": "00" * 32}))
    with pytest.raises(CommandError, match="of its own"):
        call_command("restore", str(file), "--key", str(key))


def test_a_bundle_of_an_earlier_version_still_brings_its_salt(
    forgotten, back_up, restore, wipe, storage, principal, says_again
):
    made, salt = back_up(), salt_of(principal)

    def as_before(told):
        told[0].pop("saltName")
        told[0] |= {"schemaVersion": 2, "salt": salt.hex()}

    forged(storage / made.file, as_before)
    wipe(with_key=False)
    assert restore(made)["left_out"] == {}
    assert salt_of(principal) == salt
    assert not says_again()
