"""`manage.py backup`, `restore`, `export`, `import`, `verify`."""

import gzip
import io
import json

import pytest
from django.core.management import CommandError, call_command

from memories import access
from memories.access import keys
from memories.models import Project


def output_of(*words, **more):
    out = io.StringIO()
    call_command(*words, stdout=out, **more)
    return out.getvalue()


def test_out_to_a_file_and_back(store, tmp_path, wipe, texts):
    store("acme:main", "The heron nests by the mill.")
    path = tmp_path / "acme.ndjson.gz"
    made = json.loads(output_of("export", str(path), "--project", "acme", "--json"))
    assert made["state"] == "succeeded"
    assert json.loads(output_of("verify", str(path), "--json"))["report"]["records"] == 2
    wipe()
    assert json.loads(output_of("restore", str(path), "--dry-run", "--json"))["report"]["insert"] == 1
    assert texts() == []
    assert json.loads(output_of("import", "bundle", str(path), "--json"))["report"]["insert"] == 1
    assert len(texts()) == 1


def test_by_id(store):
    store("acme:main", "The heron nests by the mill.")
    which = json.loads(output_of("backup", "make", "--project", "acme", "--json"))["report"]["backup_id"]
    for word in ("verify", "drill"):
        assert json.loads(output_of("backup", word, which, "--json"))["state"] == "succeeded"
    (row,) = json.loads(output_of("backup", "list", "--json"))
    assert (row["id"], row["verdict"], row["drill_verdict"]) == (which, "sound", "sound")
    assert which in output_of("backup", "list")
    assert "protected" in output_of("backup", "protect", which)
    with pytest.raises(CommandError):
        call_command("backup", "delete", which)
    output_of("backup", "protect", which, "--off")
    assert json.loads(output_of("backup", "delete", which, "--json")) == {"id": which, "deleted": True}
    assert json.loads(output_of("backup", "list", "--json")) == []


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_a_branch_that_is_taken_is_refused_in_one_line(store, back_up, json_too):
    store("acme:main", "The heron nests by the mill.")
    which = str(back_up().id)
    with pytest.raises(CommandError, match=r"^there is acme:main already, with memories in it$"):
        call_command("restore", which, "--into", "acme:main", *json_too)


@pytest.fixture
def elsewhere(store, storage, tmp_path):
    """A bundle in a file, of a project that is gone; and the same in the storage."""
    path = tmp_path / "zeta.ndjson.gz"
    principal = access.system_principal(keys.ensure_project("zeta"))
    store("zeta:main", "The heron nests by the mill.", by=principal)
    output_of("export", str(path), "--project", "zeta")
    (kept,) = storage.glob("zeta-*")
    text = kept.read_bytes()
    output_of("namespaces", "delete", "zeta", "--yes")
    kept.write_bytes(text)
    return path, kept


def is_there():
    return Project.objects.filter(name="zeta").exists()


@pytest.mark.parametrize("by_storage", [True, False])
def test_a_restore_that_is_only_planned_leaves_no_project(elsewhere, storage, by_storage):
    path, kept = elsewhere
    words = ("zeta", "--from-storage") if by_storage else (str(path),)
    assert json.loads(output_of("restore", *words, "--dry-run", "--json"))["report"]["insert"] == 1
    assert (is_there(), list(storage.glob("zeta-*"))) == (False, [kept])
    assert json.loads(output_of("restore", *words, "--json"))["report"]["insert"] == 1
    assert is_there()


def test_a_restore_that_is_refused_leaves_no_project(elsewhere, storage):
    path, kept = elsewhere
    lines = gzip.decompress(path.read_bytes()).replace(b"heron", b"otter")
    path.write_bytes(gzip.compress(lines))
    with pytest.raises(SystemExit):
        output_of("restore", str(path), "--json")
    assert (is_there(), list(storage.glob("zeta-*"))) == (False, [kept])
    path.write_bytes(gzip.compress(lines[:40]))
    with pytest.raises(CommandError):
        output_of("restore", str(path))
    assert not is_there()


def test_a_project_that_was_there_stays(project, tmp_path, store, wipe):
    store("acme:main", "The heron nests by the mill.")
    path = tmp_path / "acme.ndjson.gz"
    output_of("export", str(path), "--project", "acme")
    wipe()
    output_of("restore", str(path), "--dry-run")
    assert Project.objects.filter(name="acme").exists()


def test_what_is_no_bundle_is_refused(project, tmp_path):
    path = tmp_path / "hello"
    path.write_text("hello")
    with pytest.raises(CommandError, match="line 1"):
        call_command("restore", str(path))
    with pytest.raises(CommandError):
        call_command("restore", str(tmp_path / "missing"))
