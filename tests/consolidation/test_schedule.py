"""The hourly consolidation, and the end of what can be undone."""

from memories import access, jobs, tasks
from memories.models import Operation, RunChange
from tests.consolidation.conftest import unit


def test_every_namespace_is_consolidated_as_an_operation_of_its_own(principal, store):
    for name in ("main", "other"):
        store(f"acme:{name}", f"The heron nests in the {name} room.")
    tasks.consolidate()
    tasks.consolidate()  # the first ones are open still
    with access.enter(principal, why="test"):
        rows = Operation.objects.select_related("namespace").order_by("namespace__name")
        assert [(row.kind, row.namespace.name, row.state) for row in rows] == [
            ("consolidate", "acme:main", "queued"),
            ("consolidate", "acme:other", "queued"),
        ]


def test_what_stood_before_is_deleted_after_its_time(run, remember, settings, count):
    remember("The heron nests behind the mill.", vector=unit(1))
    remember("The heron nests behind the mill!", vector=unit(1))
    run()
    tasks.expire_consolidations()
    assert count(RunChange) > 0
    settings.CONSOLIDATION_UNDO_DAYS = 0
    tasks.expire_consolidations()
    assert count(RunChange) == 0


def test_a_namespace_with_an_open_run_is_left_alone(principal, begin, now):
    first = begin()
    jobs.consolidate_everything(principal, now=now)
    with access.enter(principal, why="test"):
        assert Operation.objects.get().id == first.id
