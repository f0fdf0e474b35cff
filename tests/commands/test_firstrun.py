"""manage.py firstrun."""

import datetime
from io import StringIO

from django.core.management import call_command

from memories import access, demo, keys
from memories.models import Fragment, Tombstone


def run():
    out = StringIO()
    call_command("firstrun", stdout=out)
    return out.getvalue()


def test_works_once(db):
    first = run()
    assert "First admin" in first
    assert "nova_" in first
    assert run() == ""


def test_the_story_is_told_over_forty_days_with_its_sources(db):
    run()
    principal = access.system_principal(keys.ensure_project(demo.PROJECT))
    with access.enter(principal, why="test"):
        rows = list(Fragment.objects.within(principal.project_id))
    assert len(rows) == len(demo.STORY)
    assert max(row.created_at for row in rows) - min(row.created_at for row in rows) > datetime.timedelta(days=38)
    assert {row.authority for row in rows} == {1, 2, 3, 4, 6}


def test_one_is_gone_and_a_tombstone_stands_for_it(db):
    run()
    principal = access.system_principal(keys.ensure_project(demo.PROJECT))
    with access.enter(principal, why="test"):
        (stone,) = Tombstone.objects.within(principal.project_id)
        assert not Fragment.objects.filter(content=demo.GONE[-1]).exists()
    assert "Mara" in stone.sentence()
