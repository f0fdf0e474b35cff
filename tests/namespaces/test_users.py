"""Forks of a namespace with users: all at once, each user apart."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import access, namespaces
from memories.models import Erasure, Fragment, Namespace, Origin
from tests.namespaces.conftest import MAIN, SIDE
from tests.users.test_scopes import find, keep


def fork(principal, place_of, source, target):
    with (
        access.enter(principal, why="test"),
        CaptureQueriesContext(
            connection,
        ) as asked,
    ):
        told = namespaces.copy_namespace(place_of(source), target)
    return told, len(asked)


@pytest.mark.long
def test_a_fork_asks_as_much_for_many_users_as_for_few(alice, principal, place_of):
    for agent, users in (("few", 2), ("many", 40)):
        for number in range(users):
            keep(alice, f"user {number}", f"Number {number} keeps bees.", namespace=f"acme:{agent}")
    told, few = fork(principal, place_of, "acme:few", "acme:few-b")
    assert told["copied"] == 2
    told, many = fork(principal, place_of, "acme:many", "acme:many-b")
    assert told["copied"] == 40
    assert many == few
    with access.enter(principal, why="test"):
        scopes = Namespace.objects.within(principal.project_id).filter(parent__name="acme:many-b")
        assert {(row.name, row.user) for row in scopes} == {
            (f"acme:many-b/user%20{number}", f"user {number}") for number in range(40)
        }
        assert {row.forked_from.name for row in scopes} == {f"acme:many/user%20{number}" for number in range(40)}
        rows = Fragment.objects.within(principal.project_id).filter(namespace__in=scopes)
        assert all(row.content == f"Number {row.namespace.user[5:]} keeps bees." for row in rows)
        assert Origin.objects.within(principal.project_id).filter(namespace__in=scopes).count() == 40
    assert find(alice, "bees", namespace="acme:many-b", user="user 3") == ["Number 3 keeps bees."]


def test_what_one_user_forgot_is_copied_for_another(alice, principal, place_of):
    told = [keep(alice, user, "I keep bees.")["id"] for user in ("ann", "ben")]
    assert alice.client.delete(f"/api/v1/fragments/{told[0]}?user=ann").status_code in (200, 204)
    made, _ = fork(principal, place_of, MAIN, SIDE)
    assert (made["copied"], made["blocked_by_erasure"]) == (1, 0)
    with access.enter(principal, why="test"):
        assert Fragment.objects.within(principal.project_id).get(namespace__parent__name=SIDE).namespace.user == "ben"
        barred = Erasure.objects.within(principal.project_id).values_list("namespace_id", flat=True)
        scopes = Namespace.objects.within(principal.project_id).filter(id__in=barred)
        assert {row.name for row in scopes} == {f"{MAIN}/ann", f"{SIDE}/ann"}


def test_a_branch_that_becomes_its_sources_source_takes_its_users_along(alice, principal, place_of):
    keep(alice, "ann", "I keep bees.")
    fork(principal, place_of, MAIN, SIDE)
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(namespace__parent__name=MAIN).delete()
    told, _ = fork(principal, place_of, SIDE, MAIN)
    assert told["copied"] == 1
    with access.enter(principal, why="test"):
        scopes = (
            Namespace.objects.within(principal.project_id).filter(user="ann").values_list("name", "forked_from__name")
        )
        assert dict(scopes) == {f"{MAIN}/ann": f"{SIDE}/ann", f"{SIDE}/ann": None}


def test_a_plan_names_what_comes_of_it_for_users_that_the_target_does_not_know(alice, principal, place_of, merge, rows):
    keep(alice, None, "Bees are kept here.", namespace=MAIN)
    fork(principal, place_of, MAIN, SIDE)
    told = {user: keep(alice, user, f"I am {user} and keep bees.", namespace=SIDE)["id"] for user in ("ann", "ben")}
    plan = merge(dry_run=True)
    with access.enter(principal, why="test"):
        assert not Namespace.objects.within(principal.project_id).filter(parent__name=MAIN).exists()
    done = merge(plan_id=str(plan.id))
    assert (done.state, done.report["counts"]["added"]) == ("succeeded", 2)
    for name in ("added", "sources"):
        assert done.report[name] == plan.report[name]
    assert set(plan.report["sources"].values()) == set(told.values())
    made = {str(row.id) for user in told for row in rows(f"{MAIN}/{user}")}
    assert made == set(plan.report["added"])
