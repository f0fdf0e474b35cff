"""A rule that is loosened or tightened settles many conflicts at once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from conflicts import registry
from conflicts.key_migration import ClaimsCollide
from conflicts.keys.predicates import AliasCollision
from conflicts.locks import lock_namespace
from conflicts.models import Predicate
from conflicts.registry import PredicateTaken
from conflicts.resolution.cardinality import make_multi_valued, restore_predicate
from memories import access
from memories.errors import StaleRevision
from memories.models import Namespace
from tests.conflicts.registry.conftest import MAIN, assert_named_as_now, row


@pytest.fixture
def loosen(principal, now):
    """Lets a predicate take many values, as a decision does."""

    def decide(name):
        with access.enter(principal, why="test"):
            namespace = Namespace.objects.get(name=MAIN)
            lock_namespace(namespace.id)
            return make_multi_valued(
                namespace_id=namespace.id, project_id=principal.project_id, predicate_name=name, now=now
            )

    return decide


@pytest.fixture
def tighten(principal, now):
    """Takes it back, from JSON."""

    def undo(name, former):
        with access.enter(principal, why="test"), transaction.atomic():
            namespace = Namespace.objects.get(name=MAIN)
            lock_namespace(namespace.id)
            restore_predicate(
                namespace_id=namespace.id,
                project_id=principal.project_id,
                predicate_name=name,
                former=json.loads(json.dumps(former)),
                now=now,
            )

    return undo


def without_revision(picture):
    predicates, *rest = picture
    return [[{**found, "revision": None} for found in predicates], *rest]


class TestDecidingOnMany:
    @pytest.mark.parametrize("said", ["shoe", "Lives-In", "city"])
    def test_what_was_not_registered_becomes_so_and_back(self, said, principal, claim, loosen, tighten, picture):
        one = claim(said, "Oslo")
        before = picture()
        former = loosen(said)
        assert not row(principal, one).exclusive
        assert_named_as_now(principal)
        with access.enter(principal, why="test"):
            made = Predicate.objects.get()
        assert (made.exclusive, made.name) == (False, "shoe" if said == "shoe" else "lives_in")
        tighten(said, former)
        assert picture() == before

    def test_what_is_read_as_money_stays_so(self, principal, claim, loosen):
        claim("budget", "$750")
        loosen("budget_is")
        assert_named_as_now(principal)
        with access.enter(principal, why="test"):
            assert Predicate.objects.get().normaliser == "money"

    def test_it_stands_beside_a_rule_for_one_of_the_built_in_aliases(self, principal, register, claim, loosen):
        register("city")
        claim("lives_in", "Oslo")
        claim("city", "Rome")
        loosen("lives_in")
        assert_named_as_now(principal)

    def test_what_was_registered_changes_and_back(self, principal, register, claim, loosen, tighten, picture):
        register("shoe", "boot")
        one, two = claim("boot", "red"), claim("shoe", "red", subject="Ada", status="superseded")
        before = picture()
        former = loosen("boot")
        assert not row(principal, one).exclusive
        assert not row(principal, two).exclusive
        tighten("boot", former)
        assert without_revision(picture()) == without_revision(before)

    @pytest.mark.parametrize("registered", [True, False])
    def test_what_had_asked_for_something_else_is_as_it_was(
        self, registered, register, claim, loosen, tighten, picture
    ):
        if registered:
            register("shoe", exclusive=False)
        claim("shoe", "red", asked=True)
        claim("shoe", "blue", subject="Ada", asked=False)
        before = picture()
        tighten("shoe", loosen("shoe"))
        assert picture() == before

    def test_who_came_meanwhile_follows_the_rule(self, principal, claim, loosen, tighten):
        claim("shoe", "red")
        former = loosen("shoe")
        late = claim("shoe", "blue", subject="Ada")
        tighten("shoe", former)
        assert row(principal, late).exclusive

    def test_it_is_not_taken_back_over_what_stands_meanwhile(self, claim, loosen, tighten, picture):
        claim("shoe", "red")
        former = loosen("shoe")
        claim("shoe", "blue")
        before = picture()
        with pytest.raises(ClaimsCollide):
            tighten("shoe", former)
        assert picture() == before

    def test_nor_over_a_rule_that_was_changed_since(self, register, change, claim, loosen, tighten, picture):
        claim("shoe", "red")
        former = loosen("shoe")
        change("shoe", aliases=["boot"])
        before = picture()
        with pytest.raises(StaleRevision):
            tighten("shoe", former)
        assert picture() == before


class TestAtOnce:
    def test_of_two_registrations_of_an_alias_one_wins(self, service, now):
        def attempt(name):
            try:
                barrier.wait(timeout=60)
                return registry.register_predicate(
                    service, namespace=f"{service.project}:main", name=name, aliases=["x"], now=now
                )
            except AliasCollision:
                return None
            finally:
                connections.close_all()

        barrier = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(attempt, ["one", "two", "three", "four"]))
        assert len([found for found in made if found]) == 1
        with access.enter(service, why="test"):
            assert Predicate.objects.within(service.project_id).count() == 1

    def test_of_two_registrations_of_a_name_one_wins(self, service, now):
        def attempt(name):
            try:
                barrier.wait(timeout=60)
                return registry.register_predicate(service, namespace=f"{service.project}:main", name=name, now=now)
            except PredicateTaken:
                return None
            finally:
                connections.close_all()

        barrier = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(attempt, ["shoe size", "Shoe-Size", "SHOE_SIZE", "ѕhoe size"]))
        assert len([found for found in made if found]) == 1
