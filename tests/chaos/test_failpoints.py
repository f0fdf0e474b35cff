"""The failpoints that the bench of chaos kills at: all that the product has, each held until somebody is dead."""

import json
import os
import threading
import time

import pytest
from django.utils import timezone

from memories import failpoints, jobs
from script.benches._chaos import failpoints as bench
from script.benches._chaos.plant import planted
from script.benches._chaos.workload import STORIES

MAIN = "acme:main"


@pytest.fixture
def reached(monkeypatch):
    """The names of the failpoints that something comes to."""
    names = []
    monkeypatch.setattr(failpoints, "reach", names.append)
    return names


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "options", "families"),
    [
        ("fork", {"target": "acme:side"}, ["branches.fork"]),
        ("consolidate", {}, ["consolidation.plan", "consolidation.apply"]),
    ],
)
def test_families_of_failpoints_have_the_members_that_an_operation_comes_to(
    kind, options, families, reached, store, principal, place_of
):
    store(MAIN, "The heron nests by the mill.")
    wish = {"kind": kind, "namespace": place_of(MAIN), "options": options}
    jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)
    known = bench.failpoints()
    assert set(reached) <= set(known)
    for family in families:
        assert {name for name in known if name.startswith(f"{family}.")} == {
            name for name in reached if name.startswith(f"{family}.")
        }


def test_failpoints_are_found_in_the_source_whichever_way_they_are_named(tmp_path):
    (tmp_path / "room.py").write_text(
        "failpoints.reach('plain')\n"
        "failpoints.reach(f'consolidation.plan.{phase}')\n"
        "def undo(failpoint): failpoints.reach(failpoint)\n"
        "undo(failpoint='given')\n"
    )
    assert bench.failpoints(tmp_path) == [
        *(f"consolidation.plan.{name}" for name in ("contradictions", "corroborate", "decay", "deduplicate", "digest")),
        "given",
        "plain",
    ]


@pytest.mark.parametrize("argument", ["f'unknown.{part}'", "name + '.end'", "f'{name}'"])
def test_a_failpoint_that_cant_be_enumerated_is_told(argument, tmp_path):
    (tmp_path / "room.py").write_text(f"failpoints.reach({argument})")
    with pytest.raises(bench.Unreadable):
        bench.failpoints(tmp_path)


def test_stories_come_to_each_failpoint():
    told = {name: set(bench.stories_of(name)) for name in bench.failpoints()}
    assert [name for name, stories in told.items() if not stories or stories - STORIES.keys()] == []


def test_whoever_reaches_the_wanted_failpoint_is_held_until_released(monkeypatch, tmp_path, db):
    monkeypatch.setattr(planted, "_files", [tmp_path / "chaos.plants"])
    wanted, held = (tmp_path / f"chaos.{name}" for name in ("failpoint", "held"))
    wanted.write_text("here")
    planted.hold("elsewhere")
    planted.hold("here-and-there")
    assert wanted.exists()
    both = [threading.Thread(target=planted.hold, args=["here"]) for _ in range(2)]
    for one in both:
        one.start()
    deadline = time.monotonic() + 10
    while not held.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert json.loads(held.read_text())["process"] == os.getpid()
    time.sleep(0.1)
    assert sorted(one.is_alive() for one in both) == [False, True]
    held.unlink()
    for one in both:
        one.join(10)
    assert not any(one.is_alive() for one in both)
