"""/beliefs/: what two namespaces say of one key are two beliefs."""

import datetime
import html
import re

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import demo
from tests.conftest import stored
from tests.console.conftest import words

KEY = "subject=user&predicate=lives_in"


@pytest.fixture
def apart(alice, bob):
    """Users of two namespaces live in two towns; one waits in the first."""
    for place, value in (("acme:main", "Austin"), ("acme:shop", "Seattle")):
        claim = ClaimDraft("user", "lives_in", value)
        stored(alice.principal, place, f"I live in {value}.", source="user_explicit", claim=claim)
    claim = ClaimDraft("user", "lives_in", "Denver")
    stored(bob.principal, "acme:main", "The user lives in Denver.", source="document", claim=claim)


def charts(page):
    """The text of each chart, by its namespace."""
    parts = re.split(
        r"<h2><a [^>]+>(acme:\w+)</a></h2>", page.text.partition('id="timeline"')[2].partition("legend")[0]
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_namespace_has_a_chart_and_a_sentence_of_its_own(vera, apart):
    found = charts(vera.get(f"/beliefs/?{KEY}"))
    assert set(found) == {"acme:main", "acme:shop"}
    assert ("Austin" in found["acme:main"], "Seattle" in found["acme:main"]) == (True, False)
    assert ("Austin" in found["acme:shop"], "Seattle" in found["acme:shop"]) == (False, True)
    assert "in acme:shop, said by user explicit" in words(vera.get(f"/beliefs/?{KEY}"))


def test_one_namespace_alone(vera, apart):
    page = vera.get(f"/beliefs/?{KEY}&namespace=acme:shop")
    assert set(charts(page)) == {"acme:shop"}
    assert 'name="namespace" value="acme:shop"' in page.text  # the axis and the day stay there
    assert "namespace=acme%3Ashop" in page.text.partition("curl-1")[2]
    assert vera.get(f"/beliefs/?{KEY}&namespace=elsewhere:main").status_code == 404
    assert vera.get(f"/beliefs/?{KEY}&namespace=%00").status_code == 404


def test_rows_name_their_namespace_and_are_narrowed_down(vera, apart):
    page = vera.get("/beliefs/")
    rows = re.findall(r'href="/beliefs/\?namespace=([^&]+)&amp;subject=user', page.text)
    assert sorted(rows) == ["acme%3Amain", "acme%3Ashop"]
    rows = re.findall(
        r'href="/beliefs/\?namespace=([^&]+)&amp;subject=user', vera.get("/beliefs/?namespace=acme:shop").text
    )
    assert rows == ["acme%3Ashop"]


def test_what_waits_is_not_drawn_as_believed(vera, apart):
    page = vera.get(f"/beliefs/?{KEY}&namespace=acme:main")
    assert re.search(r"Denver</bdi> <em>waits, not believed</em>", page.text)
    assert not re.search(r"Austin</bdi> <em>", page.text)
    for status in ("active", "quarantined", "disputed", "superseded"):
        assert f'<li class="{status}">' in page.text


def test_the_first_step_opens_the_month_that_it_names(adam, store, monkeypatch):
    monkeypatch.setattr(demo, "TOUR", "acme:tour")
    claim = ClaimDraft("user", "lives_in", "Austin")
    store("acme:tour", "I live in Austin.", category="demo", claim=claim)
    then = timezone.now() - datetime.timedelta(days=25)
    page = adam.get("/").text
    (link,) = re.findall(rf'href="([^"]+)"[^>]*>\s*See what was believed in {then:%B}', page)
    text = words(adam.get(html.unescape(link)))
    assert f"True on {then:%Y-%m-%d}:" in text
