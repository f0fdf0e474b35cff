"""What was typed and refused comes back with the refusal."""

import html
import re

import pytest

from memories.models import ApiKey, Backup, Operation
from tests.console.conftest import decide, post

BAD = '"><b>&amp;'


def fields(page):
    """By name, what stands in the page's fields."""
    main, found = page.text.partition('id="main"')[2] or page.text, {}
    for tag in re.findall(r"<input [^>]*>", main):
        told = {name: html.unescape(value) for name, value in re.findall(r' ([\w-]+)="([^"]*)"', tag)}
        if "name" not in told or told.get("type") == "hidden":
            continue
        if told.get("type") != "checkbox":
            found[told["name"]] = told.get("value", "")
        elif re.search(r" checked\b", tag):
            found.setdefault(told["name"], set()).add(told["value"])
    for name, text in re.findall(r'<textarea [^>]*?name="(\w+)"[^>]*>(.*?)</textarea>', main, re.DOTALL):
        found[name] = html.unescape(text)
    for name, options in re.findall(r'<select [^>]*?name="(\w+)"[^>]*>(.*?)</select>', main, re.DOTALL):
        told = re.findall(r"<option([^>]*)>(.*?)</option>", options, re.DOTALL)
        values = [(marks, re.search(r' value="([^"]*)"', marks), text.strip()) for marks, text in told]
        chosen = [html.unescape(value[1] if value else text) for marks, value, text in values if "selected" in marks]
        found[name] = chosen[0] if chosen else ""
    return found


def is_open(page, summary):
    return re.search(rf"<details[^>]* open>\s*<summary[^>]*>[^/]*{summary}", page.text) is not None


@pytest.mark.examples
@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
@pytest.mark.parametrize(("content", "value"), [("", "$8"), ("Eight.", ""), (f"{BAD} {'y' * 2000}", f"$8 {BAD}")])
def test_an_edit_that_was_refused_stands_in_its_form(rita, challenge, headers, content, value):
    page = decide(rita, challenge(), "edit", content=content, value=value, headers=headers)
    assert page.status_code == 409
    told = fields(page)
    assert (told["content"], told["value"]) == (content, value)
    assert re.search(r'<details class="edit" open>', page.text)
    assert page.text.index('role="alert"') < page.text.index('name="content"')


def test_a_stale_edit_stands_in_its_form_and_can_be_sent_again(rita, challenge):
    conflict = challenge()
    conflict.revision += 7
    page = decide(rita, conflict, "edit", content="Eight.", value="$8")
    assert (page.status_code, fields(page)["content"]) == (409, "Eight.")
    item = re.search(r'name="item" value="([^"]+)"', page.text[page.text.index("bulk") :].partition("decision")[2])[1]
    assert post(rita, "/review/decide/", item=item, action="edit", content="Eight.", value="$8").status_code == 303


def test_what_was_typed_for_a_conflict_that_another_settled_is_shown(rita, rob, challenge):
    conflict = challenge()
    decide(rob, conflict, "reject")
    page = decide(rita, conflict, "edit", content=f"Eight. {BAD}", value="$8")
    assert page.status_code == 409
    assert "What you typed" in page.text
    assert f"Eight. {html.escape(BAD)}" in page.text
    assert "Value: <bdi>$8</bdi>" in page.text
    noted = decide(rita, conflict, "accept", note="Asked the owner.")
    assert "Note: <bdi>Asked the owner.</bdi>" in noted.text
    assert "What you typed" not in rita.get(f"/review/{conflict.id}/").text


def test_ticks_that_were_refused_stay(rita, challenge):
    stale, good, other = (challenge(value) for value in ("$1", "$2", "$3"))
    items = [f"{stale.id}:{stale.revision + 7}", f"{good.id}:{good.revision}"]
    page = post(rita, "/review/decide/", item=items, action="reject")
    assert page.status_code == 409
    ticks = dict(re.findall(r'<input type="checkbox" id="tick-([\w-]+)"[^>]*?( checked)? aria-label', page.text))
    assert ticks == {str(stale.id): " checked", str(other.id): ""}


def test_a_note_comes_back(rita, challenge):
    conflict = challenge()
    conflict.revision += 7
    assert fields(decide(rita, conflict, "accept", note=BAD))["note"] == BAD


def test_an_edit_to_nothing_stays_nothing(rita, held):
    page = post(rita, f"/memories/{held.id}/act/", action="edit", content="  ", revision="1")
    assert (page.status_code, fields(page)["content"], is_open(page, "Edit")) == (409, "  ", True)


def test_a_fork(adam, store, count):
    store("acme:main", "The heron nests.")
    store("acme:other", "The otter swims.")
    page = post(adam, "/namespaces/fork/", source="acme:other", target=BAD)
    told = fields(page)
    assert (page.status_code, told["source"], told["target"]) == (409, "acme:other", BAD)
    page = post(adam, "/namespaces/delete/", name="acme:other", confirm="acme")
    assert (page.status_code, fields(page)["name"]) == (409, "acme:other")
    assert is_open(page, "Delete a namespace")
    assert count(Operation) == 0


def test_a_key_and_a_member(adam, count):
    wish = {"owner": "robot", "namespaces": "nowhere:*", "verbs": ["read", "review"], "ceiling": "document"}
    page = post(adam, "/agents/keys/", **wish, attest="yes", read_wide="yes")
    told = fields(page)
    assert page.status_code == 409
    assert {name: told[name] for name in ("owner", "namespaces", "ceiling")} == {
        "owner": "robot",
        "namespaces": "nowhere:*",
        "ceiling": "document",
    }
    assert (told["verbs"], told["attest"], told["read_wide"]) == ({"read", "review"}, {"yes"}, {"yes"})
    assert count(ApiKey) == 0
    page = post(adam, "/agents/members/", username="no name", role="reviewer")
    told = fields(page)
    assert (page.status_code, told["username"], told["role"]) == (409, "no name", "reviewer")
    assert (told["verbs"], told["namespaces"]) == ({"read", "write"}, "acme:*")


def test_a_backup(adam, store, count):
    store("acme:main", "The heron nests.")
    store("acme:other", "The otter swims.")
    wish = {"policy": "identity", "embeddings": "yes", "namespaces": ["acme:other"], "base": "none"}
    page = post(adam, "/backups/", **wish)
    told = fields(page)
    assert page.status_code == 409
    assert (told["policy"], told["embeddings"], told["namespaces"]) == ("identity", {"yes"}, "acme:other")
    assert "prove" not in told
    assert fields(adam.get("/backups/"))["prove"] == {"yes"}
    assert count(Backup) == 0


def test_a_budget_and_a_namespace_to_connect(vera):
    page = vera.get("/context/", {"q": "heron", "budget": "7"})
    assert (page.status_code, fields(page)["budget"], fields(page)["q"]) == (400, "7", "heron")
    page = vera.get("/connect/", {"namespace": BAD})
    assert (page.status_code, fields(page)["namespace"]) == (400, BAD)


def test_every_refusal_names_its_request(adam, store):
    store("acme:main", "The heron nests.")
    for path, form in (("/namespaces/fork/", {"source": "acme:main", "target": "A"}), ("/backups/upload/", {})):
        page = post(adam, path, **form)
        assert (page.status_code, f"Request {page['X-Request-Id']}" in page.text) == (409, True)
