"""An erased user is named by no restore of an older backup."""

import json

import pytest

from memories import access, jobs
from memories.backups.restoration import erased_users
from memories.models import Namespace
from memories.rest.users import address_of
from tests.erasure.conftest import MAIN

pytestmark = pytest.mark.usefixtures("storage")
USER = "mia"


@pytest.fixture
def say(alice):
    """Stores what a user of an agent said."""

    def post(text, user=USER):
        body = {"namespace": MAIN, "user": user, "content": text}
        answer = alice.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()["id"]

    return post


@pytest.fixture
def users(alice):
    """Who is known."""
    return lambda: [row["user"] for row in alice.client.get("/api/v1/users").json()["results"]]


@pytest.fixture
def erase(alice):
    """Erases a user with what is kept of them."""

    def away(count, user=USER):
        answer = alice.client.delete(f"/api/v1/users/{address_of(user)}?expected_count={count}")
        assert answer.status_code == 200, answer.json()

    return away


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_restore_names_nobody_who_was_erased(dry_run, say, users, erase, run, principal):
    say("The heron nests.")
    say("The otter swims.", user="ann")
    backup = run("backup")["backup_id"]
    erase(1)
    report = run("restore", backup_id=backup, dry_run=dry_run)
    assert users() == ["ann"]
    assert USER not in json.dumps(report["namespaces"])
    assert report["left_out"] == {"forgotten": 1}
    with access.enter(principal, why="test"):
        assert not Namespace.objects.filter(user=USER).exists()


def test_nobody_else_names_who_was_erased_but_the_list_of_backups(alice, say, erase, run, sweep):
    """That says which backup holds something of them still."""
    user = "quuxley"
    say("The heron nests.", user=user)
    about, once = {"namespace": MAIN, "user": user}, {"Idempotency-Key": "once"}
    body = {**about, "question": "Where does it nest?", "text": "by the mill"}
    assert alice.client.post("/api/v1/recall-checks", body, format="json", headers=once).status_code == 201
    backup = run("backup")["backup_id"]
    run("restore", backup_id=backup)
    assert {"memories_repeatedrequest.answer", "memories_operation.report"} <= {*sweep(user)}
    erase(1, user)
    assert sweep(user) == ["memories_backup.namespaces"]
    run("restore", backup_id=backup)
    assert sweep(user) == ["memories_backup.namespaces"]


def test_a_restore_that_made_the_scope_of_an_erased_user_is_taken_back_still(alice, say, users, erase, run, principal):
    say("The heron nests.")
    say("The otter swims.", user="ann")
    backup = run("backup")["backup_id"]
    with access.enter(principal.of_everybody(), why="test"):
        Namespace.objects.all().delete()
    run("restore", backup_id=backup)
    erase(1)
    (done,) = alice.client.get("/api/v1/operations", {"kind": "restore"}).json()["results"]
    assert (USER in json.dumps(done), sorted(done["report"]["made"])) == (False, [MAIN, f"{MAIN}/ann"])
    undone = alice.client.post(f"/api/v1/operations/{done['id']}/undo", {}, format="json").json()["id"]
    assert jobs.run(principal, undone).report["deleted"] == {MAIN: 0, f"{MAIN}/ann": 1}
    assert users() == []


def test_nor_one_of_whom_nothing_was_kept_any_more(alice, say, users, erase, run):
    made = say("The heron nests.")
    say("The otter swims.", user="ann")
    backup = run("backup")["backup_id"]
    assert alice.client.delete(f"/api/v1/fragments/{made}?user={USER}").status_code == 204
    empty = run("backup")["backup_id"]
    erase(0)
    for one in (backup, empty):
        run("restore", backup_id=one)
        assert users() == ["ann"]


def test_one_who_came_back_is_there_still(say, users, erase, run, alice):
    say("The heron nests.")
    backup = run("backup")["backup_id"]
    erase(1)
    say("The otter swims.")
    run("restore", backup_id=backup)
    assert users() == [USER]
    (row,) = alice.client.get("/api/v1/fragments", {"namespace": MAIN, "user": USER}).json()["results"]
    assert row["content"] == "The otter swims."


def test_a_user_whose_scope_was_lost_otherwise_returns(alice, say, users, run, principal):
    made = say("The heron nests.")
    say("The otter swims.", user="ann")
    assert alice.client.delete(f"/api/v1/fragments/{made}?user={USER}").status_code == 204
    backup = run("backup")["backup_id"]
    with access.enter(principal.of_everybody(), why="test"):
        Namespace.objects.all().delete()
    run("restore", backup_id=backup)
    assert users() == ["ann", USER]


def test_without_row_history_what_was_forgotten_says_so(say, users, erase, run, monkeypatch):
    say("The heron nests.")
    say("The otter swims.", user="ann")
    backup = run("backup")["backup_id"]
    erase(1)
    monkeypatch.setattr(erased_users, "TOLD", "SELECT id FROM memories_namespace WHERE false")
    run("restore", backup_id=backup)
    assert users() == ["ann"]


@pytest.mark.parametrize("purge", ["false", "true"])
def test_a_dry_run_names_the_backups_as_the_run_does(alice, say, run, purge):
    say("The heron nests.")
    backup = run("backup")["backup_id"]
    url = f"/api/v1/users/{address_of(USER)}?purge_backups={purge}"
    looked = alice.client.delete(f"{url}&dry_run=true").json()
    assert [(row["id"], row["purged"]) for row in looked["backups"]] == [(backup, purge == "true")]
    assert alice.client.get(f"/api/v1/backups/{backup}").status_code == 200
    assert alice.client.delete(url).json()["backups"] == looked["backups"]
