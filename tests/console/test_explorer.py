"""/memories/: browsing and searching."""

import datetime
import html
import json
import re
import uuid

import pytest
from django.utils import timezone

from memories import access, ingest
from memories.access import keys
from memories.console import explorer_list
from memories.cursors import Cursor
from memories.models import Access, EmbeddingModel, Fragment
from memories.providers import active_model
from tests.conftest import stored
from tests.console.conftest import words

WHERE = "/memories/"
HTMX = {"HX-Request": "true", "HX-Target": "explorer"}
LIST_QUERIES, SEARCH_QUERIES = 27, 32
FOREIGN = "Charlie keeps bees in Utrecht."


@pytest.fixture
def marsh(store):
    """What a few agents know about a marsh."""
    return {
        "heron": store("acme:main", "The heron nests behind the old mill.", type="semantic", tags=["bird"]),
        "otter": store("acme:main", "An otter was seen under the bridge on Sunday.", type="episodic"),
        "boat": store("acme:other", "How to start the boat: open the valve, then pull twice.", type="procedural"),
    }


@pytest.fixture
def foreign(db):
    """A memory of another project."""
    principal = access.system_principal(keys.ensure_project("elsewhere"))
    draft = ingest.Draft(namespace="elsewhere:main", content=FOREIGN)
    return ingest.store(principal, ingest.prepare([draft]), now=timezone.now())[0].fragment


def ids(page):
    """The listed memories, in order."""
    return re.findall(r'id="row-([0-9a-f-]{36})"', page.text)


def test_works(vera, marsh):
    page = vera.get(WHERE)
    assert page.status_code == 200
    assert ids(page) == [str(marsh[name].id) for name in ("boat", "otter", "heron")]
    assert "3 memories, newest first" in words(page)


def test_searching_ranks_and_says_why(vera, marsh):
    page = vera.get(WHERE, {"q": "where does the heron nest?"})
    assert ids(page)[0] == str(marsh["heron"].id)
    assert "3 memories, best first" in words(page)
    assert re.search(r"Score 0\.\d\d: relevance 0\.40 × 1\.00, confidence 0\.25 × 0\.\d\d", page.text)
    widths = [float(width) for width in re.findall(r'<rect class="\w+" x="[\d.]+" y="0" width="([\d.]+)"', page.text)]
    score = float(re.search(r"Score (0\.\d\d)", page.text).group(1))
    assert sum(widths[:4]) == pytest.approx(100 * score, abs=0.6)


def test_a_question_that_nothing_answers_is_told_so_beside_the_nearest(vera, marsh):
    active_model()
    EmbeddingModel.objects.update(floor=0.4)
    page = vera.get(WHERE, {"q": "thanks a lot"})
    assert "Nothing here answers that: an agent would get no memory. The nearest 3 :" in words(page)
    assert len(ids(page)) == 3
    assert "3 memories, best first" in words(vera.get(WHERE, {"q": "where does the heron nest?"}))


def test_looking_does_not_count_as_use(vera, principal, marsh):
    vera.get(WHERE, {"q": "heron"})
    vera.get(f"{WHERE}{marsh['heron'].id}/")
    with access.enter(principal, why="test"):
        assert not Access.objects.within(principal.project_id).exists()


def test_htmx_gets_the_part_and_others_the_page(vera, marsh):
    part, page = vera.get(WHERE, {"q": "heron", "type": ""}, headers=HTMX), vera.get(WHERE, {"q": "heron"})
    assert "<html" in page.text
    assert "<html" not in part.text
    assert ids(part) == ids(page)
    assert part["HX-Push-Url"] == "/memories/?q=heron"
    assert "HX-Push-Url" not in page
    assert {"HX-Request", "HX-Target"} <= {name.strip() for name in part["Vary"].split(",")}


def test_htmx_restoring_history_gets_the_page(vera, marsh):
    page = vera.get(WHERE, headers={**HTMX, "HX-History-Restore-Request": "true"})
    assert "<html" in page.text


@pytest.mark.examples
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"type": "procedural"}, ["boat"]),
        ({"namespace": "acme:main"}, ["otter", "heron"]),
        ({"tag": "bird"}, ["heron"]),
        ({"tier": "hot", "type": "episodic"}, ["otter"]),
        ({"tier": "cold"}, []),
        ({"status": "archived"}, []),
        ({"status": "all"}, ["boat", "otter", "heron"]),
    ],
)
@pytest.mark.parametrize("q", ["", "heron, otter or boat"])
def test_filters(vera, marsh, asked, found, q):
    assert sorted(ids(vera.get(WHERE, {"q": q, **asked}))) == sorted(str(marsh[name].id) for name in found)


def test_counts_of_filters_are_the_rows_behind_them(vera, principal, marsh):
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(id=marsh["otter"].id).update(status="disputed")
    page = vera.get(WHERE)
    options = re.findall(r'<a id="\w+-\d+"\s+href="([^"]+)".*?<span class="count">(\d+)</span>', page.text, re.DOTALL)
    assert len(options) > 12
    counted = {html.unescape(url): int(count) for url, count in options}
    assert counted["/memories/?status=disputed"] == 1
    for url, count in counted.items():
        chosen_again = url == "/memories/"
        assert chosen_again or len(ids(vera.get(url))) == count, url


def test_pages_go_on_without_gap_or_repetition(vera, store, monkeypatch):
    monkeypatch.setattr(explorer_list, "PAGE", 2)
    rows = [store("acme:main", f"Observation number {n}.") for n in range(5)]
    seen, url = [], WHERE
    for _ in range(3):
        page = vera.get(url)
        seen += ids(page)
        link = re.search(r'class="button older"\s+href="([^"]+cursor[^"]+)"', page.text)
        url = html.unescape(link.group(1)) if link else None
    assert url is None
    assert seen == [str(row.id) for row in reversed(rows)]


def test_equal_times_are_no_gap_either(vera, principal, monkeypatch):
    monkeypatch.setattr(explorer_list, "PAGE", 2)
    drafts = [ingest.Draft(namespace="acme:main", content=f"At once, number {n}.") for n in range(4)]
    ingest.store(principal, ingest.prepare(drafts), now=timezone.now())
    first = vera.get(WHERE)
    link = re.search(r'class="button older"\s+href="([^"]+)"', first.text)
    second = vera.get(html.unescape(link.group(1)))
    assert len({*ids(first), *ids(second)}) == 4


def test_empty_project_says_what_to_do(vera):
    page = vera.get(WHERE)
    assert "Connect an agent" in words(page)
    assert 'href="/connect/"' in page.text


def test_nothing_found_says_what_to_do(vera, marsh):
    assert "No memory matches these filters" in words(vera.get(WHERE, {"tier": "cold"}))
    assert "There is nothing older" in words(
        vera.get(WHERE, {"cursor": str(Cursor((datetime.datetime.min.replace(tzinfo=datetime.UTC), uuid.uuid4())))})
    )


def test_copied_curl_is_what_the_page_shows(vera, alice, marsh):
    page = vera.get(WHERE, {"q": "heron's nest", "type": "semantic", "namespace": "acme:main"})
    command = html.unescape(re.search(r'id="curl"\s+readonly\s+value="([^"]+)"', page.text).group(1))
    assert command.startswith("curl -X POST http://testserver/api/v1/search ")
    body = re.search(r" -d '(.+)'$", command).group(1).replace("'\"'\"'", "'")
    answer = alice.client.post("/api/v1/search", body, content_type="application/json")
    assert [row["id"] for row in answer.json()["results"]] == ids(page)
    assert json.loads(body)["floor"] == 0  # the page shows the nearest, too, that agents are not told


def test_copied_curl_of_a_list_is_what_the_page_shows(vera, alice, marsh):
    page = vera.get(WHERE, {"type": "semantic", "status": "all"})
    command = html.unescape(re.search(r'id="curl"\s+readonly\s+value="([^"]+)"', page.text).group(1))
    answer = alice.client.get(re.search(r"'http://testserver([^']+)'", command).group(1))
    assert [row["id"] for row in answer.json()["results"]] == ids(page)


def test_number_of_queries_does_not_grow_with_rows(vera, store, django_assert_num_queries):
    store("acme:main", "One memory alone.")
    vera.get(WHERE)  # makes the person's owner row
    with django_assert_num_queries(LIST_QUERIES):
        vera.get(WHERE)
    for n in range(9):
        store("acme:main", f"Memory number {n} of many.")
    with django_assert_num_queries(LIST_QUERIES):
        assert len(ids(vera.get(WHERE))) == 10
    with django_assert_num_queries(SEARCH_QUERIES):
        assert len(ids(vera.get(WHERE, {"q": "memory"}))) == 10


def test_two_projects_and_a_switch(wanda, marsh, foreign):
    here, there = wanda.get(WHERE, {"project": "acme"}), wanda.get(WHERE, {"project": "elsewhere"})
    assert len(ids(here)) == 3
    assert ids(there) == [str(foreign.id)]
    assert ids(wanda.get(WHERE, follow=True)) == [str(foreign.id)]  # the choice is remembered
    assert f"/memories/{foreign.id}/?project=elsewhere" in there.text  # and the address names it
    assert '<select id="project"' in here.text


def test_one_project_needs_no_switch(vera, marsh):
    assert '<select id="project"' not in vera.get(WHERE).text


@pytest.mark.parametrize("wanted", ["elsewhere", "no-such-project", "ACME", "\0"])
def test_foreign_and_missing_projects_look_the_same(vera, marsh, foreign, wanted):
    page = vera.get(WHERE, {"project": wanted})
    assert page.status_code == 404
    assert "Not found" in page.text


@pytest.mark.examples
@pytest.mark.parametrize("namespace", ["elsewhere:main", "acme:nothing", "acme:*", "nonsense", "\0"])
@pytest.mark.parametrize("q", ["", "bees"])
def test_foreign_and_missing_namespaces_look_the_same(vera, marsh, foreign, namespace, q):
    assert vera.get(WHERE, {"namespace": namespace, "q": q}).status_code == 404


@pytest.mark.parametrize("asked", [{}, {"q": "Charlie keeps bees in Utrecht."}, {"status": "all"}])
def test_other_projects_do_not_shine_through(vera, marsh, foreign, asked):
    page = vera.get(WHERE, asked)
    assert page.status_code == 200
    assert str(foreign.id) not in page.text
    assert "elsewhere" not in page.text


@pytest.mark.parametrize(
    "asked",
    [{"status": "gone"}, {"type": "1"}, {"tier": "hot'--"}, {"cursor": "x"}, {"cursor": "2025-01-01~7"}, {"q": "\0"}],
)
def test_states_that_do_not_exist(vera, marsh, asked):
    assert vera.get(WHERE, asked).status_code == 404


def test_the_best_of_a_source_are_found_however_many_others_fit_better(vera, store):
    for n in range(40):
        store("acme:main", f"Herons nest. Herons! Number {n}.", importance=1.0, source="tool_output")
    for n in range(3):
        store("acme:main", f"Somewhere in the far reeds of the lake, number {n}, a few herons.", source="document")
    page = vera.get(WHERE, {"q": "herons nest", "source": "document"})
    assert page.text.count("far reeds") >= 3


def test_what_is_found_is_counted(vera, store):
    """Not what might have been found."""
    for n in range(4):
        store("acme:main", f"The otter swims at {n}.")
    store("acme:main", "A heron nests.", source="document")
    assert "1 memory found" in words(vera.get(WHERE, {"q": "heron nests", "source": "document"}))
    assert "0 memories found" in words(vera.get(WHERE, {"q": "heron nests", "type": "procedural"}))


def test_weights_of_nothing_are_as_usual(vera, store):
    store("acme:main", "Herons nest.")
    wish = {f"w_{name}": "0" for name in ("relevance", "confidence", "recency", "importance")}
    assert vera.get(WHERE, {"q": "herons", **wish}).status_code == 200


def test_a_weighted_search_is_copied_with_its_weights(vera, store):
    store("acme:main", "Herons nest.")
    page = html.unescape(vera.get(WHERE, {"q": "herons", "weights": "100,0,0,0"}).text)
    assert '"rerank": {' in page


def test_only_looking_is_allowed(vera, marsh):
    token = vera.get(WHERE).cookies["csrftoken"].value
    assert vera.post(WHERE, {"csrfmiddlewaretoken": token}).status_code == 405


def test_a_long_user_name_stands_in_full_in_the_title_of_its_row(vera, alice):
    stored(alice.principal, "acme:main", "The heron nests behind the mill.")
    body = {"namespace": "acme:main", "user": "u" * 255, "content": "I keep bees."}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    assert f'<span class="fact" title="acme:main, user {"u" * 255}">' in vera.get("/memories/").text
