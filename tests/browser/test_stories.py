"""Whole stories in a browser: the first-run checklist by mouse, a restore, a fork that is merged, keys."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from conflicts.public import ClaimDraft
from memories import access, demo, ingest
from memories.models import Fragment, Membership

pytestmark = pytest.mark.browser
HERON = "The heron nests behind the old mill."


@pytest.fixture
def admin(stage):
    """The person on the stage is an admin."""
    Membership.objects.filter(project=stage.project).update(role="admin")


def texts(stage):
    with access.enter(access.system_principal(stage.project), why="test"):
        return sorted(Fragment.objects.values_list("content", flat=True))


@pytest.fixture
def tour(stage, monkeypatch):
    """The story, told in this project."""
    monkeypatch.setattr(demo, "PROJECT", stage.project.name)
    monkeypatch.setattr(demo, "TOUR", f"{stage.project.name}:tour")
    demo.create_story(now=timezone.now())


def has_ended(page):
    """The page of an operation loads itself anew at its end."""
    expect(page.get_by_role("heading", name="Report")).to_be_visible()


@pytest.mark.long
def test_the_checklist_by_mouse(at_memories, page, stage, admin, tour, work, store_texts):
    at_memories("/")

    def step(words):
        page.goto(stage.url)
        page.get_by_role("link", name=re.compile(words)).click()

    step("Settle a conflict")
    page.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_role("button", name="Undo: Rejected")).to_be_visible()
    step("where does the user live")
    page.get_by_role("link", name="Why these").click()
    expect(page.get_by_text("decided it").first).to_be_visible()
    step("See what was believed")
    page.get_by_label("As of day").fill("3")
    expect(page.locator(".believed")).to_contain_text("Seattle")
    step("Preview a consolidation")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("waiting for a worker")).to_be_visible()
    work()
    expect(page.get_by_role("heading", name="What it would do")).to_be_visible()
    step("Make a backup")
    page.get_by_role("button", name="Make a backup").click()
    work()
    has_ended(page)
    store_texts(HERON)
    page.goto(stage.url)
    expect(page.locator(".steps-list .is-done")).to_have_count(6)
    page.get_by_role("button", name="Hide").click()
    expect(page.get_by_role("heading", name="First steps")).to_have_count(0)


@pytest.mark.long
def test_restore_end_to_end(at_memories, page, stage, admin, store_texts, work):
    """Made, lost, planned, refused without the name, confirmed, brought back."""
    store_texts(HERON)
    at_memories("/backups/")
    page.get_by_role("button", name="Make a backup").click()
    work()
    has_ended(page)
    with access.enter(access.system_principal(stage.project), why="test"):
        Fragment.objects.all().delete()
    assert texts(stage) == []
    page.goto(f"{stage.url}/backups/")
    expect(page.get_by_text("Last verified restore")).to_be_visible()
    page.get_by_role("link", name="Restore…").click()
    page.get_by_role("button", name="Plan the restore").click()
    work()
    button = page.get_by_role("button", name="Restore 1 memory")
    expect(button).to_be_visible()
    page.get_by_label(f"Type {stage.project.name}").fill(stage.project.name)
    button.click()
    expect(page).to_have_url(re.compile("/operations/"))
    work()
    expect(page.get_by_role("heading", name="Report")).to_be_visible()
    assert texts(stage) == [HERON]


@pytest.mark.long
@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_restore_without_scripts(at_memories, page, stage, admin, store_texts, work):
    store_texts(HERON)
    at_memories("/backups/")
    page.get_by_role("button", name="Make a backup").click()
    work()
    with access.enter(access.system_principal(stage.project), why="test"):
        Fragment.objects.all().delete()
    page.goto(f"{stage.url}/backups/")
    page.get_by_role("link", name="Restore…").click()
    page.get_by_role("button", name="Plan the restore").click()
    work()
    page.goto(page.url)
    page.get_by_role("button", name="Restore 1 memory").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was changed")
    assert texts(stage) == []


@pytest.mark.long
@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_every_page_shows_without_scripts(at_memories, page, stage, admin, tour):
    at_memories("/")
    for path, heading in {
        "/": "Needs you",
        "/beliefs/?subject=user&predicate=lives_in": "Beliefs",
        "/context/?q=budget": "Context",
        "/memories/?q=budget&why=1": "nearest misses|Memories",
        "/consolidation/": "Consolidation",
        "/backups/": "Backups",
        "/namespaces/": "Namespaces",
        "/tombstones/": "Tombstones",
        "/operations/": "Operations",
        "/audit/": "Audit",
        "/agents/": "Agents and keys",
        "/connect/": "Connect",
    }.items():
        assert page.goto(stage.url + path).status == 200
        expect(page.get_by_role("heading", name=re.compile(heading)).first).to_be_attached()


@pytest.mark.long
def test_fork_and_merge(at_memories, page, stage, admin, store_texts, work):
    store_texts(HERON)
    at_memories("/namespaces/")
    page.get_by_label("into").fill("twig")
    page.get_by_role("button", name="Fork").click()
    work()
    has_ended(page)
    store_texts("An otter was seen under the bridge.", agent="twig")
    page.goto(f"{stage.url}/namespaces/{stage.project.name}:twig/merge/")
    page.get_by_role("button", name="Preview").click()
    work()
    button = page.get_by_role("button", name=re.compile("Merge into"))
    expect(button).to_be_visible()
    coming = page.get_by_role("region", name="Only there: come in")
    expect(coming.get_by_role("link", name="An otter was seen under the bridge.")).to_be_visible()
    button.click()
    work()
    expect(page.get_by_role("heading", name="Report")).to_be_visible()
    with access.enter(access.system_principal(stage.project), why="test"):
        assert Fragment.objects.filter(namespace__name=f"{stage.project.name}:main").count() == 2


def test_a_key_is_shown_once(at_memories, page, stage, admin):
    at_memories("/agents/")
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_label("Key", exact=True)).to_have_value(re.compile("^nova_"))
    page.goto(f"{stage.url}/agents/")
    expect(page.get_by_label("Key", exact=True)).to_have_count(0)
    page.get_by_text("Revoke…").click()
    page.get_by_label("locked out").check()
    page.get_by_role("button", name=re.compile("Revoke")).click()
    expect(page.get_by_text("revoked", exact=True)).to_be_visible()


@pytest.mark.long
def test_no_request_leaves_for_another_host(at_memories, page, stage, admin, tour):
    hosts = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    at_memories("/")
    for path in ("/review/", "/memories/?q=budget&why=1", "/beliefs/", "/backups/", "/connect/", "/audit/"):
        page.goto(stage.url + path)
    assert hosts == {stage.url.partition("//")[2]}


def test_a_claim_in_the_way_is_told_in_plain_words(at_memories, page, stage, admin):
    """A memory that a person archives comes back; what is refused leaves it as it was."""
    person = access.system_principal(stage.project, ceiling="user_explicit")
    wish = {"source": "user_explicit", "claims": [ClaimDraft("user", "lives_in", "Austin")]}
    draft = ingest.Draft(namespace=f"{stage.project.name}:main", content="I live in Austin.", **wish)
    (admission,) = ingest.store(person, ingest.prepare([draft]), now=timezone.now())
    at_memories(f"/memories/{admission.fragment.id}/")
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("#detail .badge.archived")).to_be_visible()
    page.get_by_role("button", name="Unarchive").click()
    expect(page.locator("#detail .badge.active")).to_be_visible()
    page.get_by_text("Forget", exact=True).first.click()
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was forgotten")
    assert texts(stage) == ["I live in Austin."]


@pytest.fixture
def complaints(page):
    """As elsewhere, but for answers that say no, which chromium logs too."""
    heard = []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on(
        "console",
        lambda message: heard.append(message.text) if message.type == "error" and "409" not in message.text else None,
    )
    return heard


@pytest.fixture
def browser_context_args(browser_context_args, request):
    """With more arguments where a test names them."""
    return {**browser_context_args, **getattr(request, "param", {})}
