"""/connect/: snippets with the real address, and a strip that turns green."""

import html

import pytest

from memories.console.connect import WAYS

HTMX = {"HX-Request": "true", "HX-Target": "arrival"}


def shown(page):
    return html.unescape(page.text)


def test_every_way_is_shown_with_the_real_address(vera):
    text = shown(vera.get("/connect/", SERVER_NAME="localhost"))
    for title in WAYS.values():
        assert f"<h2>{title}</h2>" in text
    assert text.count("http://localhost") >= len(WAYS)
    assert '"namespace": "acme:assistant"' in text
    assert "apikey create --project acme" in text


def test_another_namespace_may_be_chosen(vera):
    assert '"namespace": "acme:notes"' in shown(vera.get("/connect/", {"namespace": " acme:notes "}))


@pytest.mark.parametrize(
    "namespace", ["elsewhere:main", "acme", 'acme:"; rm', "acme:\n", "acme:a\0", "acme:" + "x" * 64]
)
def test_what_is_no_namespace_of_the_project_is_told(vera, namespace):
    page = vera.get("/connect/", {"namespace": namespace})
    assert (page.status_code, "There can be no such namespace" in page.text) == (400, True)
    assert "elsewhere" not in page.text.replace('value="elsewhere:main"', "")  # as typed, and nowhere else


def test_it_turns_green_when_the_first_memory_arrives(vera, store):
    waiting = vera.get("/connect/", {"namespace": "acme:main"}, headers=HTMX)
    assert "<html" not in waiting.text
    assert "Waiting" in waiting.text
    assert "every 2s" in waiting.text
    assert not waiting.cookies
    row = store("acme:main", "The heron <b>nests</b>.")
    green = vera.get("/connect/", {"namespace": "acme:main"}, headers=HTMX).text
    assert "Connected." in green
    assert f"/memories/{row.id}/" in green
    assert "The heron &lt;b&gt;nests&lt;/b&gt;." in green
    assert "hx-trigger" not in green


def test_the_first_memory_of_a_user_turns_it_green(vera, alice):
    wish = {"namespace": "acme:assistant", "user": "lena", "content": "The heron nests."}
    assert alice.client.post("/api/v1/fragments", wish, format="json").status_code == 201
    assert "Connected." in vera.get("/connect/", {"project": "acme"}).text
    assert "Waiting" in vera.get("/connect/", {"namespace": "acme:main"}).text


def test_memories_of_other_namespaces_and_projects_do_not_count(vera, store, carl):
    store("acme:other", "The heron nests.")
    assert "Waiting" in vera.get("/connect/", {"namespace": "acme:main"}).text
    assert carl.get("/connect/", {"namespace": "acme:other"}).status_code == 400


def test_without_an_upstream_it_says_that_chats_are_refused(vera, settings):
    settings.PROXY_UPSTREAM_URL = settings.PROXY_ANTHROPIC_URL = ""
    text = vera.get("/connect/").text
    assert text.count("Chats are refused until") == 2
    settings.PROXY_ANTHROPIC_URL = "http://127.0.0.1:9/v1"
    assert vera.get("/connect/").text.count("Chats are refused until <code>PROXY_UPSTREAM_URL</code>") == 1
    settings.PROXY_UPSTREAM_URL, settings.PROXY_ANTHROPIC_URL = "http://127.0.0.1:9/v1", ""
    assert "Chats are refused" not in vera.get("/connect/").text
    settings.PROXY_UPSTREAM_URL = "http://127.0.0.1:9/v1"
    assert "Chats are refused" not in vera.get("/connect/").text
