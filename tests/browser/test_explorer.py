"""The explorer in a browser: search as you type, the keyboard, history, and all of it without scripts."""

import re

import pytest
from playwright.sync_api import expect

from memories.models import Membership

pytestmark = [pytest.mark.browser, pytest.mark.long]

HERON, OTTER, BOAT = (
    "The heron nests behind the old mill.",
    "An otter was seen under the bridge on Sunday.",
    "To start the boat, open the valve and pull twice.",
)


@pytest.fixture
def marsh(store_texts):
    """Three memories, the boat last."""
    return store_texts(HERON), store_texts(OTTER), store_texts(BOAT)


def rows(page):
    return page.locator("[data-row]")


def test_works(at_memories, marsh):
    page = at_memories()
    expect(page.get_by_role("status")).to_have_text("3 memories, newest first")
    page.get_by_role("searchbox").press_sequentially("heron nests")
    expect(rows(page).first).to_contain_text(HERON)
    expect(page).to_have_url(re.compile(r"/memories/\?q=heron\+nests$"))
    expect(page.get_by_role("searchbox")).to_be_focused()
    rows(page).first.click()
    expect(page.locator("#detail")).to_contain_text("Provenance")
    expect(page).to_have_title(f"{HERON} · Memories · NovaMem")
    expect(rows(page).first).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(re.compile(r"/memories/[0-9a-f-]{36}/\?q=heron\+nests$"))


def test_back_goes_back(at_memories, marsh):
    page = at_memories()
    page.get_by_role("link", name="procedural").click()
    expect(page).to_have_url(re.compile("type=procedural"))
    page.go_back()
    expect(page).to_have_url(re.compile("/memories/$"))
    expect(rows(page)).to_have_count(3)


def test_filters_and_words_go_together(at_memories, marsh):
    page = at_memories("/memories/?status=all")
    page.get_by_role("searchbox").press_sequentially("otter")
    expect(page).to_have_url(re.compile(r"\?q=otter&status=all$"))
    expect(rows(page).first).to_contain_text(OTTER)


def test_keys(at_memories, marsh):
    page = at_memories()
    page.keyboard.press("j")
    expect(rows(page).nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(rows(page).nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#detail")).to_contain_text(OTTER)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_keys_are_dead_while_typing(at_memories, marsh):
    page = at_memories()
    page.get_by_role("searchbox").press_sequentially("j?k/")
    expect(page.get_by_role("searchbox")).to_have_value("j?k/")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_sheet_shows_the_keys_and_turns_them_off(at_memories, marsh):
    page = at_memories()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    for words in ("Search memories", "Next memory", "Previous memory", "Open the focused memory"):
        expect(sheet).to_contain_text(words)
    sheet.get_by_label("Shortcuts on").uncheck()
    sheet.get_by_role("button", name="Close").click()
    page.reload()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    expect(page.locator("kbd:visible")).to_have_count(0)


def test_theme_is_remembered(at_memories, marsh):
    page = at_memories()
    switch = page.get_by_role("button", name=re.compile("Theme"))
    for theme in ("light", "dark"):
        switch.click()
        expect(switch).to_have_accessible_name(f"Theme: {theme}")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(17, 18, 22)"


def test_the_focus_stays_on_what_was_used(at_memories, marsh):
    page = at_memories("/memories/?q=heron")
    why = page.get_by_role("link", name="Why these")
    why.press("Enter")
    expect(page).to_have_url(re.compile("why=1"))
    expect(why).to_have_attribute("aria-current", "true")
    expect(why).to_be_focused()
    rows(page).first.click()
    tab = page.get_by_role("link", name="History", exact=True)
    tab.press("Enter")
    expect(page.locator("#detail")).to_contain_text("Stored by")
    expect(tab).to_be_focused()


def test_a_weight_is_moved_by_keys(at_memories, marsh):
    """There and back to the usual weight: the focus stays on the slider, and the sliders stay in sight."""
    page = at_memories("/memories/?q=heron")
    page.get_by_text("Weights", exact=True).click()
    slider = page.get_by_label("recency")
    usual = slider.input_value()
    for key, value in (("ArrowRight", str(int(usual) + 5)), ("ArrowLeft", usual)):
        with page.expect_response(re.compile("w_recency=")):
            slider.press(key)
        expect(page).to_have_url(re.compile(rf"weights=\d+%2C\d+%2C{value}%2C\d+"))
        expect(slider).to_have_value(value)
        expect(slider).to_be_visible()
        expect(slider).to_be_focused()


def test_hostile_text_does_nothing(at_memories, store_texts):
    store_texts('<img src=x onerror="document.title=1"><script>document.title=2</script> \u202egnp.exe')
    page = at_memories()
    rows(page).first.click()
    expect(page.locator("#detail .invisible-char")).to_have_text("⟨U+202E⟩")
    expect(page.locator("#detail img, #detail script")).to_have_count(0)
    expect(page).to_have_title(re.compile("NovaMem"))


def test_the_undo_strip_stays_until_it_is_closed(at_memories, marsh, stage):
    Membership.objects.filter(project=stage.project).update(role="reviewer")
    page = at_memories()
    rows(page).first.click()
    page.get_by_role("button", name="Pin", exact=True).click()
    strip = page.locator("#undo")
    expect(strip).to_contain_text("Pinned.")
    rows(page).last.click()
    expect(page.locator("#detail blockquote")).to_contain_text(HERON)
    expect(strip).to_be_visible()
    page.get_by_role("button", name="Close what was done").click()
    expect(strip).to_have_count(0)
    page.reload()
    expect(rows(page).first).to_be_visible()
    expect(strip).to_have_count(0)


@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_works_without_scripts(at_memories, marsh):
    page = at_memories()
    page.get_by_role("searchbox").fill("heron nests")
    page.get_by_role("button", name="Search").click()
    expect(rows(page).first).to_contain_text(HERON)
    rows(page).first.click()
    expect(page.locator("#detail")).to_contain_text("Provenance")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in to NovaMem")).to_be_visible()


@pytest.fixture
def browser_context_args(browser_context_args, request):
    """With more arguments where a test names them."""
    return {**browser_context_args, **getattr(request, "param", {})}
