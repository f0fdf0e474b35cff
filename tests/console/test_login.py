"""Logging in and out, and who gets through."""

import html

import pytest
from django.test import Client

from memories.models import Membership
from tests.console.conftest import a_person, logged_in

WHERE = "/memories/"


def test_works(vera, anonymous):
    page = anonymous.get("/login/")
    assert page.status_code == 200
    assert "Log in to NovaMem" in page.text
    answer = anonymous.post("/login/", {"username": "vera", "password": "a long enough one"})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert anonymous.get("/").status_code == 200


def test_after_logging_in_one_is_where_one_wanted_to_be(vera, anonymous):
    there = "/memories/?q=budget"
    to_login = anonymous.get(there)
    form = {"username": "vera", "password": "a long enough one", "next": there}
    assert anonymous.post(to_login["Location"], form)["Location"] == there


def test_the_longest_username_gets_in_and_is_somebody_of_his_own(project):
    names = [f"{'n' * 149}{last}" for last in "ab"]
    owners = set()
    for name in names:
        client = logged_in(a_person(name, project, role="admin"))
        assert client.get(WHERE).status_code == 200
        owners.add(client.get("/agents/").context["request"].principal.owner_id)
    assert len(owners) == len(names)


def test_root_asks_to_log_in(anonymous):
    answer = anonymous.get("/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/")


def test_whoever_is_logged_in_sees_no_login(vera):
    assert vera.get("/login/")["Location"] == "/"


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
    assert anonymous.post("/login/", form)["Location"] == "/"


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


def test_a_form_acts_in_the_project_that_it_was_made_for(project, charlie):
    """Whatever another tab has chosen since."""
    both = a_person("both", project, role="admin")
    Membership.objects.create(project=charlie.row.project, user=both, role="admin")
    client, victim = logged_in(both), a_person("victim", project, role="viewer")
    Membership.objects.create(project=charlie.row.project, user=victim, role="viewer")
    page = client.get("/agents/?project=acme")
    token = page.context["csrf_token"]
    assert 'name="in_project" value="acme"' in page.text
    assert '{"X-NovaMem-Project": "acme"}' in html.unescape(page.text)
    client.get("/agents/?project=elsewhere")
    form = {"csrfmiddlewaretoken": str(token), "role": "reviewer"}
    assert client.post(f"/agents/members/{victim.pk}/", form).status_code == 404
    assert client.post(f"/agents/members/{victim.pk}/", {**form, "in_project": "acme"}).status_code == 303
    roles = dict(Membership.objects.filter(user=victim).values_list("project__name", "role"))
    assert roles == {"acme": "reviewer", "elsewhere": "viewer"}
    assert client.get("/agents/", follow=True).context["request"].principal.project == "acme"
    assert client.post(f"/agents/members/{victim.pk}/", {**form, "in_project": "nobodys"}).status_code == 404


def test_what_a_page_asks_in_the_background_is_of_its_project(project, charlie):
    both = a_person("both", project, role="viewer")
    Membership.objects.create(project=charlie.row.project, user=both, role="viewer")
    client = logged_in(both)
    client.get("/memories/?project=elsewhere")
    asked = client.get("/memories/", headers={"X-NovaMem-Project": "acme"})
    assert asked.context["request"].principal.project == "acme"
    assert client.get("/memories/", follow=True).context["request"].principal.project == "elsewhere"


@pytest.mark.parametrize(("method", "path"), [("get", "/review/"), ("get", "/memories/"), ("post", "/review/decide/")])
def test_in_the_background_the_whole_page_goes_to_the_login(db, anonymous, path, method):
    """And comes back to where the person stood."""
    here = {"HX-Request": "true", "HX-Current-URL": "http://testserver/review/?settled=1"}
    answer = getattr(anonymous, method)(path, headers=here)
    assert (answer.status_code, answer["HX-Redirect"]) == (200, "/login/?next=/review/%3Fsettled%3D1")
    assert answer.text == ""


@pytest.mark.parametrize(
    ("came_from", "leads_to"),
    [
        ("http://testserver/memories/?q=budget", "/memories/?q=budget"),
        ("http://elsewhere.example/review/", "/"),
        ("http://[", "/"),
        ("", "/"),
    ],
)
def test_who_posts_without_a_session_comes_back_to_a_page(vera, anonymous, came_from, leads_to):
    form = {"username": "vera", "password": "a long enough one"}
    for headers in ({"Referer": came_from}, {"HX-Request": "true", "HX-Current-URL": came_from}):
        answer = anonymous.post("/review/decide/", {"item": "x", "action": "accept"}, headers=headers)
        to_login = answer.get("HX-Redirect") or answer["Location"]
        login = anonymous.get(to_login)
        back = anonymous.post("/login/", {**form, "next": login.context["next"]})["Location"]
        assert back == leads_to
        assert anonymous.get(back).status_code == 200
        anonymous.logout()
