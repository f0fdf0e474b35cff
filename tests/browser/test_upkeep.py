"""Consolidation in a browser: preview, run, undo; with scripts and without."""

import re
import threading

import pytest
from django.db import connection
from playwright.sync_api import expect

from memories import access, jobs
from memories.models import Membership, Operation

pytestmark = pytest.mark.browser
HERON = "The heron nests behind the old mill."


@pytest.fixture
def twins(stage, store_texts):
    """Two that say the same, before an admin."""
    Membership.objects.filter(project=stage.project).update(role="admin")
    return store_texts(HERON), store_texts(HERON)


@pytest.mark.long
def test_from_preview_to_undo(at_memories, twins, work):
    page = at_memories("/consolidation/")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("waiting for a worker")).to_be_visible()
    work()
    expect(page.get_by_role("heading", name="What it would do")).to_be_visible()
    expect(page.locator(".steps")).to_contain_text(HERON)
    page.get_by_role("button", name="Run this plan").click()
    work()
    expect(page.get_by_role("heading", name="Report")).to_be_visible()
    expect(page.locator(".figures")).to_contain_text("2 → 1")
    ran = page.url
    page.get_by_role("button", name="Undo").click()
    expect(page).to_have_url(re.compile("/operations/"))
    work()
    expect(page.locator(".figures")).to_contain_text("rows as before")
    page.goto(ran)
    expect(page.get_by_text("Taken back.")).to_be_visible()


@pytest.mark.parametrize("browser_context_args", [{"java_script_enabled": False}], indirect=True)
def test_works_without_scripts(at_memories, twins, work):
    page = at_memories("/consolidation/")
    page.get_by_role("button", name="Preview").click()
    work()
    page.goto(page.url)
    page.get_by_role("button", name="Run this plan").click()
    work()
    page.goto(page.url)
    page.get_by_role("button", name="Undo").click()
    work()
    page.goto(page.url)
    expect(page.locator(".figures")).to_contain_text("rows as before")


@pytest.fixture
def worker(stage):
    """Runs the one queued operation in a thread, and stops at each step that it saved until `steps` is released."""
    principal = access.system_principal(stage.project)
    steps, threads = threading.Semaphore(0), []

    def watch(_stage, _done, _total):
        assert steps.acquire(timeout=60), "nobody looked"

    def run(which):
        try:
            jobs.run(principal, which, watcher=watch)
        finally:
            connection.close()

    def start():
        with access.enter(principal, why="test"):
            which = Operation.objects.get(state="queued").id
        threads.append(threading.Thread(target=run, args=(which,)))
        threads[-1].start()
        return steps

    yield start
    for _ in range(1000):
        steps.release()
    for thread in threads:
        thread.join()


def how_far(page):
    """What the progress bar shows, once it is there: done and total."""
    bar = page.get_by_role("progressbar")
    expect(bar).to_be_visible()
    return tuple(int(bar.get_attribute(name)) for name in ("value", "max"))


@pytest.mark.long
def test_progress_is_seen_live_and_asking_ends_with_the_operation(at_memories, twins, worker, page):
    page.clock.install()
    at_memories("/consolidation/")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("waiting for a worker")).to_be_visible()
    polls = []
    page.on("request", lambda request: polls.append(request) if "hx-request" in request.headers else None)
    steps = worker()
    seen = []
    for _ in range(4):
        steps.release()
        before = seen[-1][0] if seen else -1
        expect(page.locator(f"progress:not([value='{before}'])")).to_be_visible()
        seen.append(how_far(page))
    assert len({total for _, total in seen}) == 1
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert polls
    assert all("/operations/" in poll.url for poll in polls)
    for _ in range(1000):
        steps.release()
    expect(page.get_by_role("heading", name="What it would do")).to_be_visible()
    expect(page.locator("#live[hx-trigger]")).to_have_count(0)
    polls.clear()
    page.clock.fast_forward(10_000)
    expect(page.get_by_role("button", name="Run this plan")).to_be_visible()
    assert polls == []


def test_enter_on_a_tick_runs_no_plan(at_memories, twins, work, stage):
    page = at_memories("/consolidation/")
    page.get_by_role("button", name="Preview").click()
    work()
    tick = page.get_by_role("checkbox", name="Do step 0")
    tick.press("Enter")
    tick.press("Space")
    expect(tick).not_to_be_checked()
    with access.enter(access.system_principal(stage.project), why="test"):
        assert Operation.objects.filter(dry_run=False).count() == 0


@pytest.fixture
def browser_context_args(browser_context_args, request):
    """With more arguments where a test names them."""
    return {**browser_context_args, **getattr(request, "param", {})}


def test_long_names_of_namespaces_stay_within_a_phone(at_memories, page, stage, store_texts):
    Membership.objects.filter(project=stage.project).update(role="admin")
    store_texts("The heron nests.", agent="a-namespace-with-a-name-that-is-far-longer-than-a-phone-is-wide")
    page.set_viewport_size({"width": 360, "height": 740})
    at_memories("/namespaces/")
    page.get_by_text("Delete a namespace").click()
    expect(page.get_by_label("Type its name")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
