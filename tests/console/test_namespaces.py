"""/namespaces/: a merge does what its preview showed; what is deleted, a namespace or the project, was typed."""

import datetime
import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, jobs
from memories.console import memory_lists
from memories.models import Fragment, Membership, Namespace, Operation, Project
from tests.console.test_agents import post, words

HTMX = {"HX-Request": "true", "HX-Target": "live"}
THERE = "/namespaces/acme:side/merge/"


@pytest.fixture
def branch(adam, store, principal):
    """A namespace, and a branch with one memory more."""
    store("acme:main", "The heron nests behind the mill.")
    _run(principal, post(adam, "/namespaces/fork/", source="acme:main", target="side"))
    store("acme:side", "An otter was seen under the bridge.")


def _run(principal, answer):
    assert answer.status_code == 303, answer.text
    path, _, query = answer["Location"].partition("?")
    jobs.run(principal, uuid.UUID(query.rpartition("preview=")[2] if query else path.rstrip("/").rpartition("/")[2]))
    return answer["Location"]


def _previewed(client, principal):
    """The address of a preview, and the id that its form carries."""
    shown = _run(principal, post(client, THERE, step="look", target="acme:main"))
    (preview,) = re.findall(r'name="preview" value="([^"]+)"', client.get(shown).text)
    return shown, preview


def _in_main(principal):
    with access.enter(principal, why="test"):
        return Fragment.objects.filter(namespace__name="acme:main").count()


def test_a_branch_is_merged_into_what_it_was_forked_from_unless_somebody_chooses(adam, principal, store):
    for name in ("acme:main", "acme:tour"):
        store(name, "The heron nests behind the mill.")
    _run(principal, post(adam, "/namespaces/fork/", source="acme:tour", target="side"))
    assert re.findall(r"<option[^>]*>([^<]+)", adam.get(THERE).text)[0] == "acme:tour"
    assert re.findall(r"<option[^>]*>([^<]+)", adam.get("/namespaces/acme:main/merge/").text)[0] != "acme:main"


def test_a_merge_without_a_preview_is_refused(adam, branch, count):
    before = count(Operation)
    refused = post(adam, THERE, step="merge", target="acme:main")
    assert (refused.status_code, "Preview it first." in words(refused)) == (409, True)
    assert post(adam, THERE, step="merge", target="acme:main", preview=str(uuid.uuid4())).status_code == 404
    assert post(adam, THERE, step="merge", target="acme:main", preview="x").status_code == 404
    assert count(Operation) == before


def test_what_changed_since_the_preview_is_not_merged(adam, branch, principal, store):
    _, preview = _previewed(adam, principal)
    store("acme:side", "The boat lies in the reeds.")
    run = _run(principal, post(adam, THERE, step="merge", target="acme:main", preview=preview))
    assert "It changed since it was looked at" in words(adam.get(run))
    assert _in_main(principal) == 1


def test_a_preview_is_merged_once(adam, branch, principal, count):
    shown, preview = _previewed(adam, principal)
    run = _run(principal, post(adam, THERE, step="merge", target="acme:main", preview=preview))
    report = words(adam.get(run))
    assert "Came in 1" in report
    assert "Came in 1 An otter was seen under the bridge." in report
    assert _in_main(principal) == 2
    page = adam.get(shown)
    assert "This was merged just now . See the merge" in words(page)
    assert 'value="merge"' not in page.text
    before = count(Operation)
    again = post(adam, THERE, step="merge", target="acme:main", preview=preview)
    assert (again.status_code, "This plan was applied already" in words(again)) == (409, True)
    assert count(Operation) == before


def test_a_preview_tells_the_memories(adam, branch, principal, store, alice, bob, monkeypatch):
    held = ClaimDraft("lisbon", "budget", "$750")
    store("acme:main", "The budget is $750.", by=alice.principal, source="user_explicit", claim=held)
    weak = ClaimDraft("lisbon", "budget", "$0")
    store("acme:side", "The budget is $0.", by=bob.principal, source="document", claim=weak)
    store("acme:main", "The mill is old.", by=alice.principal, source="tool_output", source_id="s1")
    store("acme:side", "The mill is \u202enew.", by=bob.principal, source="document", source_id="s1")
    shown, _ = _previewed(adam, principal)
    text = words(adam.get(shown))
    assert "Only there: come in 1 An otter was seen under the bridge." in text
    assert "Conflict: go to review 1 The budget is $0. stands against: The budget is $750." in text
    assert "Same source: one stays 1 The mill is ⟨U+202E⟩ new. of less authority stays: The mill is old." in text
    assert "What is only in acme:main stays as it is." in text
    monkeypatch.setattr(memory_lists, "NAMED", 1)
    store("acme:side", "The boat lies in the reeds.")
    shown, _ = _previewed(adam, principal)
    text = words(adam.get(shown))
    assert "come in 2 An otter was seen under the bridge. and 1 more" in text
    assert "The boat lies" not in text


def test_a_preview_asks_the_database_the_same_however_much_comes(adam, branch, principal, store):
    def query_count():
        shown, _ = _previewed(adam, principal)
        with CaptureQueriesContext(connection) as found:
            adam.get(shown)
        return len(found)

    one = query_count()
    for n in range(5):
        store("acme:side", f"Boat number {n} lies in the reeds.")
    assert query_count() == one


def test_nothing_to_merge_is_said(adam, principal, store):
    store("acme:main", "The heron nests behind the mill.")
    _run(principal, post(adam, "/namespaces/fork/", source="acme:main", target="side"))
    shown, _ = _previewed(adam, principal)
    assert "No memory would change" in words(adam.get(shown))


def test_what_is_polled_sets_no_cookie(adam, branch, principal):
    answer = post(adam, THERE, step="look", target="acme:main")
    part = adam.get(answer["Location"], headers=HTMX)
    assert part.text.strip().startswith('<div class="live"')
    assert (not part.cookies, "csrfmiddlewaretoken" in part.text) == (True, False)
    _run(principal, answer)
    last = adam.get(answer["Location"], headers=HTMX)
    assert (last["HX-Refresh"], last.content, not last.cookies) == ("true", b"", True)


def test_the_tree_tells_when_a_fork_was_made(adam, branch, principal):
    with access.enter(principal, why="test"):
        Namespace.objects.filter(name="acme:side").update(created_at=timezone.now() - datetime.timedelta(days=3))
    page = words(adam.get("/namespaces/"))
    assert "acme:side 2 memories forked 3 d ago newest" in page
    assert "acme:main 1 memory made" in page


def test_a_deletion_names_its_namespace(adam, branch, principal):
    run = _run(principal, post(adam, "/namespaces/delete/", name="acme:side", confirm="acme:side"))
    page = adam.get(run)
    assert (page.status_code, "Delete acme:side" in words(page)) == (200, True)
    assert "delete acme:side" in words(adam.get("/operations/"))


GONE = "/namespaces/project/delete/"


def _shown_count(client):
    return re.findall(r'name="expected_count" value="([^"]+)"', client.get("/namespaces/").text)


def test_a_project_goes_once_its_name_was_typed_beside_the_count(adam, branch, store, principal):
    store("acme:main", "Mia likes herons.", by=principal.of_user("mia"))
    page = words(adam.get("/namespaces/"))
    assert "acme goes with everything in it: 4 memories, what is kept of 1 user, 0 backups, keys and members." in page
    assert "That can’t be undone. No backup was made. Make one" in page
    run = _run(principal, post(adam, GONE, confirm="acme", expected_count=_shown_count(adam)[0]))
    assert not Project.objects.filter(name="acme").exists()
    assert adam.get(run).status_code == 403
    assert "You belong to no project yet" in words(adam.get(run))


def test_a_project_stays_where_the_name_or_the_count_differs(adam, branch, store, count):
    (shown,) = _shown_count(adam)
    before = count(Operation)
    for confirm, expected in (("", shown), ("acm", shown), ("acme:main", shown), ("acme", ""), ("acme", "x")):
        refused = post(adam, GONE, confirm=confirm, expected_count=expected)
        assert (refused.status_code, "Nothing was deleted" in words(refused)) == (409, True)
    store("acme:main", "Stored meanwhile.")
    refused = post(adam, GONE, confirm="acme", expected_count=shown)
    assert "The project holds 4 by now, which is not what the page showed." in words(refused)
    assert 'name="expected_count" value="4"' in refused.text
    assert count(Operation) == before


def test_only_an_admin_deletes_a_project(rita, vera, carl, branch, count):
    before = count(Operation)
    for client in (rita, vera):
        assert "Delete the project" not in client.get("/namespaces/").text
        assert post(client, GONE, confirm="acme", expected_count="3").status_code == 403
    assert post(carl, GONE, confirm="acme", expected_count="3").status_code == 409  # their own has another name
    assert count(Operation) == before


def test_a_page_of_a_project_that_is_gone_leads_away(adam, project):
    Membership.objects.all().delete()
    told = adam.get("/operations/", headers={**HTMX, "X-NovaMem-Project": "acme"})
    assert (told.status_code, told["HX-Redirect"]) == (200, "/")


def test_the_last_backup_is_named_before_a_project_goes(adam, branch, principal):
    jobs.run(principal, uuid.UUID(post(adam, "/backups/", policy="full")["Location"].rstrip("/").rpartition("/")[2]))
    assert (
        "1 backup, keys and members. That can’t be undone. The last backup was made just now , and goes too"
        in words(adam.get("/namespaces/"))
    )


@pytest.mark.examples
@pytest.mark.parametrize("kind", [*jobs.KINDS, jobs.UNDO])
def test_every_kind_has_a_page_whatever_it_keeps(adam, principal, kind):
    kept = (7, {"place": 1}, ["x"], "x", None)
    with access.enter(principal, why="test"):
        rows = [Operation.objects.create(kind=kind, project_id=principal.project_id, cursor=one) for one in kept]
        ended = {"state": "succeeded", "finished_at": timezone.now(), "report": {"deleted": 3, "by": {"part": 1}}}
        Operation.objects.filter(id__in=[row.id for row in rows[:3]]).update(**ended)
    for row in rows:
        assert adam.get(f"/operations/{row.id}/").status_code == 200
