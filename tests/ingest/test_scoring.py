"""Scores: weights by example, and the laws behind them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.models.scoring import Rates

valences = st.floats(-1, 1)
importances = st.floats(0.1, 1)
ages = st.floats(0, 3650)
accesses = st.integers(0, 10**9)


def importance(entities: int = 0, valence: float = 0.0, source_type: str = "file") -> float:
    return Rates().initial_importance(entities=entities, valence=valence, source_type=source_type)


def weight(
    importance: float = 0.5, access_count: int = 0, age_days: float = 0.0, valence: float = 0.0, kept: bool = False
) -> float:
    return Rates().effective_weight(
        importance=importance, access_count=access_count, age_days=age_days, valence=valence, pinned_or_anchor=kept
    )


class TestInitialImportance:
    def test_a_plain_text_weighs_one_half(self) -> None:
        assert importance() == 0.5

    def test_each_entity_adds_a_twentieth(self) -> None:
        assert importance(entities=3) == pytest.approx(0.65)

    @pytest.mark.parametrize("valence", [1.0, -1.0])
    def test_feeling_counts_either_way(self, valence: float) -> None:
        assert importance(valence=valence) == pytest.approx(0.7)

    @pytest.mark.parametrize(
        ("source_type", "expected"),
        [("manual", 0.8), ("conversation", 0.6), ("file", 0.5), ("web", 0.5), ("bridge", 0.5)],
    )
    def test_the_source_gives_its_bonus(self, source_type: str, expected: float) -> None:
        assert importance(source_type=source_type) == pytest.approx(expected)

    def test_everything_together_adds_up(self) -> None:
        assert importance(entities=1, valence=-0.5, source_type="conversation") == pytest.approx(0.75)

    def test_no_error_of_binary_fractions_is_kept(self) -> None:
        assert [importance(entities=n, source_type="manual") for n in range(4)] == [0.8, 0.85, 0.9, 0.95]

    def test_it_is_capped_at_one(self) -> None:
        assert importance(entities=50, valence=1.0, source_type="manual") == 1.0

    @given(st.integers(0, 10**6), valences, st.sampled_from(["manual", "conversation", "document"]))
    def test_it_stays_within_a_tenth_and_one(self, entities: int, valence: float, source_type: str) -> None:
        assert 0.1 <= importance(entities, valence, source_type) <= 1.0


class TestDecay:
    def test_at_birth_nothing_has_decayed(self) -> None:
        assert weight(importance=0.8) == pytest.approx(0.8)

    @pytest.mark.parametrize("days", [1, 7, 30])
    def test_it_is_exponential_at_a_tenth_per_day(self, days: int) -> None:
        assert weight(age_days=days) == pytest.approx(0.5 * math.exp(-0.1 * days))

    def test_equal_spans_lose_equal_shares(self) -> None:
        first, second = weight(age_days=5) / weight(), weight(age_days=10) / weight(age_days=5)
        assert first == pytest.approx(second)

    def test_a_very_old_memory_weighs_next_to_nothing_but_never_less(self) -> None:
        assert 0.0 <= weight(age_days=100_000) < 1e-9

    def test_a_birth_in_the_future_is_not_rewarded(self) -> None:
        assert weight(age_days=-5) == weight(age_days=0)

    @given(importances, accesses, ages, ages, valences, st.booleans())
    def test_it_never_grows_with_age(
        self, importance: float, count: int, one: float, other: float, valence: float, kept: bool
    ) -> None:
        younger, older = sorted([one, other])
        assert weight(importance, count, younger, valence, kept) >= weight(importance, count, older, valence, kept)


class TestAccess:
    def test_no_access_keeps_the_base_weight(self) -> None:
        # The logarithm alone would make every unread memory weigh nothing.
        assert weight(access_count=0) == pytest.approx(0.5)

    def test_growth_is_logarithmic(self) -> None:
        assert weight(access_count=9) == pytest.approx(0.5 * (1 + 0.1 * math.log(10)))
        assert weight(access_count=10) - weight(access_count=0) > weight(access_count=110) - weight(access_count=100)

    def test_use_counteracts_decay(self) -> None:
        assert weight(access_count=100, age_days=3) > weight(access_count=0, age_days=3)

    def test_a_million_accesses_stay_reasonable(self) -> None:
        assert weight(access_count=1_000_000) < 1.25

    @given(importances, accesses, accesses, ages, valences, st.booleans())
    def test_it_never_shrinks_with_accesses(
        self, importance: float, one: int, other: int, age: float, valence: float, kept: bool
    ) -> None:
        rare, often = sorted([one, other])
        assert weight(importance, rare, age, valence, kept) <= weight(importance, often, age, valence, kept)


class TestFeelingAndPins:
    @pytest.mark.parametrize(("valence", "factor"), [(0.0, 1.0), (0.5, 1.15), (1.0, 1.3), (-1.0, 1.3)])
    def test_feeling_multiplies_by_its_strength(self, valence: float, factor: float) -> None:
        assert weight(valence=valence) == pytest.approx(0.5 * factor)

    def test_pinned_or_anchored_weighs_half_as_much_again(self) -> None:
        assert weight(kept=True) == pytest.approx(1.5 * weight())

    def test_all_factors_multiply(self) -> None:
        expected = 0.6 * (1 + 0.1 * math.log(5)) * math.exp(-0.2) * 1.15 * 1.5
        assert weight(0.6, 4, 2, -0.5, True) == pytest.approx(expected)

    def test_nothing_times_anything_is_nothing(self) -> None:
        assert weight(importance=0.0, access_count=10, valence=1.0, kept=True) == 0.0

    @given(importances, accesses, ages, valences, st.booleans())
    def test_it_is_never_negative_and_always_finite(
        self, importance: float, count: int, age: float, valence: float, kept: bool
    ) -> None:
        assert 0.0 <= weight(importance, count, age, valence, kept) < math.inf
