"""`restore --from-storage`: on a machine whose database knows nothing, from what the storage holds."""

import io
import json
import os
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories import access, backups
from memories.models import Backup, Operation


def output_of(*words):
    out = io.StringIO()
    call_command(*words, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def unknown(principal, wipe):
    """Lets the database know nothing: neither memories nor backups, nor what made these."""

    def forget():
        wipe()
        with access.enter(principal, why="test"):
            Backup.objects.within(principal.project_id).update(base=None)
            Backup.objects.within(principal.project_id).delete()
            Operation.objects.within(principal.project_id).delete()

    return forget


def listed(principal):
    with access.enter(principal, why="test"):
        return {row.file: row for row in Backup.objects.within(principal.project_id)}


def test_the_newest_of_a_project_comes_back_with_what_it_goes_on_from(
    store, back_up, unknown, texts, principal, storage
):
    store("acme:main", "The heron nests by the mill.")
    whole = back_up()
    store("acme:main", "Otters swim by the weir.")
    increment = back_up(base=str(whole.id))
    unknown()
    (told,) = output_of("restore", "--from-storage", "--json")
    assert (told["state"], told["report"]["insert"]) == ("succeeded", 2)
    assert {text for _, text, _ in texts()} == {"The heron nests by the mill.", "Otters swim by the weir."}
    rows = listed(principal)
    kept = {whole.file: rows[whole.file], increment.file: rows[increment.file]}
    assert {row.id for row in kept.values()} == {whole.id, increment.id}
    assert kept[increment.file].sha256 == increment.sha256
    assert kept[increment.file].base_id == whole.id
    assert kept[whole.file].exported_at == whole.exported_at.replace(microsecond=0)
    assert {path.name for path in storage.iterdir()} >= {whole.file, increment.file}


def test_a_second_time_it_is_known(store, back_up, unknown, principal):
    store("acme:main", "The heron nests by the mill.")
    back_up()
    unknown()
    for inserted in (1, 0):
        (told,) = output_of("restore", "acme", "--from-storage", "--json")
        assert told["report"]["insert"] == inserted


def test_an_older_one_is_named_by_its_file(store, back_up, unknown, texts):
    store("acme:main", "The heron nests by the mill.")
    older = back_up()
    store("acme:main", "Otters swim by the weir.")
    back_up()
    unknown()
    output_of("restore", older.file, "--from-storage", "--json")
    assert [text for _, text, _ in texts()] == ["The heron nests by the mill."]


def test_a_missing_base_and_an_unknown_project_are_said(store, back_up, unknown, texts, storage):
    store("acme:main", "The heron nests by the mill.")
    whole = back_up()
    store("acme:main", "Otters swim by the weir.")
    back_up(base=str(whole.id))
    (storage / whole.file).unlink()
    unknown()
    with pytest.raises(CommandError, match=f"goes on from the backup {whole.id}"):
        call_command("restore", "--from-storage")
    with pytest.raises(CommandError, match="nothing of 'zoo'"):
        call_command("restore", "zoo", "--from-storage")
    with pytest.raises(CommandError, match="Say what is restored"):
        call_command("restore")
    assert texts() == []


def test_an_encrypted_one_needs_the_identity(store, back_up, unknown, texts, recipient, settings):
    store("acme:main", "The heron nests by the mill.")
    back_up(recipients=[recipient])
    unknown()
    identity, settings.BACKUP_IDENTITY_FILE = settings.BACKUP_IDENTITY_FILE, ""
    with pytest.raises(CommandError, match="identity"):
        call_command("restore", "--from-storage")
    output_of("restore", "--from-storage", "--identity", identity, "--json")
    assert [text for _, text, _ in texts()] == ["The heron nests by the mill."]


def test_retention_leaves_what_a_former_database_wrote(store, back_up, unknown, principal, storage):
    store("acme:main", "The heron nests by the mill.")
    former = back_up()
    unknown()
    store("acme:main", "Otters swim by the weir.")
    own = back_up()
    operation_id = own.operation_id
    with access.enter(principal, why="test"):
        Backup.objects.within(principal.project_id).delete()  # as if its maker had been killed before the row
    left = f"acme-upload-{uuid.uuid4()}.ndjson.gz"
    (storage / left).write_bytes(b"left")
    for path in storage.iterdir():
        os.utime(path, (1, 1))
    backups.expire(principal, now=timezone.now())
    assert operation_id
    assert {path.name for path in storage.iterdir()} == {former.file}
