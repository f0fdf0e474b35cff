"""/api/v1/bridges/universes."""

import pytest

from memories import access, jobs
from memories.bridges import universes
from memories.models import Namespace

URL = "/api/v1/bridges/universes"
BRANCH = {"branch_id": "what-if", "source_namespace": "acme:main"}


@pytest.fixture
def main(store):
    """The namespace that branches begin at."""
    return store("acme:main", "The heron nests behind the old mill.").namespace


def post(agent, path, body, status):
    answer = agent.client.post(f"{URL}/{path}", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def origins(principal):
    with access.enter(principal, why="test"):
        return dict(Namespace.objects.within(principal.project_id).values_list("name", "forked_from__name"))


def test_a_branch_names_its_source_and_counts_its_memories(alice, main, principal):
    made = {"namespace": "acme:what-if", "forked_from": "acme:main", "copied": 1}
    assert post(alice, "branches", BRANCH, 201) == made
    assert post(alice, "branches", BRANCH, 201) == made
    assert origins(principal) == {"acme:main": None, "acme:what-if": "acme:main"}


def test_a_name_that_is_taken_is_refused(alice, main, store, principal):
    store("acme:what-if", "Somebody lives here.")
    before = origins(principal)
    assert post(alice, "branches", BRANCH, 409)["code"] == "branch_taken"
    assert post(alice, "branches", {**BRANCH, "branch_id": "main"}, 409)["code"] == "branch_taken"
    assert origins(principal) == before


@pytest.mark.parametrize("branch", ["shared", "Not this", "a:b", "", "-x", "x" * 64])
def test_a_name_that_is_none_is_refused(alice, main, principal, branch):
    assert post(alice, "branches", {**BRANCH, "branch_id": branch}, 400)["errors"][0]["field"] == "branch_id"
    assert set(origins(principal)) == {"acme:main"}


def test_a_branch_outside_the_grant_looks_missing(agent_of, project, main, principal):
    narrow = agent_of(project, namespaces=["acme:main"])
    assert post(narrow, "branches", BRANCH, 404)["code"] == "not_found"
    assert post(narrow, "branches", {**BRANCH, "source_namespace": "acme:nowhere"}, 404)["code"] == "not_found"
    assert set(origins(principal)) == {"acme:main"}


def test_a_large_source_is_forked_by_an_operation(alice, main, principal, monkeypatch):
    monkeypatch.setattr(universes, "FEW", 0)
    told = post(alice, "branches", BRANCH, 202)
    assert jobs.run(principal, told["id"]).report["copied"] == 1
    assert post(alice, "branches", BRANCH, 201)["copied"] == 1


def test_a_merge_brings_what_the_branch_wrote(alice, main, store, principal):
    post(alice, "branches", BRANCH, 201)
    made = store("acme:what-if", "Otters swim at night.")
    merge = {"branch_id": "what-if", "target_namespace": "acme:main"}
    told = post(alice, "merges", merge, 202)
    report = jobs.run(principal, told["id"]).report
    assert (told["kind"], report["counts"]["added"]) == ("merge", 1)
    assert report["added"] != [str(made.id)]
    assert post(alice, "merges", {**merge, "branch_id": "nowhere"}, 404)["code"] == "not_found"


def test_a_merge_outside_the_grant_looks_missing(agent_of, project, alice, main, store, principal):
    post(alice, "branches", BRANCH, 201)
    narrow = agent_of(project, namespaces=["acme:main"])
    merge = {"branch_id": "what-if", "target_namespace": "acme:main"}
    assert post(narrow, "merges", merge, 404)["code"] == "not_found"
