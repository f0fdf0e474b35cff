"""Chaos in short: the product is killed and stopped while clients write; `script/bench chaos` does all of it."""

import time

import pytest

from script.benches._chaos.faults import KILLS
from script.benches._chaos.inspection import inspect
from script.benches._chaos.kills import killed
from script.benches._chaos.plants import PLANTS, is_found, played
from script.benches._chaos.probes import probed
from script.benches._chaos.workload import Workload

pytestmark = pytest.mark.long

CHEAP = {
    "answered before the commit",
    "answer to a key not kept",
    "row of a batch dropped",
    "vote counted twice",
    "forgotten text kept in a search table",
    "decision for one side only",
    "operation never taken",
    "merge applied twice",
    "undo of a merge that does nothing",
    "pack cut short",
    "files of a deleted project kept",
}


def test_what_was_acknowledged_is_there_after_kills(where):
    with Workload(where.product, clients=3) as load:
        for name in ("worker", "web process", "backend", "everything"):
            time.sleep(1.5)
            KILLS[name](where)
            where.product.bring_back()
        time.sleep(1.5)
    assert load.faults == []
    assert inspect(where.product, load.ledger) == []
    assert load.ledger.acknowledged.total() > 20


@pytest.mark.parametrize(
    ("victim", "story", "failpoint"),
    [
        ("worker", "restore", "restore.applied"),
        ("web process", "project", "branches.deleted"),
        ("backend", "branch", "branches.merge.applied"),
        ("postmaster", "unmerge", "operations.handled"),
    ],
)
def test_what_was_acknowledged_is_there_after_deaths_at_failpoints(victim, story, failpoint, where):
    outcome = killed(where, victim, story, [failpoint], rounds=1, seconds=0.3)
    assert [(kill.victim, kill.failpoint) for kill in outcome.kills] == [(victim, failpoint)]
    assert outcome.findings == []
    assert outcome.acknowledged > 5


def test_a_database_that_hangs_holds_neither_probe_nor_chat(where):
    seen = probed(where)  # whoever waited for the database would wait for all of the probes, and the client gives up
    assert seen.healthz < 10
    assert (seen.readyz_status, seen.readyz < 20) == (503, True)
    assert (seen.chat_status, seen.chat_memory, seen.chat < 20) == (200, "none; reason=unavailable", True)
    where.product.bring_back()


@pytest.mark.parametrize("plant", [plant for plant in PLANTS if plant.name in CHEAP], ids=lambda plant: plant.name)
def test_what_is_planted_is_found(plant, where):
    assert is_found(plant, played(where, plant))
