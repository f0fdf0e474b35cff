"""The review queue in a browser: by keyboard alone, by mouse, and without scripts."""

import re

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connections
from django.utils import timezone
from playwright.sync_api import expect

from conflicts.models import PendingConflict, Ruling
from conflicts.public import ClaimDraft
from conflicts.resolution import Settlement, resolve
from memories import access, ingest
from memories.access import keys, principal_of_member, system_principal
from memories.models import Claim, Fragment, Membership
from tests.browser.conftest import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.long]
MANY = 21


@pytest.fixture
def rita(stage):
    """The person on the stage is a reviewer."""
    Membership.objects.filter(project=stage.project).update(role="reviewer")
    return principal_of_member(get_user_model().objects.get(username=stage.username), project=stage.project.name)


@pytest.fixture
def quarrels(stage, rita):
    """So many budgets, each with a challenger."""

    def make(number):
        person = system_principal(stage.project, ceiling="user_explicit")
        drafts = [
            ingest.Draft(
                namespace=f"{stage.project.name}:main",
                content=f"The budget of trip {n} is {value}.",
                source=source,
                claims=[ClaimDraft(f"trip {n}", "budget", value)],
            )
            for source, value in (("user_explicit", "$750"), ("document", "$0"))
            for n in range(number)
        ]
        ingest.store(person, ingest.prepare(drafts), now=timezone.now())

    return make


def resolutions(stage):
    with access.enter(system_principal(stage.project), why="test"):
        return sorted(PendingConflict.objects.values_list("resolution", flat=True))


def waiting_for(page, number):
    expect(page.get_by_text(re.compile(rf"^\s*{number} left"))).to_be_visible()


@pytest.mark.long
def test_twenty_by_keyboard_alone(at_memories, stage, quarrels, complaints):
    """Twenty settled by a key each, one of them undone, one decided by somebody else meanwhile."""
    quarrels(MANY)
    page = at_memories("/review/")
    for done in range(10):
        waiting_for(page, MANY - done)
        page.keyboard.press("a" if done % 2 else "r")
    waiting_for(page, MANY - 10)
    page.keyboard.press("u")
    waiting_for(page, MANY - 9)
    for done in range(9, 20):
        waiting_for(page, MANY - done)
        page.keyboard.press("r")
    waiting_for(page, 1)
    assert resolutions(stage).count("") == 1
    with access.enter(system_principal(stage.project), why="test"):
        last = PendingConflict.objects.get(resolution="")
    resolve(system_principal(stage.project), last.id, Settlement("reject", last.revision), now=timezone.now())
    page.keyboard.press("a")
    expect(page.get_by_role("alert")).to_contain_text("Settled before you.")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was overwritten.")
    assert resolutions(stage).count("supersede") == 4
    # Chromium itself logs the answer 409 that was expected.
    complaints[:] = [text for text in complaints if "409" not in text]


def test_enter_in_the_note_decides_nothing(at_memories, stage, quarrels):
    quarrels(1)
    page = at_memories("/review/")
    page.get_by_label("Note").fill("Asked the owner.")
    page.get_by_label("Note").press("Enter")
    page.wait_for_timeout(300)
    assert resolutions(stage) == [""]
    page.get_by_role("button", name="Accept", exact=True).click()
    waiting_for(page, 0)
    assert resolutions(stage) == ["supersede"]


def test_enter_in_a_case_decides_by_what_is_typed_alone(at_memories, stage, quarrels):
    quarrels(1)
    page = at_memories("/cases/")
    page.get_by_role("checkbox").first.check()
    page.get_by_placeholder("Why (optional)").first.fill("Asked the owner.")
    page.get_by_placeholder("Why (optional)").first.press("Enter")
    page.get_by_role("checkbox").first.press("Enter")
    page.wait_for_timeout(300)
    assert resolutions(stage) == [""]
    page.get_by_text("Type what is true instead").click()
    page.get_by_label("Text", exact=True).last.fill("The budget of trip 0 is $900.")
    page.get_by_label("Value", exact=True).fill("$900")
    page.get_by_label("Value", exact=True).press("Enter")
    expect(page.get_by_text("The case is settled.")).to_be_visible()
    with access.enter(system_principal(stage.project), why="test"):
        assert Claim.objects.get(status="active", predicate="budget").value == "$900"


def test_a_decision_takes_the_strip_of_what_was_done_before_away(at_memories, stage, quarrels, store_texts):
    quarrels(1)
    (memory,) = store_texts("The heron nests.")
    page = at_memories(f"/memories/{memory}/")
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_text("Pinned.")).to_be_visible()
    page.goto(f"{stage.url}/review/")
    expect(page.get_by_text("Pinned.")).to_be_visible()
    page.keyboard.press("r")
    waiting_for(page, 0)
    expect(page.locator(".undo-strip")).to_have_count(1)
    expect(page.locator(".undo-strip")).to_contain_text("Rejected.")


def test_a_held_key_decides_once(at_memories, stage, quarrels):
    quarrels(3)
    page = at_memories("/review/")
    waiting_for(page, 3)
    for _ in range(8):
        page.keyboard.down("a")  # held: from the second on it repeats
        page.wait_for_timeout(100)
    page.keyboard.up("a")
    waiting_for(page, 2)
    assert resolutions(stage).count("") == 2


def test_nothing_more_is_decided_while_a_decision_is_under_way(at_memories, stage, quarrels):
    quarrels(3)
    page = at_memories("/review/")
    waiting_for(page, 3)
    heard = []
    page.route("**/review/decide/", lambda route: heard.append(route))
    with page.expect_request("**/review/decide/"):  # a busy machine takes its time to send it
        page.keyboard.press("r")
        for key in ("a", "s", "A", "o", "j"):
            page.keyboard.press(key)
    expect(page.get_by_role("button", name="Skip to the end")).to_be_disabled()
    page.wait_for_timeout(300)
    assert len(heard) == 1
    heard[0].continue_()
    waiting_for(page, 2)
    expect(page.get_by_role("button", name="Reject", exact=True)).to_be_enabled()
    page.get_by_label("Note").press("Enter")  # still presses nothing
    page.wait_for_timeout(300)
    assert resolutions(stage).count("") == 2


def test_j_opens_and_a_decides_what_is_open(at_memories, stage, quarrels):
    quarrels(3)
    page = at_memories("/review/")
    waiting_for(page, 3)
    trips = [re.search(r"trip \d", text)[0] for text in page.locator("[data-row]").all_inner_texts()]
    row, subject = page.locator("[data-row]").nth(1), page.locator(".is-new .key-name")
    page.keyboard.press("j")
    expect(row).to_have_attribute("aria-current", "true")
    expect(row).to_be_focused()
    expect(subject).to_contain_text(trips[1])
    page.locator("[data-row]").nth(2).focus()
    page.keyboard.press("r")  # another one is open: nothing is decided unseen
    expect(subject).to_contain_text(trips[2])
    assert resolutions(stage) == ["", "", ""]
    page.keyboard.press("k")
    expect(subject).to_contain_text(trips[1])
    page.keyboard.press("r")
    waiting_for(page, 2)
    with access.enter(system_principal(stage.project), why="test"):
        settled = PendingConflict.objects.select_related("newcomer").get(resolution="reject")
        assert settled.newcomer.content == f"The budget of {trips[1]} is $0."


def test_the_next_is_the_one_below_the_open_one_also_after_a_skip(at_memories, stage, quarrels):
    quarrels(6)
    page = at_memories("/review/")
    waiting_for(page, 6)
    opened = page.locator("[data-row][aria-current]")
    trips = re.findall(r"trip \d", " ".join(page.locator("[data-row] .sentence").all_inner_texts()))
    for key, trip in (("j", 1), ("j", 2), ("s", 3), ("j", 4), ("u", 2), ("j", 3)):
        page.keyboard.press(key)
        expect(opened).to_contain_text(trips[trip])
        page.wait_for_load_state("networkidle")


def test_a_key_right_after_an_answer_loads_no_page_anew(at_memories, stage, quarrels):
    quarrels(4)
    page = at_memories("/review/")
    page.evaluate("window.isFirst = true")
    press = "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}))"
    page.evaluate(f"document.addEventListener('htmx:afterSwap', () => setTimeout(() => {press}), {{once: true}})")
    page.locator("[data-row]").nth(1).click()
    expect(page.locator("[data-row]").nth(2)).to_have_attribute("aria-current", "true")
    assert page.evaluate("window.isFirst")


def test_the_way_to_the_list_leads_there_on_a_phone(at_memories, page, stage, quarrels):
    quarrels(3)
    page.set_viewport_size({"width": 390, "height": 844})
    at_memories("/review/")
    page.get_by_role("link", name="The queue").click()
    expect(page.locator("[data-row]").first).to_be_in_viewport()


def test_a_phone_shows_both_values_above_the_buttons(at_memories, page, stage, quarrels):
    quarrels(1)
    page.set_viewport_size({"width": 360, "height": 740})
    at_memories("/review/")
    values = page.locator(".values")
    expect(values).to_have_text("$750 $0")
    expect(values).to_be_in_viewport(ratio=1)
    assert values.bounding_box()["y"] < page.locator("#decision").bounding_box()["y"]
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(values).to_be_hidden()


def test_ticks_stay_when_another_row_is_opened(at_memories, stage, quarrels):
    quarrels(3)
    page = at_memories("/review/")
    page.locator(".entry-row input").nth(0).check()
    page.locator("[data-row]").nth(2).click()
    expect(page.locator("[data-row]").nth(2)).to_have_attribute("aria-current", "true")
    expect(page.locator(".entry-row input:checked")).to_have_count(1)
    page.keyboard.press("x")
    page.keyboard.press("R")
    waiting_for(page, 1)


def test_selecting_and_deciding_together(at_memories, stage, quarrels, complaints):
    quarrels(3)
    page = at_memories("/review/")
    waiting_for(page, 3)
    for key in ("x", "j", "x"):
        page.keyboard.press(key)
    expect(page.locator(".entry-row input:checked")).to_have_count(2)
    page.keyboard.press("R")
    waiting_for(page, 1)
    expect(page.get_by_text("2 conflicts.")).to_be_visible()
    page.keyboard.press("u")
    waiting_for(page, 3)
    assert resolutions(stage) == ["", "", ""]
    # htmx logs that the row which was being opened was given up for the decision.
    complaints[:] = [text for text in complaints if not text.startswith(("htmx:afterRequest", "htmx:sendAbort"))]


def test_keep_both_edit_and_skip_have_keys(at_memories, stage, quarrels):
    quarrels(3)
    page = at_memories("/review/")
    waiting_for(page, 3)
    first = page.url
    page.keyboard.press("s")
    expect(page).not_to_have_url(first)
    page.keyboard.press("b")
    page.keyboard.press("1")
    waiting_for(page, 2)
    page.keyboard.press("e")
    sentence = page.get_by_label("Sentence", exact=True)
    expect(sentence).to_be_focused()
    sentence.fill("The budget is $900.")
    page.get_by_role("textbox", name="Value").fill("$900")
    page.get_by_role("button", name="Accept as edited").click()
    waiting_for(page, 1)
    assert [each for each in resolutions(stage) if each != "obsolete"] == ["", "keep_both", "supersede"]


def test_a_note_goes_along_and_the_focus_stays_with_what_was_opened(at_memories, stage, quarrels):
    quarrels(2)
    page = at_memories("/review/")
    page.get_by_role("textbox", name="Note").fill("Seen in March.")
    page.locator("summary", has_text="Edit, then accept").click()
    page.get_by_label("Value", exact=True).fill("$850")
    page.get_by_role("button", name="Accept as edited").press("Enter")
    waiting_for(page, 1)
    expect(page.locator("#compare")).to_be_focused()
    with access.enter(system_principal(stage.project), why="test"):
        assert set(PendingConflict.objects.values_list("note", flat=True)) == {"", "Seen in March."}


def test_g_and_a_letter_moves(at_memories, stage, quarrels):
    quarrels(1)
    page = at_memories("/review/")
    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page).to_have_url(re.compile("/memories/$"))
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page).to_have_url(re.compile("/tombstones/$"))


@pytest.mark.parametrize("browser_context_args", [{}, {"java_script_enabled": False}], indirect=True)
def test_what_is_held_can_be_kept(at_memories, stage, quarrels):
    quarrels(1)
    page = at_memories("/review/")
    held = page.get_by_role("article", name="Held belief")
    expect(held).to_contain_text("Rejects the challenger, and lets nobody weaker than you replace this.")
    held.get_by_role("button", name="Keep this one").click()
    expect(page.get_by_text("Kept what stood")).to_be_visible()
    with access.enter(system_principal(stage.project), why="test"):
        (ruling,) = Ruling.objects.all()
    assert (len(ruling.chosen), len(ruling.ruled_out)) == (1, 1)


@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_works_without_scripts(at_memories, stage, quarrels):
    quarrels(2)
    page = at_memories("/review/")
    page.get_by_role("button", name="Accept", exact=True).click()
    waiting_for(page, 1)
    page.get_by_role("button", name="Undo").click()
    waiting_for(page, 2)
    page.get_by_role("button", name="Reject", exact=True).click()
    waiting_for(page, 1)
    assert resolutions(stage) == ["", "reject"]


def edited(page):
    """Opens the editing of the challenger, and types a value in vain: its sentence is empty."""
    page.locator("summary", has_text="Edit, then accept").click()
    page.get_by_label("Sentence", exact=True).fill("")
    page.get_by_label("Value", exact=True).fill("$800")
    page.get_by_label("Value", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This can’t be decided so.")
    expect(page.get_by_label("Sentence", exact=True)).to_have_value("")
    expect(page.get_by_label("Value", exact=True)).to_have_value("$800")
    page.get_by_label("Sentence", exact=True).fill("The budget of trip 0 is $800.")
    page.get_by_label("Value", exact=True).press("Enter")
    waiting_for(page, 0)


def test_enter_in_the_value_accepts_as_edited_and_what_was_refused_stays(at_memories, stage, quarrels, complaints):
    quarrels(1)
    edited(at_memories("/review/"))
    assert contents(stage, "active") == ["The budget of trip 0 is $800."]
    complaints[:] = [text for text in complaints if "409" not in text]


@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_the_same_without_scripts(at_memories, stage, quarrels, complaints):
    quarrels(1)
    edited(at_memories("/review/"))
    assert contents(stage, "active") == ["The budget of trip 0 is $800."]
    complaints[:] = [text for text in complaints if "409" not in text]


def test_enter_on_a_tick_decides_nothing(at_memories, stage, quarrels):
    quarrels(2)
    page = at_memories("/review/")
    tick = page.get_by_role("checkbox").first
    tick.check()
    tick.press("Enter")
    page.get_by_role("button", name="Reject all selected").click()
    waiting_for(page, 1)
    assert resolutions(stage) == ["", "reject"]


@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_ticks_are_decided_without_scripts(at_memories, stage, quarrels, complaints):
    quarrels(3)
    page = at_memories("/review/")
    ticks = page.get_by_role("checkbox")
    ticks.nth(0).check()
    ticks.nth(1).check()
    ticks.nth(1).press("Enter")
    with access.enter(system_principal(stage.project), why="test"):
        first = PendingConflict.objects.order_by("created_at", "id").first()
    resolve(system_principal(stage.project), first.id, Settlement("reject", first.revision), now=timezone.now())
    page.get_by_role("button", name="Accept all selected").click()
    expect(page.get_by_role("alert")).to_contain_text("Settled before you.")
    waiting_for(page, 1)
    assert resolutions(stage) == ["", "reject", "supersede"]
    complaints[:] = [text for text in complaints if "409" not in text]


def contents(stage, status):
    with access.enter(system_principal(stage.project), why="test"):
        return sorted(Fragment.objects.filter(status=status).values_list("content", flat=True))


@pytest.fixture
def browser_context_args(browser_context_args, request):
    """With more arguments where a test names them."""
    return {**browser_context_args, **getattr(request, "param", {})}


@pytest.fixture
def elsewhere(stage):
    """Another project of the person on the stage."""
    project = keys.ensure_project(f"{stage.project.name}-else")
    Membership.objects.create(
        user=get_user_model().objects.get(username=stage.username), project=project, role="viewer"
    )
    yield project
    Membership.objects.filter(project=project).delete()
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM memories_project WHERE id = %s", [project.id])
    connections["owner"].close()


def log_in_anew(page, stage):
    page.wait_for_url("**/login/**")
    page.get_by_label("Username").fill(stage.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_a_note_outlives_the_session_of_a_member_of_two_projects(at_memories, page, stage, quarrels, elsewhere):
    quarrels(2)
    name = stage.project.name
    at_memories(f"/memories/?project={name}")
    page.goto(f"{stage.url}/review/?project={name}&namespace={name}:main")
    waiting_for(page, 2)
    page.keyboard.press("j")
    expect(page.locator("[data-row]").nth(1)).to_have_attribute("aria-current", "true")
    page.wait_for_load_state("networkidle")
    page.get_by_label("Note", exact=True).fill("as he wrote")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.get_by_role("button", name="Reject", exact=True).click()
    log_in_anew(page, stage)
    expect(page.get_by_text("nothing was sent")).to_be_visible()
    expect(page.get_by_label("Note", exact=True)).to_have_value("as he wrote")


@pytest.mark.long
def test_a_sentence_outlives_the_session(at_memories, page, stage, quarrels):
    quarrels(1)
    at_memories("/review/")
    page.locator("summary", has_text="Edit").first.click()
    sentence = page.locator("#edit-content")
    sentence.fill("The budget of trip 0 is $500.")
    page.get_by_label("Note", exact=True).first.fill("as he wrote")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.locator("form", has=sentence).get_by_role("button").last.click()
    log_in_anew(page, stage)
    expect(sentence).to_have_value("The budget of trip 0 is $500.")
    expect(sentence).to_be_visible()
    expect(page.get_by_label("Note", exact=True).first).to_have_value("as he wrote")
    expect(page.get_by_text("nothing was sent")).to_be_visible()
