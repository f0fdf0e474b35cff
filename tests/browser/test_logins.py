"""A second factor in a real browser, with and without scripts; Django's admin under the pages' policy of content."""

import re

import pytest
from django.contrib.auth import get_user_model

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
