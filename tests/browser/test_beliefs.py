"""The timeline of a belief in a browser: its day, its axis and its words, on a phone too."""

import datetime
import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from conflicts.public import ClaimDraft
from memories import access, ingest

pytestmark = [pytest.mark.browser, pytest.mark.long]
THERE = "/beliefs/user/lives_in/"
TODAY = timezone.now().date()


@pytest.fixture
def moved(stage):
    """Somebody who lived in two places, one after the other."""
    person = access.system_principal(stage.project, ceiling="user_explicit")
    for value, days in (("Seattle", 30), ("Austin, in the house by the river " + "w" * 60, 10)):
        at = timezone.now() - datetime.timedelta(days=days)
        claim = ClaimDraft("user", "lives_in", value)
        draft = ingest.Draft(namespace=f"{stage.project.name}:main", content=f"I live in {value}.", claims=[claim])
        ingest.store(person, ingest.prepare([draft]), now=at)


def test_the_day_is_a_date_and_stays(at_memories, moved):
    page = at_memories(THERE)
    slider, date = page.get_by_label("As of day"), page.get_by_label("As of", exact=True)
    expect(date).to_have_value(str(TODAY))
    slider.press("ArrowLeft")
    yesterday = str(TODAY - datetime.timedelta(days=1))
    expect(page).to_have_url(re.compile(f"day={yesterday}"))
    expect(slider).to_be_focused()
    record = page.get_by_label("record time")
    record.check()
    expect(page.locator(".believed")).to_contain_text(f"Believed on {yesterday}")
    expect(page).to_have_url(re.compile(f"axis=record&day={yesterday}"))
    expect(record).to_be_focused()
    page.reload()
    date.fill(str(TODAY))
    expect(page.locator(".believed")).to_contain_text("Austin")


def test_the_lanes_are_read_on_a_phone(at_memories, page, moved):
    page.set_viewport_size({"width": 360, "height": 740})
    at_memories(THERE)
    sizes = page.locator(".lanes text:visible, .lane-name").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert len(sizes) == 5
    assert min(sizes) >= 11
    for one in page.locator(".lanes text:visible, .lanes .as-of").all():
        box = one.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
