"""What a bridge's peer names by an id of its own stays a memory of its own (docs/spec.md §2.2, external keys)."""

import pytest
from django.utils import timezone

from memories import access, jobs
from memories.models import Fragment, Namespace

URL = "/api/v1/bridges"
SAME = "Prefer small modules over clever ones."
LOG = {"summary": SAME, "status": "success"}
RECORDS = {
    "atlas/builds": lambda i: {"project": "herons", "phase": 2, "log": {**LOG, "id": i}},
    "taste-vault/patterns": lambda i: {"node": {"id": i, "content": SAME, "confidence": 0.8}},
    "taste-vault/resolutions": lambda i: {"resolution": {"id": i, "content": SAME, "confidence": 0.8}},
}


def post(agent, path, record, status=201):
    answer = agent.client.post(f"{URL}/{path}", {"namespace": "acme:main", **RECORDS[path](record)}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.parametrize("path", RECORDS)
def test_equal_records_of_two_ids_are_never_one(alice, principal, path):
    made = {record: post(alice, path, record) for record in ("one", "two")}
    assert made["one"]["id"] != made["two"]["id"]
    assert made["one"]["key"].endswith(":one@alice")
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name="acme:main")
    wish = {"kind": "consolidate", "namespace": place, "options": {}, "now": timezone.now()}
    assert jobs.run(principal, jobs.start(principal, **wish, wake_up=False).id).state == "succeeded"
    for record, row in made.items():
        kept = alice.client.get(f"/api/v1/fragments/{row['id']}").json()
        assert (kept["status"], kept["source_id"], kept["content"]) == ("active", record, row["content"])


def test_a_pattern_and_a_resolution_of_one_id_are_two(alice, count):
    pattern, resolution = (post(alice, f"taste-vault/{kind}", "one") for kind in ("patterns", "resolutions"))
    assert pattern["id"] != resolution["id"]
    proved = {"namespace": "acme:main", "node_id": "one"}
    answer = alice.client.post(f"{URL}/taste-vault/reinforcements", proved, format="json")
    assert answer.json()["id"] == pattern["id"]
    assert count(Fragment) == 2


def test_a_record_that_was_archived_stands_again_when_it_is_told(alice, count):
    made = post(alice, "taste-vault/patterns", "one")
    assert alice.client.post(f"/api/v1/fragments/{made['id']}/archive").status_code == 200
    again = post(alice, "taste-vault/patterns", "one")
    assert (again["id"], again["status"], again["replaced"]) == (made["id"], "active", True)
    assert count(Fragment) == 1


def test_two_owners_tell_of_one_id_each_for_itself(alice, bob):
    mine, theirs = (post(agent, "taste-vault/patterns", "one") for agent in (alice, bob))
    assert mine["id"] != theirs["id"]
    assert (mine["key"], theirs["key"]) == ("taste-vault:pattern:one@alice", "taste-vault:pattern:one@bob")
