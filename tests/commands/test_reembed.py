"""manage.py reembed."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from memories.models import EmbeddingModel
from memories.providers import active_model

pytestmark = pytest.mark.usefixtures("small_endpoint")

NEW = ("--model", "small", "--provider", "openai", "--dim", "64")


def run(*arguments):
    out = io.StringIO()
    call_command("reembed", *arguments, stdout=out)
    return out.getvalue()


def test_it_adds_a_model_and_fills_it(store, project):
    store("acme:main", "The heron nests behind the old mill.")
    told = json.loads(run(*NEW, "--json"))
    (report,) = [row for row in told["projects"] if row["project"] == "acme"]
    assert (told["state"], report["state"], report["embedded"], report["missing"]) == ("ready", "succeeded", 1, 0)
    assert active_model().name == "fake"
    assert "0 embedded, 0 missing" in run("--model", "small")


def test_it_switches_when_asked_to(store):
    store("acme:main", "The heron nests behind the old mill.")
    assert json.loads(run(*NEW, "--activate", "--json"))["state"] == "active"
    assert active_model().name == "small"


def test_it_does_not_switch_while_vectors_are_missing(store, small_endpoint):
    store("acme:main", "The heron nests behind the old mill.")
    small_endpoint.mode = "unavailable"
    with pytest.raises(SystemExit):
        run(*NEW, "--activate")
    assert active_model().name == "fake"
    with pytest.raises(SystemExit):
        run(*NEW, "--activate", "--force")
    assert active_model().name == "small"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "small"),
        ("--model", "small", "--provider", "openai"),
        ("--model", "small", "--provider", "pigeon", "--dim", "3"),
        ("--model", "fake", "--dim", "3"),
        ("--model", "fake", "--provider", "openai"),
        ("--model", "fake", "--project", "nobody"),
    ],
)
def test_what_it_does_not_know_changes_nothing(db, arguments):
    with pytest.raises(CommandError):
        run(*arguments)
    assert not EmbeddingModel.objects.filter(name="small").exists()
