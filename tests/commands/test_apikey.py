"""manage.py apikey create|list|revoke|rotate, and member add."""

import datetime
import hashlib
import io
import json

import pytest
import time_machine
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from memories import access
from memories.access import principal_of_key, principal_of_member
from memories.models import ApiKey, KeyText, Project
from tests.conftest import take_away


def run(*args):
    out = io.StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def create(*more):
    return json.loads(run("apikey", "create", "--project", "acme", *more, "--json"))


def test_creating_works_and_makes_the_project(db):
    made = create(
        *("--namespaces", "acme:*", "--verbs", "read,write", "--ceiling", "user_explicit", "--owner", "x"),
        *("--attest-user", "--read-wide"),
    )
    found = principal_of_key(made["key"], now=timezone.now())
    assert set(made) == {"key", "id"}
    assert found.project == "acme"
    assert found.owner == "x"
    assert found.verbs == {"read", "write"}
    assert found.ceiling == "user_explicit"
    assert (found.may_attest_user, found.may_read_wide) == (True, True)
    (row,) = json.loads(run("apikey", "list", "--project", "acme", "--json"))
    assert (row["may_attest_user"], row["may_read_wide"]) == (True, True)
    assert Project.objects.filter(name="acme").count() == 1


def test_defaults(db):
    found = principal_of_key(create()["key"], now=timezone.now())
    assert (found.namespaces, found.verbs, found.ceiling) == (("acme:*",), {"read", "write"}, "tool_output")
    assert (found.requests_per_minute, found.may_attest_user, found.may_read_wide) == (600, False, False)


def test_only_a_hash_is_stored(db):
    made = create()
    secret = KeyText.parse(made["key"]).secret
    with access.enter(access.system_principal(Project.objects.get(name="acme")), why="test"):
        row = ApiKey.objects.get(key_id=made["id"])
    assert bytes(row.digest) == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(row.__dict__)
    assert secret not in run("apikey", "list", "--project", "acme", "--json")


@pytest.mark.parametrize(
    "wish",
    [
        ["--namespaces", "other:*"],
        ["--namespaces", "acme"],
        ["--namespaces", "*"],
        ["--namespaces", ""],
        ["--owner", "x" * 101],
        ["--namespaces", "acme:A B"],
        ["--verbs", "read,fly"],
        ["--verbs", ","],
        ["--ceiling", "god"],
        ["--rate", "-1"],
    ],
)
def test_bad_grants_are_named_and_nothing_is_made(wish, db):
    with pytest.raises(CommandError):
        create(*wish)
    assert json.loads(run("apikey", "list", "--project", "acme", "--json")) == []


@pytest.mark.parametrize("name", ["", "Acme", "a b", "a:b", "x" * 64, "-a"])
def test_bad_project_names_are_refused(name, db):
    before = Project.objects.count()
    with pytest.raises(CommandError):
        run("apikey", "create", "--project", name, "--json")
    assert Project.objects.count() == before


def test_revoking_ends_at_once(db):
    made = create()
    run("apikey", "revoke", "--project", "acme", "--id", made["id"])
    assert principal_of_key(made["key"], now=timezone.now()) is None
    assert json.loads(run("apikey", "list", "--project", "acme", "--json"))[0]["state"] == "revoked"


def test_rotating_leaves_an_overlap(db):
    made = create("--ceiling", "document", "--owner", "bot")
    fresh = json.loads(run("apikey", "rotate", "--project", "acme", "--id", made["id"], "--overlap", "2", "--json"))
    now = timezone.now()
    assert principal_of_key(made["key"], now=now + datetime.timedelta(minutes=119))
    assert principal_of_key(made["key"], now=now + datetime.timedelta(minutes=121)) is None
    new = principal_of_key(fresh["key"], now=now)
    assert (new.ceiling, new.owner) == ("document", "bot")
    with time_machine.travel(now + datetime.timedelta(hours=3)), pytest.raises(CommandError, match="has ended"):
        run("apikey", "rotate", "--project", "acme", "--id", made["id"])


@pytest.mark.parametrize("days", ["-1", "99999999"])
def test_days_that_lead_to_no_date_make_no_key(days, db):
    with pytest.raises(CommandError, match=f"{days} is not in the range"):
        create("--days", days)
    assert not ApiKey.objects.filter(project__name="acme").exists()


@pytest.mark.parametrize("overlap", ["-1", "99999999999999"])
def test_an_overlap_that_is_no_time_rotates_nothing(overlap, db):
    made = create()
    with pytest.raises(CommandError, match=f"{overlap} is not in the range"):
        run("apikey", "rotate", "--project", "acme", "--id", made["id"], "--overlap", overlap, "--json")
    assert [row["id"] for row in json.loads(run("apikey", "list", "--project", "acme", "--json"))] == [made["id"]]
    assert principal_of_key(made["key"], now=timezone.now())


def test_keys_expire(db):
    made = create("--days", "1")
    assert principal_of_key(made["key"], now=timezone.now())
    assert principal_of_key(made["key"], now=timezone.now() + datetime.timedelta(days=1)) is None


def test_tampered_keys_are_nobody(db):
    key = create()["key"]
    for wrong in (key[:-1] + ("0" if key[-1] != "0" else "1"), key.upper(), key + "x", key.replace("nova", "nope"), ""):
        assert principal_of_key(wrong, now=timezone.now()) is None
    parts = KeyText.parse(key)
    forged = KeyText(parts.key_id, parts.secret[::-1])
    assert principal_of_key(str(forged), now=timezone.now()) is None


def test_a_member_can_log_in(db, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n"))
    run("member", "add", "--project", "acme", "--username", "mara", "--role", "reviewer", "--password-stdin")
    user = authenticate(username="mara", password="a-long-enough-secret")
    found = principal_of_member(user, project="acme")
    assert (found.verbs, found.kind) == ({"read", "write", "review"}, "person")
    assert principal_of_member(user, project="elsewhere") is None


def test_a_new_project_is_said_to_be_one(db, monkeypatch):
    add = ("member", "add", "--username", "mara", "--role", "viewer", "--password-stdin")
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n" * 3))
    assert run(*add, "--project", "amce").strip() == "mara is viewer of amce, a new project."
    assert run(*add, "--project", "amce").strip() == "mara is viewer of amce."
    assert json.loads(run(*add, "--project", "acme", "--json"))["project_created"] is True


def test_without_a_terminal_a_password_is_read_from_standard_input_only(db, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n"))
    with pytest.raises(CommandError, match="--password-stdin"):
        run("member", "add", "--project", "acme", "--username", "mara", "--role", "viewer")
    assert not Project.objects.filter(name="acme").exists()


def test_weak_passwords_and_unknown_roles_are_refused(db, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("123\n"))
    with pytest.raises(CommandError):
        run("member", "add", "--project", "acme", "--username", "mara", "--role", "reviewer", "--password-stdin")
    with pytest.raises(CommandError, match="Unknown role"):
        run("member", "add", "--project", "acme", "--username", "mara", "--role", "king", "--password-stdin")
    assert authenticate(username="mara", password="123") is None


def test_a_closed_account_is_out_of_every_session(committed, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n"))
    run("member", "add", "--project", committed.name, "--username", "mara", "--role", "viewer", "--password-stdin")
    user = authenticate(username="mara", password="a-long-enough-secret")
    browser = Client()
    browser.force_login(user)
    assert browser.get("/memories/").status_code == 200
    closed = json.loads(run("member", "close", "--username", "mara", "--json"))
    assert closed == {"username": "mara", "closed": True}
    assert browser.get("/memories/").status_code == 302
    assert authenticate(username="mara", password="a-long-enough-secret") is None
    run("member", "close", "--username", "mara", "--reopen")
    assert authenticate(username="mara", password="a-long-enough-secret") == user
    take_away(user.pk)


def test_a_member_has_an_address_that_can_be_changed(committed, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n"))
    add = ("member", "add", "--project", committed.name, "--username", "mara", "--role", "viewer")
    with pytest.raises(CommandError, match="valid email"):
        run(*add, "--email", "mara", "--password-stdin")
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n"))
    run(*add, "--email", "mara@example.org", "--password-stdin")
    user = authenticate(username="mara", password="a-long-enough-secret")
    assert user.email == "mara@example.org"
    run(*add, "--email", "m@example.org")
    user.refresh_from_db()
    assert user.email == "m@example.org"
    with pytest.raises(CommandError, match="valid email"):
        run("member", "email", "--username", "mara", "--to", "m@")
    told = json.loads(run("member", "email", "--username", "mara", "--to", "mara@example.org", "--json"))
    assert told == {"username": "mara", "email": "mara@example.org"}
    assert "gets no mail" in run("member", "email", "--username", "mara")
    user.refresh_from_db()
    assert user.email == ""
    take_away(user.pk)


def test_a_superuser_gets_a_password_as_the_owner(committed, superuser_of, monkeypatch, settings):
    root = superuser_of("root")
    give = ("member", "add", "--project", committed.name, "--username", "root", "--role", "admin", "--password-stdin")
    owner = settings.DATABASES.pop("owner")
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n"))
    with pytest.raises(CommandError, match="DATABASE_OWNER_URL"):
        run(*give)
    settings.DATABASES["owner"] = owner
    monkeypatch.setattr("sys.stdin", io.StringIO("a-long-enough-secret\n"))
    run(*give)
    assert authenticate(username="root", password="a-long-enough-secret")
    take_away(root.pk)


def test_people_read_sentences_and_tables(db):
    said = run("apikey", "create", "--project", "acme", "--owner", "bot")
    key, keep = said.splitlines()
    assert principal_of_key(key, now=timezone.now())
    assert "shown this once" in keep
    assert "bot" in run("apikey", "list", "--project", "acme")
    found = KeyText.parse(key).key_id
    assert "revoked" in run("apikey", "revoke", "--project", "acme", "--id", found)


@pytest.mark.parametrize("verb", ["list", "revoke", "rotate"])
def test_unknown_projects_and_keys_are_named(verb, db):
    ask = ["apikey", verb, "--project", "acme"] + ([] if verb == "list" else ["--id", "nothing"])
    with pytest.raises(CommandError, match="no project"):
        run(*ask)
    create()
    if verb != "list":
        with pytest.raises(CommandError, match="no key"):
            run(*ask)
