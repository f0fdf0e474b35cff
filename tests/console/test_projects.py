"""People of several projects: every address names the project whose page it is."""

import re

import pytest

from memories import access
from memories.access import keys
from memories.models import Operation
from tests.console.conftest import a_person, logged_in, post


@pytest.fixture
def beth(project):
    """An admin of two projects, who looked at the other one last."""
    client = logged_in(a_person("beth", project, keys.ensure_project("elsewhere"), role="admin"))
    client.get("/memories/?project=elsewhere")
    return client


@pytest.fixture
def conflict(challenge):
    return challenge()


@pytest.mark.parametrize("path", ["/", "/review/", "/beliefs/", "/tombstones/", "/operations/", "/audit/", "/agents/"])
def test_a_page_is_of_the_project_last_looked_at(beth, path):
    answer = beth.get(f"{path}?kind=")
    assert answer["Location"] == f"{path}?kind=&project=elsewhere"
    assert beth.get(answer["Location"]).context["request"].principal.project == "elsewhere"


def test_links_stay_in_the_project_of_their_page(beth, conflict):
    here = {"Referer": "http://testserver/audit/?project=acme&kind=conflict"}
    for path in ("/review/", f"/review/{conflict.id}/", f"/memories/{conflict.existing_id}/"):
        assert beth.get(path, headers=here)["Location"] == f"{path}?project=acme"
    for other in ("http://evil.example/?project=acme", "http://testserver/?project=foreign", "http://["):
        assert beth.get("/review/", headers={"Referer": other})["Location"] == "/review/?project=elsewhere"


def test_an_id_is_found_where_it_is(beth, conflict, principal):
    with access.enter(principal, why="test"):
        operation = Operation.objects.create(kind="rebuild", project_id=principal.project_id)
    for path in (f"/review/{conflict.id}/", f"/memories/{conflict.newcomer_id}/", f"/operations/{operation.id}/"):
        page = beth.get(path, follow=True)
        assert (page.status_code, page.redirect_chain) == (200, [(f"{path}?project=acme", 302)])
        assert page.context["request"].principal.project == "acme"
        beth.get("/memories/?project=elsewhere")
        assert beth.get(f"{path}?project=elsewhere").status_code == 404
    assert beth.get("/memories/00000000-0000-0000-0000-000000000000/").status_code == 404


def test_one_project_needs_no_name(vera, conflict):
    for path in ("/review/", f"/review/{conflict.id}/"):
        page = vera.get(path)
        assert page.status_code == 200
        assert "project=" not in page.text
        assert "hx-vals" not in page.text


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/", "/"),
        ("/review/{0.id}/", "/review/"),
        ("/memories/{0.existing_id}/", "/memories/"),
        ("/beliefs/lisbon/budget/", "/beliefs/"),
        ("/namespaces/acme:main/merge/", "/namespaces/"),
        ("/agents/", "/agents/"),
    ],
)
def test_the_switch_keeps_the_list(beth, conflict, path, there):
    page = beth.get(f"{path.format(conflict)}?project=acme")
    assert re.search(r'class="switcher" action="([^"]+)"', page.text)[1] == there
    assert beth.get(f"{there}?project=elsewhere").status_code == 200


def test_the_switch_leads_to_a_page_where_the_path_is_none(beth):
    page = post(beth, "/schedules/backups/", in_project="acme", every="banana")
    assert page.status_code == 409
    assert re.search(r'class="switcher" action="([^"]+)"', page.text)[1] == "/"


def test_what_is_asked_in_the_background_names_it_too(beth):
    """So that an address that htmx makes of it does."""
    assert """hx-vals='{"project": "acme"}'""" in beth.get("/review/?project=acme").text
    beth.get("/memories/?project=elsewhere")
    beth.get("/memories/?project=acme", headers={"HX-Request": "true", "X-NovaMem-Project": "acme"})
    assert beth.get("/review/")["Location"] == "/review/?project=elsewhere"
