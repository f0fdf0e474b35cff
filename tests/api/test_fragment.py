"""GET, PATCH and DELETE /api/v1/fragments/{id}, and its history."""

import uuid

import pytest
from rest_framework.test import APIClient

from memories.models import Embedding, Erasure, Fragment, Keywords, Revision

URL = "/api/v1/fragments"
HERON = {"namespace": "acme:main", "content": "The heron nests behind the old mill."}


def stored(agent, **more):
    answer = agent.client.post(URL, {**HERON, **more}, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_reading_works(alice, bob):
    body = stored(alice)
    answer = bob.client.get(f"{URL}/{body['id']}")
    assert answer.status_code == 200
    assert answer.json()["content"] == HERON["content"]


def test_the_vector_on_request(alice, monkeypatch):
    body = stored(alice)
    answer = alice.client.get(f"{URL}/{body['id']}", {"include": "embedding"}).json()["embedding"]
    assert len(answer["vector"]) == answer["dim"] == 384
    assert sum(x * x for x in answer["vector"]) == pytest.approx(1, abs=1e-3)
    assert "vector" not in alice.client.get(f"{URL}/{body['id']}").json()["embedding"]
    assert alice.client.get(f"{URL}/{body['id']}", {"include": "secrets"}).status_code == 400


def test_foreign_and_missing_answer_the_same(alice, charlie, reader):
    body, other = stored(alice), stored(alice, namespace="acme:private")
    foreign = charlie.client.get(f"{URL}/{body['id']}")
    missing = charlie.client.get(f"{URL}/{uuid.uuid4()}")
    uncovered = reader.client.get(f"{URL}/{other['id']}")
    drop = ("request_id",)
    answers = [{k: v for k, v in a.json().items() if k not in drop} for a in (foreign, missing, uncovered)]
    assert answers[0] == answers[1] == answers[2]
    assert foreign.status_code == missing.status_code == uncovered.status_code == 404


def test_metadata_changes_and_counts_the_revision(alice):
    body = stored(alice)
    answer = alice.client.patch(f"{URL}/{body['id']}", {"importance": 0.9, "tags": ["x"], "revision": 1}, format="json")
    assert answer.status_code == 200, answer.content
    assert (answer.json()["importance"], answer.json()["tags"], answer.json()["revision"]) == (0.9, ["x", "main"], 2)
    assert answer.json()["created_at"] == body["created_at"]


def test_a_stored_memory_is_answered_with_its_revision(alice):
    body = {**HERON, "key": "heron"}
    answers = [
        alice.client.post(URL, {**body, **more}, format="json") for more in ({}, {"tags": ["x"]}, {"tags": ["y"]})
    ]
    assert [(a.status_code, a.headers["ETag"]) for a in answers] == [(201, '"1"'), (200, '"2"'), (200, '"3"')]
    assert alice.client.get(f"{URL}/{answers[0].json()['id']}").headers["ETag"] == '"3"'


def test_an_answer_that_is_given_again_has_the_revision_that_it_tells(alice):
    answers = [alice.client.post(URL, HERON, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [(a.status_code, a.headers["ETag"]) for a in answers] == [(201, '"1"')] * 2


BUDGET = {"subject": "user", "predicate": "budget"}


@pytest.mark.parametrize("change", [{"claim": {**BUDGET, "value": "$0"}}, {"content": "The user's budget is $0."}])
def test_a_change_that_loses_at_the_gate_answers_against_what_it_waits(alice, bob, change):
    strong = stored(alice, content="It is $750.", claim={**BUDGET, "value": "$750"}, provenance={"source": "system"})
    weak = stored(bob)
    answer = bob.client.patch(f"{URL}/{weak['id']}", change, format="json").json()
    (conflict,) = answer["pending_conflicts"]
    assert (answer["status"], answer["superseded"]) == ("quarantined", [])
    assert conflict["existing_id"] == strong["id"]
    assert bob.client.get(f"/api/v1/conflicts/{conflict['id']}").json()["reason"] == conflict["reason"]


def test_a_change_answers_what_it_replaced(alice):
    former = stored(alice, content="It is $750.", claim={**BUDGET, "value": "$750"})
    row = stored(alice)
    answer = alice.client.patch(f"{URL}/{row['id']}", {"claim": {**BUDGET, "value": "$900"}}, format="json").json()
    assert (answer["status"], answer["superseded"], answer["pending_conflicts"]) == ("active", [former["id"]], [])
    answer = alice.client.patch(f"{URL}/{row['id']}", {"tags": ["x"]}, format="json").json()
    assert (answer["superseded"], answer["pending_conflicts"]) == ([], [])


def test_a_new_text_keeps_the_old_one_and_is_found_by_its_own_words(alice, count):
    body = stored(alice)
    alice.client.patch(f"{URL}/{body['id']}", {"content": "The kingfisher moved in."}, format="json")
    history = alice.client.get(f"{URL}/{body['id']}/history").json()
    assert [(r["revision"], r["content"]) for r in history["revisions"]] == [(1, HERON["content"])]
    assert [event["kind"] for event in history["events"]] == ["insert", "update"]
    assert history["events"][1]["who"]["key"] == str(alice.row.id)
    search = "/api/v1/search"
    by_new = alice.client.post(search, {"namespace": "acme:main", "query": "kingfisher"}, format="json").json()[
        "results"
    ]
    assert by_new[0]["ranking_signals"]["similarity"] > 0.3
    assert by_new[0]["content"] == "The kingfisher moved in."
    assert count(Embedding) == 1


def test_a_stale_revision_changes_nothing(alice):
    body = stored(alice)
    alice.client.patch(f"{URL}/{body['id']}", {"importance": 0.9}, format="json")
    answer = alice.client.patch(f"{URL}/{body['id']}", {"importance": 0.1, "revision": 1}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "stale_revision")
    assert alice.client.get(f"{URL}/{body['id']}").json()["importance"] == 0.9


def test_what_was_read_is_named_by_its_etag(alice):
    place = f"{URL}/{stored(alice)['id']}"
    read = alice.client.get(place)
    assert read.headers["ETag"] == '"1"'
    changed = alice.client.patch(place, {"importance": 0.9}, format="json", headers={"If-Match": read.headers["ETag"]})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    for stale in ('"1"', '"of something else"', '"0"', f'"{2**80}"', '""'):
        for answer in (
            alice.client.patch(place, {"importance": 0.1}, format="json", headers={"If-Match": stale}),
            alice.client.delete(place, headers={"If-Match": stale}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed"), stale
    assert (alice.client.get(place).json()["importance"], alice.client.get(place).headers["ETag"]) == (0.9, '"2"')
    # Compressed on its way by a web server, and of whatever is there.
    for number, read in enumerate(('W/"2"', "*"), 3):
        answer = alice.client.patch(place, {"importance": 0.5}, format="json", headers={"If-Match": read})
        assert (answer.status_code, answer.headers["ETag"]) == (200, f'"{number}"')
    assert alice.client.delete(place, headers={"If-Match": '"4"'}).status_code == 204


@pytest.mark.parametrize("once", [{}, {"Idempotency-Key": "once"}], ids=["plain", "kept"])
def test_what_a_post_moved_is_named_by_its_etag(alice, once):
    place = f"{URL}/{stored(alice)['id']}"
    for what in ("archive", "unarchive", "tier", "compact"):
        headers = once and {"Idempotency-Key": what}
        answers = [alice.client.post(f"{place}/{what}", POSTS[what], format="json", headers=headers)]
        if once:
            answers.append(alice.client.post(f"{place}/{what}", POSTS[what], format="json", headers=headers))
        read = alice.client.get(place).headers["ETag"]
        assert [(answer.status_code, answer.headers["ETag"]) for answer in answers] == [(200, read)] * len(answers)


def test_what_is_archived_by_its_key_is_named_by_its_etag(alice):
    named = {"namespace": "acme:main", "key": "mill"}
    alice.client.post(URL, {**named, "content": "The heron nests by the mill."}, format="json")
    answer = alice.client.post(f"{URL}/archive", named, format="json")
    assert (answer.status_code, answer.headers["ETag"]) == (200, f'"{answer.json()["revision"]}"')


POSTS = {
    "reinforce": {},
    "dispute": {"reason": "The mill is new."},
    "corroborate": {"source_id": "a walk"},
    "archive": {},
    "unarchive": {},
    "reinstate": {},
    "tier": {"from": "hot", "to": "warm"},
    "compact": {"level": "hash"},
}


def without_decay(row):
    """A memory but for what falls from one second to the next."""
    return {name: value for name, value in row.items() if name not in ("relevance_score", "effective_weight")}


@pytest.mark.parametrize("what", POSTS)
def test_a_post_on_what_changed_since_it_was_read_changes_nothing(alice, agent_of, project, what):
    place = f"{URL}/{stored(alice)['id']}"
    reviewer = agent_of(project, owner="alice", verbs=["read", "write", "review"]).client
    if what == "unarchive":
        assert alice.client.post(f"{place}/archive").status_code == 200
    assert alice.client.patch(place, {"importance": 0.9}, format="json").status_code == 200
    before = without_decay(alice.client.get(place).json())
    for header, status in (('"1"', 412), ('"9"', 412), ("1", 400)):
        for more in ({}, {"Idempotency-Key": f"{what} {header}"}):
            headers = {"If-Match": header, **more}
            answer = reviewer.post(f"{place}/{what}", POSTS[what], format="json", headers=headers)
            assert answer.status_code == status, answer.content
    assert without_decay(alice.client.get(place).json()) == before


def test_a_post_on_what_was_read_is_done_and_answered_again(alice, agent_of, project):
    place = f"{URL}/{stored(alice)['id']}"
    headers = {"If-Match": alice.client.get(place).headers["ETag"], "Idempotency-Key": "once"}
    assert alice.client.post(f"{place}/archive", headers=headers).status_code == 200
    alice.client.patch(place, {"importance": 0.9}, format="json")
    assert alice.client.post(f"{place}/archive", headers=headers).status_code == 200
    stranger = agent_of(project, owner="bob", namespaces=["acme:bob"]).client
    for etag in ('"1"', '"2"'):
        assert stranger.post(f"{place}/archive", headers={"If-Match": etag}).status_code == 404


def test_where_there_is_no_revision_if_match_is_refused(alice, agent_of, project):
    kept = stored(alice)
    root = agent_of(project, owner="root", verbs=["read", "write", "review", "admin"])
    admin, memzero = root.client, APIClient(headers={"Authorization": f"Token {root.key}"})
    for method, path, body in (
        ("post", URL, {"namespace": "acme:main", "content": "Tea."}),
        ("post", f"{URL}/archive", {"namespace": "acme:main", "key": "k"}),
        ("patch", "/api/v1/namespaces", {"namespace": "acme:main", "language": "german"}),
        ("post", f"/api/v1/conflicts/{kept['id']}/resolve", {"action": "reject", "revision": 1}),
        ("put", f"/compat/mem0/v1/memories/{kept['id']}/", {"text": "Tea."}),
        ("delete", f"/compat/mem0/v1/memories/{kept['id']}/", {}),
    ):
        client = memzero if path.startswith("/compat/") else admin
        answer = getattr(client, method)(path, body, format="json", headers={"If-Match": '"7"'})
        assert answer.status_code == 400, path
        assert "If-Match" in answer.content.decode(), path
    assert admin.get(f"{URL}/{kept['id']}", headers={"If-Match": '"7"'}).json()["content"] == kept["content"]
    more = {"namespace": "acme:main", "content": "The otter swims in the pond."}
    assert admin.post(URL, more, format="json", headers={"If-Match": "*"}).status_code == 201


@pytest.mark.parametrize("header", ["", "2", '"1", "2"', '"1'])
def test_what_is_no_etag_is_refused(alice, header):
    place = f"{URL}/{stored(alice)['id']}"
    for answer in (
        alice.client.patch(place, {"importance": 0.1}, format="json", headers={"If-Match": header}),
        alice.client.delete(place, headers={"If-Match": header}),
    ):
        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["If-Match"]
    assert alice.client.get(place).headers["ETag"] == '"1"'


def test_body_and_etag_name_the_same_revision(alice):
    place, etag = f"{URL}/{stored(alice)['id']}", {"If-Match": '"1"'}
    answer = alice.client.patch(place, {"importance": 0.1, "revision": 2}, format="json", headers=etag)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "revision")
    assert alice.client.patch(place, {"importance": 0.1, "revision": 1}, format="json", headers=etag).status_code == 200


def test_a_weaker_key_changes_and_forgets_nothing(alice, bob, reader, charlie):
    strong = stored(alice, provenance={"source": "user_explicit"})
    for agent, status in ((bob, 403), (reader, 403), (charlie, 404)):
        assert agent.client.patch(f"{URL}/{strong['id']}", {"importance": 0.1}, format="json").status_code == status
        assert agent.client.delete(f"{URL}/{strong['id']}").status_code == status
    after = alice.client.get(f"{URL}/{strong['id']}").json()
    assert (after["importance"], after["revision"]) == (strong["importance"], 1)


def test_bad_changes_are_refused(alice):
    body = stored(alice)
    for change in (
        {},
        {"revision": 1},
        {"content": " "},
        {"authority": 6},
        {"status": "archived"},
        {"created_at": "x"},
    ):
        answer = alice.client.patch(f"{URL}/{body['id']}", change, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, "validation")
    assert alice.client.get(f"{URL}/{body['id']}").json()["revision"] == 1


def test_why_it_lies_in_the_archive_is_told(alice):
    body = stored(alice)
    assert body["archived_reason"] is None
    for deed, why in (("archive", "by_hand"), ("unarchive", None)):
        alice.client.post(f"{URL}/{body['id']}/{deed}", format="json")
        assert alice.client.get(f"{URL}/{body['id']}").json()["archived_reason"] == why


def test_forgetting_leaves_a_fingerprint_only(alice, count):
    body = stored(alice)
    alice.client.patch(f"{URL}/{body['id']}", {"content": "A second text of it."}, format="json")
    assert alice.client.delete(f"{URL}/{body['id']}").status_code == 204
    assert alice.client.get(f"{URL}/{body['id']}").status_code == 404
    assert alice.client.delete(f"{URL}/{body['id']}").status_code == 404
    for model in (Fragment, Keywords, Embedding, Revision):
        assert count(model) == 0
    assert count(Erasure) == 2


def test_what_was_forgotten_does_not_come_back(alice, count):
    body = stored(alice)
    alice.client.patch(f"{URL}/{body['id']}", {"content": "A second text of it."}, format="json")
    alice.client.delete(f"{URL}/{body['id']}")
    for text in (HERON["content"], "  the HERON  nests behind\tthe old mill. ", "A second text of it."):
        answer = alice.client.post(URL, {**HERON, "content": text}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (409, "blocked_by_erasure")
    other = stored(alice, content="Another text entirely.")
    answer = alice.client.patch(f"{URL}/{other['id']}", {"content": HERON["content"]}, format="json")
    assert answer.status_code == 409
    assert count(Fragment) == 1


def test_forgetting_erases_kept_answers_too(alice, count):
    headers = {"Idempotency-Key": "once"}
    body = alice.client.post(URL, HERON, format="json", headers=headers).json()
    alice.client.delete(f"{URL}/{body['id']}")
    again = alice.client.post(URL, HERON, format="json", headers=headers)
    assert again.status_code == 409


def test_nobody_rewrites_a_text_under_another_name(alice, bob):
    body = stored(bob)
    answer = alice.client.patch(f"{URL}/{body['id']}", {"content": "Pay Mallory."}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert alice.client.get(f"{URL}/{body['id']}").json()["content"] == HERON["content"]
    assert alice.client.patch(f"{URL}/{body['id']}", {"importance": 0.2}, format="json").status_code == 200


def test_a_new_text_is_read_anew(alice):
    body = stored(alice, content="Alice Johnson loves Paris, it is wonderful.")
    answer = alice.client.patch(
        f"{URL}/{body['id']}", {"content": "Bob Miller hates Berlin, it is awful."}, format="json"
    )
    told = answer.json()
    assert {entity["text"] for entity in told["entities"]} == {"Bob Miller", "Berlin"}
    assert told["emotional_valence"] < 0
