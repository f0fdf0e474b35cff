"""Upkeep with users: it follows what changed, and its guards count over all of a namespace's users."""

import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import access, ingest, jobs, retrieval, upkeep
from memories.models import Connected, Fragment, Namespace, Operation
from memories.upkeep.consolidation import plan_execution


@pytest.fixture
def fill(principal):
    """Stores what so many users said, in one namespace."""

    def stored(agent, users, *texts):
        for number in range(users):
            drafts = [
                ingest.Draft(namespace=f"acme:{agent}/user-{number}", content=f"{text} Said by {number}.")
                for text in texts
            ]
            ingest.store(principal, ingest.prepare(drafts), now=timezone.now())

    return stored


@pytest.fixture
def hour(principal):
    """The scheduled work of an hour; the scopes that were consolidated, and the statements of the schedule."""

    def work():
        now = timezone.now()
        with access.enter(principal, why="test"):
            known = set(Operation.objects.values_list("id", flat=True))
        with CaptureQueriesContext(connection) as asked:
            upkeep.graph.refresh_graph(principal, now=now)
            retrieval.refresh_statistics(principal, now=now)
            retrieval.maintain_indexes(principal)
            jobs.start_due(principal, now=now)
            jobs.consolidate_everything(principal, now=now)
        with access.enter(principal, why="test"):
            made = list(Operation.objects.exclude(id__in=known).select_related("namespace"))
        for row in made:
            jobs.run(principal, row.id)
        names = {row.namespace.name for row in made if row.kind == "consolidate"}
        return names, len(asked)

    return work


@pytest.mark.long
def test_an_hour_in_which_nothing_changed_costs_as_much_with_many_users_as_with_few(fill, hour):
    fill("main", 3, "The heron nests behind the mill.")
    assert hour()[0] == {"acme:main", *(f"acme:main/user-{n}" for n in range(3))}
    roots, few = hour()
    assert roots == set()
    fill("main", 40, "The otter swims at night.")
    hour()
    roots, many = hour()
    assert roots == set()
    assert many == few


@pytest.mark.long
def test_upkeep_follows_the_scopes_that_changed(fill, hour, principal):
    fill("main", 10, "The heron nests behind the mill.")
    hour()
    drafts = [ingest.Draft(namespace="acme:main/user-7", content="The otter swims at night.")]
    ingest.store(principal, ingest.prepare(drafts), now=timezone.now())
    assert hour()[0] == {"acme:main/user-7"}


def test_contradictions_are_looked_for_in_scopes_that_were_consolidated_meanwhile(fill, hour, principal, model_server):
    def examined():
        with access.enter(principal, why="test"):
            known = set(Operation.objects.filter(kind="evolve").values_list("id", flat=True))
        jobs.evolve_everything(principal, now=timezone.now())
        with access.enter(principal, why="test"):
            fresh = Operation.objects.filter(kind="evolve").exclude(id__in=known).select_related("namespace")
            names = {row.namespace.name for row in fresh}
        for row in fresh:
            jobs.run(principal, row.id)
        return names

    fill("main", 2, "The heron nests behind the mill.")
    hour()
    assert examined() == {"acme:main", "acme:main/user-0", "acme:main/user-1"}
    assert examined() == {"acme:main"}
    fill("main", 1, "The otter swims at night.")
    hour()
    assert examined() == {"acme:main", "acme:main/user-0"}


def test_what_changes_during_a_run_is_looked_at_by_the_next(fill, hour, principal):
    fill("main", 1, "The heron nests behind the mill.")
    hour()
    with access.enter(principal, why="test"):
        scope = Namespace.objects.get(user="user-0")
    now = timezone.now()
    running = jobs.start(principal, kind="consolidate", namespace=scope, options={}, now=now, wake_up=False)
    fill("main", 1, "The otter swims at night.")
    upkeep.graph.refresh_graph(principal, now=now)
    jobs.consolidate_everything(principal, now=now)
    with access.enter(principal, why="test"):
        assert Connected.objects.get(namespace=scope).changed
    jobs.run(principal, running.id)
    assert hour()[0] == {"acme:main/user-0"}  # the namespace's own is open still


def test_the_guard_counts_over_all_users_of_a_namespace(principal, monkeypatch):
    now = timezone.now()
    for user in ("ann", "ben"):
        texts = ("The heron nests.", "The otter swims.", "The mill is old.")
        drafts = [ingest.Draft(namespace=f"acme:main/{user}", content=text, type="episodic") for text in texts]
        ingest.store(principal, ingest.prepare(drafts), now=now - datetime.timedelta(days=60))
    with access.enter(principal, why="test"):
        Fragment.objects.filter(namespace__parent__name="acme:main").update(importance=0.3)
        scopes = list(Namespace.objects.filter(parent__name="acme:main").order_by("user"))
    monkeypatch.setattr(plan_execution, "FREE", 4)  # of six: each run for itself would pass

    def consolidated(scope):
        wish = {"kind": "consolidate", "namespace": scope, "options": {}, "now": now}
        return jobs.run(principal, jobs.start(principal, **wish, wake_up=False).id)

    first, second = map(consolidated, scopes)
    assert (first.state, first.report["archived"]) == ("succeeded", 3)
    assert (second.state, second.error["code"]) == ("failed", "needs_confirmation")
    with access.enter(principal, why="test"):
        assert set(Fragment.objects.filter(namespace=scopes[1]).values_list("status", flat=True)) == {"active"}
