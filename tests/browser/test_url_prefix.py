"""Below a path of another site, in a browser: scripts, forms in the background and what they put into the address."""

import re

import pytest
from django.db import connection
from playwright.sync_api import expect

from conflicts.models import PendingConflict
from memories import access
from tests.browser.test_review import quarrels, rita, waiting_for
from tests.conftest import web_server

__all__ = ["quarrels", "rita"]
pytestmark = [pytest.mark.browser, pytest.mark.long]
PREFIX = "/novamem"


@pytest.fixture(scope="module")
def server(web_environment, django_db_blocker):
    """The address of a web server as it is run, in place of the one in this process."""
    with web_server({**web_environment, "URL_PREFIX": PREFIX}) as url, django_db_blocker.unblock():
        yield f"{url}{PREFIX}"
        connection.close()


@pytest.fixture(autouse=True)
def _hashed_as_there(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]


def test_review_and_explorer_stay_below_the_prefix(at_memories, stage, quarrels):
    quarrels(3)
    asked = []
    page = at_memories(f"{PREFIX}/review/")
    page.on("request", lambda request: asked.append(request.url))
    waiting_for(page, 3)
    page.keyboard.press("a")
    waiting_for(page, 2)
    page.get_by_role("button", name="Accept", exact=True).click()
    waiting_for(page, 1)
    page.keyboard.press("u")
    waiting_for(page, 2)
    page.get_by_role("link", name="Memories").click()
    page.get_by_role("searchbox").press_sequentially("trip")
    expect(page).to_have_url(re.compile(rf"{PREFIX}/memories/\?q=trip"))
    page.locator("[data-row]").first.click()
    expect(page.locator("#detail")).to_contain_text("Provenance")
    expect(page).to_have_url(re.compile(rf"{PREFIX}/memories/[0-9a-f-]{{36}}/\?q=trip"))
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Password")).to_be_visible()
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith(f"{stage.url}/")] == []
    with access.enter(access.system_principal(stage.project), why="test"):
        assert PendingConflict.objects.filter(resolution="").count() == 2
