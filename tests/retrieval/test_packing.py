"""Packing into a budget: density within shares, priority strictly by score."""

from functools import partial

import pytest

from memories.retrieval.context.packing import BUDGET, TOO_MANY, Item, Space, by_density, by_score

EVEN = {"a": 0.5, "b": 0.5}


def items(*rows):
    return [Item(name, name[0], value, size) for name, value, size in rows]


def names(packed):
    return [item.thing for item in packed.included]


def reasons(packed):
    return {item.thing: reason for item, reason in packed.excluded}


def test_density_prefers_value_per_character():
    packed = by_density(items(("a1", 0.9, 90), ("a2", 0.5, 10), ("a3", 0.4, 10)), ratios={"a": 1}, space=Space(9, 100))
    assert names(packed) == ["a2", "a3"]
    assert reasons(packed) == {"a1": BUDGET}


def test_what_every_memory_scores_does_not_speak_for_the_short_ones():
    """With more candidates than may be taken, value counts from what the first superfluous one is worth."""
    answers = [(f"a{n}", 0.80, 100) for n in range(3)]
    chatter = [(f"b{n}", 0.45, 20) for n in range(9)]
    packed = by_density(items(*chatter, *answers), ratios=EVEN | {"a": 1.0}, space=Space(4, 330))
    assert names(packed) == ["a0", "a1", "a2", "b0"]
    packed = by_density(items(*chatter, *answers), ratios={"a": 1.0, "b": 1.0}, space=Space(12, 330))
    assert names(packed)[:9] == [f"b{n}" for n in range(9)]  # nothing is superfluous: by score per character


def test_a_share_keeps_one_kind_from_taking_all():
    rows = items(("a1", 0.9, 30), ("a2", 0.9, 30), ("a3", 0.9, 30), ("b1", 0.1, 30))
    assert "b1" in names(by_density(rows, ratios={"a": 0.6, "b": 0.4}, space=Space(9, 100)))


def test_what_one_kind_leaves_goes_to_the_others():
    rows = items(("a1", 0.9, 30), ("a2", 0.8, 30), ("a3", 0.7, 30))
    assert names(by_density(rows, ratios=EVEN, space=Space(9, 100))) == ["a1", "a2", "a3"]


@pytest.mark.parametrize("ratios", [{"b": 1.0}, {"a": 0.0, "b": 1.0}])
def test_a_kind_without_a_share_comes_last(ratios):
    rows = items(("a1", 0.9, 10), ("b1", 0.1, 60), ("b2", 0.1, 35))
    assert names(by_density(rows, ratios=ratios, space=Space(9, 100))) == ["b2", "b1"]


def test_priority_stops_at_the_first_that_does_not_fit():
    rows = items(("a1", 0.9, 60), ("b1", 0.8, 60), ("a2", 0.7, 10))
    packed = by_score(rows, space=Space(9, 100))
    assert names(packed) == ["a1"]
    assert reasons(packed) == {"b1": BUDGET, "a2": BUDGET}


def test_priority_knows_no_shares():
    rows = items(*((f"a{n}", 0.9, 10) for n in range(10)), ("b1", 0.1, 10))
    assert "b1" not in names(by_score(rows, space=Space(9, 100)))


@pytest.mark.parametrize("pack", [partial(by_density, ratios=EVEN), by_score])
def test_headings_are_paid_once(pack):
    rows = items(("a1", 0.9, 10), ("a2", 0.9, 10), ("b1", 0.1, 10))
    assert len(names(pack(rows, space=Space(9, 39, {"a": 5, "b": 5})))) == 2
    assert names(pack(rows, space=Space(9, 40, {"a": 5, "b": 5}))) == ["a1", "a2", "b1"]


def test_with_room_for_the_best_the_best_are_taken():
    rows = items(("a1", 0.9, 90), ("a2", 0.5, 10), ("a3", 0.8, 80))
    for left in (170, 1000, None):
        assert names(by_density(rows, ratios={"b": 1.0}, space=Space(2, left))) == ["a1", "a3"]
    assert names(by_density(rows, ratios={"a": 1.0}, space=Space(2, 169))) == ["a1", "a2"]


def test_no_more_than_asked_for():
    packed = by_density(items(*((f"a{n}", 0.5, 1) for n in range(5))), ratios={"a": 1}, space=Space(2, None))
    assert names(packed) == ["a0", "a1"]
    assert set(reasons(packed).values()) == {TOO_MANY}


@pytest.mark.parametrize("left", [-40, 0, 9])
def test_no_room_is_no_room(left):
    rows = items(("a1", 0.9, 10))
    assert (
        names(by_density(rows, ratios=EVEN, space=Space(9, left))) == names(by_score(rows, space=Space(9, left))) == []
    )
