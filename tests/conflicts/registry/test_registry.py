"""Registering predicates: what a rule may say, and who may say it."""

import uuid

import pytest

from conflicts import registry
from conflicts.keys.names import naming
from conflicts.keys.predicates import AliasCollision
from conflicts.registry import BadPredicate, PredicateTaken
from memories import access
from memories.access import NotFound, NotPermitted
from memories.errors import StaleRevision
from memories.models import Namespace
from tests.conflicts.registry.conftest import MAIN, SIDE, assert_named_as_now


class TestRegistering:
    def test_works(self, principal, register, now):
        made = register("shoe_size", "size of shoes", normaliser="number")
        assert (made.name, made.aliases, made.exclusive, made.normaliser) == (
            "shoe_size",
            ["size of shoes"],
            True,
            "number",
        )
        assert (made.policy, made.revision, made.created_at, made.updated_at) == ("review", 1, now, now)
        with access.enter(principal, why="test"):
            assert list(registry.registered_predicates(principal, MAIN)) == [made]

    def test_what_is_not_said_is_as_in_the_built_in_rule(self, register):
        likes, budget, status = register("likes"), register("Budget"), register("STATUS")
        assert (likes.exclusive, budget.normaliser, status.policy) == (False, "money", "newest")
        assert register("kids").exclusive is False, "an alias of a built-in rule"

    def test_what_is_said_overrides_the_built_in_rule(self, principal, register):
        made = register("likes", exclusive=True, normaliser="boolean", policy="newest")
        assert (made.exclusive, made.normaliser, made.policy) == (True, "boolean", "newest")
        with access.enter(principal, why="test"):
            names = naming(principal.project_id, [made.namespace_id])[made.namespace_id]
            assert names.rule("fond of").name == "likes", "the aliases of the built-in rule go on leading to it"
            assert names.rule("fond of").exclusive

    def test_it_makes_a_covered_namespace(self, register, count):
        register("shoe_size", namespace="acme:new")
        assert count(Namespace) == 1

    @pytest.mark.parametrize("name", ["other:main", "acme", "elsewhere:main"])
    def test_other_namespaces_are_not_found(self, name, register, picture):
        before = picture()
        with pytest.raises(NotFound):
            register("shoe_size", namespace=name)
        assert picture() == before

    def test_needs_admin(self, bob, register, change, picture):
        register("shoe_size")
        before = picture()
        with pytest.raises(NotPermitted):
            register("eye_color", by=bob.principal)
        with pytest.raises(NotPermitted):
            change("shoe_size", by=bob.principal, policy="newest")
        assert picture() == before

    @pytest.mark.parametrize(
        "name", ["Shoe-Size", "ＳＨＯＥ＿ＳＩＺＥ", " shoe  size ", "shoe_si\u200bze", "ѕhоe_size"]
    )
    def test_a_name_is_registered_once_in_all_its_spellings(self, name, register, picture):
        register("shoe_size")
        before = picture()
        with pytest.raises(PredicateTaken):
            register(name)
        assert picture() == before

    @pytest.mark.parametrize("alias", ["foot_length", "Foot Length", "ｆｏｏｔ－ｌｅｎｇｔｈ", "fооt length"])
    def test_an_alias_leads_to_one_rule(self, alias, register, change, picture):
        register("shoe_size", "foot_length")
        register("height")
        before = picture()
        for attempt in (
            lambda: register("leg", alias),
            lambda: register(alias),
            lambda: register("leg", "shoe size"),
            lambda: change("height", aliases=[alias]),
        ):
            with pytest.raises(AliasCollision):
                attempt()
        assert picture() == before

    @pytest.mark.parametrize("nothing", ["", "  ", "_", "—", "\u200b", "- _ -"])
    def test_a_name_without_anything_to_compare_is_refused(self, nothing, register, change, picture):
        register("shoe_size")
        before = picture()
        with pytest.raises(BadPredicate) as refused:
            register(nothing)
        assert (refused.value.field, refused.value.index) == ("name", None)
        for attempt in (
            lambda: register("leg", "limb", nothing),
            lambda: change("shoe_size", aliases=["limb", nothing]),
        ):
            with pytest.raises(BadPredicate) as refused:
                attempt()
            assert (refused.value.field, refused.value.index) == ("aliases", 1)
        assert picture() == before

    def test_names_have_limits(self, register, picture):
        register("a" * 100, *(f"alias {n}" for n in range(50)))
        before = picture()
        for attempt, field in (
            (lambda: register("b" * 101), "name"),
            (lambda: register("b", "c" * 101), "aliases"),
            (lambda: register("b", *(f"name {n}" for n in range(51))), "aliases"),
        ):
            with pytest.raises(BadPredicate) as refused:
                attempt()
            assert refused.value.field == field
        assert picture() == before

    def test_the_same_spelling_is_kept_once(self, register):
        assert register("shoe_size", "Foot", "SHOE SIZE", "foot", "leg").aliases == ["Foot", "leg"]

    def test_letters_that_fold_into_many_are_taken(self, register, claim, principal):
        claim("\ufdfa" * 100, "1")
        register("\ufdfa" * 100, "\ufdfb" * 100)
        assert_named_as_now(principal)


class TestListing:
    def test_only_covered_namespaces_are_shown(self, principal, reader, charlie, register):
        register("shoe_size")
        register("secret", namespace="acme:secret")
        shared = register("motto", namespace="acme:shared")
        with access.enter(reader.principal, why="test"):
            assert {found.name for found in registry.registered_predicates(reader.principal)} == {"shoe_size", "motto"}
            assert list(registry.registered_predicates(reader.principal, "acme:shared")) == [shared]
            assert list(registry.registered_predicates(principal, "acme:nowhere")) == []
            with pytest.raises(NotFound):
                registry.registered_predicates(reader.principal, "acme:secret")
        with access.enter(charlie.principal, why="test"):
            assert list(registry.registered_predicates(charlie.principal)) == []

    def test_needs_read(self, project, agent_of):
        with pytest.raises(NotPermitted):
            registry.registered_predicates(agent_of(project, verbs=["admin"]).principal)


class TestChanging:
    def test_works(self, register, change, now):
        made = register("shoe_size")
        changed = change(
            "Shoe-Size", aliases=["foot"], policy="newest", exclusive=False, normaliser="number", revision=1
        )
        assert (changed.id, changed.name, changed.aliases, changed.revision) == (made.id, "shoe_size", ["foot"], 2)
        assert (changed.policy, changed.exclusive, changed.normaliser) == ("newest", False, "number")
        assert changed.updated_at == now

    def test_by_id(self, principal, register, now):
        made = register("shoe_size")
        assert registry.change_predicate(principal, made.id, changes={"policy": "newest"}, now=now).policy == "newest"
        with pytest.raises(NotFound):
            registry.change_predicate(principal, uuid.uuid4(), changes={"policy": "newest"}, now=now)

    def test_a_stale_revision_changes_nothing(self, register, change, picture):
        register("shoe_size")
        change("shoe_size", policy="newest", revision=1)
        before = picture()
        with pytest.raises(StaleRevision) as refused:
            change("shoe_size", policy="review", revision=1)
        assert refused.value.current == 2
        assert picture() == before

    def test_foreign_and_missing_ones_are_not_found(
        self, principal, charlie, agent_of, project, register, picture, now
    ):
        made = register("shoe_size")
        side = agent_of(project, namespaces=[SIDE], verbs=["admin"]).principal
        before = picture()
        for who in (charlie.principal, side):
            for which in (made.id, (MAIN, "shoe_size")):
                with pytest.raises(NotFound):
                    registry.change_predicate(who, which, changes={"policy": "newest"}, now=now)
        for which in ((MAIN, "nothing"), ("acme:nowhere", "shoe_size"), (SIDE, "shoe_size")):
            with pytest.raises(NotFound):
                registry.change_predicate(principal, which, changes={"policy": "newest"}, now=now)
        assert picture() == before

    def test_who_only_reads_the_shared_namespace_changes_nothing_there(self, agent_of, project, register, picture, now):
        made = register("motto", namespace="acme:shared")
        side = agent_of(project, namespaces=[SIDE], verbs=["read", "admin"]).principal
        before = picture()
        with pytest.raises(NotPermitted):
            registry.change_predicate(side, made.id, changes={"policy": "newest"}, now=now)
        with pytest.raises(NotFound):
            registry.change_predicate(side, ("acme:shared", "motto"), changes={"policy": "newest"}, now=now)
        assert picture() == before

    def test_its_history_says_who(self, alice, register):
        made = register("shoe_size", by=alice.principal)
        with access.enter(alice.principal, why="test"):
            (event,) = made.events.all()
        assert event.pgh_context["key"] == str(alice.row.id)
        assert event.pgh_context["why"] == "register predicate"
