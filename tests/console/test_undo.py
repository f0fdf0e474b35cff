"""Whatever can be taken back is offered to be, until it is hidden."""

import html
import re

import pytest
from django.utils import timezone

from memories import access, jobs, schedules
from memories.access import keys
from memories.models import Fragment, Membership, SavedView
from tests.console.conftest import a_person, decide, logged_in, post


def strip(page):
    """What the undo strip says, where its form goes to and what it sends; None without one."""
    found = re.search(r'<div class="undo" id="undo">(.*?)</form>', page.text, re.DOTALL)
    if found is None:
        return None
    said = html.unescape(re.search(r"<strong>(.*?)</strong>", found[1])[1])
    action = html.unescape(re.search(r'action="([^"]+)"', found[1])[1])
    fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', found[1])}
    return said, action, {name: value for name, value in fields.items() if name != "csrfmiddlewaretoken"}


def taken_back(client, path="/memories/"):
    """Sends the form of the strip; nothing is offered afterwards."""
    _, action, fields = strip(client.get(path))
    assert post(client, action, **fields).status_code == 303
    assert strip(client.get(path)) is None


def state(principal, row):
    with access.enter(principal, why="test"):
        now = Fragment.objects.get(id=row.id)
    return now.is_pinned, now.is_anchor, now.status, now.content


@pytest.mark.parametrize(
    ("first", "action", "said"),
    [
        ("", "pin", "Pinned."),
        ("pin", "unpin", "Unpinned."),
        ("", "anchor", "Made an anchor."),
        ("anchor", "unanchor", "No anchor any more."),
        ("", "archive", "Archived."),
        ("archive", "unarchive", "Brought back from the archive."),
    ],
)
def test_what_is_done_to_a_memory(rita, store, principal, first, action, said):
    row = store("acme:main", "The heron nests.")
    there = f"/memories/{row.id}/act/"
    if first:
        post(rita, there, action=first)
    before = state(principal, row)
    post(rita, there, action=action)
    assert state(principal, row) != before
    assert strip(rita.get("/tombstones/"))[0] == said
    taken_back(rita)
    assert state(principal, row) == before


def test_an_edit(rita, store, principal):
    row = store("acme:main", "The heron nests.")
    there = f"/memories/{row.id}/act/"
    post(rita, there, action="edit", content="It nests in the reeds.", revision="1")
    said, _, fields = strip(rita.get("/memories/"))
    assert said == "Edited."
    assert "heron" not in str(fields)
    taken_back(rita)
    assert state(principal, row)[3] == "The heron nests."
    assert post(rita, there, action="revert", to="7", revision="2").status_code == 404


def test_an_edit_that_was_edited_since_is_not_taken_back(rita, rob, store, principal):
    row = store("acme:main", "The heron nests.")
    there = f"/memories/{row.id}/act/"
    post(rita, there, action="edit", content="It nests in the reeds.", revision="1")
    post(rob, there, action="edit", content="It left.", revision="2")
    _, action, fields = strip(rita.get("/memories/"))
    assert post(rita, action, **fields).status_code == 409
    assert state(principal, row)[3] == "It left."


def strip_text(page):
    """What the strip says in all; it offers nothing."""
    found = re.search(r'<div class="undo" id="undo">.*?<span>(.*?)</span>(.*?)</div>', page.text, re.DOTALL)
    assert "taken_back" not in found[2]
    return " ".join(re.sub(r"<[^>]+>", "", html.unescape(found[1])).split())


@pytest.mark.parametrize(("action", "said"), [("corroborate", "Corroborated."), ("dispute", "Disputed.")])
def test_a_vote_is_told_and_not_taken_back(rita, store, action, said):
    row = store("acme:main", "The heron nests.")
    post(rita, f"/memories/{row.id}/act/", action=action)
    assert strip_text(rita.get("/memories/")) == f"{said} A vote stands; nobody takes it back. Show"


def test_forgetting_names_the_backups_that_hold_it(rita, store, principal):
    row, other = store("acme:main", "The heron nests."), store("acme:main", "The bridge is shut.")
    post(rita, f"/memories/{other.id}/act/", action="pin")
    post(rita, f"/memories/{other.id}/act/", action="forget", confirm="forget")
    assert strip_text(rita.get("/memories/")) == "Forgotten. No backup holds it. Show"
    made = jobs.start(principal, kind="backup", namespace=None, options={}, now=timezone.now(), wake_up=False)
    jobs.run(principal, made.id)
    post(rita, f"/memories/{row.id}/act/", action="forget", confirm="forget")
    day = f"{timezone.now():%Y-%m-%d}"
    assert f"Backups made before still hold it ({day})" in strip_text(rita.get("/memories/"))


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_it_stays_until_it_is_hidden(rita, rob, store, headers):
    row = store("acme:main", "The heron nests.")
    post(rita, f"/memories/{row.id}/act/", action="pin")
    for path in ("/memories/", "/review/", f"/memories/{row.id}/"):
        assert strip(rita.get(path))[0] == "Pinned."
    assert strip(rob.get("/memories/")) is None
    answer = post(rita, "/undo/hide/", headers=headers)
    assert (answer.status_code, answer.get("Location")) == ((200, None) if headers else (303, f"/memories/{row.id}/"))
    assert strip(rita.get("/memories/")) is None


def test_only_the_last_thing_is_told(rita, store, challenge):
    row, conflict = store("acme:main", "The heron nests."), challenge()
    post(rita, f"/memories/{row.id}/act/", action="corroborate")
    decide(rita, conflict, "reject")
    page = rita.get("/review/").text
    assert (page.count("undo-strip"), "Rejected." in page) == (1, True)
    post(rita, f"/memories/{row.id}/act/", action="pin")
    page = rita.get("/review/").text
    assert (page.count("undo-strip"), "Pinned." in page) == (1, True)
    post(rita, f"/review/{conflict.id}/undo/")
    assert "undo-strip" not in rita.get("/review/").text


def test_another_project_does_not_see_it(project, store):
    both = logged_in(a_person("beth", project, keys.ensure_project("elsewhere"), role="admin"))
    row = store("acme:main", "The heron nests.")
    post(both, f"/memories/{row.id}/act/", action="pin", in_project="acme")
    assert strip(both.get("/memories/?project=acme"))[0] == "Pinned."
    assert strip(both.get("/memories/?project=elsewhere")) is None


def test_roles(adam, project):
    rob = a_person("rob", project, role="reviewer")

    def role():
        return list(Membership.objects.filter(project=project, user=rob).values_list("role", flat=True))

    post(adam, f"/agents/members/{rob.pk}/", role="admin")
    assert (role(), strip(adam.get("/agents/"))[0]) == (["admin"], "rob is admin.")
    taken_back(adam)
    assert role() == ["reviewer"]
    post(adam, f"/agents/members/{rob.pk}/", role="")
    assert (role(), strip(adam.get("/agents/"))[0]) == ([], "rob is no member any more.")
    taken_back(adam)
    assert role() == ["reviewer"]
    post(adam, "/agents/members/", username="zoe", role="viewer")
    assert strip(adam.get("/agents/"))[0] == "zoe is viewer."
    taken_back(adam)
    assert not Membership.objects.filter(user__username="zoe").exists()


def test_views(rita, principal):
    def kept():
        with access.enter(principal, why="test"):
            return dict(SavedView.objects.values_list("name", "query"))

    post(rita, "/memories/views/", name="mine", query="q=otter")
    taken_back(rita)
    assert kept() == {}
    post(rita, "/memories/views/", name="mine", query="q=otter")
    post(rita, "/memories/views/", name="mine", query="q=heron")
    taken_back(rita)
    assert kept() == {"mine": "q=otter"}
    with access.enter(principal, why="test"):
        which = SavedView.objects.get().id
    post(rita, f"/memories/views/{which}/delete/")
    assert kept() == {}
    taken_back(rita)
    assert kept() == {"mine": "q=otter"}


def test_a_schedule(root):
    schedules.set_schedule("back up", every=2, period="hours", enabled=False)
    post(root, "/schedules/backups/", every="3", period="days", enabled="yes")
    assert strip(root.get("/backups/"))[0] == "The schedule of backups is changed."
    taken_back(root)
    now = schedules.schedule("back up", now=timezone.now())
    assert (now.every, now.period, now.enabled) == (2, "hours", False)


def test_a_first_schedule_is_switched_off(root):
    post(root, "/schedules/backups/", every="3", period="days", enabled="yes")
    assert strip(root.get("/backups/"))[0] == "The schedule of backups is set."
    taken_back(root)
    now = schedules.schedule("back up", now=timezone.now())
    assert (now.every, now.period, now.enabled) == (3, "days", False)


def test_what_nothing_takes_back_is_told_without_a_button(root, store):
    store("acme:main", "The heron nests.")
    for path, wish, said in (
        (
            "/namespaces/fork/",
            {"source": "acme:main", "target": "side"},
            "The fork of acme:main into acme:side was begun.",
        ),
        ("/schedules/backups/", {"every": "3", "period": "days"}, "The schedule of backups is set."),
    ):
        told, action, _ = strip(root.get(post(root, path, **wish)["Location"]))
        assert (told, action) == (said, "/undo/hide/")
    post(root, "/undo/hide/")
    assert strip(root.get("/namespaces/")) is None


def test_the_first_steps(adam):
    post(adam, "/steps/hide/")
    assert adam.session["tour-hidden"]
    taken_back(adam)
    assert not adam.session["tour-hidden"]


def test_elsewhere_the_strip_leads_to_what_it_is_about(rita, store):
    row = store("acme:main", "The heron nests.")
    there = post(rita, f"/memories/{row.id}/act/", action="pin").headers["location"]
    link = f'<a href="{html.escape(there)}">Show</a>'
    assert link not in rita.get(there).text
    assert link in rita.get("/connect/").text


def test_what_is_taken_back_leads_to_the_same_list(rita, store):
    row = store("acme:main", "The heron nests.")
    there = post(rita, f"/memories/{row.id}/act/?q=heron&tab=trust", action="pin").headers["location"]
    _, action, fields = strip(rita.get(there))
    assert post(rita, action, **fields).headers["location"] == there
    assert "q=heron" in there
