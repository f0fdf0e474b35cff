"""Rules that change: standing claims get the keys, values and slots of the rules of now."""

import pytest

from conflicts import registry
from conflicts.key_migration import MOST_PAIRS, ClaimsCollide
from conflicts.keys.names import naming
from conflicts.models import PendingConflict
from memories import access
from memories.models.enums import ClaimScope
from tests.conflicts.registry.conftest import MAIN, SIDE, YEAR, assert_named_as_now, digests, one_key, row


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
