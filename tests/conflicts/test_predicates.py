"""Predicates: whatever spelling or alias is used, one rule answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflicts.enums import Normaliser, Policy
from conflicts.keys.normalization import canonical_key
from conflicts.keys.predicates import SEEDS, AliasCollision, Rule, rule_for, spellings_of

SPELLINGS = [(rule, spelling) for rule in SEEDS for spelling in (rule.name, *rule.aliases)]


class TestSeeds:
    def test_no_two_share_a_spelling(self) -> None:
        assert len(spellings_of(SEEDS)) == sum(len(rule.spellings()) for rule in SEEDS)

    @pytest.mark.parametrize("rule", SEEDS, ids=lambda rule: rule.name)
    def test_each_is_well_formed(self, rule: Rule) -> None:
        assert canonical_key(rule.name) == rule.name.replace("_", " ")
        assert rule.normaliser in set(Normaliser)
        assert rule.exclusive or rule.policy == Policy.REVIEW
        assert len(rule.spellings()) == 1 + len(rule.aliases), "an alias says nothing new"

    @pytest.mark.parametrize(
        "name", ["allergic_to", "likes", "dislikes", "has_skill", "knows", "owns", "visited", "pet", "uses", "speaks"]
    )
    def test_some_take_many_values(self, name: str) -> None:
        assert not rule_for(predicate=name).exclusive

    @pytest.mark.parametrize(
        "name",
        ["lives_in", "budget", "name", "email", "works_at", "role", "birthday", "age", "timezone", "spouse", "port"],
    )
    def test_some_take_one(self, name: str) -> None:
        assert rule_for(predicate=name).exclusive
        assert rule_for(predicate=name).policy == Policy.REVIEW

    @pytest.mark.parametrize("name", ["status", "temperature", "price", "version"])
    def test_readings_are_renewed(self, name: str) -> None:
        assert rule_for(predicate=name).policy == Policy.NEWEST

    @pytest.mark.parametrize(
        ("name", "normaliser"),
        [("budget", "money"), ("birthday", "date"), ("deadline", "date"), ("age", "number"), ("phone", "text")],
    )
    def test_values_are_read_by_kind(self, name: str, normaliser: str) -> None:
        assert rule_for(predicate=name).normaliser == normaliser


class TestLookUp:
    @pytest.mark.parametrize(
        "alias",
        ["location", "home", "residence", "resides_in", "city", "Resides-In", "ＣＩＴＹ", "сity", "lives\u200b in"],
    )
    def test_aliases_in_any_disguise_lead_home(self, alias: str) -> None:
        assert rule_for(predicate=alias).name == "lives_in"

    def test_seed_3s_budget_is_the_budget(self) -> None:
        assert rule_for(predicate="budget_is") == rule_for(predicate="budget")

    @given(
        st.sampled_from(SPELLINGS), st.sampled_from([str.upper, str.title, str.swapcase]), st.sampled_from("_- \u2014")
    )
    def test_every_spelling_finds_its_seed(self, known: tuple[Rule, str], case: object, dash: str) -> None:
        rule, spelling = known
        assert callable(case)
        assert rule_for(predicate=case(spelling.replace("_", dash))) == rule

    def test_the_unknown_is_exclusive_text_under_its_canonical_name(self) -> None:
        assert rule_for(predicate="Shoe  SIZE") == Rule("shoe_size", exclusive=True, normaliser="text")

    @given(st.text(st.characters()))
    def test_any_text_has_one_rule_and_its_name_leads_back(self, text: str) -> None:
        rule = rule_for(predicate=text)
        assert rule_for(predicate=rule.name) == rule


class TestRegistered:
    def test_comes_before_the_seeds(self) -> None:
        own = spellings_of([Rule("likes", exclusive=True)])
        assert rule_for(predicate="Likes", registered=own).exclusive

    def test_takes_the_seeds_aliases_with_its_name(self) -> None:
        own = spellings_of([Rule("domicile", aliases=("lives_in",))])
        assert {rule_for(predicate=p, registered=own).name for p in ("lives-in", "city", "domicile")} == {"domicile"}

    def test_may_take_a_single_alias_from_a_seed(self) -> None:
        own = spellings_of([Rule("city")])
        assert rule_for(predicate="CITY", registered=own).name == "city"
        assert rule_for(predicate="residence", registered=own).name == "lives_in"

    def test_leaves_other_predicates_alone(self) -> None:
        own = spellings_of([Rule("shoe_size", normaliser="number")])
        assert rule_for(predicate="email", registered=own) == rule_for(predicate="email")

    @pytest.mark.parametrize("alias", ["colour", "COLOUR", "cоlour", "co\u200blour"])
    def test_two_rules_can_not_share_a_spelling(self, alias: str) -> None:
        with pytest.raises(AliasCollision) as refused:
            spellings_of([Rule("colour"), Rule("hue", aliases=(alias,))])
        assert refused.value.spelling == "colour"
        assert refused.value.names == ("colour", "hue")

    def test_a_rule_may_repeat_itself(self) -> None:
        assert set(spellings_of([Rule("colour", aliases=("Colour", "hue"))])) == {"colour", "hue"}
