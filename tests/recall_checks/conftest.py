"""Checks of a project, and running them."""

import pytest
from django.utils import timezone

from memories import access, jobs, recall_checks
from memories.models import RecallCheck, RecallRun

MAIN = "acme:main"


@pytest.fixture
def check(principal):
    """Keeps a check; its row."""

    def keep(question, *, namespace=MAIN, by=None, **more):
        (expects,) = {"memory", "text", "value"} & more.keys()
        draft = recall_checks.CheckDraft(
            namespace=namespace, question=question, expects=expects, expected=str(more.pop(expects)), **more
        )
        return recall_checks.keep(by or principal, [draft], now=timezone.now())[0][0]

    return keep


@pytest.fixture
def run(principal):
    """Runs the checks here and now; the operation's report."""

    def work(place=None):
        wish = {"kind": "recall", "namespace": place, "options": {}}
        ended = jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)
        assert ended.state == "succeeded", ended.error
        return ended.report

    return work


@pytest.fixture
def states(principal):
    """How each check went the last time, by name."""

    def read():
        with access.enter(principal, why="test"):
            return dict(RecallCheck.objects.within(principal.project_id).values_list("name", "passed"))

    return read


@pytest.fixture
def runs(principal):
    """The runs, oldest first: why, how many passed, failed and were lost."""

    def read():
        with access.enter(principal, why="test"):
            rows = RecallRun.objects.within(principal.project_id).order_by("created_at", "id")
            return [(row.cause, row.passed, len(row.failed), len(row.lost)) for row in rows]

    return read
