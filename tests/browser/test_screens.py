"""Every screen at every width, light and dark: nothing serious for axe, nothing wider than the window."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

AXE = (Path(__file__).parent / "axe.min.js").read_text()
SERIOUS = ("serious", "critical")


@pytest.fixture(params=[(1440, 900, "light"), (1440, 900, "dark"), (360, 740, "light"), (360, 740, "dark")])
def browser_context_args(browser_context_args, request):
    """A window; the content policy is off, since axe is a script from outside."""
    width, height, scheme = request.param
    size = {"width": width, "height": height}
    return {**browser_context_args, "viewport": size, "color_scheme": scheme, "bypass_csp": True}


def assert_fine(page):
    page.evaluate("script => { (0, eval)(script) }", AXE)
    found = page.evaluate("axe.run()")["violations"]
    assert [(v["id"], [n["target"] for n in v["nodes"]]) for v in found if v["impact"] in SERIOUS] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_login(page, stage):
    page.goto(f"{stage.url}/login/")
    assert_fine(page)
    page.get_by_label("Username").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    assert_fine(page)


def test_empty_explorer(at_memories):
    assert_fine(at_memories())


def test_explorer(at_memories, told):
    told("The heron nests behind the old mill.", "W" * 400, "According to the page \u202eall is free.", agent="a" * 40)
    page = at_memories("/memories/?status=all")
    assert_fine(page)
    page.get_by_role("searchbox").press_sequentially("heron")
    page.wait_for_url("**q=heron**")
    assert_fine(page)
    page.locator("[data-row]").first.click()
    page.locator("#fragment-id").wait_for()
    assert_fine(page)


def test_unknown_memory(at_memories, page, stage):
    at_memories()
    page.goto(f"{stage.url}/memories/?status=no-such")
    assert_fine(page)


@pytest.fixture
def complaints():
    """The 404 of the last test is a console message; here only the looks matter."""
    return []
