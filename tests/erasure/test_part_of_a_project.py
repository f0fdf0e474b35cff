"""A key for a part of the project forgets there; the project's backups it neither sees nor deletes."""

import pytest

from memories import access, erasure, jobs
from memories.models import Backup, Fragment

MAIN = "acme:main"
pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def part(project, agent_of):
    """An admin of one namespace."""
    return agent_of(project, owner="part", namespaces=[MAIN], verbs=["read", "write", "admin"], ceiling="user_explicit")


@pytest.fixture
def held(store, run, part):
    """Two memories of that namespace, and a backup of all of the project that holds them."""
    rows = [store(MAIN, text, by=part.principal) for text in ("The heron nests.", "Otters swim.")]
    store("acme:other", "Badgers dig.")
    return rows, run("backup")["backup_id"]


def left(principal):
    with access.enter(principal, why="test"):
        return [str(i) for i in Backup.objects.values_list("id", flat=True)]


def test_it_can_not_purge(part, held, principal, count, django_capture_on_commit_callbacks):
    rows, backup = held
    body = {"namespace": MAIN, "ids": [str(rows[1].id)], "expected_count": 1, "purge_backups": True}
    with django_capture_on_commit_callbacks(execute=True):
        answers = [
            part.client.delete(f"/api/v1/fragments/{rows[0].id}?purge_backups=true"),
            part.client.post("/api/v1/forget", body, format="json"),
        ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "not_permitted")] * 2
    assert backup not in str([answer.content for answer in answers])
    assert (left(principal), count(Fragment)) == ([backup], 3)


def test_it_is_told_of_no_backup(part, held, alice):
    rows, backup = held
    body = {"namespace": MAIN, "ids": [str(rows[1].id)], "expected_count": 1}
    answer = part.client.post("/api/v1/forget", body, format="json")
    assert (answer.status_code, answer.json()["count"], answer.json()["backups"]) == (200, 1, [])
    answer = part.client.delete(f"/api/v1/fragments/{rows[0].id}")
    assert (answer.status_code, answer.has_header("X-NovaMem-Backups")) == (204, False)


@pytest.mark.parametrize("purge", [False, True])
def test_a_dry_run_names_them_as_the_run_does_and_deletes_none(
    held, alice, principal, count, purge, django_capture_on_commit_callbacks
):
    rows, backup = held
    body = {"namespace": MAIN, "ids": [str(rows[1].id)], "expected_count": 1, "purge_backups": purge}
    with django_capture_on_commit_callbacks(execute=True):
        looked = alice.client.post("/api/v1/forget", {**body, "dry_run": True}, format="json").json()
    assert [(row["id"], row["purged"]) for row in looked["backups"]] == [(backup, purge)]
    assert (left(principal), count(Fragment)) == ([backup], 3)
    assert alice.client.post("/api/v1/forget", body, format="json").json()["backups"] == looked["backups"]


def test_a_dry_run_tells_a_part_of_no_backup(part, held):
    body = {"namespace": MAIN, "ids": [str(held[0][1].id)], "dry_run": True}
    assert part.client.post("/api/v1/forget", body, format="json").json()["backups"] == []


def test_an_operation_names_them_to_who_covers_the_project(part, held, alice, principal, monkeypatch):
    rows, backup = held
    monkeypatch.setattr(erasure, "FEW", 1)
    body = {"namespace": MAIN, "ids": [str(row.id) for row in rows], "expected_count": 2}
    started = part.client.post("/api/v1/forget", body, format="json")
    url = f"/api/v1/operations/{started.json()['operation']['id']}"
    assert jobs.run(principal, started.json()["operation"]["id"]).state == "succeeded"
    (listed,) = part.client.get("/api/v1/operations?kind=forget").json()["results"]
    for told in (part.client.get(url).json(), listed):
        assert (told["report"]["count"], told["report"]["backups"]) == (2, [])
    assert [row["id"] for row in alice.client.get(url).json()["report"]["backups"]] == [backup]
