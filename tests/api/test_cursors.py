"""Cursors: what they say in an address, and which rows they leave."""

import datetime
import uuid

import pytest

from memories import access
from memories.cursors import BadCursor, Cursor, reading_order
from memories.models import Fragment

ORDER = ("-event_at", "-id")
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize(("times", "ids"), [(1, 1), (2, 1), (1, 2)])
def test_a_cursor_that_is_read_again_is_the_same(times, ids, back):
    cursor = Cursor((*[AT] * times, *[uuid.uuid4()] * ids), back)
    assert Cursor.read(str(cursor), times=times, ids=ids) == cursor


@pytest.mark.parametrize("text", ["x", "fA==", "é", "MjAwMQ==", str(Cursor((AT, AT, uuid.uuid4()))), "\0"])
def test_a_text_that_is_no_cursor_of_the_list_is_refused(text):
    with pytest.raises(BadCursor):
        Cursor.read(text)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages_of_rows_of_one_moment_skip_and_repeat_nothing(size, principal, store, project):
    for n in range(5):
        store("acme:main", f"Row {n}.")
    with access.enter(principal, why="test"):
        rows = Fragment.objects.within(project.id)
        rows.update(event_at=AT)
        every, seen, cursor = [row.id for row in rows.order_by(*ORDER)], [], None
        while page := list((rows.filter(cursor.beyond(ORDER)) if cursor else rows).order_by(*ORDER)[:size]):
            seen += [row.id for row in page]
            cursor = Cursor.at(page[-1], ORDER)
        assert seen == every
        back = Cursor.at(rows.get(id=every[3]), ORDER, back=True)
        before = rows.filter(back.beyond(ORDER)).order_by(*reading_order(ORDER, back))
        assert [row.id for row in before] == every[2::-1]


LISTS = ("fragments", "cases", "conflicts", "containments", "users", "notices", "proposals", "tombstones")


@pytest.mark.parametrize("name", LISTS)
def test_every_list_takes_two_hundred_and_no_cursor_of_anything_else(name, project, agent_of):
    client = agent_of(project, verbs=["read", "write", "review", "admin"]).client
    assert client.get(f"/api/v1/{name}?limit=200").status_code == 200
    for asked, field in (("limit=201", "limit"), ("cursor=zz", "cursor")):
        answer = client.get(f"/api/v1/{name}?{asked}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field), asked
