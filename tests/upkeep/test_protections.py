"""Protection by importance: at most a fifth of what is there, or twenty, however important writers find it."""

import pytest

from memories import access
from memories.upkeep.protections import NOBODYS, protected_from


@pytest.fixture
def bar(old, principal):
    """Stores memories of these importances; answers from which on they are spared."""

    def store(*given):
        rows = [old(40, f"Heron number {n} nests.", importance=weight) for n, weight in enumerate(given)]
        with access.enter(principal, why="test"):
            return protected_from(principal.project_id, rows[0].namespace_id)

    return store


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5, 0.69], NOBODYS),
        ([0.5, 0.7, 0.9], 0.7),
        ([0.8] * 20, 0.8),
        ([0.8] * 21, NOBODYS),
        ([0.8] * 30 + [0.95] * 2, 0.95),
        ([0.7 + n / 1000 for n in range(30)], 0.71),
        ([0.5] * 100 + [0.75] * 20 + [0.9] * 5, 0.75),
    ],
)
def test_few_are_spared_for_their_importance(bar, given, expected):
    assert bar(*given) == pytest.approx(expected)


def test_what_everybody_finds_important_is_shortened_and_evicted(old, run, fresh):
    rows = [old(40, f"Heron {n} nests here. It feeds. It sleeps. It leaves.", importance=0.8) for n in range(25)]
    assert run("compact").report["compacted_count"] == 25
    assert {fresh(row).compression for row in rows} == {"summary"}
