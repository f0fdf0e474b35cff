"""What fails in the background is told: what, why, and under which request id the log has it."""

import re

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from memories.models import Membership

pytestmark = pytest.mark.browser
REQUEST_ID = re.compile(r"Request [0-9a-f-]{36}")


@pytest.fixture
def gate(at_memories, store_texts, complaints):
    """The memories, with one to open; answers the page and its row."""
    store_texts("The north gate opens at 7 h.")
    page = at_memories()
    yield page, page.locator("[data-row]").first
    # The browser and htmx themselves log each answer that was expected to fail.
    complaints[:] = [c for c in complaints if not re.search("Failed to load|Response Status|htmx:", c)]


@pytest.fixture
def member(stage):
    """Makes the person a member of these projects alone."""
    user = get_user_model()._default_manager.get(username=stage.username)

    def of(*projects):
        Membership.objects.filter(user=user).delete()
        for project in projects:
            Membership.objects.create(project=project, user=user, role="viewer")

    yield of
    Membership.objects.filter(user=user).delete()


def test_a_refused_request_is_told(gate, stage, member):
    page, row = gate
    failure = page.locator("#failure")
    member()
    row.click()
    expect(failure).to_contain_text("You belong to no project yet.")
    expect(failure).to_contain_text(REQUEST_ID)
    member(stage.project)
    row.click()
    expect(page.locator("#detail")).to_contain_text("Provenance")
    expect(failure.locator("*")).to_have_count(0)


def test_what_may_not_be_seen_is_told(gate, neighbour, member):
    page, row = gate
    member(neighbour)
    row.click()
    expect(page.locator("#failure")).to_contain_text("Not found. There is nothing here that you may see.")
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#failure *")).to_have_count(0)


def test_a_broken_server_and_a_broken_line_are_told(gate):
    page, row = gate
    page.route("**/memories/*/**", lambda route: route.fulfill(status=502, body="Bad gateway"))
    row.click()
    expect(page.locator("#failure")).to_contain_text("This did not work.")
    page.unroute("**/memories/*/**")
    page.route("**/memories/*/**", lambda route: route.abort())
    row.click()
    expect(page.locator("#failure")).to_contain_text("The server can’t be reached.")


def test_without_a_session_the_page_goes_to_the_login(gate):
    page, row = gate
    page.context.clear_cookies(name="sessionid")
    row.click()
    page.wait_for_url("**/login/?next=/memories/")
    expect(page.get_by_label("Password")).to_have_count(1)
