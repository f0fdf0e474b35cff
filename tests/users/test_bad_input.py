"""Users that are none, are not reached or are somebody else: exact problems, and nothing changed."""

import pytest

from memories import access
from memories.models import Erasure, Fragment, Namespace
from memories.rest.users import address_of
from tests.users.test_scopes import FRAGMENTS, HOME, SEARCH, keep

BAD = {
    "empty": "",
    "too long": "u" * 256,
    "control": "a\nb",
    "control of Latin-1": "a\u0085b",
    "number": 7,
    "list": ["ann"],
}
TEXT = {"namespace": "acme:main", "content": "Tea."}
ASKED = {
    "fragments": TEXT,
    "ingest": {"namespace": "acme:main", "text": "Tea is drunk here at five."},
    "search": {"namespace": "acme:main", "query": "tea"},
    "context": {"namespace": "acme:main", "query": "tea"},
    "forget": {"namespace": "acme:main", "ids": [], "expected_count": 1},
    "consolidations": {"namespace": "acme:main"},
    "packs": {"namespace": "acme:main"},
    "bridges/atlas/enrich": {"namespace": "acme:main", "query": "tea"},
    "bridges/universes/branches": {"branch_id": "b", "source_namespace": "acme:main"},
}


@pytest.fixture
def state(principal, alice):
    """What ann's and the namespace's memories are, and whether anything else came to be."""
    keep(alice, "ann", "I live in Lisbon.", claim={**HOME, "value": "Lisbon"})
    keep(alice, None, "Support answers within a day.")

    def look():
        with access.enter(principal, why="test"):
            return (
                sorted(Fragment.objects.values_list("id", "revision", "status")),
                sorted(Namespace.objects.values_list("name", flat=True)),
                Erasure.objects.count(),
            )

    return look


@pytest.mark.examples
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("path", ASKED)
def test_a_body_that_names_no_user_is_refused(alice, state, path, bad):
    before = state()
    answer = alice.client.post(f"/api/v1/{path}", {**ASKED[path], "user": BAD[bad]}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content
    assert "user" in {error["field"] for error in answer.json()["errors"]}
    assert state() == before


@pytest.mark.parametrize("bad", ["empty", "too long", "control"])
def test_an_item_of_a_batch_that_names_no_user_is_refused(alice, state, bad):
    before = state()
    rows = [{**TEXT, "user": "ann"}, {**TEXT, "user": BAD[bad]}]
    answer = alice.client.post(f"{FRAGMENTS}/batch", {"fragments": rows}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content
    assert state() == before


@pytest.mark.parametrize("header", ["", "u" * 256, "a%0Ab", "%C2%85", "%FF", "%ED%A0%80", "ann,bob"])
def test_a_header_that_names_no_user_is_refused(alice, state, header):
    before = state()
    for answer in (
        alice.client.get(FRAGMENTS, headers={"X-NovaMem-User": header}),
        alice.client.post(SEARCH, ASKED["search"], format="json", headers={"X-NovaMem-User": header}),
        alice.client.post(FRAGMENTS, TEXT, format="json", headers={"X-NovaMem-User": header}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content
    assert state() == before


@pytest.mark.parametrize(
    "asked", ["user=", "user=a%0Ab", f"user={'u' * 256}", "namespace=acme:main/", "namespace=acme:main/%25FF"]
)
def test_an_address_that_names_no_user_is_refused(alice, state, asked):
    before = state()
    answer = alice.client.get(f"{FRAGMENTS}?{asked}")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content
    assert state() == before


@pytest.mark.parametrize("user", ["*", "an*", "ANN", "ann ", "\\*"])
def test_a_user_with_wildcards_is_only_itself(alice, state, user):
    before = state()
    url = f"/api/v1/users/{address_of(user)}"
    for answer in (alice.client.delete(f"{url}?expected_count=1"), alice.client.get(f"{url}/export")):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    found = alice.client.post(SEARCH, {"namespace": "acme:main", "query": "Lisbon", "user": user}, format="json").json()
    assert "I live in Lisbon." not in {row["content"] for row in found["results"]}
    assert state() == before


@pytest.mark.parametrize("address", ["!", "YQ==", "_w", "A" * 400, "Cg"])
def test_an_address_of_a_user_that_is_none_is_not_found(alice, state, address):
    before = state()
    for answer in (
        alice.client.delete(f"/api/v1/users/{address}"),
        alice.client.get(f"/api/v1/users/{address}/export"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert state() == before


def test_an_erasure_of_another_count_erases_nothing(alice, state):
    before = state()
    for count in (0, 2, 1000):
        answer = alice.client.delete(f"/api/v1/users/{address_of('ann')}?namespace=acme:main&expected_count={count}")
        assert (answer.status_code, answer.json()["code"]) == (409, "count_differs")
    for count in (-1, "many"):
        answer = alice.client.delete(f"/api/v1/users/{address_of('ann')}?expected_count={count}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "expected_count")
    assert state() == before


def test_a_grant_for_no_users_reaches_none_at_any_endpoint(agent_of, project, state):
    alone = agent_of(project, users="none", verbs=["read", "write", "review", "admin"])
    before = state()
    for path, body in ASKED.items():
        answer = alone.client.post(f"/api/v1/{path}", {**body, "user": "ann"}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted"), path
    for path in (FRAGMENTS, "/api/v1/claims", "/api/v1/conflicts", "/api/v1/events"):
        assert alone.client.get(f"{path}?user=ann").status_code == 403
    assert alone.client.get("/api/v1/users").json()["results"] == []
    assert alone.client.delete(f"/api/v1/users/{address_of('ann')}?expected_count=1").status_code == 404
    assert state() == before


@pytest.mark.parametrize("path", ["search/batch", "fragments/batch"])
def test_a_part_of_a_batch_when_it_names_another_user_than_the_header_is_refused(path, alice):
    told = {"namespace": "acme:main", "content": "Ann keeps bees.", "user": "ann"}
    assert alice.client.post("/api/v1/fragments", told, format="json").status_code == 201
    part = {"namespace": "acme:main", "user": "ann", "query": "bees", "content": "Ann keeps bees."}
    part.pop("content" if path == "search/batch" else "query")
    body = {"searches" if path == "search/batch" else "fragments": [part]}
    answer = alice.client.post(f"/api/v1/{path}", body, format="json", headers={"X-NovaMem-User": "bob"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "user")
