"""A pack: one file of a namespace, searched offline, imported back with equal canonical digests."""

import datetime
import json
import os
import subprocess
import sys

import apsw
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, backups, erasure, ingest, jobs, namespaces, packs, upkeep
from memories.models import Backup, Claim, Fragment, Namespace, Operation, Project

MAIN = "acme:main"
pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def full(store, alice, bob, now):
    """A namespace with one of most things."""
    rows = [
        store(MAIN, "The heron nests behind the old mill.", by=alice.principal, tags=["bird"]),
        store(MAIN, "Otters swim in the river at night.", by=bob.principal),
        store(MAIN, "Ada is six.", by=alice.principal, claim=ClaimDraft("Ada", "age", "6"), source="tool_output"),
        store(MAIN, "Ada is seven.", by=alice.principal, claim=ClaimDraft("Ada", "age", "7"), source="tool_output"),
        store(MAIN, "Ada is eight.", by=bob.principal, claim=ClaimDraft("Ada", "age", "8")),
        store(MAIN, "The badger was put away.", by=alice.principal),
        store(MAIN, "It was a secret.", by=alice.principal),
    ]
    bob.client.post(f"/api/v1/fragments/{rows[0].id}/reinforce", format="json")
    ingest.updates.archive(alice.principal, rows[5].id, now=now)
    erasure.forget(alice.principal, rows[6].id, now=now)
    return rows


@pytest.fixture
def written(full, tmp_path):
    """The namespace as a file."""
    path = tmp_path / "main.sqlite"
    call_command("pack", "write", MAIN, str(path))
    return path


@pytest.fixture
def digest(principal):
    """The canonical digest."""

    def look():
        with access.enter(principal, why="test"):
            return upkeep.canonical_digest(Namespace.objects.get(name=MAIN))

    return look


def wipe(principal):
    options = {"namespace": MAIN}
    operation = jobs.start(principal, kind="delete", namespace=None, options=options, now=timezone.now(), wake_up=False)
    assert jobs.run(principal, operation.id).state == "succeeded"


def test_where_none_can_be_written_none_is_made(full, tmp_path, count):
    for place in (tmp_path, tmp_path / "nowhere" / "main.sqlite"):
        with pytest.raises(CommandError, match="name a file in a directory that is there"):
            call_command("pack", "write", MAIN, str(place))
    assert count(Operation) == 0


def test_words_and_meaning_are_found(written):
    found = packs.search(written, "Where does the heron nest?")
    assert found[0].content == "The heron nests behind the old mill."
    assert found[0].words == 1.0
    assert {hit.content for hit in found} <= {
        "The heron nests behind the old mill.",
        "Otters swim in the river at night.",
        "Ada is seven.",
    }
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert len(packs.search(written, "otter", limit=1)) == 1
    assert packs.search(written, '" OR NEAR( * :') is not None


@pytest.fixture
def of_users(alice, tmp_path):
    """A pack of a namespace with two users."""
    for user in (None, "ann", "ben"):
        body = {"namespace": MAIN, "content": f"The heron of {user or 'all'} nests by the weir."}
        body |= {"user": user} if user else {}
        assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    path = tmp_path / "users.sqlite"
    call_command("pack", "write", MAIN, str(path))
    return path


def heard(path, user=""):
    return {hit.content.split()[3] for hit in packs.search(path, "heron weir", user=user)}


def test_a_search_reads_no_user_but_the_named_one(of_users, tmp_path, capsys):
    assert heard(of_users) == {"all"}
    assert heard(of_users, "ann") == {"all", "ann"}
    assert heard(of_users, "nobody yet") == {"all"}
    call_command("pack", "search", str(of_users), "heron", "--user", "ben", "--json")
    assert len(json.loads(capsys.readouterr().out)) == 2
    call_command("pack", "write", MAIN, str(tmp_path / "ben.sqlite"), "--user", "ben")
    assert heard(tmp_path / "ben.sqlite") == {"ben"}


def test_a_pack_of_before_tells_by_its_bundle_whose_memories_are_whose(of_users):
    with apsw.Connection(str(of_users)) as file:
        file.execute("ALTER TABLE memories DROP COLUMN namespace")
    file.close()
    assert (heard(of_users), heard(of_users, "ann")) == ({"all"}, {"all", "ann"})


@pytest.mark.long
def test_it_is_searched_without_a_database(written):
    environment = {
        **os.environ,
        "DATABASE_URL": "postgres://nobody:x@127.0.0.1:1/none",
        "EMBEDDER": "fake",
        "SECRET_KEY": "of the test",
        "PYTHONPATH": str(django_settings.ROOT),
    }
    command = [sys.executable, "manage.py", "pack", "search", str(written), "where does the heron nest?", "--json"]
    done = subprocess.run(
        command, cwd=django_settings.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["content"] == "The heron nests behind the old mill."


def test_importing_gives_the_same_namespace(written, principal, digest, count, capsys):
    before = digest()
    wipe(principal)
    assert count(Fragment) == 0
    call_command("pack", "import", str(written), "--dry-run")
    assert count(Fragment) == 0
    call_command("pack", "import", str(written))
    assert digest() == before
    call_command("pack", "import", str(written))
    assert digest() == before
    with access.enter(principal, why="test"):
        assert not Backup.objects.exclude(origin="safety").exists()


def test_an_import_that_is_only_planned_leaves_no_project(written):
    call_command("namespaces", "delete", "acme", "--yes")
    call_command("pack", "import", str(written), "--dry-run")
    assert not Project.objects.filter(name="acme").exists()
    call_command("pack", "import", str(written))
    assert Project.objects.filter(name="acme").exists()


def test_a_fingerprint_that_is_none_is_told_in_a_line_and_leaves_nothing(written, count):
    with pytest.raises(CommandError, match="64 hexadecimal digits"):
        call_command("pack", "import", str(written), trust_signer="abc")
    assert count(Backup) == 0


def test_importing_brings_each_of_several_claims(store, alice, bob, principal, digest, tmp_path):
    store(
        MAIN,
        "Ada lives in Oslo.",
        by=alice.principal,
        claim=ClaimDraft("Ada", "lives in", "Oslo"),
        source="tool_output",
    )
    two = [ClaimDraft("Ada", "lives in", "Bergen"), ClaimDraft("Ada", "dog name", "Rex")]
    kept = store(MAIN, "Ada of Bergen has Rex.", by=bob.principal, claims=two)
    before, path = digest(), tmp_path / "several.sqlite"
    call_command("pack", "write", MAIN, str(path))
    wipe(principal)
    call_command("pack", "import", str(path))
    assert digest() == before
    with access.enter(principal, why="test"):
        told = Claim.objects.filter(fragment=kept.id).order_by("position").values_list("value", "status")
        assert list(told) == [("Bergen", "quarantined"), ("Rex", "active")]


def test_what_was_forgotten_meanwhile_does_not_come_back(written, full, principal, alice, count, now, capsys):
    erasure.forget(alice.principal, full[0].id, now=now)
    wipe(principal)
    capsys.readouterr()
    call_command("pack", "import", str(written), "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["blocked_by_erasure"] == 1
    with access.enter(principal, why="test"):
        assert not Fragment.objects.filter(content__startswith="The heron").exists()


def test_over_http(full, alice, principal, bob, charlie, tmp_path):
    told = alice.client.post("/api/v1/packs", {"namespace": MAIN}, format="json")
    assert told.status_code == 202
    url = f"/api/v1/packs/{told.json()['id']}/download"
    assert alice.client.get(url).status_code == 404
    ended = jobs.run(principal, told.json()["id"])
    assert (ended.state, ended.report["memories"]) == ("succeeded", 3)
    answer = alice.client.get(url)
    assert answer.status_code == 200
    path = tmp_path / "got.sqlite"
    path.write_bytes(b"".join(answer.streaming_content))
    assert packs.search(path, "heron")[0].id == str(full[0].id)
    assert (bob.client.get(url).status_code, charlie.client.get(url).status_code) == (403, 404)
    for days, status in ((6, 200), (8, 410)):
        backups.expire(principal, now=timezone.now() + datetime.timedelta(days=days))
        answer = alice.client.get(url)
        assert answer.status_code == status
        b"".join(getattr(answer, "streaming_content", ()))
    assert charlie.client.post("/api/v1/packs", {"namespace": MAIN}, format="json").status_code == 404


def broken(path, how):
    if how == "nothing":
        path.unlink()
    elif how == "text":
        path.write_text("no database")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        with apsw.Connection(str(path)) as file:
            statement = {
                "version": "UPDATE meta SET value = '9' WHERE name = 'version'",
                "parts": "DELETE FROM bundle WHERE part = 0",
                "bytes": "UPDATE bundle SET bytes = x'00' WHERE part = 0",
                "table": "DROP TABLE bundle",
                "place": "UPDATE meta SET value = 'x' WHERE name = 'namespace'",
            }[how]
            file.execute(statement)
        file.close()


@pytest.mark.parametrize("how", ["nothing", "text", "cut", "version", "parts", "bytes", "table", "place"])
def test_what_is_broken_changes_nothing(written, digest, count, how):
    before, rows = digest(), count(Backup)
    broken(written, how)
    with pytest.raises((CommandError, SystemExit)):
        call_command("pack", "import", str(written))
    assert (digest(), count(Backup)) == (before, rows)
    if how in ("nothing", "text", "version", "table"):
        with pytest.raises(CommandError):
            call_command("pack", "search", str(written), "heron")


def test_a_branch_can_be_packed(full, principal, tmp_path):
    with access.enter(principal, why="test"):
        namespaces.copy_namespace(Namespace.objects.get(name=MAIN), "acme:side")
    call_command("pack", "write", "acme:side", str(tmp_path / "side.sqlite"))
    assert packs.search(tmp_path / "side.sqlite", "heron")[0].content.startswith("The heron")
