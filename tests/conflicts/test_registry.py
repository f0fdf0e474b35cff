"""The registry: one rule for all spellings, and standing claims that follow it."""

import datetime
import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from conflicts import registry
from conflicts.key_migration import MOST_PAIRS, ClaimsCollide
from conflicts.keys.names import naming
from conflicts.keys.predicates import AliasCollision
from conflicts.locks import lock_namespace
from conflicts.models import PendingConflict, Predicate
from conflicts.registry import BadPredicate, PredicateTaken
from conflicts.resolution.cardinality import make_multi_valued, restore_predicate
from memories import access
from memories.access import NotFound, NotPermitted
from memories.errors import StaleRevision
from memories.models import Claim, Namespace
from memories.models.enums import ClaimScope

MAIN, SIDE = "acme:main", "acme:side"
YEAR = datetime.timedelta(days=365)


@pytest.fixture
def register(principal, now):
    """Registers a predicate in acme:main."""

    def put(name, *aliases, by=principal, namespace=MAIN, **more):
        return registry.register_predicate(by, namespace=namespace, name=name, aliases=aliases, now=now, **more)

    return put


@pytest.fixture
def change(principal, now):
    """Changes a predicate of acme:main."""

    def put(name, *, by=principal, revision=None, **changes):
        return registry.change_predicate(by, (MAIN, name), changes=changes, revision=revision, now=now)

    return put


@pytest.fixture
def claim(principal, store):
    """A standing claim of Robin, named by the rules of now."""

    def keep(predicate, value, *, asked=None, namespace=MAIN, status="active", subject="Robin", **more):
        fragment = store(namespace, f"{subject}: {predicate} = {value} {uuid.uuid4()}")
        with access.enter(principal, why="test"):
            names = naming(principal.project_id, [fragment.namespace_id])[fragment.namespace_id]
            key = names.key(subject, predicate)
            type(fragment).objects.filter(id=fragment.id).update(status=status)
            Claim.objects.create(
                fragment=fragment,
                project_id=principal.project_id,
                namespace_id=fragment.namespace_id,
                subject=subject,
                predicate=predicate,
                value=value,
                subject_digest=key.subject,
                predicate_digest=key.predicate,
                key_digest=key.both,
                value_digest=names.value(predicate, value),
                exclusive=names.exclusive(predicate, asked),
                authority=fragment.authority,
                status=status,
                **more,
            )
        return fragment.id

    return keep


@pytest.fixture
def picture(principal):
    """All that belief keeps here."""

    def take():
        with access.enter(principal, why="test"):
            return [
                list(model.objects.order_by("pk").values()) for model in (Predicate, Claim, PendingConflict, Namespace)
            ]

    return take


@pytest.fixture
def conflict(principal, now):
    """A conflict that carries the names of a claim, or of what a text was read as."""

    def make(claim_id, *, newcomer=None, existing=None, statement=None, **more):
        with access.enter(principal, why="test"):
            like = Claim.objects.get(fragment=claim_id)
            digests = {
                n: getattr(like, n) for n in ("subject_digest", "predicate_digest", "key_digest", "value_digest")
            }
            return PendingConflict.objects.create(
                project_id=principal.project_id,
                namespace_id=like.namespace_id,
                kind="text" if statement else "claim",
                reason="authority_insufficient",
                newcomer_id=newcomer,
                existing_id=existing,
                statement=statement,
                **{**digests, **more},
            ).id

    return make


def row(principal, fragment_id):
    with access.enter(principal, why="test"):
        return Claim.objects.get(fragment=fragment_id)


def digests(thing):
    return [bytes(getattr(thing, name)) for name in ("predicate_digest", "key_digest", "value_digest")]


def one_key(principal, *fragment_ids):
    return len({bytes(row(principal, i).key_digest) for i in fragment_ids}) == 1


def assert_named_as_now(principal):
    """Every claim stands under the names that the rules of its namespace give it."""
    with access.enter(principal, why="test"):
        claims = list(Claim.objects.all())
        names = naming(principal.project_id, {claim.namespace_id for claim in claims})
    for claim in claims:
        mine = names[claim.namespace_id]
        key = mine.key(claim.subject, claim.predicate)
        assert digests(claim) == [key.predicate, key.both, mine.value(claim.predicate, claim.value)], claim
        if mine.registers(claim.predicate):
            assert claim.exclusive or not mine.exclusive(claim.predicate, None), claim


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


class TestReKeying:
    @pytest.mark.parametrize("alias", ["stays_at", "Stays At", "ＳＴＡＹＳ－ＡＴ", "ѕtаys_аt", "stays\u200b_at"])
    def test_an_alias_brings_standing_claims_under_its_rule(self, alias, principal, register, claim):
        home, stay, other = (
            claim("lives_in", "Oslo", subject="Ada"),
            claim("stays_at", "Oslo"),
            claim("eye_color", "red"),
        )
        before = digests(row(principal, other))
        register("lives_in", alias)
        assert row(principal, home).predicate_digest == row(principal, stay).predicate_digest
        assert row(principal, stay).predicate == "stays_at", "what was said stays"
        assert digests(row(principal, other)) == before
        assert_named_as_now(principal)

    def test_without_the_alias_they_part_again(self, principal, register, change, claim, now):
        register("lives_in", "stays_at")
        home, stay = claim("lives_in", "Oslo", valid_until=now), claim("stays_at", "Rome", valid_from=now)
        assert one_key(principal, home, stay)
        change("lives_in", aliases=[])
        assert not one_key(principal, home, stay)
        assert_named_as_now(principal)

    def test_an_alias_of_a_built_in_rule_can_have_a_rule_of_its_own(self, principal, register, claim):
        home, city = claim("lives_in", "Oslo", subject="Ada"), claim("city", "Oslo")
        register("city")
        assert row(principal, home).predicate_digest != row(principal, city).predicate_digest
        assert_named_as_now(principal)

    def test_who_takes_a_built_in_name_takes_its_aliases(self, principal, register, claim):
        city, den = claim("city", "Oslo"), claim("den", "Oslo", subject="Ada")
        register("den", "lives_in")
        assert row(principal, city).predicate_digest == row(principal, den).predicate_digest
        assert_named_as_now(principal)

    def test_values_are_read_anew(self, principal, register, change, claim):
        first, second = claim("fee", "$750", subject="Ada"), claim("fee", "750 USD")
        register("fee")
        assert row(principal, first).value_digest != row(principal, second).value_digest
        change("fee", normaliser="money")
        assert row(principal, first).value_digest == row(principal, second).value_digest
        assert_named_as_now(principal)

    @pytest.mark.parametrize("status", ["superseded", "quarantined", "archived"])
    def test_claims_that_do_not_stand_follow_too(self, status, principal, register, claim):
        home, stay = claim("lives_in", "Oslo"), claim("stays_at", "Rome", status=status)
        register("lives_in", "stays_at")
        assert one_key(principal, home, stay)
        assert_named_as_now(principal)

    def test_other_namespaces_and_projects_are_untouched(self, principal, charlie, register, claim, store, now):
        side = claim("stays_at", "Oslo", namespace=SIDE)
        before = digests(row(principal, side))
        register("lives_in", "stays_at")
        assert digests(row(principal, side)) == before
        register("lives_in", namespace=SIDE)
        registry.register_predicate(charlie.principal, namespace="elsewhere:main", name="lives_in", now=now)
        assert_named_as_now(principal)

    def test_newer_wins_moves_nothing(self, principal, register, change, claim):
        register("fee")
        one = row(principal, claim("fee", "1"))
        assert change("fee", policy="newest").policy == "newest"
        with access.enter(principal, why="test"):
            assert [event.pgh_label for event in one.events.all()] == ["insert"]

    def test_many_are_written_in_few_queries(self, principal, register, claim, django_assert_max_num_queries):
        for number in range(20):
            claim("stays_at", f"Room {number}", subject=f"Robin {number}")
        with django_assert_max_num_queries(25):
            register("lives_in", "stays_at")
        assert_named_as_now(principal)

    def test_conflicts_follow_the_claims(self, principal, register, claim, conflict, now):
        stays, rome = claim("stays_at", "Oslo"), claim("stays_at", "Rome", status="quarantined")
        pending = conflict(rome, newcomer=rome, existing=stays)
        rejected = conflict(rome, newcomer=rome, existing=None, resolution="reject", resolved_at=now)
        disputed = conflict(stays, existing=stays, value_digest=b"")
        other = conflict(rome, newcomer=rome, existing=None, key_digest=b"k" * 32, predicate_digest=b"p" * 32)
        register("lives_in", "stays_at", normaliser="number")
        with access.enter(principal, why="test"):
            found = PendingConflict.objects.in_bulk()
        assert digests(found[pending]) == digests(found[rejected]) == digests(row(principal, rome))
        assert digests(found[disputed]) == [*digests(row(principal, stays))[:2], b""]
        assert digests(found[other])[:2] == [b"p" * 32, b"k" * 32]

    def test_conflicts_of_free_texts_follow_what_was_read(self, principal, store, register, claim, conflict):
        stays = claim("stays_at", "Oslo")
        said = {"subject": "Robin", "predicate": "stays_at", "value": "$5", "negated": False}
        text = store(MAIN, "Robin stays at the five dollar place.")
        pending = conflict(stays, newcomer=text.id, existing=stays, statement=said)
        register("lives_in", "stays_at", normaliser="money")
        with access.enter(principal, why="test"):
            found = PendingConflict.objects.get(id=pending)
            names = naming(principal.project_id, [found.namespace_id])[found.namespace_id]
        assert digests(found) == [*digests(row(principal, stays))[:2], names.value("lives_in", "5 USD")]


class TestCollisions:
    def refused(self, attempt, picture):
        before = picture()
        with pytest.raises(ClaimsCollide) as refused:
            attempt()
        assert picture() == before
        return [(pair.cause, {pair.one, pair.other}) for pair in refused.value.pairs]

    def test_an_alias_that_sets_claims_against_each_other_is_refused(self, register, change, claim, picture):
        register("lives_in")
        home, stay = claim("lives_in", "Oslo"), claim("stays_at", "Rome")
        claim("stays_at", "Rome", subject="Ada")
        assert self.refused(lambda: change("lives_in", aliases=["stays_at"]), picture) == [("aliases", {home, stay})]

    def test_so_is_a_registration(self, register, claim, picture):
        home, stay = claim("city", "Oslo"), claim("stays_at", "Rome")
        assert self.refused(lambda: register("lives_in", "stays_at"), picture) == [("aliases", {home, stay})]

    def test_so_is_giving_an_alias_back(self, register, change, claim, picture):
        register("den", "city")
        home, city = claim("lives_in", "Oslo"), claim("city", "Rome")
        assert self.refused(lambda: change("den", aliases=[]), picture) == [("aliases", {home, city})]

    def test_so_is_one_value_for_many(self, register, change, claim, picture):
        register("shoe", exclusive=False)
        red, blue = claim("shoe", "red"), claim("shoe", "blue")
        claim("shoe", "red", subject="Ada")
        assert self.refused(lambda: change("shoe", exclusive=True), picture) == [("exclusive", {red, blue})]

    def test_every_pair_is_told(self, register, change, claim, picture):
        register("shoe", exclusive=False)
        shoes = [claim("shoe", colour) for colour in ("red", "blue", "green")]
        pairs = self.refused(lambda: change("shoe", exclusive=True), picture)
        assert len(pairs) == 3
        assert set.union(*(ids for _, ids in pairs)) == set(shoes)

    def test_but_not_without_end(self, register, change, claim, picture):
        register("shoe", exclusive=False)
        for number in range(16):
            claim("shoe", f"{number}")
        assert len(self.refused(lambda: change("shoe", exclusive=True), picture)) == MOST_PAIRS < 16 * 15 / 2

    def test_two_claims_that_move_at_once_can_collide_with_each_other(self, register, claim, picture):
        one, two = claim("stays_at", "Oslo"), claim("sleeps_at", "Rome")
        assert self.refused(lambda: register("den", "stays_at", "sleeps_at"), picture) == [("aliases", {one, two})]

    def test_slots_are_of_one_key_only(self, register, claim, picture):
        home, stay = claim("lives_in", "Oslo", slot=1), claim("stays_at", "Rome")
        assert self.refused(lambda: register("lives_in", "stays_at"), picture) == [("aliases", {home, stay})]

    @pytest.mark.parametrize("status", ["superseded", "quarantined", "archived"])
    def test_only_standing_claims_collide(self, status, principal, register, claim):
        claim("lives_in", "Oslo")
        claim("stays_at", "Rome", status=status)
        register("lives_in", "stays_at")
        assert_named_as_now(principal)

    def test_disputed_ones_stand(self, register, claim, picture):
        """A vote may make them active again."""
        home, stay = claim("lives_in", "Oslo"), claim("stays_at", "Rome", status="disputed")
        assert self.refused(lambda: register("lives_in", "stays_at"), picture) == [("aliases", {home, stay})]

    def test_those_of_other_sessions_and_times_do_not(self, principal, register, claim, now):
        session = {"scope": ClaimScope.SESSION, "session_id": "s1"}
        claim("lives_in", "Oslo", valid_from=now - 2 * YEAR, valid_until=now - YEAR)
        claim("stays_at", "Rome", valid_until=now - 2 * YEAR)
        claim("stays_at", "Bonn", valid_from=now - YEAR)
        claim("stays_at", "Lima", **session)
        claim("lives_in", "Kyiv", **{**session, "session_id": "s2"})
        register("lives_in", "stays_at")
        assert_named_as_now(principal)

    def test_one_may_come_where_another_leaves(self, principal, register, change, claim):
        register("den", "stays_at")
        stays, sleeps = claim("stays_at", "Oslo"), claim("sleeps_at", "Rome")
        key = bytes(row(principal, stays).key_digest)
        change("den", aliases=["sleeps_at"])
        assert bytes(row(principal, sleeps).key_digest) == key
        assert_named_as_now(principal)


class TestCardinality:
    def test_a_predicate_can_take_many_values_from_now_on(self, principal, register, change, claim):
        register("shoe")
        one = claim("shoe", "red")
        change("shoe", exclusive=False)
        assert not row(principal, one).exclusive
        claim("shoe", "blue")
        assert_named_as_now(principal)

    def test_and_one_again(self, principal, register, change, claim):
        register("shoe", exclusive=False)
        one, ada = claim("shoe", "red"), claim("shoe", "blue", subject="Ada")
        change("shoe", exclusive=True)
        assert row(principal, one).exclusive
        assert row(principal, ada).exclusive

    def test_a_registered_rule_binds_claims_that_had_asked_for_less(self, principal, register, claim):
        loose = claim("shoe", "red", asked=False)
        assert not row(principal, loose).exclusive
        register("shoe")
        assert row(principal, loose).exclusive

    def test_what_asked_for_more_keeps_it_while_the_rule_stays_loose(self, principal, register, change, claim):
        register("shoe", exclusive=False)
        strict = claim("shoe", "red", asked=True)
        change("shoe", aliases=["boot"], policy="newest")
        assert row(principal, strict).exclusive

    def test_a_rule_in_place_of_a_built_in_one_binds_its_aliases(self, principal, register, claim):
        one = claim("fond of", "herons")
        assert not row(principal, one).exclusive
        register("likes", exclusive=True)
        assert row(principal, one).exclusive


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
