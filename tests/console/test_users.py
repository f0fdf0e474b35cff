"""Users in the console: below their namespace, beside it, as a facet; seen, handed out, erased."""

import html
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, jobs
from memories.models import ApiKey, Fragment, Namespace
from memories.rest.users import address_of
from tests.conftest import stored
from tests.console.conftest import post, words

HOSTILE = "<script>alert(1)</script>\"'\u202egnp\u200b/:*"
TRICKS = ("<script>alert", "\u202e", "\u200b")


def home(value):
    return ClaimDraft("user", "lives_in", value)


@pytest.fixture
def homes(alice):
    """Where two users live, what all may know, and what the project shares."""
    wish = {"source": "user_explicit"}
    return {
        "ann": stored(alice.principal.of_user("ann"), "acme:main", "I live in Lisbon.", claim=home("Lisbon"), **wish),
        "ben": stored(alice.principal.of_user("ben"), "acme:main", "I live in Oslo.", claim=home("Oslo"), **wish),
        "all": stored(alice.principal, "acme:main", "Support answers where people live within a day."),
        "shared": stored(alice.principal, "acme:shared", "The office where people live up to plans is in Bern."),
    }


@pytest.fixture
def many(alice):
    """More users than a page has."""
    for n in range(60):
        stored(alice.principal.of_user(f"u{n:02}"), "acme:main", f"User number {n} drinks tea.")


@pytest.fixture
def claimed(alice, monkeypatch):
    """What more users claim of one key than a page of beliefs draws."""
    monkeypatch.setattr("memories.console.belief_timeline.MOST", 50)
    for n in range(60):
        told = {"source": "user_explicit", "claim": home(f"Town {n}")}
        stored(alice.principal.of_user(f"u{n:02}"), "acme:main", f"I live in Town {n}.", **told)


def test_every_memory_of_many_users_is_on_a_page_of_the_explorer(many, vera):
    seen, link = [], "/memories/"
    while link:
        page = vera.get(link)
        seen += sentences(page)
        found = re.search(r'class="button older" href="([^"]*)" hx-get', page.text)
        link = html.unescape(found[1]) if found else ""
    assert sorted(seen) == sorted(f"User number {n} drinks tea." for n in range(60))


def test_beliefs_of_many_users_say_what_each_says_that_is_drawn(claimed, vera):
    page = vera.get("/beliefs/?subject=user&predicate=lives_in")
    assert "The first 50 of 60 memories are drawn." in words(page)
    assert page.text.count('<div class="believed">') == 50
    assert "<p>Nothing.</p>" not in page.text


def sentences(page):
    return [" ".join(found.split()) for found in re.findall(r'class="sentence"><bdi>(.*?)</bdi>', page.text)]


PAGES = (
    "/",
    "/memories/",
    "/review/",
    "/proposals/",
    "/beliefs/",
    "/context/",
    "/consolidation/",
    "/backups/",
    "/namespaces/",
    "/namespaces/users/",
    "/namespaces/acme:main/merge/",
    "/tombstones/",
    "/operations/",
    "/audit/",
    "/agents/",
    "/connect/",
)


@pytest.mark.examples
@pytest.mark.parametrize("path", PAGES)
def test_no_select_box_lists_scopes_of_users(adam, homes, path):
    page = adam.get(path)
    assert page.status_code == 200
    options = re.findall(r"<option[^>]*>[^<]*", page.text)
    assert not [option for option in options if "acme:main/" in option or "ann" in option]


def test_the_tree_has_users_below_their_namespace(vera, homes, many):
    page = vera.get("/namespaces/")
    text = words(page)
    assert "acme:main 63 memories" in text
    assert "ann 1 memory ben 1 memory u00 1 memory" in text
    assert "All 62 users 62 memories of users" in text
    assert "u07" not in text
    assert f'href="/namespaces/users/{address_of("ann")}/"' in page.text
    assert 'href="/namespaces/users/?namespace=acme%3Amain"' in page.text


def test_the_tree_asks_the_same_however_many_users_there_are(vera, alice, homes):
    def query_count():
        with CaptureQueriesContext(connection) as found:
            assert vera.get("/namespaces/").status_code == 200
        return len(found)

    query_count()  # the first visit makes the person an owner
    few = query_count()
    for n in range(8):
        stored(alice.principal.of_user(f"more {n}"), f"acme:agent{n}", "Tea, never coffee.")
    assert query_count() == few


def test_users_are_listed_by_name_page_by_page(vera, homes, many):
    first = vera.get("/namespaces/users/?namespace=acme:main")
    names = re.findall(r'class="user-name"[^>]*><bdi>(.*?)</bdi>', first.text)
    assert names == ["ann", "ben", *(f"u{n:02}" for n in range(48))]
    (older,) = re.findall(r'class="button older" href="([^"]+)"', first.text)
    second = vera.get(older.replace("&amp;", "&"))
    assert re.findall(r'class="user-name"[^>]*><bdi>(.*?)</bdi>', second.text) == [f"u{n}" for n in range(48, 60)]
    assert "button older" not in second.text


def test_a_user_is_found_by_the_exact_name(vera, homes):
    found = vera.get("/namespaces/users/", {"user": "ann"})
    assert (found.status_code, found["Location"]) == (302, f"/namespaces/users/{address_of('ann')}/")
    refused = vera.get("/namespaces/users/", {"user": "Ann"})
    assert (refused.status_code, "No such user" in words(refused)) == (404, True)


@pytest.mark.parametrize("address", ["a", "%00", "YQ==", "AA", "bm9ib2R5", "4p", "ZQDMiA"])
def test_an_address_of_nobody_is_not_found(vera, homes, address):
    assert vera.get(f"/namespaces/users/{address}/").status_code == 404
    assert vera.get(f"/namespaces/users/{address}/export/").status_code == 404


def test_a_users_page_tells_what_is_kept(vera, alice, homes):
    stored(alice.principal.of_user("ann"), "acme:other", "Ann sails.")
    page = vera.get(f"/namespaces/users/{address_of('ann')}/")
    assert "acme:main 1 in all" in words(page)
    assert "acme:other 1 in all" in words(page)
    assert "See the 2 memories" in words(page)
    assert 'href="/memories/?user=ann&amp;status=all"' in page.text
    assert "Lisbon" not in page.text
    assert "Erase" not in words(page)
    one = vera.get(f"/namespaces/users/{address_of('ann')}/?namespace=acme:other")
    assert "acme:main" not in words(one)


def test_all_of_a_user_is_handed_out_as_a_file(vera, homes):
    answer = vera.get(f"/namespaces/users/{address_of('ann')}/export/")
    assert answer["Content-Disposition"].startswith('attachment; filename="user-2')
    told = json.loads(answer.content)
    assert (told["user"], [row["content"] for row in told["memories"]]) == ("ann", ["I live in Lisbon."])


def test_a_user_is_erased_once_the_number_was_typed(adam, homes, principal):
    there = f"/namespaces/users/{address_of('ann')}/erase/"
    for typed in ("", "yes", "2", "-1"):
        refused = post(adam, there, confirm=typed)
        assert (refused.status_code, "Nothing was erased" in words(refused)) == (409, True)
    done = post(adam, there, confirm="1")
    assert (done.status_code, done["Location"]) == (303, "/namespaces/users/")
    page = words(adam.get("/namespaces/users/"))
    assert "A user is erased: 1 memory, every copy" in page
    assert "No backup holds it." in page
    with access.enter(principal, why="test"):
        assert [row.user for row in Namespace.objects.exclude(user=None)] == ["ben"]
        assert set(Fragment.objects.values_list("id", flat=True)) == {homes[n].id for n in ("ben", "all", "shared")}
    assert adam.get(f"/namespaces/users/{address_of('ann')}/").status_code == 404


def test_an_erasure_names_the_backups_that_hold_it(adam, homes, principal):
    made = jobs.start(principal, kind="backup", namespace=None, options={}, now=timezone.now(), wake_up=False)
    jobs.run(principal, made.id)
    post(adam, f"/namespaces/users/{address_of('ann')}/erase/", confirm="1")
    day = f"{timezone.now():%Y-%m-%d}"
    assert f"Backups made before still hold it ({day})" in words(adam.get("/namespaces/users/"))


@pytest.mark.parametrize("who", ["vera", "rita", "carl"])
def test_only_an_admin_of_the_project_erases(request, homes, who, count):
    before = count(Fragment)
    refused = post(request.getfixturevalue(who), f"/namespaces/users/{address_of('ann')}/erase/", confirm="1")
    assert refused.status_code == (404 if who == "carl" else 403)
    assert count(Fragment) == before


def test_the_explorer_lists_all_users_and_narrows_to_one(vera, homes):
    assert len(sentences(vera.get("/memories/"))) == 4
    page = vera.get("/memories/?user=ann")
    assert sentences(page) == ["I live in Lisbon."]
    assert "acme:main user ann" in words(page)
    assert sentences(vera.get("/memories/?user=ann&namespace=acme:shared")) == []
    assert len(sentences(vera.get("/memories/?namespace=acme:main"))) == 3
    assert sentences(vera.get("/memories/?namespace=acme:main/ben")) == ["I live in Oslo."]
    assert vera.get("/memories/?user=%00").status_code == 404


def test_the_facets_count_by_namespace_and_by_user(vera, homes):
    page = vera.get("/memories/")
    facets = words(page).partition("Filters")[2]
    assert "acme:main 3 acme:shared 1" in facets
    assert "user ann 1 ben 1" in facets
    chosen = vera.get("/memories/?user=ann")
    assert "acme:main 1 acme:shared 0" in words(chosen)
    assert "ann 1 ben 1" in words(chosen)
    assert re.search(r'href="/memories/"[^>]*aria-current="true"', chosen.text)


@pytest.mark.long
def test_many_users_are_a_facet_of_the_fullest(vera, alice, many):
    stored(alice.principal.of_user("u59"), "acme:main", "User u59 also drinks water.")
    page = vera.get("/memories/")
    assert re.findall(r'id="user-\d+"', page.text) == [f'id="user-{n}"' for n in range(1, 21)]
    assert "u59 2 u00 1" in words(page)
    assert "The 20 fullest; All users" in words(page)
    assert "u40 1 u59 2" in words(vera.get("/memories/?user=u40"))


def test_without_users_there_is_no_facet_of_them(vera, store):
    store("acme:main", "The heron nests behind the mill.")
    page = vera.get("/memories/")
    assert ('id="user-1"' in page.text, "all_users" in page.text) == (False, False)


def test_a_search_for_a_user_searches_as_the_user_does(vera, homes):
    found = sentences(vera.get("/memories/?q=where+does+one+live&user=ann"))
    assert set(found) == {homes[n].content for n in ("ann", "all", "shared")}
    assert set(sentences(vera.get("/memories/?q=where+does+one+live"))) == {row.content for row in homes.values()}
    assert "As user ann would be answered" in words(vera.get("/memories/?q=where+does+one+live&user=ann"))


def test_an_opened_memory_names_its_user(vera, homes):
    page = vera.get(f"/memories/{homes['ann'].id}/")
    assert "Namespace acme:main User ann" in words(page)
    assert f'href="/namespaces/users/{address_of("ann")}/"' in page.text


def test_a_person_edits_what_is_kept_of_a_user(rita, homes, principal):
    assert post(rita, f"/memories/{homes['ann'].id}/act/", action="pin").status_code == 303
    with access.enter(principal, why="test"):
        row = Fragment.objects.select_related("namespace").get(id=homes["ann"].id)
    assert (row.is_pinned, row.namespace.user) == (True, "ann")


def test_context_is_what_a_user_would_get(vera, homes):
    page = vera.get("/context/", {"q": "where do you live?", "user": "ben"})
    assert ("Oslo" in page.text, "Lisbon" in page.text) == (True, False)
    assert '"user": "ben"' in html.unescape(page.text)
    nobody = vera.get("/context/", {"q": "where do you live?"})
    assert ("Oslo" in nobody.text, "Lisbon" in nobody.text) == (False, False)
    assert vera.get("/context/", {"q": "a", "user": "\x07"}).status_code == 404


def test_beliefs_are_drawn_for_each_user(vera, homes):
    every = words(vera.get("/beliefs/?subject=user&predicate=lives_in"))
    assert every.count("acme:main user ann") == every.count("acme:main user ben") > 0
    one = vera.get("/beliefs/?subject=user&predicate=lives_in&user=ann")
    assert ("Lisbon" in one.text, "Oslo" in one.text) == (True, False)
    same = vera.get("/beliefs/?namespace=acme:main/ann&subject=user&predicate=lives_in")
    assert ("Lisbon" in same.text, "Oslo" in same.text) == (True, False)
    assert 'value="ann"' in same.text


def test_the_queue_names_the_user(rita, alice, bob, homes):
    weak = {"source": "document", "claim": home("Rome")}
    stored(bob.principal.of_user("ann"), "acme:main", "Ann lives in Rome.", **weak)
    page = words(rita.get("/review/"))
    assert page.count("acme:main user ann") >= 3
    assert "Only acme:main user ann" in words(rita.get("/review/?namespace=acme:main/ann"))
    assert "1 left" in words(rita.get("/review/?namespace=acme:main"))


@pytest.mark.long
def test_hostile_names_stay_text_everywhere(adam, rita, alice, bob):
    who = alice.principal.of_user(HOSTILE)
    row = stored(who, "acme:main", "I live in Lisbon.", source="user_explicit", claim=home("Lisbon"))
    weak = bob.principal.of_user(HOSTILE)
    stored(weak, "acme:main", "One lives in Rome.", source="document", claim=home("Rome"))
    paths = [
        "/",
        "/memories/",
        f"/memories/{row.id}/",
        "/review/",
        "/beliefs/",
        "/beliefs/?subject=user&predicate=lives_in",
        "/namespaces/",
        "/namespaces/users/",
        f"/namespaces/users/{address_of(HOSTILE)}/",
        "/audit/",
    ]
    for page in [adam.get(path) for path in paths]:
        assert page.status_code == 200
        assert not [trick for trick in TRICKS if trick in page.text], page.request["PATH_INFO"]
    for path in paths[1:4] + paths[5:9]:
        assert "⟨U+202E⟩" in adam.get(path).text, path
    asked = adam.get("/memories/", {"user": HOSTILE})
    assert sentences(asked) == ["I live in Lisbon."]
    assert "<script>alert" not in asked.text
    block = adam.get("/context/", {"q": "where?", "user": HOSTILE})
    assert "<script>alert" not in block.text
    told = adam.get(f"/namespaces/users/{address_of(HOSTILE)}/export/")
    assert (told["Content-Type"], json.loads(told.content)["user"]) == ("application/json", HOSTILE)
    done = post(adam, f"/namespaces/users/{address_of(HOSTILE)}/erase/", confirm="2")
    assert done.status_code == 303, words(done)


def test_a_key_says_whose_user_it_speaks_for(adam, principal):
    wish = {"namespaces": "acme:main", "verbs": ["read", "write"], "ceiling": "tool_output"}
    made = post(adam, "/agents/keys/", **wish, users="required", user_patterns="team-*\r\nstar\\*\r\n\r\n")
    assert made.status_code == 303, words(made)
    with access.enter(principal, why="test"):
        grant = ApiKey.objects.select_related("grant").get().grant
    assert (grant.users, grant.user_patterns) == ("required", ["team-*", "star\\*"])
    assert "users: required team-* star\\*" in words(adam.get("/agents/"))
    post(adam, "/agents/keys/", **wish, users="none")
    assert "users: none made" not in words(adam.get("/agents/"))
    assert "users: none" in words(adam.get("/agents/"))


def test_a_key_for_all_users_is_what_an_empty_form_makes(adam, principal):
    made = post(adam, "/agents/keys/", namespaces="acme:main", verbs=["read"], ceiling="tool_output")
    assert made.status_code == 303, words(made)
    with access.enter(principal, why="test"):
        grant = ApiKey.objects.select_related("grant").get().grant
    assert (grant.users, grant.user_patterns) == ("optional", ["*"])


@pytest.mark.parametrize("bad", [{"users": "some"}, {"user_patterns": "a\0b"}, {"user_patterns": "x" * 301}])
def test_bad_users_of_a_key_are_refused_with_what_was_typed(adam, count, bad):
    wish = {"namespaces": "acme:main", "verbs": ["read"], "ceiling": "tool_output"}
    refused = post(adam, "/agents/keys/", **wish, **bad)
    assert (refused.status_code, "This key can’t be made" in words(refused)) == (409, True)
    assert count(ApiKey) == 0


def test_patterns_of_users_stay_text(adam):
    wish = {"namespaces": "acme:main", "verbs": ["read"], "ceiling": "tool_output"}
    post(adam, "/agents/keys/", **wish, user_patterns=HOSTILE)
    page = adam.get("/agents/")
    assert not [trick for trick in TRICKS if trick in page.text]
    assert "⟨U+202E⟩" in page.text


def test_a_name_of_blanks_is_shown_by_its_code_points(adam, store):
    row = store("acme:main/%20%20", "I live in Lisbon.")
    told = (
        '<bdi><span class="invisible-char" title="U+0020">⟨U+0020⟩</span><span class="invisible-char" title="U+0020">'
    )
    for path in ("/memories/", f"/memories/{row.id}/", "/namespaces/", "/namespaces/users/"):
        assert told in adam.get(path).text, path
    assert words(adam.get(f"/namespaces/users/{address_of('  ')}/")).count("⟨U+0020⟩ ⟨U+0020⟩") == 1
