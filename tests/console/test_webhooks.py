"""/webhooks/: made, stopped, started and deleted by admins; the secret is shown once."""

import re

import pytest

from memories import access, webhooks
from memories.models import Webhook
from tests.console.conftest import post, words
from tests.console.test_undo import strip, taken_back

URL = "https://example.org/hook"
FORM = {"url": URL, "kinds": ["recall_notice", "erase"], "namespace": ""}


@pytest.fixture
def only(principal):
    """The one webhook, as it is now."""

    def look():
        with access.enter(principal, why="test"):
            return Webhook.objects.within(principal.project_id).get()

    return look


@pytest.fixture
def made(adam, only):
    post(adam, "/webhooks/make/", **FORM)
    adam.get("/webhooks/")
    return only()


def test_a_secret_is_shown_once(adam, only):
    answer = post(adam, "/webhooks/make/", **FORM)
    assert (answer.status_code, answer["Location"]) == (303, "/webhooks/")
    page = adam.get("/webhooks/")
    assert re.findall(r'value="(whsec_[^"]+)"', page.text) == [webhooks.secret_of(only())]
    assert "shown this once" in words(page)
    assert (only().url, only().kinds, only().namespace) == (URL, ["erase", "recall_notice"], None)
    page = adam.get("/webhooks/")
    assert "whsec_" not in page.text
    assert f"{URL} made just now erase recall_notice all namespaces on never none" in words(page)


def test_of_one_namespace(adam, only, store):
    store("acme:main", "Herons nest.")
    post(adam, "/webhooks/make/", **FORM | {"namespace": "acme:main"})
    assert only().namespace_id
    assert "acme:main on never" in words(adam.get("/webhooks/"))


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"url": "ftp://example.org"}, "Give an address that begins with https://"),
        ({"url": ""}, "Give an address that begins with https://"),
        ({"url": "http://10.0.0.1/hook"}, "This address is private."),
        ({"url": URL + "w" * 2000}, "at most 2,000 characters"),
        ({"kinds": []}, "Tick at least one event."),
    ],
)
def test_a_form_that_is_no_webhook_is_refused_with_what_was_typed(adam, count, form, why):
    page = post(adam, "/webhooks/make/", **FORM | form)
    assert page.status_code == 409
    assert why in words(page)
    assert f'value="{(FORM | form)["url"]}"' in page.text
    assert ('value="erase" checked' in page.text) == ("kinds" not in form)
    assert count(Webhook) == 0


@pytest.mark.parametrize("form", [{"kinds": ["weather"]}, {"namespace": "elsewhere:main"}])
def test_what_no_form_sends_is_not_found(adam, count, form):
    assert post(adam, "/webhooks/make/", **FORM | form).status_code == 404
    assert count(Webhook) == 0


def test_a_project_has_only_so_many(adam, count, monkeypatch):
    monkeypatch.setattr(webhooks.hooks, "MOST", 1)
    post(adam, "/webhooks/make/", **FORM)
    page = post(adam, "/webhooks/make/", **FORM)
    assert page.status_code == 409
    assert "No webhook was made. A project has at most 1 webhooks: delete one." in words(page)
    assert count(Webhook) == 1


def test_it_is_switched_off_and_on(adam, made, only):
    there = f"/webhooks/{made.id}/switch/"
    assert post(adam, there, enabled="no").status_code == 303
    assert not only().enabled
    page = adam.get("/webhooks/")
    assert "all namespaces off" in words(page)
    assert strip(page)[0] == "The webhook is off."
    taken_back(adam, "/webhooks/")
    assert only().enabled
    assert post(adam, there, enabled="maybe").status_code == 404


def test_what_fails_says_so(adam, made, principal):
    with access.enter(principal, why="test"):
        Webhook.objects.filter(id=made.id).update(failures=3, last_error="HTTP 500", failing_since=made.created_at)
    assert "failing never HTTP 500 failing since just now" in words(adam.get("/webhooks/"))


def test_deleting_needs_a_tick(adam, made, count):
    there = f"/webhooks/{made.id}/delete/"
    page = post(adam, there)
    assert page.status_code == 409
    assert "Nothing was deleted." in words(page)
    assert count(Webhook) == 1
    assert post(adam, there, confirm="yes").status_code == 303
    assert count(Webhook) == 0
    assert "The webhook is deleted. That can’t be undone." in words(adam.get("/webhooks/"))
    assert post(adam, there, confirm="yes").status_code == 404


def test_who_is_no_admin_may_not(rita, vera, carl, made, only, count):
    for person in (rita, vera):
        assert person.get("/webhooks/").status_code == 403
        assert post(person, "/webhooks/make/", **FORM).status_code == 403
    assert "No webhook yet." in words(carl.get("/webhooks/"))
    for person, status in ((rita, 403), (vera, 403), (carl, 404)):
        assert post(person, f"/webhooks/{made.id}/switch/", enabled="no").status_code == status
        assert post(person, f"/webhooks/{made.id}/delete/", confirm="yes").status_code == status
    assert only().enabled
    assert count(Webhook) == 1
