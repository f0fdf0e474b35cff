"""Below a path of another site: no page of the console or of the admin leads outside."""

import re
import runpy

import pytest
from django.test import Client, RequestFactory
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.views.defaults import server_error

from memories.models import Membership
from tests.console.conftest import a_person, post
from tests.console.test_parameters import ASKED, address, world
from tests.links import links_outside

__all__ = ["world"]

PREFIX, HOST = "/novamem", "http://testserver"


class ClientBelow(Client):
    """Asks as through a proxy that hands on what is below the prefix; it takes nothing else."""

    def generic(self, method, path, *given, **more):
        """Send a request."""
        assert path.startswith(f"{PREFIX}/"), path
        return super().generic(method, path.removeprefix(PREFIX), *given, **more)


@pytest.fixture
def prefixed(settings, monkeypatch):
    """The settings as URL_PREFIX decides them."""
    monkeypatch.setenv("URL_PREFIX", PREFIX)
    decided = runpy.run_path(str(settings.ROOT / "novamem" / "settings.py"))
    for name in ("FORCE_SCRIPT_NAME", "SESSION_COOKIE_PATH", "CSRF_COOKIE_PATH", "MESSAGE_STORAGE", "STATIC_URL"):
        setattr(settings, name, decided[name])
    before = get_script_prefix()
    set_script_prefix(PREFIX)
    yield
    set_script_prefix(before)


@pytest.fixture
def ada(world, prefixed, project):
    """An admin's, in which `world` happened before."""
    client = ClientBelow(enforce_csrf_checks=True)
    client.force_login(a_person("ada", project, role="admin"))
    client.get(f"{PREFIX}/memories/")
    return client


def outside(answer, there):
    """What of an answer leads outside of the prefix."""
    text = b"".join(answer).decode(errors="replace") if answer.streaming else answer.text
    return links_outside(text, answer.headers, of=f"{HOST}{there}", prefix=PREFIX)


@pytest.mark.long
def test_every_page_leads_below_the_prefix(world, ada):
    which, _ = world
    seen = 0
    for name in ASKED:
        there = address(name, which)
        for headers in ({}, {"HX-Request": "true", "HX-Target": "explorer"}):
            answer = ada.get(there, headers=headers)
            assert answer.status_code < 500, there
            assert outside(answer, there) == []
        seen += answer.status_code == 200
    assert seen > 25


@pytest.mark.long
def test_every_form_leads_below_the_prefix(world, ada):
    which, forms = world
    for name, each in forms.items():
        for form in each:
            there = address(name, which)
            sent = {**form, "next": reverse("console:dashboard")} if "next" in form else form
            answer = post(ada, there, **sent)
            assert answer.status_code < 500, there
            assert outside(answer, there) == []
            followed = ada.get(f"{PREFIX}/")  # where the strip says what was done
            assert outside(followed, f"{PREFIX}/") == []


def test_the_commands_to_copy_ask_below_the_prefix(ada):
    commands = re.findall(rf"curl[^<]*{HOST}([^ <]+)", ada.get(f"{PREFIX}/operations/?run=compact").text)
    assert {*commands} == {f"{PREFIX}/api/v1/operations"}


def test_only_the_open_page_is_marked(ada):
    page = ada.get(f"{PREFIX}/memories/").text
    assert re.findall(r'<a href="([^"]*)"[^>]* aria-current="page"', page) == [f"{PREFIX}/memories/"]


def test_who_is_not_logged_in_is_led_to_the_login_and_back(prefixed, project):
    a_person("ada", project)
    client = ClientBelow()
    led = client.get(f"{PREFIX}/memories/?q=x")["Location"]
    assert led == f"{PREFIX}/login/?next={PREFIX}/memories/%3Fq%3Dx"
    assert outside(client.get(led), led) == []
    who = {"username": "ada", "password": "a long enough one"}
    assert client.post(led, who)["Location"] == f"{PREFIX}/memories/?q=x"
    assert client.post(f"{PREFIX}/logout/")["Location"] == f"{PREFIX}/login/"
    assert client.post(f"{PREFIX}/login/", who)["Location"] == f"{PREFIX}/"
    assert {name: cookie["path"] for name, cookie in client.cookies.items()} == {
        "csrftoken": PREFIX,
        "sessionid": PREFIX,
    }


def test_in_the_background_the_login_is_below_the_prefix(prefixed, db):
    headers = {"HX-Request": "true", "HX-Current-URL": f"{HOST}{PREFIX}/memories/?q=x"}
    led = ClientBelow().get(f"{PREFIX}/memories/", headers=headers)["HX-Redirect"]
    assert led == f"{PREFIX}/login/?next={PREFIX}/memories/%3Fq%3Dx"
    headers["HX-Current-URL"] = "https://elsewhere.example/"
    assert ClientBelow().get(f"{PREFIX}/memories/", headers=headers)["HX-Redirect"].endswith(f"?next={PREFIX}/")


def test_what_is_told_once_has_a_cookie_of_this_installation(ada):
    form = {"namespaces": "acme:*", "verbs": "read", "ceiling": "document", "owner": "zoe"}
    post(ada, reverse("console:issue-key"), **form)
    assert ada.cookies["told-once"]["path"] == PREFIX
    assert "nova_" in ada.get(reverse("console:agents")).text


def test_pages_about_errors_lead_below_the_prefix(prefixed, vera, settings):
    client = ClientBelow(enforce_csrf_checks=True)
    client.cookies = vera.cookies
    pages = [
        (404, client.get(f"{PREFIX}/nowhere/")),
        (403, client.get(f"{PREFIX}/audit/")),
        (403, client.post(f"{PREFIX}/review/decide/")),
        (400, client.get(f"{PREFIX}/", headers={"Host": "evil.example"})),
        (500, server_error(RequestFactory().get("/"))),
    ]
    for status, page in pages:
        assert page.status_code == status
        assert outside(page, f"{PREFIX}/") == []
    problem = client.get(f"{PREFIX}/api/v1/nowhere")
    assert (problem.status_code, problem["Content-Type"]) == (404, "application/problem+json")


def test_the_admin_leads_below_the_prefix(prefixed, superuser_of, vera, project):
    client = ClientBelow()
    user = superuser_of("root")
    Membership.objects.create(user=user, project=project, role="admin")
    client.force_login(user)
    first = client.get(f"{PREFIX}/admin/")
    links = {link for link in re.findall(r'href="([^"#?]+)"', first.text) if "/static/" not in link}
    assert len(links) > 5
    for there in {f"{PREFIX}/admin/", f"{PREFIX}/installation/", *links} - {PREFIX}:
        assert outside(client.get(there), there) == []
    row = Membership.objects.get(user__username="vera")
    there = f"{PREFIX}/admin/memories/membership/{row.pk}/change/"
    changed = client.post(there, {"user": row.user_id, "project": row.project_id, "role": "admin"})
    assert changed["Location"] == f"{PREFIX}/admin/memories/membership/"
    assert {cookie["path"] for cookie in client.cookies.values()} == {PREFIX}
    assert "was changed successfully" in client.get(changed["Location"]).text


def test_the_api_leads_below_the_prefix(prefixed, alice, store):
    for text in ("An otter was seen.", "Two otters were seen."):
        store("acme:main", text)
    answer = alice.client.get("/api/v1/fragments?namespace=acme:main&limit=1").json()
    assert answer["next"].startswith(f"{HOST}{PREFIX}/api/v1/fragments?")


def test_the_reference_leads_below_the_prefix(prefixed):
    client = ClientBelow()
    assert f"{HOST}{PREFIX}</code>, in <code>NOVAMEM_URL" in client.get(f"{PREFIX}/api/docs/").text
    for there in (f"{PREFIX}/api/docs/", f"{PREFIX}/api/docs/fragments/"):
        answer = client.get(there)
        assert answer.status_code == 200
        assert outside(answer, there) == []
