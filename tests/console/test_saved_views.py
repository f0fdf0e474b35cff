"""Saved views: a person's names for states of the explorer."""

import html
import re
import uuid

import pytest

from memories import access
from memories.models import SavedView
from tests.console.conftest import a_person, logged_in, post


@pytest.fixture
def roy(project):
    """Another."""
    return logged_in(a_person("roy", project, role="reviewer"))


def views(page):
    """The views that the page shows: name and address."""
    found = re.findall(r'<li class="view">\s*<a href="([^"]+)".*?<bdi>(.*?)</bdi>', page.text, re.DOTALL)
    return [(html.unescape(name), html.unescape(url)) for url, name in found]


def test_works(rita, store):
    store("acme:main", "The heron nests behind the mill.", tags=["bird"])
    answer = post(rita, "/memories/views/", name="Birds", query="q=heron&tag=bird&cursor=")
    assert answer["Location"] == "/memories/?q=heron&tag=bird"
    page = rita.get(answer["Location"])
    assert views(page) == [("Birds", "/memories/?q=heron&tag=bird")]
    assert 'href="/memories/?q=heron&amp;tag=bird" aria-current="true"' in page.text
    post(rita, "/memories/views/", name="Birds", query="tag=bird")
    assert views(rita.get("/memories/")) == [("Birds", "/memories/?tag=bird")]


def test_it_is_let_go_of(rita, count):
    post(rita, "/memories/views/", name="Birds", query="tag=bird")
    view = re.search(r"/memories/views/([0-9a-f-]{36})/delete/", rita.get("/memories/").text)
    assert post(rita, view.group(0))["Location"] == "/memories/"
    assert count(SavedView) == 0
    assert post(rita, view.group(0)).status_code == 404


def test_others_and_viewers_have_no_part_in_it(rita, roy, vera, carl, count):
    post(rita, "/memories/views/", name="Birds", query="tag=bird")
    there = re.search(r"/memories/views/[0-9a-f-]{36}/delete/", rita.get("/memories/").text).group(0)
    assert views(roy.get("/memories/")) == []
    assert (post(roy, there).status_code, post(carl, there).status_code) == (404, 404)
    assert post(vera, "/memories/views/", name="Mine", query="").status_code == 403
    assert count(SavedView) == 1


@pytest.mark.parametrize("wish", [{"name": ""}, {"name": "x\0"}, {"name": "x", "query": "status=gone"}])
def test_what_is_no_view_is_not_kept(rita, count, wish):
    assert post(rita, "/memories/views/", **wish).status_code == 404
    assert count(SavedView) == 0


def test_hostile_names_are_escaped(rita):
    post(rita, "/memories/views/", name="<script>alert(1)</script>\u202e", query="")
    page = rita.get("/memories/")
    assert "<script>alert" not in page.text
    assert "⟨U+202E⟩" in page.text


def test_no_token_no_view(rita, count):
    assert rita.post("/memories/views/", {"name": "x", "query": ""}).status_code == 403
    assert count(SavedView) == 0


def test_the_newest_fifty_stay(project, principal, count):
    owner = uuid.uuid4()
    with access.enter(principal, why="test"):
        for n in range(52):
            SavedView.objects.keep(project.id, owner, name=f"view {n}", query=f"tag={n}")
        kept = set(SavedView.objects.values_list("name", flat=True))
    assert kept == {f"view {n}" for n in range(2, 52)}
