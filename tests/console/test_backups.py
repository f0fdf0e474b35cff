"""/backups/: made and proven in one go, taken in, sent out, and nothing by mistake."""

import datetime
import gzip
import re
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memories import access, backups
from memories.access import keys
from memories.models import Backup, Namespace, Operation
from tests.backups.test_broken import signed
from tests.backups.test_no_room import small_disk
from tests.console.conftest import a_person, logged_in, post, words


@pytest.fixture
def proven(adam, work):
    """One that was made and proven."""
    assert post(adam, "/backups/", policy="full", prove="yes").status_code == 303
    work()


@pytest.mark.usefixtures("backup")
def test_one_that_is_broken_is_told_on_the_dashboard_and_in_the_table(adam, principal):
    with access.enter(principal, why="test"):
        Backup.objects.update(verdict="broken_bundle")
    assert "1 can’t be restored" in words(adam.get("/"))
    listed = words(adam.get("/backups/"))
    assert "failed broken bundle" in listed
    assert "broken_bundle" not in listed
    assert "can’t be restored" in listed
    assert "Restore…" not in listed


def test_made_and_proven_by_one_form(adam, proven):
    page = words(adam.get("/backups/"))
    assert "verify it and run a test restore" in page
    assert "Last verified restore: just now ✓" in page
    assert page.count("sound") == 2


def test_a_proof_of_long_ago_is_none(adam, proven, principal):
    with access.enter(principal, why="test"):
        Backup.objects.update(drilled_at=timezone.now() - datetime.timedelta(days=8))
    page = adam.get("/backups/")
    assert "Last verified restore: 8 d ago . That is more than a week: run a test restore again." in words(page)
    assert "strip-good" not in page.text
    assert "unproven" in words(adam.get("/"))


def test_the_list_tells_what_each_holds(adam, backup, store, work):
    assert "full asked everything: 1" in words(adam.get("/backups/"))
    post(adam, "/backups/", policy="identity")
    work()
    assert re.search("identity asked [a-z ]+: [0-9]+, [a-z ]+: [0-9]+", words(adam.get("/backups/")))


def test_an_unknown_version_is_read_once_it_was_refused(adam, backup, work):
    with backups.storage.open_file(backup.file) as file:
        head, *body, _ = gzip.decompress(file.read()).splitlines()
    newer = signed([re.sub(rb'"schemaVersion":\d+', b'"schemaVersion":999', head), *body])
    there = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", newer))["Location"]
    assert "allow_version" not in adam.get(there).text
    post(adam, there, step="plan")
    work()
    page = adam.get(there)
    assert "The plan failed: unknown version" in words(page)
    assert "Read it although its version is unknown" in words(page)
    post(adam, there, step="plan", allow_version="yes")
    work()
    assert "1 to come back" in words(adam.get(there))


def test_a_backup_of_what_is_not_there_is_not_begun(adam, backup, count):
    before = count(Operation)
    for wish, told in (
        ({"namespaces": ["acme:nope"]}, "There is no namespace acme:nope."),
        ({"base": str(uuid.uuid4())}, "There is no such backup to go on from."),
    ):
        page = post(adam, "/backups/", policy="full", **wish)
        assert (page.status_code, told in words(page)) == (409, True)
    assert post(adam, "/backups/", policy="full", namespaces=["elsewhere:main"]).status_code == 404
    assert count(Operation) == before


def test_a_namespace_that_went_meanwhile_is_named_as_the_reason(adam, backup, store, principal, work):
    store("acme:other", "The boat lies in the reeds.")
    made = post(adam, "/backups/", policy="full", namespaces=["acme:other"])
    with access.enter(principal, why="test"):
        Namespace.objects.get(name="acme:other").delete()
    work()
    page = words(adam.get(made["Location"]))
    assert "It failed: the namespace that it names is not there any more. Nothing was half done." in page


def test_protected_ones_are_not_deleted(adam, backup, count):
    day = f"{backup.created_at:%Y-%m-%d}"
    post(adam, f"/backups/{backup.id}/protect/", protected="yes")
    answer = post(adam, f"/backups/{backup.id}/delete/", confirm=day)
    assert (answer.status_code, "The backup is protected." in words(answer)) == (409, True)
    post(adam, f"/backups/{backup.id}/protect/", protected="no")
    assert post(adam, f"/backups/{backup.id}/delete/", confirm="yesterday").status_code == 409
    assert count(Backup) == 1
    assert post(adam, f"/backups/{backup.id}/delete/", confirm=day)["Location"] == "/backups/"
    assert count(Backup) == 0


def test_a_file_goes_out_and_comes_in(adam, backup, principal, count):
    file = b"".join(adam.get(f"/backups/{backup.id}/download/").streaming_content)
    answer = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", file))
    assert re.fullmatch(r"/backups/[0-9a-f-]+/restore/", answer["Location"])
    assert count(Backup) == 2
    bad = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.gz", b"no backup"))
    assert (bad.status_code, count(Backup)) == (409, 2)
    assert post(adam, "/backups/upload/").status_code == 409


def harmed(adam, backup, how):
    """The file of a backup with a damage, and the line that it is in."""
    file = b"".join(adam.get(f"/backups/{backup.id}/download/").streaming_content)
    lines = gzip.decompress(file).split(b"\n")
    if how == "cut":
        return file[: len(file) // 2], None
    if how == "flipped":
        middle = len(file) // 2
        return file[:middle] + bytes([file[middle] ^ 0xFF]) + file[middle + 1 :], None
    if how == "changed":
        return gzip.compress(b"\n".join(lines).replace(b"heron", b"otter")), len(lines) - 1
    broken = lines[:-3] + [lines[-3][:-5]] + lines[-2:]
    return gzip.compress(b"\n".join(broken)), len(lines) - 2


@pytest.mark.parametrize("how", ["cut", "flipped", "changed", "broken"])
def test_a_damaged_upload_is_refused_at_once_with_its_line(adam, backup, count, how):
    sent, line = harmed(adam, backup, how)
    before = count(Operation)
    page = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", sent))
    text = words(page)
    assert page.status_code == 409
    assert "This is no sound backup" in text
    assert re.search(rf"Line {line}: " if line else r"Line \d+: ", text)
    assert (count(Backup), count(Operation)) == (1, before)


def test_an_upload_is_verified_when_it_was_read_to_its_end(adam, backup, principal):
    file = b"".join(adam.get(f"/backups/{backup.id}/download/").streaming_content)
    there = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", file))["Location"]
    with access.enter(principal, why="test"):
        row = Backup.objects.get(origin="uploaded")
        assert (row.verdict, row.records) == ("sound", backup.records)
    text = words(adam.get(there))
    assert "sound read to its end" in text
    assert "sound signed here" in text
    with access.enter(principal, why="test"):
        Backup.objects.filter(id=row.id).update(verdict="", verified_at=None)
    text = words(adam.get(there))
    assert "signed here" not in text
    assert "names this instance as its signer; planning checks the signature" in text


PATHS = ["", "verify/", "drill/", "protect/", "delete/", "restore/"]


@pytest.mark.examples
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_only_admins(project, backup, count, path, role):
    client = logged_in(a_person("other", project, role=role))
    client.get("/memories/")
    before = count(Operation), count(Backup)
    there = f"/backups/{backup.id}/{path}"
    token = client.get("/connect/").context["csrf_token"]
    client.cookies["csrftoken"] = str(token)
    assert client.get(there).status_code in (302, 403), "302: to the page above, which is refused"
    assert client.post(there, {"csrfmiddlewaretoken": str(token)}).status_code in (403, 405)
    assert (count(Operation), count(Backup)) == before


def test_foreign_ones_are_not_found(carl, backup):
    assert carl.get(f"/backups/{backup.id}/").status_code == 404
    assert carl.get(f"/backups/{uuid.uuid4()}/").status_code == 404


def test_a_backup_of_some_namespaces_and_of_what_changed_since(adam, backup, store, principal, work):
    store("acme:main", "An otter was seen under the bridge.")
    store("acme:other", "The boat lies in the reeds.")
    post(adam, "/backups/", policy="full", namespaces=["acme:other"])
    post(adam, "/backups/", policy="full", base=str(backup.id))
    work()
    with access.enter(principal, why="test"):
        made = Backup.objects.exclude(id=backup.id)
        some, since = made.get(base=None), made.get(base=backup.id)
    assert some.namespaces == ["acme:other"]
    assert "acme:main" in since.namespaces
    assert post(adam, "/backups/", policy="full", base="x").status_code == 409


@pytest.mark.parametrize("more", [100_000, 3 << 20], ids=["to be kept", "on its way"])
def test_an_upload_that_does_not_fit_is_told(project, store, backup, count, more):
    both = a_person("beth", project, keys.ensure_project("elsewhere"), role="admin")
    with backups.storage.open_file(backup.file) as file:
        head, body = file.read(10), file.read()
    head = head[:3] + bytes([head[3] | 0x10]) + head[4:]  # a comment, which makes the file large and leaves it sound
    sent = SimpleUploadedFile("b.ndjson.gz", head + b"x" * more + b"\0" + body)
    client = logged_in(both)
    (there,) = re.findall(r'action="(/backups/upload/[^"]*)"', client.get("/backups/?project=acme").text)
    client.get("/memories/?project=elsewhere")
    with small_disk(16 * 1024):
        page = post(client, there, upload=sent, in_project="acme")
    text = words(page)
    assert page.status_code == 409
    assert "There is no space left. There is not enough room for the file" in text
    assert f"Request {page['X-Request-Id']}" in text
    assert f"{backup.created_at:%Y}" in page.text
    assert count(Backup) == 1


@pytest.mark.parametrize("sent", [b"", b"no backup", bytes(3 << 20)], ids=["empty", "a word", "zeros"])
def test_an_upload_that_can_not_be_read_is_told(adam, count, sent):
    page = post(adam, "/backups/upload/", upload=SimpleUploadedFile("b.ndjson.gz", sent))
    assert page.status_code == 409
    assert f"Request {page['X-Request-Id']}" in words(page)
    assert count(Backup) == 0


def test_an_upload_needs_its_token(project, count):
    client = logged_in(a_person("adam", project, role="admin"))
    answer = client.post("/backups/upload/", {"upload": SimpleUploadedFile("b.gz", b"x"), "in_project": "acme"})
    assert (answer.status_code, count(Backup)) == (403, 0)


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_who_may_not_upload_is_not_told_of_the_disk(project, role):
    client = logged_in(a_person("rob", project, role=role))
    with small_disk(16 * 1024):
        sent = SimpleUploadedFile("b.gz", bytes(3 << 20))
        assert post(client, "/backups/upload/", upload=sent).status_code == 403


def test_protecting_is_taken_back_by_the_strip(adam, backup, principal):
    post(adam, f"/backups/{backup.id}/protect/", protected="yes")
    page = adam.get("/backups/")
    assert "The backup is protected." in words(page)
    (there,) = re.findall(r'id="undo".*?action="([^"]+)"', page.text, re.DOTALL)
    assert post(adam, there, taken_back="1", protected="no").status_code == 303
    with access.enter(principal, why="test"):
        assert not Backup.objects.get().protected
