"""/operations/: upkeep that an admin starts by hand, looked at first."""

import datetime
import uuid

import pytest
from django.utils import timezone

from memories import access, jobs
from memories.console.job_form import SAID
from memories.models import Fragment, Operation
from tests.console.conftest import post, words
from tests.console.test_curls import commands


@pytest.fixture
def old(store, time_machine):
    """Two memories that nobody used for forty days, in two namespaces."""
    start = timezone.now()
    time_machine.move_to(start - datetime.timedelta(days=40), tick=False)
    rows = [store(place, "Heron nests. Two. Three. Four.", importance=0.5) for place in ("acme:main", "acme:side")]
    time_machine.move_to(start, tick=False)
    return rows


def _run(principal, answer):
    assert answer.status_code == 303, answer.text
    operation_id = uuid.UUID(answer["Location"].rstrip("/").rpartition("/")[2])
    jobs.run(principal, operation_id)
    with access.enter(principal, why="test"):
        return answer["Location"], Operation.objects.select_related("namespace").get(id=operation_id)


def levels(principal):
    with access.enter(principal, why="test"):
        return list(Fragment.objects.order_by("namespace__name").values_list("compression", flat=True))


def test_what_was_previewed_is_run_with_the_same_options(adam, old, principal):
    before = levels(principal)
    wish = {"run": "compact", "namespace": "acme:main", "tier": "hot", "summary_days": "20", "keywords_days": ""}
    place, row = _run(principal, post(adam, "/operations/", **wish, step="preview"))
    assert (row.kind, row.dry_run, row.options) == ("compact", True, {"tier": "hot", "summary_days": 20})
    assert row.namespace.name == "acme:main"
    page = adam.get(place)
    assert "What it would do would compact 1" in words(page)
    assert levels(principal) == before
    there = page.context["run_address"]
    assert f'href="{there.replace("&", "&amp;")}"' in page.text
    form = adam.get(there)
    assert "<option selected>acme:main</option>" in form.text
    assert "<option selected>hot</option>" in form.text
    assert 'name="summary_days" inputmode="decimal" autocomplete="off" value="20"' in form.text
    place, row = _run(principal, post(adam, "/operations/", **wish, step="run"))
    assert (row.dry_run, row.report["compacted_count"]) == (False, 1)
    assert (levels(principal)[0] != before[0], levels(principal)[1]) == (True, before[1])
    assert adam.get(place).context["run_address"] == ""


@pytest.mark.parametrize("kind", SAID)
def test_each_kind_has_a_form_that_runs_in_the_whole_project_or_in_one_namespace(adam, old, principal, kind):
    page = adam.get(f"/operations/?run={kind}")
    assert (page.status_code, f"Run {kind}" in words(page)) == (200, True)
    assert ('name="namespace"' in page.text) == (not jobs.KINDS[kind].whole_project)
    assert ('value="preview"' in page.text) == jobs.KINDS[kind].dry_runs
    wish = {"target": "keywords"} if kind == "rebuild" else {"namespace": "acme:main"} if kind == "evolve" else {}
    _, row = _run(principal, post(adam, "/operations/", run=kind, step="run", **wish))
    assert (row.kind, row.dry_run, row.state) == (kind, False, "succeeded")


def test_what_holds_without_an_option_stands_in_grey(adam, old, project):
    project.thresholds = {"warm_days": 7}
    project.save()
    page = adam.get("/operations/?run=tier").text
    assert 'value="" placeholder="7"' in page
    assert 'value="" placeholder="0.15"' in page


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"run": "tier", "warm_days": "soon"}, "warm_days is a whole number"),
        ({"run": "tier", "warm_days": "0"}, "warm_days is a whole number"),
        ({"run": "tier", "warm_days": "9" * 5000}, "warm_days is a whole number"),
        ({"run": "tier", "cold_below": "nan"}, "cold_below is a number from 0 to 1."),
        ({"run": "compact", "tier": "lukewarm"}, "tier is one of"),
        ({"run": "compact", "summary_days": "99", "keywords_days": "9"}, "The days have to rise"),
        ({"run": "evict", "target": "2"}, "target is a number from 0 to 1."),
        ({"run": "rebuild"}, "Give a target"),
        ({"run": "evolve"}, "This job is about one namespace"),
    ],
)
def test_what_can_not_be_started_is_told_beside_the_form(adam, old, count, wish, why):
    refused = post(adam, "/operations/", step="run", **wish)
    assert (refused.status_code, why in words(refused)) == (409, True)
    kept = [value for name, value in wish.items() if name.endswith("_days")]
    assert all(f'value="{value}"' in refused.text for value in kept)
    assert count(Operation) == 0


def test_only_an_admin_starts_upkeep_and_only_that(adam, rita, vera, carl, old, count):
    for client in (rita, vera):
        page = client.get("/operations/?run=compact")
        assert (page.status_code, "Run now" in words(page)) == (200, False)
        assert post(client, "/operations/", run="compact", step="run").status_code == 403
    for wish in ({}, {"run": "delete_project"}, {"run": "forget"}, {"run": "tier", "namespace": "acme:nowhere"}):
        assert post(adam, "/operations/", step="run", **wish).status_code == 404
    assert post(carl, "/operations/", run="tier", namespace="acme:main", step="run").status_code == 404
    assert adam.get("/operations/?run=delete").status_code == 404
    assert count(Operation) == 0


def test_the_form_as_a_command(adam, alice, old):
    page = adam.get("/operations/?run=evict&target=0.5")
    assert list(commands(page)) == ["Preview", "Run"]
    assert '{"kind": "evict", "options": {"target": 0.5}}' in commands(page)["Run"]
