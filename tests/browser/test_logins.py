"""A second factor in a real browser, with and without scripts; Django's admin under the pages' policy of content."""

import re

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from memories.models import Membership
from tests.browser.conftest import PASSWORD
from tests.conftest import as_owner
from tests.console.test_second_factor import code_of

pytestmark = pytest.mark.browser


@pytest.mark.long
@pytest.mark.parametrize("scripts", [True, False])
def test_a_second_factor_is_turned_on_and_asked_for(browser, stage, scripts):
    page = browser.new_context(java_script_enabled=scripts, base_url=stage.url).new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    user = get_user_model()._default_manager.get(username=stage.username)

    def log_in():
        page.get_by_label("Username").fill(stage.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()

    page.goto("/login/?next=/memories/")
    log_in()
    page.goto("/login/factor/?next=/memories/")
    assert page.locator("img.qr").evaluate("image => image.naturalWidth") > 100 if scripts else True
    page.get_by_label("The code that the app shows now").fill(code_of(user))
    page.get_by_role("button", name="Turn it on").click()
    codes = re.findall(r"[0-9a-f]{5}-[0-9a-f]{5}", page.get_by_label("Recovery codes").inner_text())
    page.get_by_role("link", name="I have kept them").click()
    page.wait_for_url("**/memories/")
    page.goto("/login/factor/")
    page.get_by_role("button", name="Log out").click()
    page.goto("/review/")
    log_in()
    page.get_by_label("Code").fill(codes[0])
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/review/")
    assert complaints == []
    page.context.close()


def test_the_admin_keeps_to_the_policy(at_memories, stage, complaints):
    with as_owner() as connection:
        connection.execute(
            "UPDATE auth_user SET is_superuser = true, is_staff = true WHERE username = %s", [stage.username]
        )
    page = at_memories("/admin/")
    for path in ("memories/project/", f"memories/project/{stage.project.id}/change/", "memories/membership/"):
        page.goto(f"{stage.url}/admin/{path}")
        page.get_by_role("link", name="Log out").or_(page.get_by_role("button", name="Log out")).wait_for()
    complaints[:] = [told for told in complaints if "404" not in told]  # its pages name no icon
    assert complaints == []


HERON, OTTER = "The heron nests behind the old mill.", "The otter sleeps under the bridge."


@pytest.fixture
def reviewer(stage):
    """The person on the stage may change memories."""
    Membership.objects.filter(project=stage.project).update(role="reviewer")


def log_in(page, username):
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def edit_without_session(page, text):
    """Change a memory's sentence; the session ended while it was typed."""
    page.locator("summary", has_text="Edit").click()
    page.get_by_label("Sentence").fill(text)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.locator("form", has=page.get_by_label("Sentence")).get_by_role("button").click()
    page.wait_for_url("**/login/**")


@pytest.mark.long
def test_what_was_typed_outlives_the_session(at_memories, page, stage, reviewer, store_texts):
    (which,) = store_texts(HERON)
    at_memories(f"/memories/{which}/")
    edit_without_session(page, OTTER)
    log_in(page, stage.username)
    expect(page.get_by_text("nothing was sent")).to_be_visible()
    expect(page.get_by_label("Sentence")).to_have_value(OTTER)
    page.locator("form", has=page.get_by_label("Sentence")).get_by_role("button").click()
    expect(page.locator("#undo")).to_be_visible()
    page.goto(f"{stage.url}/memories/")
    expect(page.get_by_text(OTTER)).to_be_visible()
    page.goto(f"{stage.url}/memories/{which}/")
    expect(page.get_by_text("nothing was sent")).to_have_count(0)


@pytest.mark.long
def test_what_was_typed_is_nobody_elses(at_memories, page, stage, reviewer, store_texts):
    (which,) = store_texts(HERON)
    other = get_user_model()._default_manager.create_user(f"{stage.username}-2", password=PASSWORD)
    Membership.objects.create(user=other, project=stage.project, role="reviewer")
    at_memories(f"/memories/{which}/")
    edit_without_session(page, OTTER)
    log_in(page, other.get_username())
    page.wait_for_url(f"**/memories/{which}/")
    expect(page.get_by_label("Sentence")).to_have_value(HERON)
    assert page.evaluate("sessionStorage.getItem('novamem.draft')") is None
