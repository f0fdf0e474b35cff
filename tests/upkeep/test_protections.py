"""Protection by importance: of each owner's memories in a namespace a fifth, or twenty, however important they are."""

import pytest

from memories import access
from memories.models.sql import fetch
from memories.upkeep.protections import is_spared
from tests.conftest import stored


@pytest.fixture
def spared(old, principal, bob):
    """Stores memories of these importances, and important ones of Bob's; how many of the former are spared."""

    def store(*given, beside=0):
        rows = [old(40, f"Heron number {n} nests.", importance=weight) for n, weight in enumerate(given)]
        for n in range(beside):
            stored(bob.principal, "acme:main", f"Otter number {n} sleeps.", importance=1.0)
        with access.enter(principal, why="test"):
            params = {"project": principal.project_id, "ids": [row.id for row in rows]}
            found = fetch(f"SELECT 1 FROM memories_fragment f WHERE f.id = ANY (%(ids)s) AND {is_spared()}", params)
        return len(found)

    return store


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5, 0.69], 0),
        ([0.5, 0.7, 0.9], 2),
        ([0.8] * 20, 20),
        ([0.8] * 21, 20),
        ([0.8] * 30 + [0.95] * 2, 20),
        ([0.5] * 100 + [0.75] * 30, 26),
    ],
)
def test_few_are_spared_for_their_importance(spared, given, expected):
    assert spared(*given) == expected


def test_who_finds_everything_important_takes_nothing_from_others(spared):
    assert spared(0.5, 0.7, 0.9, beside=40) == 2


def test_what_everybody_finds_important_is_shortened(old, run, fresh):
    rows = [old(40, f"Heron {n} nests here. It feeds. It sleeps. It leaves.", importance=0.8) for n in range(25)]
    assert run("compact").report["compacted_count"] == 5
    assert sorted(fresh(row).compression for row in rows) == ["full"] * 20 + ["summary"] * 5
