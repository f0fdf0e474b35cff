"""Logging in and out, and who gets through."""

import pytest
from django.test import Client

WHERE = "/memories/"


def test_works(vera, anonymous):
    page = anonymous.get("/login/")
    assert page.status_code == 200
    assert "Log in to NovaMem" in page.text
    answer = anonymous.post("/login/", {"username": "vera", "password": "a long enough one"})
    assert (answer.status_code, answer["Location"]) == (302, WHERE)
    assert anonymous.get(WHERE).status_code == 200


def test_after_logging_in_one_is_where_one_wanted_to_be(vera, anonymous):
    there = "/memories/?q=budget"
    to_login = anonymous.get(there)
    form = {"username": "vera", "password": "a long enough one", "next": there}
    assert anonymous.post(to_login["Location"], form)["Location"] == there


def test_root_leads_to_the_memories(anonymous):
    answer = anonymous.get("/")
    assert (answer.status_code, answer["Location"]) == (302, WHERE)


def test_whoever_is_logged_in_sees_no_login(vera):
    assert vera.get("/login/")["Location"] == WHERE


def test_logging_out(project):
    from_nowhere = Client()
    assert from_nowhere.post("/logout/")["Location"] == "/login/"


def test_logging_out_ends_the_session(vera):
    token = vera.get(WHERE).cookies["csrftoken"].value
    assert vera.post("/logout/", {"csrfmiddlewaretoken": token})["Location"] == "/login/"
    assert vera.get(WHERE).status_code == 302


def test_wrong_password_is_refused_and_said(vera, anonymous):
    answer = anonymous.post("/login/", {"username": "vera", "password": "wrong"})
    assert answer.status_code == 200
    assert 'role="alert"' in answer.text
    assert anonymous.get(WHERE).status_code == 302


@pytest.mark.parametrize("path", [WHERE, "/memories/6f4f6f0e-58a4-4e3c-9d2c-6d6a5c1f7d10/"])
def test_anonymous_goes_to_the_login(db, anonymous, path):
    answer = anonymous.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=/memories/")


def test_no_one_is_sent_to_another_site(vera, anonymous):
    form = {"username": "vera", "password": "a long enough one", "next": "https://elsewhere.example/"}
    assert anonymous.post("/login/", form)["Location"] == WHERE


@pytest.mark.parametrize("path", ["/login/", "/logout/"])
def test_post_without_token_is_refused(vera, path):
    answer = vera.post(path, {"username": "vera", "password": "a long enough one"})
    assert answer.status_code == 403
    assert "This form has expired" in answer.text
    assert vera.get(WHERE).status_code == 200


def test_without_a_project_one_is_told_what_to_do(nobody):
    page = nobody.get(WHERE)
    assert page.status_code == 403
    assert "You belong to no project yet" in page.text
    assert "manage.py member add --project PROJECT --username nora" in page.text


def test_pages_forbid_foreign_and_inline_scripts(vera):
    for page in (Client().get("/login/"), vera.get(WHERE)):
        policy = page["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "style=" not in page.text
        assert " hx-on" not in page.text
