"""Proposals in a browser: settled and taken back by a key each, the focused card first, and without scripts."""

import re

import pytest
from playwright.sync_api import expect

from memories import access
from memories.models import Membership, Namespace, Proposal

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture
def gates(stage, store_texts):
    """So many proposals that a gate is no longer open, before a reviewer."""

    def make(number):
        Membership.objects.filter(project=stage.project).update(role="reviewer")
        pairs = [store_texts(f"The gate {n} is open.", f"The gate {n} is not open.") for n in range(number)]
        with access.enter(access.system_principal(stage.project), why="test"):
            place = Namespace.objects.get(name=f"{stage.project.name}:main")
            mine = {"project_id": stage.project.id, "namespace": place, "task_id": "evolve"}
            for pair in pairs:
                Proposal.objects.create(**mine, kind="supersession", outcome="allowed", about=pair, waiting=True)

    return make


def decisions(stage):
    with access.enter(access.system_principal(stage.project), why="test"):
        return list(Proposal.objects.order_by("created_at").values_list("decision", flat=True))


def left(page, number):
    expect(page.get_by_text(re.compile(rf"^\s*{number} left"))).to_be_visible()


def test_one_key_settles_and_one_takes_back(at_memories, stage, gates):
    gates(3)
    page = at_memories("/proposals/")
    left(page, 3)
    page.keyboard.press("a")
    left(page, 2)
    assert decisions(stage) == ["accepted", "", ""]
    page.keyboard.press("u")
    left(page, 3)
    assert decisions(stage) == ["", "", ""]
    expect(page.locator(".proposal").nth(0)).to_be_focused()  # what waits again
    page.keyboard.press("d")
    left(page, 2)
    page.keyboard.press("a")
    left(page, 1)
    assert decisions(stage) == ["dismissed", "accepted", ""]


def test_keys_speak_to_the_focused_card(at_memories, stage, gates):
    gates(3)
    page = at_memories("/proposals/")
    page.keyboard.press("j")
    expect(page.locator(".proposal").nth(1)).to_be_focused()
    page.keyboard.press("a")
    left(page, 2)
    assert decisions(stage) == ["", "accepted", ""]
    expect(page.locator(".proposal").nth(1)).to_be_focused()  # the third took its place
    page.keyboard.press("d")
    left(page, 1)
    expect(page.locator(".proposal").nth(0)).to_be_focused()
    expect(page.get_by_role("button", name="Undo the last decision")).to_be_in_viewport()
    assert decisions(stage) == ["", "accepted", "dismissed"]
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_text("Accept: the newer text replaces the older one")).to_have_count(1)
    expect(sheet.get_by_text("Open the focused memory")).to_have_count(0)


def test_g_p_leads_here_and_one_click_settles(at_memories, stage, gates):
    gates(1)
    page = at_memories("/")
    page.keyboard.press("g")
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile("/proposals/$"))
    page.get_by_role("button", name="Accept proposal 1").click()
    left(page, 0)
    assert decisions(stage) == ["accepted"]


@pytest.mark.parametrize("browser_context_args", [{"viewport": {"width": 360, "height": 640}}], indirect=True)
def test_the_next_card_is_in_sight_beside_the_undo(at_memories, gates):
    gates(3)
    page = at_memories("/proposals/")
    page.get_by_role("button", name="Dismiss proposal 2").click()
    left(page, 2)
    undo = page.get_by_role("button", name="Undo the last decision").bounding_box()
    card = page.locator(".proposal").nth(1)
    expect(card).to_be_focused()
    assert undo["y"] + undo["height"] < card.bounding_box()["y"] < 320


@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_works_without_scripts(at_memories, stage, gates):
    gates(2)
    page = at_memories("/proposals/?kind=supersession")
    page.get_by_role("button", name="Accept proposal 1").click()
    left(page, 1)
    expect(page).to_have_url(re.compile("kind=supersession$"))
    page.get_by_role("button", name="Undo the last decision").click()
    left(page, 2)
    page.get_by_role("button", name="Dismiss proposal 2").click()
    left(page, 1)
    page.get_by_role("button", name="Undo decision 1").click()
    left(page, 2)
    assert decisions(stage) == ["", ""]


@pytest.fixture
def browser_context_args(browser_context_args, request):
    """With more arguments where a test names them."""
    return {**browser_context_args, **getattr(request, "param", {})}
