"""/beliefs/: an axis with dates, and marks that differ by shape and word."""

import datetime
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conflicts.public import ClaimDraft
from conflicts.votes import vote
from memories.console.belief_timeline import SHAPES
from tests.conftest import stored
from tests.console.conftest import words


@pytest.fixture
def moved(alice, bob):
    """A belief that was replaced, and one that somebody agrees with and somebody disputes."""
    for value in ("Seattle", "Austin"):
        claim = ClaimDraft("user", "lives_in", value)
        row = stored(alice.principal, "acme:main", f"I live in {value}.", source="tool_output", claim=claim)
    vote(bob.principal, row.id, "dispute", now=timezone.now(), reason="no")
    return row


def test_marks_differ_by_shape_and_word(vera, moved):
    page = vera.get("/beliefs/?subject=user&predicate=lives_in")
    marks = dict(re.findall(r'class="mark (\w+)"[^>]*? d="([^"]+)"', page.text))
    assert {"replaced", "disputed"} <= set(marks) <= set(SHAPES)
    assert len(set(marks.values())) == len(marks)
    for word in marks:
        assert re.search(rf'aria-label="{word} on [\d-]{{10}}"', page.text)


def test_one_value_has_one_lane_however_it_is_spelled(vera, alice):
    for value in ("$900", "900 USD", "$700"):
        claim = ClaimDraft("user", "budget", value, exclusive=False)
        stored(alice.principal, "acme:main", f"My budget is {value}.", claim=claim)
    page = vera.get("/beliefs/?subject=user&predicate=budget")
    assert len(re.findall('class="lane-name"', page.text)) == 2


@pytest.mark.parametrize("axis", ["valid", "record"])
def test_the_axis_is_labelled(vera, moved, axis):
    page = vera.get(f"/beliefs/?subject=user&predicate=lives_in&axis={axis}")
    labels = re.findall(r'class="tick"[^>]*>([^<]+)<', page.text)
    assert len(labels) == 5
    assert labels == sorted(labels)


def test_what_is_true_to_the_last_moment_of_the_calendar_is_drawn(vera, alice):
    bounds = {
        "valid_from": datetime.datetime(2019, 12, 31, 10, tzinfo=datetime.UTC),
        "valid_until": datetime.datetime.max.replace(tzinfo=datetime.UTC),
    }
    claim = ClaimDraft("e", "v2020", "x", scope="temporal", **bounds)
    stored(alice.principal, "acme:main", "E is x.", source="tool_output", claim=claim)
    assert "9999-12-31" in vera.get("/beliefs/?subject=e&predicate=v2020").text


def believed(page):
    return re.search(r"<p><bdi>user</bdi> · <bdi>lives_in</bdi> = <strong><bdi>(\w+)", page.text)


def test_an_address_keeps_its_day(vera, alice):
    """Also once something older is known, which moves the beginning of the drawing."""
    day = timezone.now().date()
    for value, begins in (("Austin", 10), ("Seattle", 40), ("Paris", 400)):
        claim = ClaimDraft("user", "lives_in", value)
        since = timezone.now() - datetime.timedelta(days=begins)
        stored(alice.principal, "acme:main", f"I lived in {value}.", source="tool_output", claim=claim, event_at=since)
        there = f"/beliefs/?subject=user&predicate=lives_in&day={day - datetime.timedelta(days=5)}"
        page = vera.get(there)
        assert f"True on {day - datetime.timedelta(days=5)}:" in words(page)
        assert f'value="{day - datetime.timedelta(days=5)}"' in page.text
    for bad in ("3", "2026-13-01", "0", "x"):
        assert vera.get(f"/beliefs/?subject=user&predicate=lives_in&day={bad}").status_code == 404


def test_nothing_was_believed_before_the_first_day(vera, moved):
    for day in ("0001-01-01", "2001-01-01"):
        page = vera.get(f"/beliefs/?subject=user&predicate=lives_in&axis=record&day={day}")
        assert "Nothing." in words(page)
    for day in (timezone.now().date(), "9999-12-31"):
        assert believed(vera.get(f"/beliefs/?subject=user&predicate=lives_in&axis=record&day={day}"))[1] == "Austin"


def test_many_values_and_votes_ask_no_more(vera, bob, alice, store):
    def query_count():
        with CaptureQueriesContext(connection) as queries:
            assert vera.get("/beliefs/?subject=Ada&predicate=budget").status_code == 200
        return len(queries)

    def reinforce(n):
        claim = ClaimDraft("Ada", "budget", f"${n}")
        row = store("acme:main", f"Ada's budget is ${n}.", by=alice.principal, claim=claim, source="tool_output")
        bob.client.post(f"/api/v1/fragments/{row.id}/reinforce", {}, format="json")

    reinforce(1)
    reinforce(2)
    query_count()  # what is asked once a session
    few = query_count()
    for n in range(3, 20):
        reinforce(n)
    assert query_count() == few
