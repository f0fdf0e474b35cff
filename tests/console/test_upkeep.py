"""/consolidation/, /operations/, /tombstones/: looking first, running, taking back, restoring."""

import html
import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import access, jobs, operations, schedules
from memories.console import plan_steps
from memories.models import Archive, Claim, Fragment, Operation, PlanStep, Tombstone
from memories.models.enums import CopyReason, EvictionReason
from memories.upkeep.consolidation import plan_execution
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from tests.console.conftest import post, words

pytestmark = pytest.mark.examples

HTMX = {"HX-Request": "true", "HX-Target": "live"}


@pytest.fixture
def twins(store):
    """Two that say the same."""
    return [store("acme:main", "The heron nests behind the mill.") for _ in range(2)]


@pytest.fixture
def stone(store, principal):
    """The tombstone of a memory that left."""
    row = store("acme:main", "The heron nests behind the mill.", topics=["heron"], entities=[])
    with access.enter(principal, why="test"):
        cause = Cause(EvictionReason.LOW_WEIGHT, {})
        remove_fragments(
            principal.project_id, {row.id: cause}, copied=CopyReason.EVICTED, operation_id=None, now=timezone.now()
        )
        return Tombstone.objects.get(original_id=row.id)


def previewed(client, principal):
    """The address of a preview that ended."""
    answer = post(client, "/consolidation/", namespace="acme:main")
    assert answer.status_code == 302
    return _run(principal, answer)


def _run(principal, answer):
    jobs.run(principal, uuid.UUID(answer["Location"].rstrip("/").rpartition("/")[2]))
    return answer["Location"]


def statuses(principal):
    with access.enter(principal, why="test"):
        return sorted(Fragment.objects.values_list("status", flat=True))


def test_from_preview_to_undo(adam, principal, twins):
    preview = previewed(adam, principal)
    text = words(adam.get(preview))
    assert "What it would do" in text
    assert "duplicates merged 1" in text
    assert "Merge into its twin: The heron nests behind the mill. stays: The heron nests" in text
    assert statuses(principal) == ["active", "active"]
    run = _run(principal, post(adam, f"{preview}apply/"))
    assert "of these active 2 → 1" in words(adam.get(run))
    assert "counts match changes ✓ 2 recorded: 0 made, 0 became active, 1 ceased" in words(adam.get(run))
    assert statuses(principal) == ["active", "superseded"]
    undo = _run(principal, post(adam, run.replace("consolidation", "operations") + "undo/"))
    assert "rows as before 4" in words(adam.get(undo))
    assert "Taken back." in words(adam.get(run))
    assert statuses(principal) == ["active", "active"]
    assert "consolidate (taken back)" in words(adam.get("/consolidation/"))


def test_a_preview_says_which_claim_would_be_read(adam, principal, store):
    row = store("acme:main", "I live in Oslo.", source="user_implicit")
    with access.enter(principal, why="test"):
        Claim.objects.filter(fragment=row.id).delete()
        Fragment.objects.filter(id=row.id).update(source="user_implicit")
    preview = previewed(adam, principal)
    assert "Read as a claim: I live in Oslo. claim: user · lives_in = Oslo" in words(adam.get(preview))
    run = _run(principal, post(adam, f"{preview}apply/"))
    page = adam.get(run)
    assert "Was read as a claim: I live in Oslo. claim: user · lives_in = Oslo" in words(page)
    assert f'href="/memories/{row.id}/"' in page.text


def test_a_run_lists_what_it_did_and_leads_to_its_plan(adam, principal, pairs, monkeypatch):
    monkeypatch.setattr(plan_steps, "PAGE", 50)
    preview = previewed(adam, principal)
    with access.enter(principal, why="test"):  # of three one has no tick, and one changed meanwhile
        left, changed, done = PlanStep.objects.order_by("ordinal").select_related("fragment")
        Fragment.objects.filter(id=changed.fragment_id).update(importance=0.9)
    run = _run(principal, post(adam, f"{preview}apply/", shown="0"))
    page = adam.get(run)
    assert "skipped (changed since the plan) 1" in words(page)
    told = words(page).partition("What was done")[2].partition(" Log ")[0]
    assert told.startswith(" 1 step.")
    assert f"Merged into its twin: {done.fragment.content} stays: {done.fragment.content}" in told
    assert left.fragment.content not in told
    assert changed.fragment.content not in told
    assert page.text.count('class="steps"') == 1
    assert f'href="{preview.replace("consolidation", "operations")}"' in page.text
    assert 'type="checkbox" name="step"' not in page.text


def test_the_steps_stand_before_the_button_and_the_log_last(adam, principal, twins):
    text = words(adam.get(previewed(adam, principal))).partition("What it would do")[2]
    places = [text.index(word) for word in ("Merge into its twin", "Run this plan", " Log ")]
    assert places == sorted(places)


def test_a_page_of_steps_asks_the_same_however_many_there_are(adam, principal, store):
    def query_count():
        preview = previewed(adam, principal)
        with CaptureQueriesContext(connection) as found:
            adam.get(preview)
        return len(found)

    for n in range(8):
        if n == 2:
            one = query_count()
        store("acme:main", f"The heron number {n // 2}0 nests behind the mill.")
    assert query_count() == one


def test_a_step_without_its_tick_is_left_out(adam, principal, twins):
    preview = previewed(adam, principal)
    assert 'name="step" form="apply" value="0" checked' in adam.get(preview).text
    run = _run(principal, post(adam, f"{preview}apply/", shown="0"))
    assert "duplicates merged 0" in words(adam.get(run))
    assert statuses(principal) == ["active", "active"]


@pytest.fixture
def pairs(store, monkeypatch):
    """Three pairs that say the same, of whose steps a page shows one."""
    monkeypatch.setattr(plan_steps, "PAGE", 1)
    return [store("acme:main", f"The heron number {n} nests behind the mill.") for n in (10, 20, 30) for _ in range(2)]


def test_ticks_are_kept_from_page_to_page(adam, principal, pairs):
    preview = previewed(adam, principal)
    first = adam.get(preview)
    assert "3 steps, page 1 of 3" in words(first)
    assert first.text.count('name="step"') == 1
    answer = post(adam, f"{preview}ticks/", shown="0", page="2")
    assert answer["Location"] == f"{preview}?page=2#steps"
    assert "1 left out so far" in words(adam.get(f"{preview}?page=2"))
    assert 'value="0" checked' not in adam.get(preview).text
    post(adam, f"{preview}ticks/", shown="1", step="1", page="3")
    run = _run(principal, post(adam, f"{preview}apply/", shown="2", step="2"))
    assert "duplicates merged 2" in words(adam.get(run))
    assert statuses(principal).count("superseded") == 2


@pytest.mark.parametrize("number", ["0", "4", "-1", "x", "9999999"])
def test_pages_of_steps_that_do_not_exist(adam, principal, pairs, number):
    assert adam.get(f"{previewed(adam, principal)}?page={number}").status_code == 404


@pytest.mark.parametrize("left", [[-1], ["0"], [True], 0, list(range(1001))])
def test_only_numbers_of_steps_are_left_out(principal, twins, left, count):
    with access.enter(principal, why="test"):
        place = twins[0].namespace
    options = {"plan_id": str(uuid.uuid4()), "leave_out": left}
    with pytest.raises(operations.BadOptions):
        jobs.start(principal, kind="consolidate", namespace=place, options=options, now=timezone.now())
    assert count(Operation) == 0


def test_a_plan_that_changes_much_is_confirmed(adam, principal, twins, monkeypatch):
    monkeypatch.setattr(plan_execution, "FREE", 0)
    monkeypatch.setattr(plan_execution, "SHARE", 0)
    refused = _run(principal, post(adam, f"{previewed(adam, principal)}apply/"))
    assert "somebody has to confirm it" in words(adam.get(refused))
    assert statuses(principal) == ["active", "active"]
    _run(principal, post(adam, f"{refused}apply/", confirm="yes"))
    assert statuses(principal) == ["active", "superseded"]


def test_a_refusal_is_a_strip_and_changes_nothing(adam, principal, twins, count):
    preview = previewed(adam, principal)
    _run(principal, post(adam, f"{preview}apply/"))
    before = count(Operation)
    again = post(adam, f"{preview}apply/")
    assert again.status_code == 409
    assert "This plan was applied already." in words(again)
    assert "Request " in words(again)
    post(adam, "/consolidation/", namespace="acme:main")
    second = post(adam, "/consolidation/", namespace="acme:main")
    assert (second.status_code, count(Operation)) == (409, before + 1)
    assert "being consolidated already" in words(second)


def test_progress_is_polled_and_ends_by_itself(adam, principal, twins):
    answer = post(adam, "/consolidation/", namespace="acme:main")
    page = adam.get(answer["Location"])
    assert 'hx-trigger="every 1s"' in page.text
    assert "<noscript><meta" in page.text
    part = adam.get(answer["Location"], headers=HTMX)
    assert part.text.strip().startswith('<div class="live"')
    assert "csrfmiddlewaretoken" not in part.text
    assert not part.cookies
    _run(principal, answer)
    assert adam.get(answer["Location"], headers=HTMX)["HX-Refresh"] == "true"
    assert "hx-trigger" not in adam.get(answer["Location"]).text


def test_a_queued_operation_is_cancelled(adam, principal, twins):
    queued = post(adam, "/consolidation/", namespace="acme:main")["Location"].replace("consolidation", "operations")
    assert "Cancel" in words(adam.get(queued))
    assert post(adam, f"{queued}cancel/").status_code == 302
    assert "cancelled" in words(adam.get(queued))
    again = post(adam, f"{queued}cancel/")
    assert (again.status_code, "It has ended already." in words(again)) == (409, True)


def test_operations_are_listed(vera, principal, twins):
    wish = {"kind": "rebuild", "namespace": None, "options": {"target": "keywords"}, "dry_run": False}
    made = operations.start(principal, **wish, now=timezone.now())
    page = vera.get("/operations/")
    assert "rebuild whole project" in words(page)
    assert f'href="/operations/{made.id}/"' in page.text
    jobs.run(principal, made.id)
    assert "succeeded" in words(vera.get(f"/operations/{made.id}/"))


def test_tombstones_are_browsed_by_topic_and_restored(adam, stone, principal):
    assert "I previously knew about heron" in words(adam.get("/tombstones/"))
    assert "I previously knew about heron" in words(adam.get("/tombstones/?topic=Heron"))
    assert "Nothing is gone of this topic." in words(adam.get("/tombstones/?topic=otter"))
    answer = post(adam, f"/tombstones/{stone.id}/restore/")
    assert answer["Location"] == f"/memories/{stone.original_id}/"
    assert "The memory is back. Show Archive it" in words(adam.get("/tombstones/"))
    assert "The heron nests behind the mill." in words(adam.get(answer["Location"]))
    assert statuses(principal) == ["active"]


def test_purging_is_typed_and_leaves_nothing(adam, vera, stone, count):
    assert post(adam, f"/tombstones/{stone.id}/purge/", confirm="yes").status_code == 409
    assert (count(Tombstone), count(Archive)) == (1, 1)
    assert post(adam, f"/tombstones/{stone.id}/purge/", confirm="purge")["Location"] == "/tombstones/"
    assert (count(Tombstone), count(Archive)) == (0, 0)


def test_what_the_archive_lost_is_told(adam, stone, principal, count):
    with access.enter(principal, why="test"):
        Archive.objects.all().delete()
    assert "no copy is kept any more" in words(adam.get("/tombstones/"))
    answer = post(adam, f"/tombstones/{stone.id}/restore/")
    assert (answer.status_code, "Too late to restore." in words(answer)) == (409, True)
    assert count(Tombstone) == 1


ACTS = [
    "/consolidation/",
    "/consolidation/{op}/apply/",
    "/consolidation/{op}/ticks/",
    "/operations/{op}/cancel/",
    "/operations/{op}/undo/",
]


@pytest.mark.parametrize("path", [*ACTS, "/tombstones/{stone}/restore/", "/tombstones/{stone}/purge/"])
def test_viewers_look_and_do_not_act(vera, adam, principal, twins, stone, count, path):
    op = previewed(adam, principal).rstrip("/").rpartition("/")[2]
    before = count(Operation), count(Tombstone), statuses(principal)
    for page in ("/consolidation/", f"/consolidation/{op}/", "/operations/", "/tombstones/"):
        shown = vera.get(page)
        assert shown.status_code == 200
        main = shown.text.partition('<main id="main"')[2]
        assert "csrfmiddlewaretoken" not in main
    vera.get("/login/")
    answer = _with_token(vera, path.format(op=op, stone=stone.id))
    assert (answer.status_code, "Your role does not allow this" in answer.text) == (403, True)
    assert (count(Operation), count(Tombstone), statuses(principal)) == before


def _with_token(client, path):
    token = client.cookies["csrftoken"].value if "csrftoken" in client.cookies else ""
    return client.post(path, {"csrfmiddlewaretoken": token, "namespace": "acme:main", "confirm": "purge"})


@pytest.mark.parametrize("path", ACTS)
def test_reviewers_start_nothing(rita, adam, principal, twins, count, path):
    op = previewed(adam, principal).rstrip("/").rpartition("/")[2]
    before = count(Operation)
    rita.get("/consolidation/")
    assert _with_token(rita, path.format(op=op)).status_code == 403
    assert count(Operation) == before


@pytest.mark.parametrize("path", [*ACTS, "/tombstones/{stone}/restore/", "/tombstones/{stone}/purge/"])
def test_without_a_token_and_from_elsewhere(adam, carl, principal, twins, stone, count, path):
    op = previewed(adam, principal).rstrip("/").rpartition("/")[2]
    before = count(Operation), count(Tombstone)
    there = path.format(op=op, stone=stone.id)
    assert adam.post(there, {"namespace": "acme:main"}).status_code == 403
    carl.get("/consolidation/")
    assert _with_token(carl, there).status_code == 404
    assert (count(Operation), count(Tombstone)) == before


def test_foreign_and_missing_look_the_same(carl, adam, principal, twins):
    preview = previewed(adam, principal)
    foreign, missing = carl.get(preview), carl.get(f"/consolidation/{uuid.uuid4()}/")
    assert (foreign.status_code, missing.status_code) == (404, 404)
    texts = [page.text.replace(page["X-Request-Id"], "") for page in (foreign, missing)]
    assert texts[0] == texts[1]


def test_hostile_text_is_escaped(adam, principal, store):
    for _ in range(2):
        store("acme:main", "<script>alert(1)</script> the heron \u202enests.")
    page = adam.get(previewed(adam, principal))
    assert "<script>alert" not in page.text
    assert "⟨U+202E⟩" in page.text


def test_the_log_tells_the_stages(adam, principal, twins):
    run = _run(principal, post(adam, f"{previewed(adam, principal)}apply/"))
    text = words(adam.get(run)).partition(" Log ")[2]
    for told in ("asked for", "a worker began", "applied", "succeeded"):
        assert told in text
    assert "/undo" in adam.get(run).text


def test_actions_are_copied_as_curl(adam, principal, twins):
    preview = previewed(adam, principal)
    command = html.unescape(re.search(r'id="curl-1"\s+readonly\s+value="([^"]+)"', adam.get(preview).text).group(1))
    assert command.startswith("curl -X POST http://testserver/api/v1/consolidations ")
    assert '"namespace": "acme:main", "plan_id": "' in command


def test_ticks_of_one_plan_outlast_a_look_at_another(adam, principal, pairs):
    first, second = previewed(adam, principal), previewed(adam, principal)
    post(adam, f"{first}ticks/", shown="0", page="2")
    post(adam, f"{second}ticks/", shown="1", page="1")
    assert 'value="0" checked' not in adam.get(first).text
    run = _run(principal, post(adam, f"{first}apply/"))
    assert "duplicates merged 2" in words(adam.get(run))


def test_a_used_plan_leads_to_its_run(adam, principal, twins):
    preview = previewed(adam, principal)
    run = _run(principal, post(adam, f"{preview}apply/"))
    page = adam.get(preview)
    assert "This plan was run just now . See the run" in words(page)
    assert f'href="{run.replace("consolidation", "operations")}"' in page.text
    assert "Run this plan" not in page.text


def test_a_second_restore_says_that_it_is_back(adam, carl, stone, principal, count):
    there = f"/tombstones/{stone.id}/restore/"
    assert post(adam, there).status_code == 302
    again = post(adam, there)
    assert (again.status_code, "It is back already." in words(again)) == (409, True)
    assert f'href="/memories/{stone.original_id}/"' in again.text
    assert post(adam, f"/tombstones/{uuid.uuid4()}/restore/").status_code == 404
    assert post(carl, there).status_code == 404
    assert count(Fragment) == 1


def test_the_page_says_whether_anything_runs_by_itself(adam):
    assert "Nothing is consolidated by itself" in words(adam.get("/consolidation/"))
    schedules.set_schedule("consolidate", every=2, period="hours", enabled=True)
    assert "Every namespace is consolidated by schedule" in words(adam.get("/consolidation/"))
    schedules.set_schedule("consolidate", every=2, period="hours", enabled=False)
    assert "Nothing is consolidated by itself" in words(adam.get("/consolidation/"))
