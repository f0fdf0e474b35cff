"""/review/: the list of what waits: its pages, and what branches took over."""

import html
import re
import uuid
from functools import partial

import pytest

from memories import jobs
from memories.console import review_items
from tests.console.conftest import decide, post, words


@pytest.fixture
def fork(adam, principal):
    """Forks acme:main into another namespace."""

    def make(name="side"):
        answer = post(adam, "/namespaces/fork/", source="acme:main", target=name)
        jobs.run(principal, uuid.UUID(answer["Location"].rstrip("/").rpartition("/")[2]))

    return make


def listed(page):
    return re.findall(r'data-row hx-get="/review/([0-9a-f-]+)/', page.text)


def test_a_fork_does_not_double_what_waits(rita, challenge, fork):
    conflicts = [challenge("$0"), challenge("$5"), challenge("$7")]
    decide(rita, conflicts[2], "reject")
    fork()
    page = rita.get("/review/")
    assert "2 left · 1 done" in words(page)
    assert listed(page) == [str(conflicts[0].id), str(conflicts[1].id)]
    assert "Copies in branches, decided there: acme:side (2)" in words(page)
    assert "2 Conflicts waiting" in words(rita.get("/")) or "Conflicts waiting 2" in words(rita.get("/"))


def test_a_fork_doubles_no_other_number_nor_list(rita, adam, challenge, fork):
    conflicts = [challenge("$0"), challenge("$5"), challenge("$7")]
    decide(rita, conflicts[2], "reject")
    fork()
    assert "in the last week, 2 of them copied by branches" in words(rita.get("/"))
    assert words(rita.get("/review/?settled=1")).count("Rejected by") == 1
    links = re.findall(r'href="(/memories/[^"]+)">.*?</span>\s*(\d+)</a>', adam.get("/agents/").text, re.DOTALL)
    (quarantined,) = (link for link in links if "quarantined" in link[0])
    assert quarantined[1] == "2"
    listed_by_key = html.unescape(quarantined[0])
    assert adam.get(listed_by_key).text.count("data-row") == 2
    assert adam.get(f"{listed_by_key}&namespace=acme:side").text.count("data-row") == 2


def test_a_branch_that_is_chosen_lists_its_copies(rita, challenge, fork):
    conflict = challenge("$0")
    fork()
    page = rita.get("/review/?namespace=acme:side")
    (copy,) = listed(page)
    assert copy != str(conflict.id)
    assert "1 left" in words(page)
    assert "Only acme:side" in words(page)
    # A decision stays in the branch, and what is next too.
    opened = page.context["opened"].row
    answer = post(rita, "/review/decide/?namespace=acme:side", item=f"{opened.id}:{opened.revision}", action="reject")
    assert answer["Location"] == "/review/?namespace=acme%3Aside"
    assert listed(rita.get("/review/")) == [str(conflict.id)]
    assert "0 left" in words(rita.get("/review/?namespace=acme:nowhere"))
    assert rita.get("/review/?namespace=elsewhere:main").status_code == 404


def test_what_arises_in_a_branch_is_listed_with_all(rita, challenge, fork, bob, store):
    challenge("$0")
    fork()
    body = {
        "namespace": "acme:side",
        "content": "The budget is $9.",
        "claim": {"subject": "lisbon", "predicate": "budget", "value": "$9"},
        "provenance": {"source": "document"},
    }
    assert bob.client.post("/api/v1/fragments", body, format="json").json()["status"] == "quarantined"
    assert "2 left" in words(rita.get("/review/"))


def test_a_branch_of_a_branch_is_a_copy_too(rita, adam, challenge, fork, principal):
    challenge("$0")
    fork()
    answer = post(adam, "/namespaces/fork/", source="acme:side", target="deep")
    jobs.run(principal, uuid.UUID(answer["Location"].rstrip("/").rpartition("/")[2]))
    text = words(rita.get("/review/"))
    assert "1 left" in text
    assert "acme:deep (1) , acme:side (1)" in text


@pytest.mark.long
def test_the_queue_goes_on_after_fifty(rita, challenge):
    first = [challenge(f"${n + 1}", source_id=f"s{n}") for n in range(52)]
    page = rita.get("/review/")
    assert "52 left" in words(page)
    assert len(listed(page)) == 50
    assert 'href="/review/?page=2"' in page.text
    page = rita.get("/review/?page=2")
    assert listed(page) == [str(first[50].id), str(first[51].id)]
    assert f'href="/review/{first[51].id}/?page=2"' in page.text
    answer = post(
        rita, "/review/decide/?page=2", item=f"{first[50].id}:1", action="reject", following=str(first[51].id)
    )
    assert answer["Location"] == f"/review/{first[51].id}/?page=2"
    # A page that is gone is the last there is.
    post(rita, "/review/decide/?page=2", item=f"{first[51].id}:1", action="reject")
    assert len(listed(rita.get("/review/?page=2"))) == 50
    for bad in ("x", "0", "-1"):
        assert rita.get(f"/review/?page={bad}").status_code == 404


def test_after_the_last_of_a_page_the_first_of_the_next_follows(rita, rob, challenge, monkeypatch):
    conflicts = [challenge(f"${n + 1}", source_id=f"s{n}") for n in range(4)]
    monkeypatch.setattr(review_items, "queue", partial(review_items.queue, limit=2))
    last = rita.get(f"/review/{conflicts[1].id}/")
    assert last.context["following"] == conflicts[2].id
    assert rita.get(f"/review/{conflicts[3].id}/?page=2").context["following"] is None
    rob.get(f"/review/{conflicts[2].id}/")
    assert rita.get(f"/review/{conflicts[1].id}/").context["following"] is None


def test_the_way_to_the_list_leads_there(rita, challenge):
    challenge()
    page = rita.get("/review/").text
    (target,) = re.findall(r'narrow-only" href="#(\w+)"', page)
    assert re.search(rf'<section class="waiting" id="{target}"', page)
