"""manage.py models, and the same acts of superusers in /admin/."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from memories import access, jobs, upkeep
from memories.access import keys
from memories.models import EmbeddingModel, Operation
from memories.providers import active_model

SMALL = ("small", "--provider", "openai", "--dim", "64")


def models(*words):
    """What `manage.py models … --json` prints."""
    out = io.StringIO()
    call_command("models", *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def refused(*words):
    with pytest.raises(CommandError) as told:
        models(*words)
    return str(told.value)


@pytest.fixture
def small(small_endpoint, db):
    """A second model, building."""
    return upkeep.model_registry.add_model(name="small", provider="openai", dim=64, now=timezone.now())


@pytest.fixture
def stored(store):
    """Some memories, before there is a second model."""
    return [store("acme:main", f"Memory {n} is about the heron and the number {n * 7}.") for n in range(12)]


@pytest.fixture
def theirs(charlie):
    """A memory of another project, before there is a second model."""
    body = {"namespace": "elsewhere:main", "content": "The otter lives in another project."}
    assert charlie.client.post("/api/v1/fragments", body, format="json").status_code == 201


def states():
    return dict(EmbeddingModel.objects.values_list("name", "state"))


def work(*projects):
    """What a worker does; the ended operations."""
    ended = []
    for name in projects or ("acme",):
        principal = access.system_principal(keys.ensure_project(name))
        with access.enter(principal, why="test"):
            ids = list(Operation.objects.filter(state="queued").values_list("id", flat=True))
        ended += [jobs.run(principal, operation_id) for operation_id in ids]
    return ended


def test_adds_and_lists(stored, small_endpoint):
    assert models("add", *SMALL) == {
        **{"name": "small", "provider": "openai", "dim": 64, "state": "building"},
        "floor": pytest.approx(0.59, abs=0.05),  # the fake endpoint takes texts for bags of words
    }
    assert [(row["name"], row["state"], row["missing"]) for row in models("list")] == [
        ("fake", "active", 0),
        ("small", "building", 12),
    ]
    assert "already" in refused("add", *SMALL)


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (("small", "--provider", "pigeon", "--dim", "64"), "no provider"),
        (("small", "--provider", "minilm", "--dim", "384"), "is the model minilm"),
        (("minilm", "--provider", "minilm", "--dim", "64"), "of 384"),
        (("small", "--provider", "openai", "--dim", "0"), "dimensions"),
        (("small", "--provider", "openai", "--dim", "4001"), "dimensions"),
    ],
)
def test_refuses_what_can_not_be(wish, why, small_endpoint, db):
    assert why in refused("add", *wish)
    assert list(states()) in ([], ["fake"])


def test_an_endpoint_needs_its_address(settings, db):
    settings.EMBEDDINGS_URL = ""
    assert "EMBEDDINGS_URL" in refused("add", *SMALL)


def test_offers_no_fake_unless_the_operator_chose_it(settings, db):
    EmbeddingModel.objects.filter(provider="fake").update(name="former")
    settings.EMBEDDER = "minilm"
    assert "no provider 'fake'" in refused("add", "fake", "--provider", "fake", "--dim", "384")
    settings.EMBEDDER = "fake"
    assert models("add", "fake", "--provider", "fake", "--dim", "384")["state"] == "building"


@pytest.mark.parametrize("what", ["backfill", "activate", "retire"])
def test_says_that_there_is_no_such_model(what, db):
    assert "no model 'ghost'" in refused(what, "ghost")


def test_fills_a_model_in_every_project(stored, theirs, small):
    EmbeddingModel.objects.filter(id=small.id).update(state="retired")
    models("backfill", "small")
    models("backfill", "small")  # asked twice it runs once
    (ended,) = work()
    assert ended.report == {"model": "small", "embedded": 12, "missing": 0}
    assert states()["small"] == "building"  # ready when all projects are
    work("elsewhere")
    assert states()["small"] == "ready"


def test_switches_and_back(stored, small):
    models("backfill", "small")
    work()
    assert models("activate", "small")["state"] == "active"
    assert states() == {"small": "active", "fake": "ready"}
    assert models("activate", "fake")["state"] == "active"


def test_does_not_switch_while_vectors_are_missing_in_any_project(stored, theirs, small):
    assert "13 memories" in refused("activate", "small")
    assert active_model().name == "fake"
    assert models("activate", "small", "--force")["state"] == "active"
    assert {(ended.kind, ended.report["missing"]) for ended in work("acme", "elsewhere")} == {("backfill", 0)}


def test_a_retired_one_is_filled_first(small):
    models("retire", "small")
    assert "retired" in refused("activate", "small", "--force")


def test_search_goes_on_during_a_switch(alice, stored, small):
    models("backfill", "small")
    work()

    def found():
        body = {"namespace": "acme:main", "query": "Which memory is about the number 14?", "top_k": 3}
        answer = alice.client.post("/api/v1/search", body, format="json").json()
        assert answer["degraded"] == []
        return {row["id"] for row in answer["results"]}

    before = found()
    models("activate", "small")
    assert str(stored[2].id) in before & found()


def test_retires_all_but_the_active_one_and_brings_it_back(stored, small):
    models("backfill", "small")
    work()
    assert models("retire", "small")["state"] == "retired"
    work()
    assert models("list")[1]["missing"] == 12
    assert "active" in refused("retire", "fake")
    models("backfill", "small")
    work()
    assert states() == {"fake": "active", "small": "ready"}


class TestCompare:
    def test_works(self, stored, small):
        models("backfill", "small")
        work()
        told = models("compare", "small", "--project", "acme", "--query", "What of the number 14?", "--sample", "5")
        assert (told["model"], told["against"], told["depth"], told["missing"]) == ("small", "fake", 10, 0)
        assert [row["source"] for row in told["queries"]] == ["given"] + ["sample"] * 5
        assert 0 <= told["least"] <= told["mean"] <= 1

    def test_a_model_is_like_itself(self, stored):
        told = models("compare", "fake", "--project", "acme")
        assert (told["mean"], told["least"], len(told["queries"])) == (1.0, 1.0, 12)

    def test_without_vectors_nothing_is_alike(self, stored, small):
        told = models("compare", "small", "--project", "acme")
        assert (told["mean"], told["missing"]) == (0.0, 12)

    def test_without_memories_there_is_nothing_to_say(self, project, small):
        told = models("compare", "small", "--project", "acme", "--query", "Anything?")
        assert (told["mean"], told["queries"]) == (None, [{"source": "given", "overlap": None}])

    def test_says_what_is_wrong(self, stored, small, small_endpoint):
        assert "no project" in refused("compare", "small", "--project", "nobodys")
        assert "namespace" in refused("compare", "small", "--project", "acme", "--namespace", "elsewhere:main")
        small_endpoint.mode = "unavailable"
        assert "does not answer" in refused("compare", "small", "--project", "acme")


class TestAdmin:
    """In /admin/."""

    def act(self, user, action, model):
        client = Client()
        client.force_login(user)
        body = {"action": action, "_selected_action": [str(model.id)]}
        return client.post("/admin/memories/embeddingmodel/", body, follow=True)

    @pytest.fixture
    def root(self, db, superuser_of):
        """A superuser."""
        return superuser_of("root")

    def test_a_superuser_fills_switches_and_retires(self, root, stored, small):
        self.act(root, "backfill", small)
        work()
        assert self.act(root, "activate", small).status_code == 200
        assert states() == {"small": "active", "fake": "ready"}
        self.act(root, "retire", EmbeddingModel.objects.get(name="fake"))
        assert states()["fake"] == "retired"

    def test_what_is_refused_says_why(self, root, stored, small):
        assert "12 memories have no vector" in self.act(root, "activate", small).text
        assert active_model().name == "fake"

    def test_staff_without_all_rights_does_nothing(self, root, stored, small, django_user_model):
        staff = django_user_model.objects.create_user("staff", password="a long enough one", is_staff=True)
        for action in ("backfill", "activate", "retire"):
            self.act(staff, action, small)
        assert states() == {"fake": "active", "small": "building"}
