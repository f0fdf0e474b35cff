"""The planner: one test per branch."""

import pytest

from memories.retrieval.search_plan import PlanGround, SearchWay, choose_search


@pytest.mark.parametrize(
    ("ground", "expected"),
    [
        (PlanGround(indexed=False), SearchWay.SCAN),
        (PlanGround(indexed=False, passing=7), SearchWay.PICK),
        (PlanGround(indexed=True), SearchWay.INDEX),
        (PlanGround(indexed=True, passing=7), SearchWay.PICK),
        (PlanGround(indexed=True, passing=0), SearchWay.NOTHING),
        (PlanGround(indexed=False, passing=0), SearchWay.NOTHING),
    ],
)
def test_the_cheapest_way_that_misses_nothing(ground, expected):
    assert choose_search(ground) == expected
