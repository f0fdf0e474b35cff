"""/timeline/: what was decided and done on one line, and what changed since."""

import html
import re

import pytest

from conflicts.public import ClaimDraft
from tests.console.conftest import decide, post, words


def test_the_line_says_what_was_decided_by_whom_and_where_it_leads(rita, challenge):
    conflict = challenge()
    decide(rita, conflict, "reject")
    page = rita.get("/timeline/")
    assert "The challenger was rejected" in words(page)
    assert "acme:main" in words(page)
    assert f"/review/{conflict.id}/" in page.content.decode()
    post(rita, f"/review/{conflict.id}/undo/", settled="1")
    assert "A decision was taken back" in words(rita.get("/timeline/"))


def test_by_kind(adam, challenge):
    decide(adam, challenge(), "reject")
    assert "Nothing was decided or done yet of this kind" in words(adam.get("/timeline/?kind=backup"))
    assert "The challenger was rejected" in words(adam.get("/timeline/?kind=decision"))
    assert adam.get("/timeline/?kind=nonsense").status_code == 404
    assert adam.get("/timeline/?cursor=nonsense").status_code == 404


def test_what_was_forgotten_stands_there_without_its_text(adam, vera, held):
    post(adam, f"/memories/{held.id}/act/", action="forget", confirm="forget")
    page = adam.get("/timeline/?kind=forgetting")
    assert "Forgot acme:main user:adam" in words(page)
    assert f"/audit/?about={held.id}" in page.text
    assert "deleted" in words(adam.get(f"/audit/?about={held.id}"))
    seen = vera.get("/timeline/?kind=forgetting")
    assert "Forgot acme:main" in words(seen)
    assert "/audit/" not in seen.text
    assert "750" not in page.text + seen.text


@pytest.mark.usefixtures("held")
def test_what_changed_since(vera):
    page = vera.get("/timeline/changes/", {"since": "2026-01-01T00:00:00+00:00"})
    text = words(page)
    assert "What changed since 1 January 2026" in text
    assert "budget" in text
    assert "not there → active" in text
    assert vera.get("/timeline/changes/?since=yesterday").status_code == 404
    later = vera.get("/timeline/changes/", {"since": "2030-01-01T00:00:00+00:00"})
    assert "Nothing is believed otherwise." in words(later)


@pytest.mark.parametrize(
    ("subject", "predicate"), [("src/main.py", "owner/lead"), ("user", "lives_in"), ("a&b", "c?d#")]
)
def test_what_changed_leads_to_the_belief_whatever_its_name(vera, store, subject, predicate):
    store("acme:main", "Ada leads it.", claim=ClaimDraft(subject, predicate, "Ada"))
    page = vera.get("/timeline/changes/", {"since": "2026-01-01T00:00:00+00:00"})
    (there,) = {html.unescape(url) for url in re.findall(r'<th scope="row"><a href="([^"]+)"', page.text)}
    assert f"{subject} · {predicate} = Ada" in words(vera.get(there))
