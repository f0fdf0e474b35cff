"""What is on record beside a hit is told at every door that searches."""

import io
import json

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from tests.console.conftest import a_person, logged_in
from tests.retrieval.test_doubts import NEAR
from tests.retrieval.test_precedence import MAIN, QUESTION, says, user, writer, writes

__all__ = ["user", "writer"]


@pytest.fixture
def truth(user, writer):
    """The user's claim; a weaker text stands near it."""
    writes(writer(), NEAR)
    return says(user)


def test_mem0_names_it(user, truth):
    client = APIClient(headers={"Authorization": f"Token {user.key}", "X-NovaMem-Namespace": MAIN})
    hits = client.post("/compat/mem0/v3/memories/search/", {"query": QUESTION}, format="json").json()["results"]
    (near,) = [hit for hit in hits if hit["memory"] == NEAR]
    assert (near["on_record"]["fragment_id"], near["contradicts"], near["source"]) == (truth, None, "inference")


def test_the_command_line_names_it(truth):
    out = io.StringIO()
    call_command("memory", "--json", "search", QUESTION, "--namespace", MAIN, stdout=out)
    (near,) = [row for row in json.loads(out.getvalue()) if row["content"] == NEAR]
    assert near["on_record"]["value"] == "$750"
    call_command("memory", "search", QUESTION, "--namespace", MAIN, stdout=(out := io.StringIO()))
    assert "(on" in out.getvalue()


def test_the_explorer_names_it(project, truth):
    page = logged_in(a_person("vera", project)).get("/memories/", {"q": QUESTION, "namespace": MAIN})
    assert "on record: <bdi>budget = $750</bdi>" in page.content.decode()
