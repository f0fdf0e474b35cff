"""What stands around every page, in a browser: the menu of more pages."""

import pytest
from playwright.sync_api import expect

from memories.models import Membership

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 1000, 1440])
def test_the_menu_lies_within_the_window(at_memories, page, width):
    page.set_viewport_size({"width": width, "height": 740})
    at_memories()
    page.get_by_label("More pages").click()
    box = page.get_by_role("navigation", name="More").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    links = page.get_by_role("navigation", name="More").get_by_role("link").all()
    assert all(link.bounding_box()["x"] >= box["x"] for link in links)


@pytest.mark.parametrize(("path", "name"), [("/tombstones/", "Topic"), ("/audit/", "Why")])
def test_a_slash_leads_to_the_filter(at_memories, stage, path, name):
    Membership.objects.filter(project=stage.project).update(role="admin")
    page = at_memories(path)
    page.keyboard.press("/")
    expect(page.get_by_label(name, exact=True)).to_be_focused()


@pytest.mark.parametrize("width", [360, 700])
def test_the_keys_and_their_switch_are_within_reach_on_a_narrow_page(at_memories, page, store_texts, width):
    store_texts("The heron nests.", "The mill is shut.")
    page.set_viewport_size({"width": width, "height": 740})
    at_memories()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.keyboard.press("j")
    expect(page.locator("[data-row]").first).to_be_focused()
    sheet, switch = page.get_by_role("dialog"), page.get_by_label("Shortcuts on")
    page.keyboard.press("?")
    expect(sheet.get_by_text("Next memory")).to_be_visible()
    switch.uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    expect(page.locator("[data-row]").nth(1)).not_to_be_focused()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    switch.check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("?")
    expect(sheet).to_be_visible()


def test_the_menu_closes(at_memories):
    page = at_memories()
    button, menu = page.get_by_label("More pages"), page.get_by_role("navigation", name="More")
    button.click()
    expect(menu).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    page.locator("#result-count").click()
    expect(menu).to_be_hidden()
