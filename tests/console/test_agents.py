"""/agents/, /memories/<id>/act/, /namespaces/: what admins and reviewers do, and who may not."""

import datetime
import html
import re
import uuid

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from memories import access, ingest
from memories.access import authorizations, members, oauth_clients
from memories.models import ApiKey, Authorization, Fragment, Membership, Namespace, Operation
from tests.console.conftest import a_person, decide, logged_in, misnamed, post, words


def led(client, answer):
    """The page that a form leads to."""
    assert (answer.status_code, answer["Location"]) == (303, "/agents/")
    return client.get(answer["Location"])


@pytest.fixture
def store_many(principal):
    """Stores memories in one transaction."""

    def store(number):
        drafts = [ingest.Draft(namespace="acme:main", content=f"Heron {n} nests.") for n in range(number)]
        ingest.store(principal, ingest.prepare(drafts), now=timezone.now())

    return store


WISH = {"namespaces": "acme:*", "verbs": ["read", "write"], "ceiling": "tool_output", "owner": "robot"}


def test_a_key_is_shown_once_and_works(adam, project, count):
    page = led(adam, post(adam, "/agents/keys/", **WISH))
    (text,) = re.findall(r'value="(nova_[^"]+)"', page.text)
    found = access.principal_of_key(text, now=timezone.now())
    assert (found.owner, found.namespaces) == ("robot", ("acme:*",))
    assert text not in adam.get("/agents/").text
    assert count(ApiKey) == 1


@pytest.mark.parametrize(
    "bad", [{"namespaces": "other:*"}, {"verbs": []}, {"ceiling": "god"}, {"owner": "user:adam"}, {"namespaces": ""}]
)
def test_a_bad_wish_makes_no_key(adam, count, bad):
    assert post(adam, "/agents/keys/", **{**WISH, **bad}).status_code == 409
    assert count(ApiKey) == 0


def test_what_can_be_pressed_is_called_as_it_reads(adam, bob):
    page = adam.get("/agents/")
    assert f'aria-label="Revoke for good: {bob.row.key_id}"' in page.text
    assert misnamed(page) == []


def test_rotating_and_revoking(adam, bob, count):
    key = bob.row.key_id
    rotated = led(adam, post(adam, f"/agents/keys/{key}/rotate/"))
    assert 'value="nova_' in rotated.text
    assert f"It replaces {key} , which works for 24 hours more; that can’t be undone." in words(rotated)
    assert count(ApiKey) == 2
    unsure = post(adam, f"/agents/keys/{key}/revoke/")
    assert (unsure.status_code, "Nothing was revoked" in words(unsure)) == (409, True)
    assert post(adam, f"/agents/keys/{key}/banana/", confirm="yes").status_code == 404
    assert access.principal_of_key(bob.key, now=timezone.now()) is not None
    assert f"The key {key} is revoked" in words(led(adam, post(adam, f"/agents/keys/{key}/revoke/", confirm="yes")))
    assert access.principal_of_key(bob.key, now=timezone.now()) is None
    assert "revoked made just now" in words(adam.get("/agents/"))


def test_the_audit_names_who_issued_rotated_and_revoked(adam, bob):
    post(adam, "/agents/keys/", **WISH)
    post(adam, f"/agents/keys/{bob.row.key_id}/rotate/")
    post(adam, f"/agents/keys/{bob.row.key_id}/revoke/", confirm="yes")
    told = words(adam.get("/audit/?kind=key"))
    for line in ("issue key key made", "rotate key key made", "rotate key key changed", "revoke key key changed"):
        assert f"adam {line}" in told


def test_what_is_shown_once_is_kept_nowhere_in_clear(adam):
    answer = post(adam, "/agents/keys/", **WISH)
    kept = str(dict(adam.session))
    (text,) = re.findall(r'value="(nova_[^"]+)"', led(adam, answer).text)
    assert text not in kept
    assert "told-once" not in adam.session
    added = post(adam, "/agents/members/", username="nora", role="viewer")
    del adam.cookies["told-once"]
    assert 'id="password"' not in led(adam, added).text


def on_all_pages(client, there, pattern):
    """What a pattern finds from a page of the audit to the last older one."""
    found = []
    while there:
        page = client.get(there)
        found += re.findall(pattern, page.text)
        older = re.search(r'href="(\?before=[^"]+)"', page.text)
        there = f"/audit/{html.unescape(older.group(1))}" if older else ""
    return found


def test_all_events_of_a_transaction_are_seen_once(adam, store_many, principal):
    store_many(130)
    seen = on_all_pages(adam, "/audit/?kind=memory", r'href="/memories/([0-9a-f-]{36})/"')
    assert (len(seen), len(set(seen))) == (130, 130)


def test_pages_of_all_kinds_miss_nothing(adam, principal):
    with access.enter(principal, why="test"):
        for _ in range(40):
            Namespace.objects.create(name=f"acme:{uuid.uuid4()}", project_id=principal.project_id)
            Operation.objects.create(kind="rebuild", project_id=principal.project_id)
    seen = on_all_pages(adam, "/audit/?why=test", r"<code>([0-9a-f-]{36})</code>")
    assert (len(seen), len(set(seen))) == (80, 80)
    for bad in ("x", "1-2", "2026-01-01T00:00:00+00:00", "1-2-3-4"):
        assert adam.get(f"/audit/?before={bad}").status_code == 404


def test_what_its_writes_came_to(adam, bob, store):
    store("acme:main", "The heron nests behind the mill.", by=bob.principal)
    assert "active 1" in words(adam.get("/agents/"))


def test_what_its_writes_came_to_leads_to_them(adam, alice, bob, store):
    """By the grant: what was written by a key and by the one in its place is counted with both."""
    for n in range(3):
        store("acme:main", f"The heron nests {n} times.", by=bob.principal)
    store("acme:main", "An otter was seen.", by=alice.principal)
    here = adam.get("/agents/")
    links = re.findall(r'href="(/memories/[^"]+)">.*?</span>\s*(\d+)</a>', here.text, re.DOTALL)
    assert sorted(int(number) for _, number in links) == [1, 3]
    for url, number in links:
        page = adam.get(html.unescape(url))
        assert page.text.count("data-row") == int(number), url
        without = re.search(r'href="([^"]+)" aria-label="Without key"', page.text)[1]
        assert adam.get(html.unescape(without)).text.count("data-row") == 4
    assert "data-row" not in adam.get("/memories/?key=nobodys").text
    assert "data-row" not in adam.get("/memories/?q=heron&key=nobodys").text


def test_foreign_keys_are_not_found(adam, charlie):
    assert post(adam, f"/agents/keys/{charlie.row.key_id}/revoke/").status_code == 404
    assert access.principal_of_key(charlie.key, now=timezone.now()) is not None


@pytest.mark.parametrize("path", ["/agents/", "/audit/"])
def test_reviewers_do_not_see_keys(rita, path):
    assert rita.get(path).status_code == 403


def look(principal, row):
    with access.enter(principal, why="test"):
        return Fragment.objects.filter(id=row.id).first()


ACTS = {
    "pin": lambda row: row.is_pinned,
    "anchor": lambda row: row.is_anchor,
    "archive": lambda row: row.status == "archived",
    "corroborate": lambda row: row.corroboration == 2,
    "dispute": lambda row: row.disputes == 1,
}


@pytest.mark.parametrize("action", ACTS)
def test_a_reviewer_acts_on_a_memory(rita, store, principal, action):
    row = store("acme:main", "The heron nests behind the mill.", source="document")
    assert not ACTS[action](row)
    assert post(rita, f"/memories/{row.id}/act/", action=action).status_code == 303
    assert ACTS[action](look(principal, row))


def test_editing_keeps_the_former_text(rita, store, principal):
    row = store("acme:main", "The heron nests behind the mill.")
    post(rita, f"/memories/{row.id}/act/", action="edit", content="It nests in the reeds.", revision="1")
    assert look(principal, row).content == "It nests in the reeds."
    stale = post(rita, f"/memories/{row.id}/act/", action="edit", content="Or not.", revision="1")
    assert (stale.status_code, "It changed while you looked" in words(stale)) == (409, True)
    assert "The heron nests behind the mill." in words(rita.get(f"/memories/{row.id}/?tab=history"))


def test_lines_stay_as_they_were_typed(rita, store, principal):
    row = store("acme:main", "One line.\nAnother.")
    post(rita, f"/memories/{row.id}/act/", action="edit", content="One line.\r\nAnother.", revision="1")
    assert (look(principal, row).content, look(principal, row).revision) == ("One line.\nAnother.", 1)
    long = "\r\n".join(["1234"] * 399)  # 1,995 characters as a person counts them
    post(rita, f"/memories/{row.id}/act/", action="edit", content=long, revision="1")
    assert look(principal, row).content == long.replace("\r", "")


@pytest.mark.parametrize("text", ["", "x" * 2001, "a\0b"])
def test_what_can_not_be_saved_is_not_lost(rita, store, principal, text):
    row = store("acme:main", "The heron nests.")
    page = post(rita, f"/memories/{row.id}/act/", action="edit", content=text, revision="1")
    assert (page.status_code, "A sentence has 1 to 2000 characters" in words(page)) == (409, True)
    assert text.replace("\0", "") in page.text.replace("\0", "")
    assert look(principal, row).revision == 1


def test_what_was_typed_too_late_is_not_lost(rita, store):
    row = store("acme:main", "The heron nests.")
    post(rita, f"/memories/{row.id}/act/", action="edit", content="It nests.", revision="1")
    page = post(rita, f"/memories/{row.id}/act/", action="edit", content="Mine, at length.", revision="1")
    assert 'maxlength="2000">Mine, at length.</textarea>' in page.text


def test_one_stays_where_one_was(rita, store):
    row = store("acme:main", "The heron nests.")
    page = rita.get(f"/memories/{row.id}/?q=heron&type=semantic&tab=trust")
    (there, *_) = {html.unescape(path) for path in re.findall(r'action="(/memories/[^"]+/act/[^"]*)"', page.text)}
    answer = post(rita, there, action="pin")
    assert answer["Location"] == f"/memories/{row.id}/?q=heron&type=semantic&tab=trust"


def test_forgetting_is_typed(rita, store, principal):
    row = store("acme:main", "The heron nests behind the mill.")
    assert post(rita, f"/memories/{row.id}/act/", action="forget", confirm="yes").status_code == 409
    assert look(principal, row)
    assert post(rita, f"/memories/{row.id}/act/", action="forget", confirm="forget")["Location"] == "/memories/"
    assert look(principal, row) is None


@pytest.mark.examples
@pytest.mark.parametrize("action", [*ACTS, "forget", "edit"])
def test_viewers_and_strangers_change_nothing(vera, carl, store, principal, action):
    row = store("acme:main", "The heron nests behind the mill.")
    form = {"action": action, "confirm": "forget", "content": "x", "revision": "1"}
    assert post(vera, f"/memories/{row.id}/act/", **form).status_code == 403
    assert post(carl, f"/memories/{row.id}/act/", **form).status_code == 404
    now = look(principal, row)
    assert (now.content, now.revision, now.status) == (row.content, 1, "active")


def test_namespaces_are_deleted_by_their_name_only(adam, store, count):
    store("acme:main", "The heron nests behind the mill.")
    (held,) = re.findall(r'<option value="acme:main"[^>]*>(.*?)</option>', adam.get("/namespaces/").text)
    assert held == "acme:main · 1 memory"
    assert post(adam, "/namespaces/delete/", name="acme:main", confirm="main").status_code == 409
    assert post(adam, "/namespaces/fork/", source="acme:main", target="NO NO").status_code == 409
    assert count(Operation) == 0
    assert post(adam, "/namespaces/delete/", name="acme:main", confirm="acme:main").status_code == 303
    assert count(Operation) == 1


@pytest.mark.usefixtures("adam")
def test_of_two_admins_who_take_each_other_out_one_is_too_late(project):
    a_person("eve", project, role="admin")
    ids = {name: get_user_model().objects.get(username=name).pk for name in ("adam", "eve")}
    asking = {
        name: access.principal_of_member(get_user_model().objects.get(pk=pk), project="acme")
        for name, pk in ids.items()
    }  # as both requests know them before either is done
    members.set_role(project, ids["eve"], role="", by=asking["adam"])
    with pytest.raises(access.NotPermitted, match="no administrator"):
        members.set_role(project, ids["adam"], role="", by=asking["eve"])
    assert list(Membership.objects.filter(project=project, role="admin").values_list("user_id", flat=True)) == [
        ids["adam"]
    ]


def test_an_admin_changes_roles_but_not_their_own(project, rita):
    boss = a_person("boss", project, role="admin")
    client, other = logged_in(boss), get_user_model().objects.get(username="rita")
    assert post(client, f"/agents/members/{other.pk}/", role="viewer")["Location"] == "/agents/"
    assert Membership.objects.get(user=other).role == "viewer"
    for user_id, role in ((boss.pk, "viewer"), (other.pk, "king"), (0, "viewer")):
        refused = post(client, f"/agents/members/{user_id}/", role=role)
        assert (refused.status_code, "The role was not changed" in words(refused)) == (409, True)
    assert post(rita, f"/agents/members/{boss.pk}/", role="viewer").status_code == 403
    assert Membership.objects.get(user=boss).role == "admin"
    post(client, f"/agents/members/{other.pk}/", role="")
    assert not Membership.objects.filter(user=other).exists()
    assert "member deleted was viewer rita" in words(client.get("/audit/?kind=member"))


def test_an_admin_adds_somebody_new_who_can_log_in(adam, project, client):
    page = led(adam, post(adam, "/agents/members/", username="nora", role="reviewer"))
    (password,) = re.findall(r'id="password" readonly value="([^"]+)"', page.text)
    nora = get_user_model().objects.get(username="nora")
    assert Membership.objects.get(user=nora, project=project).role == "reviewer"
    assert client.login(username="nora", password=html.unescape(password))
    assert client.get("/review/").status_code == 200
    assert client.get("/agents/").status_code == 403
    assert password not in adam.get("/agents/").text


def test_members_find_where_to_change_their_password(adam, project):
    post(adam, "/agents/members/", username="vera", role="viewer")
    vera = logged_in(get_user_model().objects.get(username="vera"))
    assert 'href="/admin/password_change/"' in vera.get("/").text
    assert vera.get("/admin/password_change/").status_code == 200


def test_the_list_says_how_fast_a_key_may_ask(adam, agent_of, project):
    agent_of(project, owner="slow", requests_per_minute=5)
    agent_of(project, owner="free", requests_per_minute=0)
    text = words(adam.get("/agents/"))
    assert "5 requests a minute" in text
    assert "any rate" in text


def test_an_admin_adds_somebody_of_another_project(adam, project, charlie):
    carl = a_person("carl", charlie.row.project, role="admin")
    page = led(adam, post(adam, "/agents/members/", username="carl", role="viewer"))
    assert "carl is viewer and logs in as before" in words(page)
    assert 'id="password"' not in page.text
    assert set(Membership.objects.filter(user=carl).values_list("project", "role")) == {
        (project.id, "viewer"),
        (charlie.row.project_id, "admin"),
    }


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"username": "", "role": "viewer"}, "Nobody was added"),
        ({"username": "two words", "role": "viewer"}, "Nobody was added"),
        ({"username": "n" * 94, "role": "viewer"}, "A name has at most 93 characters"),
        ({"username": "nora", "role": "king"}, "The role was not changed"),
        ({"username": "adam", "role": "viewer"}, "adam is a member already"),
        ({"username": "Adam", "role": "viewer"}, "There is somebody called adam already"),
    ],
)
def test_who_can_not_be_added(adam, form, said):
    before = list(Membership.objects.values_list("user__username", "role"))
    page = post(adam, "/agents/members/", **form)
    assert (page.status_code, said in words(page)) == (409, True)
    assert list(Membership.objects.values_list("user__username", "role")) == before
    assert get_user_model().objects.count() == len(before)


def test_only_admins_add_members(rita):
    assert post(rita, "/agents/members/", username="nora", role="admin").status_code == 403
    assert not get_user_model().objects.filter(username="nora").exists()


def test_the_audit_names_requests_as_the_api_documents_them(project, alice, store):
    adam = logged_in(a_person("adam", project, role="admin"))
    row = store("acme:main", "The heron nests behind the mill.", by=alice.principal)
    alice.client.post(f"/api/v1/fragments/{row.id}/reinforce", {}, format="json")
    shown = "POST /api/v1/fragments/{fragment_id}/reinforce"
    assert shown in words(adam.get("/audit/?kind=memory"))
    for asked in (shown, "POST api/v1/fragments/<uuid:fragment_id>/reinforce"):
        found = words(adam.get("/audit/", {"kind": "memory", "why": asked}))
        assert (found.count(f"{shown} memory changed"), found.count("memory made")) == (1, 0)


def test_the_audit_is_filtered_and_leads_to_an_undo(project, store, principal):
    adam = logged_in(a_person("adam", project, role="admin"))
    row = store("acme:main", "The heron nests behind the mill.")
    store("acme:main", "An otter was seen under the bridge.")
    assert words(adam.get("/audit/?kind=memory")).count("memory made") == 2
    assert words(adam.get(f"/audit/?kind=memory&about={row.id}")).count("memory made") == 1
    assert words(adam.get("/audit/?kind=memory&why=restore")).count("memory made") == 0
    assert words(adam.get("/audit/?kind=memory&restores=no")).count("memory made") == 2
    for asked in ("about=x", "restores=maybe", "why=%00"):
        assert adam.get(f"/audit/?{asked}").status_code == 404
    with access.enter(principal, why="test"):
        ended = {"state": "succeeded", "finished_at": timezone.now(), "project_id": principal.project_id}
        saved = uuid.uuid4()
        # From before restores kept what takes them back; and one that did.
        Operation.objects.create(kind="restore", report={"safety_backup_id": str(saved)}, **ended)
        wrote = {"transactions": {"acme:main": ["1000"]}}
        restored = Operation.objects.create(kind="restore", report={"made": []}, cursor=wrote, **ended)
        run = Operation.objects.create(kind="evict", report={}, **ended)
    page = adam.get("/audit/?kind=operation").text
    assert f"/backups/{saved}/" not in page  # restoring that takes back nothing
    led = re.findall(r'<a href="([^"]+)">Take back…', page)
    assert led == [f"/operations/{run.id}/", f"/operations/{restored.id}/"]


def test_the_audit_leads_to_a_decision_that_stands(adam, rita, challenge):
    """With the reviewer's note; not to one that was taken back."""
    first, second = challenge("$0"), challenge("$1")
    for conflict, note in ((first, "A typo \u202eof the page"), (second, "Invented")):
        assert decide(rita, conflict, "reject", note=note).status_code == 303
    assert post(rita, f"/review/{second.id}/undo/").status_code == 303
    page = adam.get("/audit/?kind=conflict")
    assert re.findall(r'<a href="([^"]+)">Take back…', page.text) == [f"/review/{first.id}/"]
    assert "resolve A typo ⟨U+202E⟩ of the page conflict changed reject" in words(page)
    assert "Invented" not in page.text
    assert "Undo this decision" in adam.get(f"/review/{first.id}/").text


def test_the_audit_names_rulings_and_those_that_were_taken_back(adam, rita, challenge):
    conflict = challenge("$0")
    decide(rita, conflict, "reject")
    assert post(rita, f"/review/{conflict.id}/undo/").status_code == 303
    page = adam.get("/audit/?kind=ruling")
    assert "rita resolve ruling made in force" in words(page)
    assert "rita undo ruling deleted" in words(page)
    assert f'href="/review/{conflict.id}/"' in page.text


def test_the_audit_names_who_let_whom_in(adam, project, principal, count):
    post(adam, "/agents/members/", username="zoe", role="viewer")
    zoe = Membership.objects.get(user__username="zoe").user_id
    post(adam, f"/agents/members/{zoe}/", role="reviewer")
    post(adam, f"/agents/members/{zoe}/", role="")
    text = words(adam.get("/audit/?kind=member"))
    for told in (
        "adam add member member made viewer zoe",
        "adam set role member changed reviewer zoe",
        "adam set role member deleted was reviewer zoe",
    ):
        assert told in text
    assert "zoe" in words(adam.get("/audit/"))
    assert "Nothing happened yet." in words(adam.get(f"/audit/?about={uuid.uuid4()}"))


def test_a_project_sees_its_own_members_alone(carl, adam):
    post(adam, "/agents/members/", username="zoe", role="viewer")
    assert "zoe" not in words(carl.get("/audit/?kind=member"))


def test_a_clients_key_lasts_beyond_its_token_and_is_not_rotated(adam, project, now):
    client = oauth_clients.register("Claude Desktop", ["http://127.0.0.1/"], method="none", scopes=[])
    person = access.principal_of_member(get_user_model()._default_manager.get(username="adam"), project=project.name)
    asked = {"redirect_uri": "http://127.0.0.1/", "challenge": "c" * 43, "resource": ""}
    code = authorizations.consent(person, client, **asked, namespaces=["acme:*"], verbs=["read"])
    long_ago = now - datetime.timedelta(days=1)
    authorizations.redeem(authorizations.read_code(code, client), client, now=long_ago)
    page = adam.get("/agents/")
    assert "Claude Desktop" in page.text
    assert "client:adam" in page.text
    assert ("Revoke for good" in page.text, "A new key takes its place" in page.text) == (True, False)
    authorizations.end_unfounded(project, person.user_id, now=now)
    assert "Revoke for good" in adam.get("/agents/").text
    with access.enter(person, why="test"):
        Authorization.objects.update(refreshed_at=now - datetime.timedelta(days=31))
    assert "Revoke for good" not in adam.get("/agents/").text
