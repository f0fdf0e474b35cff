"""What a tab of the browser is named after, and the request that an error page names."""

import html
import re

import pytest

from memories.console import explorer as pages
from tests.conftest import stored
from tests.console.conftest import budget, post, words

HOSTILE = "</title><script>alert(1)</script>\u202egnp" + "w" * 100


def title(page):
    return html.unescape(re.search(r"<title>([^<]*)</title>", page.text)[1])


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true", "HX-Target": "detail"}])
def test_an_opened_memory_is_the_title(vera, store, headers):
    row = store("acme:main", "The heron nests behind the mill.")
    there = vera.get(f"/memories/{row.id}/?q=heron", headers=headers)
    assert title(there) == "The heron nests behind the mill. · Memories · NovaMem"
    assert title(vera.get("/memories/")) == "Memories · NovaMem"


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true", "HX-Target": "explorer"}])
def test_a_search_is_the_title(vera, headers):
    page = vera.get("/memories/", {"q": "heron"}, headers=headers)
    assert title(page) == "heron · Memories · NovaMem"
    assert page.text.count("</title>") == 1


def test_a_belief_is_the_title(vera, alice):
    stored(alice.principal, "acme:main", "The budget is $1.", claim=budget("$1"))
    assert title(vera.get("/beliefs/lisbon/budget/")) == "lisbon · budget · Beliefs · NovaMem"
    assert title(vera.get("/beliefs/")) == "Beliefs · NovaMem"


def test_a_title_hides_nothing(vera, store):
    row = store("acme:main", HOSTILE)
    shown = title(vera.get(f"/memories/{row.id}/?status=all"))
    assert shown.startswith("</title><script>alert(1)</script>⟨U+202E⟩gnp")
    assert len(shown) < 90


def test_error_pages_name_the_request(vera, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("lost")

    not_permitted, missing = post(vera, "/agents/keys/"), vera.get("/nowhere/")
    expired = vera.post("/review/decide/")
    monkeypatch.setattr(pages, "browse", fails)
    vera.raise_request_exception = False
    failed = vera.get("/memories/")
    found = [not_permitted, missing, expired, failed]
    assert [page.status_code for page in found] == [403, 404, 403, 500]
    for page in found:
        assert f"Request {page['X-Request-Id']}" in words(page)
    assert len({page["X-Request-Id"] for page in found}) == len(found)
