"""A run sets aside the rows that it fails on, and goes on with the others."""

import uuid

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from memories import access
from memories.errors import NovaError
from memories.models import Embedding, Fragment
from memories.providers import active_model
from memories.upkeep import reindex
from memories.upkeep.failures import MOST_SET_ASIDE, SetAside
from memories.upkeep.lifecycle import archival, compaction, eviction, tiers


class Poisoned(NovaError):
    code = "poisoned"


@pytest.fixture
def poison(monkeypatch):
    """Lets a function of a module fail on whatever says poison, by ids or by text."""

    def into(module, name, bad):
        plain = getattr(module, name)

        def tasted(*args, **kwargs):
            if any(str(i) in repr((args, kwargs)) for i in bad):
                raise Poisoned
            return plain(*args, **kwargs)

        monkeypatch.setattr(module, name, tasted)

    return into


class TestSetAside:
    def test_rows_that_fail_together_are_found_and_left_out(self, principal):
        bad, aside = {3, 17, 18}, SetAside("phase")

        def work(rows):
            with connection.cursor() as cursor:
                cursor.execute("SELECT sum(1 / (NOT n = ANY (%s))::int) FROM unnest(%s::int[]) AS n", [list(bad), rows])
            return sum(rows)

        with access.enter(principal, why="test"):
            done = aside.together(list(range(40)), work, name=lambda n: n)
        assert done == sum(set(range(40)) - bad)
        assert {int(each["id"]) for each in aside.told} == bad
        assert {(e["phase"], e["code"], e["type"]) for e in aside.told} == {("phase", "internal", "DataError")}

    def test_what_was_tried_leaves_no_trace(self, principal, store):
        row, aside = store("acme:main", "The heron nests."), SetAside("phase")
        seen = []

        def work(rows):
            with access.enter(principal, why="test"):
                seen.append(Fragment.objects.get(id=row.id).importance)
                Fragment.objects.filter(id=row.id).update(importance=0.1)
            if "bad" in rows:
                raise Poisoned
            return rows

        with access.enter(principal, why="test"):
            assert aside.together(["good", "bad"], work, name=lambda name: name) == ["good"]
        assert set(seen) == {row.importance}

    def test_where_most_fail_it_is_not_the_rows_fault(self, principal):
        def work(rows):
            raise Poisoned

        with access.enter(principal, why="test"), pytest.raises(Poisoned):
            SetAside("phase").together(list(range(MOST_SET_ASIDE + 1)), work, name=str)

    @pytest.mark.parametrize("error", [OperationalError, MemoryError])
    def test_a_run_that_can_not_go_on_fails(self, principal, error):
        def work(row):
            raise error

        aside = SetAside("phase")
        with access.enter(principal, why="test"), pytest.raises(error):
            aside.together([1], work, name=str)
        with pytest.raises(error):
            aside.each([1], work, name=str)
        assert aside.report() == {}


def named(report):
    return {uuid.UUID(each["id"]): (each["phase"], each["code"]) for each in report["set_aside"]}


def test_a_tiering_goes_on_without_a_row_that_fails(old, run, poison, fresh):
    rows = [old(45, f"Heron {n}.") for n in range(5)]
    poison(tiers, "move", [rows[2].id])
    report = run("tier").report
    assert (report["moved"], named(report)) == (4, {rows[2].id: ("tier", "poisoned")})
    assert [fresh(row).tier for row in rows] == ["cold", "cold", "hot", "cold", "cold"]


def test_a_compaction_goes_on_without_a_row_that_fails(old, run, poison, fresh):
    rows = [old(45, f"Heron {n}. It nests. It feeds. It flies.") for n in range(5)]
    poison(compaction, "_shorten", [rows[2].id])
    report = run("compact").report
    assert (report["compacted_count"], named(report)) == (4, {rows[2].id: ("compact", "poisoned")})
    assert fresh(rows[2]).compression == "full"


def test_an_eviction_goes_on_without_a_row_that_fails(fill, run, capacity, poison, fresh):
    rows = fill(10, 20)
    capacity(all=10)
    poison(eviction, "remove_fragments", [rows[0]])
    report = run("evict", target=0).report
    assert (report["evicted"], named(report)) == (9, {rows[0]: ("evict", "poisoned")})
    assert fresh(rows[0])


def test_putting_away_goes_on_without_a_row_that_fails(old, run, change, poison, fresh):
    rows = [old(800, f"Heron {n}.") for n in range(5)]
    change(rows, status="archived", updated_at=timezone.now() - timezone.timedelta(days=700))
    poison(archival, "remove_fragments", [rows[2].id])
    report = run("archive").report
    assert (report["put_away"], named(report)) == (4, {rows[2].id: ("archive", "poisoned")})
    assert fresh(rows[2])


@pytest.mark.parametrize("kind", ["backfill", "rebuild"])
def test_embedding_again_goes_on_without_a_row_that_fails(principal, store, run, poison, kind):
    rows = [store("acme:main", f"Heron {n}.") for n in range(5)]
    model = active_model()
    if kind == "backfill":
        with access.enter(principal, why="test"):
            Embedding.objects.filter(project_id=principal.project_id, model=model).delete()
    poison(reindex, "insert", [rows[2].id])
    options = {"model": model.name} if kind == "backfill" else {"target": "embeddings"}
    report = run(kind, **options).report
    assert named(report) == {rows[2].id: (kind, "poisoned")}
