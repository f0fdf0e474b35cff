"""/api/v1/models: looking, by any key; everything else belongs to the operator."""

import uuid

import pytest
from django.utils import timezone

from memories import tasks, upkeep
from memories.models import EmbeddingModel, Operation
from memories.providers import active_model

URL = "/api/v1/models"
SMALL = {"name": "small", "provider": "openai", "dim": 64}
WORK = ("backfill", "compare", "activate", "retire")


@pytest.fixture
def small(small_endpoint, db):
    """A second model, building."""
    return upkeep.model_registry.add_model(**SMALL, now=timezone.now())


@pytest.fixture
def stored(store):
    """Some memories, before there is a second model."""
    return [store("acme:main", f"Memory {n} is about the heron and the number {n * 7}.") for n in range(12)]


def states():
    return dict(EmbeddingModel.objects.values_list("name", "state"))


def code(answer, status):
    assert answer.status_code == status, answer.content
    return answer.json()["code"]


class TestRead:
    def test_any_key_lists(self, reader, small):
        rows = reader.client.get(URL).json()["results"]
        assert {(row["name"], row["state"], row["dim"]) for row in rows} == {
            ("fake", "active", 384),
            ("small", "building", 64),
        }

    def test_one_says_how_far_it_is_here(self, reader, stored, small):
        told = reader.client.get(f"{URL}/{small.id}").json()
        assert (told["fragments"], told["missing"], told["state"]) == (12, 12, "building")
        told = reader.client.get(f"{URL}/{active_model().id}").json()
        assert (told["fragments"], told["missing"]) == (12, 0)

    def test_an_unknown_one_is_not_found(self, alice):
        assert code(alice.client.get(f"{URL}/{uuid.uuid4()}"), 404) == "not_found"


class TestOperators:
    def test_an_admin_key_of_a_project_adds_none(self, alice, small_endpoint):
        for wish in (SMALL, {"name": "fake", "provider": "fake", "dim": 384}):
            answer = alice.client.post(URL, wish, format="json")
            assert code(answer, 403) == "not_permitted"
            assert "script/manage models" in answer.json()["detail"]
        assert states() == {"fake": "active"}

    @pytest.mark.parametrize("work", WORK)
    def test_an_admin_key_of_a_project_does_nothing_with_one(self, work, alice, bob, stored, small, count):
        for agent in (alice, bob):
            for model in (small.id, active_model().id, uuid.uuid4()):
                answer = agent.client.post(f"{URL}/{model}/{work}", {"force": True}, format="json")
                assert code(answer, 403) == "not_permitted"
        assert states() == {"fake": "active", "small": "building"}
        assert count(Operation) == 0

    @pytest.mark.parametrize("kind", ["backfill", "retire"])
    def test_it_is_no_operation_that_a_key_starts_either(self, kind, alice, stored, small):
        answer = alice.client.post("/api/v1/operations", {"kind": kind, "options": {"model": "small"}}, format="json")
        assert (code(answer, 400), answer.json()["errors"][0]["field"]) == ("validation", "kind")


def test_stats_count_what_waits_for_the_active_model(alice, stored, small, store):
    store("acme:main", "One more, which waits for the second model.")
    assert alice.client.get("/api/v1/stats").json()["pending_embeddings"] == 0
    tasks.embed_pending()
