"""A memory under its caller's own name: stored again it says the new text, and nothing else takes its place."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx2
import pytest
from django.utils import timezone

from memories import access, ingest, jobs
from memories.models import Fragment, Namespace, Revision
from memories.models.bulk import COPY_FROM

MAIN = "acme:main"
URL = "/api/v1/fragments"
OTHERS = {"another tool": ["read", "write"], "reviewer": ["read", "write", "review"]}


@pytest.fixture
def run(principal):
    """Runs an operation here and now; its report."""

    def work(kind, place=None, **options):
        wish = {"kind": kind, "namespace": place, "options": options}
        ended = jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)
        assert ended.state == "succeeded", ended.error
        return ended.report

    return work


def put(agent, key, content, *, namespace=MAIN, status=None, **more):
    answer = agent.client.post(URL, {"namespace": namespace, "key": key, "content": content, **more}, format="json")
    assert status in (None, answer.status_code), answer.content
    return answer.json()


def budget(amount):
    return {"claim": {"subject": "user", "predicate": "budget", "value": amount}}


def of_key(agent, key, **more):
    return agent.client.get(URL, {"namespace": MAIN, "key": key, **more}).json()["results"]


def test_stored_again_it_says_the_new_text(alice, count, principal):
    first = put(alice, "users/ada:tea", "Ada drinks tea.", tags=["old"], status=201)
    assert (first["key"], first["replaced"], first["revision"]) == ("users/ada:tea", False, 1)
    again = put(alice, "users/ada:tea", "Ada drinks coffee.", tags=["new"], extra={"n": 1}, status=200)
    assert (again["id"], again["replaced"], again["deduplicated"]) == (first["id"], True, False)
    assert (again["content"], again["tags"], again["extra"]) == ("Ada drinks coffee.", ["new", "main"], {"n": 1})
    assert (again["revision"], again["created_at"]) == (2, first["created_at"])
    assert (count(Fragment), count(Revision)) == (1, 1)
    (found,) = of_key(alice, "users/ada:tea")
    assert found["id"] == first["id"]
    assert of_key(alice, "users/ada") == []
    same = put(alice, "users/ada:tea", "Ada drinks coffee.", status=200)
    assert (same["replaced"], same["revision"]) == (True, 3)
    body = {"query": "coffee", "namespace": MAIN}
    assert [hit["id"] for hit in alice.client.post("/api/v1/search", body, format="json").json()["results"]] == [
        first["id"]
    ]


@pytest.mark.parametrize("bad", ["", "x" * 513, 7, "a\0b"])
def test_what_is_no_key_is_refused(alice, count, bad):
    body = {"namespace": MAIN, "key": bad, "content": "Ada drinks tea."}
    assert alice.client.post(URL, body, format="json").status_code == 400
    assert count(Fragment) == 0


def test_a_key_is_one_namespaces_and_never_changes(alice):
    first, other = (put(alice, "k", "Ada drinks tea.", namespace=name, status=201) for name in (MAIN, "acme:side"))
    assert first["id"] != other["id"]
    answer = alice.client.patch(f"{URL}/{first['id']}", {"key": "other"}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "key")
    assert put(alice, "K", "Ada drinks tea.", status=201)["id"] not in (first["id"], other["id"])


def test_in_a_batch_items_apply_in_order(alice, count):
    put(alice, "a", "Ada drinks tea.", status=201)
    items = [("a", "Ada drinks coffee."), (None, "Bea swims."), ("b", "Cid sings."), ("b", "Cid dances.")]
    body = [{"namespace": MAIN, "content": text, **({"key": key} if key else {})} for key, text in items]
    answer = alice.client.post(f"{URL}/batch", {"fragments": body}, format="json")
    assert answer.status_code == 201, answer.content
    results = answer.json()["results"]
    assert [one["replaced"] for one in results] == [True, False, False, True]
    assert results[2]["id"] == results[3]["id"]
    assert [of_key(alice, key)[0]["content"] for key in "ab"] == ["Ada drinks coffee.", "Cid dances."]
    assert count(Fragment) == 3


def test_another_owners_and_a_stronger_memory_stay(alice, bob):
    put(alice, "a", "Ada drinks tea.", status=201)
    put(bob, "b", "Bea swims.", provenance={"source": "tool_output"}, status=201)
    assert put(bob, "a", "Ada drinks poison.", status=403)["code"] == "not_permitted"
    assert put(bob, "b", "Bea sinks.", status=403)["code"] == "not_permitted"
    assert [of_key(alice, key)[0]["content"] for key in "ab"] == ["Ada drinks tea.", "Bea swims."]


def test_equal_values_of_two_keys_are_two_memories(alice, bob):
    rows = [put(alice, key, "The budget is $750.", **budget("$750"), status=201) for key in "ab"]
    plain = alice.client.post(
        URL, {"namespace": MAIN, "content": "The budget is $750.", **budget("$750")}, format="json"
    )
    assert plain.status_code == 201, plain.content
    assert len({row["id"] for row in [*rows, plain.json()]}) == 3
    assert {of_key(alice, key)[0]["status"] for key in "ab"} == {"active"}
    strong = put(alice, "c", "My budget is $750.", **budget("$750"), provenance={"source": "user_explicit"}, status=201)
    assert strong["superseded"] == []
    # All of them oppose who says otherwise.
    weak = bob.client.post(URL, {"namespace": MAIN, "content": "It is $9.", **budget("$9")}, format="json").json()
    assert weak["status"] == "quarantined"


def test_a_new_text_passes_the_gate(alice, bob):
    own = put(bob, "note", "The budget is open.", status=201)
    put(alice, "plan", "The budget is $750.", **budget("$750"), provenance={"source": "user_explicit"}, status=201)
    told = put(bob, "note", "The budget is $9.", **budget("$9"), status=200)
    assert (told["id"], told["status"], len(told["pending_conflicts"])) == (own["id"], "quarantined", 1)
    assert put(bob, "note", "The weather is fine.", status=200)["status"] == "active"


def test_put_away_by_its_key_and_stored_again_it_stands(alice):
    first = put(alice, "a", "Ada drinks tea.", status=201)
    named = {"namespace": MAIN, "key": "a"}
    gone = alice.client.post(f"{URL}/archive", named, format="json")
    assert (gone.status_code, gone.json()["id"], gone.json()["status"]) == (200, first["id"], "archived")
    assert of_key(alice, "a") == []
    assert alice.client.post(f"{URL}/archive", named, format="json").status_code == 409
    assert alice.client.post(f"{URL}/archive", {**named, "key": "b"}, format="json").status_code == 404
    again = put(alice, "a", "Ada drinks tea.", status=200)
    assert (again["id"], again["status"]) == (first["id"], "active")


def test_what_a_person_put_away_does_not_stand_again_by_its_key(alice, principal):
    first = put(alice, "a", "Ada drinks tea.", status=201)
    ingest.updates.archive(replace(principal, kind="person"), uuid.UUID(first["id"]), now=timezone.now())
    items = [{"namespace": MAIN, "key": "a", "content": "Ada drinks TEA!"}, {"namespace": MAIN, "content": "It rains."}]
    batch = alice.client.post(f"{URL}/batch", {"fragments": items}, format="json").json()["results"]
    assert [each["status"] for each in batch] == ["archived", "active"]
    assert put(alice, "a", "Ada drinks tea.", status=200)["status"] == "archived"
    assert put(alice, "a", "Ada drinks coffee.", status=200)["status"] == "active"


def test_another_owner_of_as_much_authority_does_not_put_it_away(bob, project, agent_of):
    kept = put(bob, "a", "The heron nests.", provenance={"source": "tool_output"}, status=201)
    tool, reviewer = (agent_of(project, owner=name, verbs=verbs) for name, verbs in OTHERS.items())
    stronger = agent_of(project, owner="stronger", ceiling="system")
    by_id, by_key = f"{URL}/{kept['id']}/archive", {"namespace": MAIN, "key": "a"}
    for answer in (tool.client.post(by_id), tool.client.post(f"{URL}/archive", by_key, format="json")):
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert tool.client.delete(f"{URL}/{kept['id']}").status_code == 403
    assert of_key(bob, "a")[0]["status"] == "active"
    for agent in (bob, reviewer, stronger):
        assert agent.client.post(by_id).status_code == 200
        put(bob, "a", "The heron nests.", provenance={"source": "tool_output"})
    plain = bob.client.post(URL, {"namespace": MAIN, "content": "The otter swims."}, format="json").json()
    assert tool.client.post(f"{URL}/{plain['id']}/archive").status_code == 200


def test_what_was_superseded_stands_again_by_its_key(alice):
    first = put(alice, "a", "The budget is $1.", **budget("$1"), status=201)
    won = alice.client.post(URL, {"namespace": MAIN, "content": "It is $2.", **budget("$2")}, format="json").json()
    assert won["superseded"] == [first["id"]]
    again = put(alice, "a", "Ada drinks tea.", status=200)
    assert (again["status"], again["superseded_by"]) == ("active", None)


def test_a_forgotten_key_may_be_used_again_with_another_text(alice):
    first = put(alice, "a", "Ada drinks tea.", status=201)
    assert alice.client.delete(f"{URL}/{first['id']}").status_code == 204
    assert put(alice, "a", "Ada drinks tea.", status=409)["code"] == "blocked_by_erasure"
    second = put(alice, "a", "Ada drinks coffee.", status=201)
    assert second["id"] != first["id"]
    assert put(alice, "a", "ADA drinks tea.", status=409)["code"] == "blocked_by_erasure"
    assert of_key(alice, "a")[0]["content"] == "Ada drinks coffee."


def test_no_digest_takes_it_in(alice):
    ids = [put(alice, f"k{n}", f"Ada drinks tea at {n}.", status=201)["id"] for n in range(3)]
    answer = alice.client.post("/api/v1/digests", {"ids": ids, "method": "extractive"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "cannot_digest")
    assert answer.json()["errors"][0]["message"] == "It has a key of its own."


@pytest.mark.usefixtures("storage")
def test_bundles_bring_keys_and_leave_those_that_are_taken(alice, principal, run):
    first = put(alice, "a", "Ada drinks tea.", status=201)
    kept = put(alice, "b", "Bea swims.", status=201)
    backup = run("backup")["backup_id"]
    with access.enter(principal, why="test"):
        Namespace.objects.filter(name=MAIN).delete()
    other = put(alice, "a", "Ada drinks coffee.", status=201)
    report = run("restore", backup_id=backup)
    assert (report["insert"], report["rejected"]) == (1, {"key_taken": 1})
    assert [of_key(alice, key)[0]["id"] for key in "ab"] == [other["id"], kept["id"]]
    assert alice.client.get(f"{URL}/{first['id']}").status_code == 404


@pytest.mark.usefixtures("storage")
def test_a_branch_has_the_keys_and_a_merge_brings_their_new_texts(alice, principal, run):
    first = put(alice, "a", "Ada drinks tea.", status=201)
    put(alice, "mine", "Main says this.", status=201)
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=MAIN)
    run("fork", place, target="acme:side")
    put(alice, "a", "Ada drinks coffee.", namespace="acme:side", status=200)
    put(alice, "new", "Both wrote this: main.", status=201)
    put(alice, "new", "Both wrote this: side.", namespace="acme:side", status=201)
    report = run("merge", place, source="acme:side")
    assert report["counts"]["added"] == 2, report
    told = {key: of_key(alice, key)[0] for key in ("a", "mine", "new")}
    assert (told["a"]["id"], told["a"]["content"]) == (first["id"], "Ada drinks coffee.")
    assert told["new"]["content"] == "Both wrote this: side."
    assert told["mine"]["content"] == "Main says this."
    again = run("merge", place, source="acme:side")
    assert again["counts"]["added"] == 0, again


def test_many_at_once_under_one_key_make_one_memory(web, committed, agent_of):
    key = agent_of(committed, owner="racer", requests_per_minute=0).key
    name = f"{committed.name}:race"

    def store(n):
        body = {"namespace": name, "key": "k", "content": f"Reading number {n}."}
        with httpx2.Client(base_url=web, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
            return client.post("/api/v1/fragments", json=body).status_code

    with ThreadPoolExecutor(4) as pool:
        codes = sorted(pool.map(store, range(8)))
    assert codes == [200] * 7 + [201]


@pytest.mark.parametrize("count", [2, COPY_FROM])
def test_a_batch_of_any_size_keeps_its_keys(alice, count):
    parts = [{"namespace": "acme:main", "content": f"Heron {n} nests.", "key": f"heron-{n}"} for n in range(count)]
    kept = alice.client.post("/api/v1/fragments/batch", {"fragments": parts}, format="json")
    assert kept.status_code == 201
    again = {"namespace": "acme:main", "content": "Heron 1 is gone.", "key": "heron-1"}
    answer = alice.client.post("/api/v1/fragments", again, format="json")
    assert (answer.status_code, answer.json()["id"]) == (200, kept.json()["results"][1]["id"])
