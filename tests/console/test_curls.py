"""Commands to copy: each, sent to the API, does what the page shows, or what its button does."""

import html
import json
import re
import shlex
from urllib.parse import urlsplit

import pytest

from memories import access
from memories.models import Fragment
from tests.conftest import stored
from tests.console.conftest import budget


def commands(page):
    """By label."""
    found = re.findall(
        r'<label for="curl-\d+">([^<]+)</label>\s*<input id="curl-\d+" readonly value="([^"]*)"', page.text
    )
    return {html.unescape(label): html.unescape(command) for label, command in found}


@pytest.fixture
def run(alice):
    """Sends what curl would send; answers what the API says."""

    def send(command):
        words = shlex.split(command)
        method = words[words.index("-X") + 1].lower() if "-X" in words else "get"
        url = urlsplit(next(word for word in words if word.startswith("http")))
        body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
        wish = {"data": body, "format": "json"} if body is not None else {}
        return getattr(alice.client, method)(f"{url.path}?{url.query}", **wish)

    return send


@pytest.fixture
def now_of(principal):
    def look(row):
        with access.enter(principal, why="test"):
            return Fragment.objects.filter(id=row.id).first()

    return look


@pytest.mark.long
def test_the_buttons_of_a_memory(rita, alice, run, now_of):
    row = stored(alice.principal, "acme:main", "The heron nests.")
    there = f"/memories/{row.id}/"
    shown = commands(rita.get(there))
    buttons = re.findall(r'name="action" value="(\w+)"', rita.get(there).text)
    assert list(shown) == ["Pin", "Anchor", "Corroborate", "Archive", "Dispute", "Edit", "Forget"]
    assert [name.lower() for name in shown] == buttons
    for label, holds in (
        ("Pin", lambda row: row.is_pinned),
        ("Anchor", lambda row: row.is_anchor),
        ("Edit", lambda row: row.content == "…"),
        ("Archive", lambda row: row.status == "archived"),
    ):
        answer = run(commands(rita.get(there))[label])
        assert answer.status_code == 200, answer.content
        assert holds(now_of(row))
    shown = commands(rita.get(f"{there}?status=all"))
    assert list(shown)[:4] == ["Unpin", "No anchor", "Corroborate", "Unarchive"]
    assert run(shown["Unarchive"]).status_code == run(shown["Unpin"]).status_code == 200
    assert not now_of(row).is_pinned
    assert run(shown["Forget"]).status_code in (200, 204)
    assert now_of(row) is None


def test_a_viewer_is_offered_no_action(vera, store):
    assert not commands(vera.get(f"/memories/{store('acme:main', 'The heron nests.').id}/"))


def test_the_block(vera, alice, run):
    stored(alice.principal, "acme:main", "The heron nests.")
    page = vera.get("/context/", {"q": "where's the heron?", "budget": "400"})
    (command,) = commands(page).values()
    answer = run(command).json()
    assert "The heron nests." in answer["prompt_prefix"]
    assert "project_wide" in command


def test_a_belief(vera, alice, run):
    stored(alice.principal, "acme:main", "The budget is $750.", source="user_explicit", claim=budget("$750"))
    for axis in ("valid", "record"):
        shown = commands(vera.get(f"/beliefs/lisbon/budget/?axis={axis}"))
        believed, timeline = (run(command) for command in shown.values())
        assert [claim["value"] for claim in believed.json()["results"]] == ["$750"]
        assert timeline.status_code == 200
        assert ("known_at" in shown["What was believed"]) == (axis == "record")


def test_lists(rita, run, store):
    store("acme:main", "The heron nests.")
    for path in ("/tombstones/?topic=birds", "/namespaces/"):
        shown = commands(rita.get(path))
        answer = run(shown["This list"])
        assert (answer.status_code, list(shown)) == (200, ["This list"]), path
