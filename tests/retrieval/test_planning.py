"""The planner: one test per branch."""

import pytest

from memories.retrieval.search_plan import Ground, Way, way


@pytest.mark.parametrize(
    ("ground", "expected"),
    [
        (Ground(indexed=False), Way.SCAN),
        (Ground(indexed=False, passing=7), Way.PICK),
        (Ground(indexed=True), Way.INDEX),
        (Ground(indexed=True, passing=7), Way.PICK),
        (Ground(indexed=True, passing=0), Way.NOTHING),
        (Ground(indexed=False, passing=0), Way.NOTHING),
    ],
)
def test_the_cheapest_way_that_misses_nothing(ground, expected):
    assert way(ground) == expected
