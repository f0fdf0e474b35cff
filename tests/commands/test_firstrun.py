"""manage.py firstrun."""

import datetime
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from memories import access, demo, jobs
from memories.access import keys
from memories.models import Fragment, Namespace, Tombstone
from tests.conftest import as_owner


def run():
    out = StringIO()
    call_command("firstrun", stdout=out)
    return out.getvalue()


@pytest.fixture(scope="module")
def first(django_db_setup, django_db_blocker):
    """What the first run says. It commits: accounts are made beside, as the owner of the tables."""
    with django_db_blocker.unblock():
        yield run()
        with as_owner() as connection:
            connection.execute("DELETE FROM memories_membership")
            connection.execute("DELETE FROM memories_project")
            connection.execute("DELETE FROM auth_user")


def test_works_once(first, db):
    assert "First admin" in first
    assert "nova_" in first
    assert run() == ""


def test_the_first_admin_logs_in(first, db):
    password = re.search(r"user admin, password (\S+)", first)[1]
    assert Client().login(username="admin", password=password)


def test_the_story_is_told_over_forty_days_with_its_sources(first, db):
    principal = access.system_principal(keys.ensure_project(demo.PROJECT))
    with access.enter(principal, why="test"):
        rows = list(Fragment.objects.within(principal.project_id))
    assert len(rows) == len(demo.STORY)
    assert max(row.created_at for row in rows) - min(row.created_at for row in rows) > datetime.timedelta(days=38)
    assert {row.authority for row in rows} == {1, 2, 3, 4, 6}


def test_one_is_gone_and_a_tombstone_stands_for_it(first, db):
    principal = access.system_principal(keys.ensure_project(demo.PROJECT))
    with access.enter(principal, why="test"):
        (stone,) = Tombstone.objects.within(principal.project_id)
        assert not Fragment.objects.filter(content=demo.GONE[-1]).exists()
    assert "Mara" in stone.sentence()


def test_a_consolidation_of_the_story_merges_what_was_said_twice(first, db):
    principal = access.system_principal(keys.ensure_project(demo.PROJECT))
    with access.enter(principal, why="test"):
        tour = Namespace.objects.within(principal.project_id).get(name=demo.TOUR)
    wish = {"kind": "consolidate", "namespace": tour, "options": {}, "dry_run": True}
    plan = jobs.start(principal, **wish, now=timezone.now(), wake_up=False)
    assert jobs.run(principal, plan.id).report["merged"] == 1
