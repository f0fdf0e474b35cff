"""/api/v1/models: adding, filling, comparing, switching, retiring."""

import uuid

import pytest
from django.utils import timezone

from memories import access, jobs, keys, tasks, upkeep
from memories.models import EmbeddingModel, Operation
from memories.providers import active_model

URL = "/api/v1/models"
SMALL = {"name": "small", "provider": "openai", "dim": 64}


@pytest.fixture
def small(small_endpoint, db):
    """A second model, building."""
    return upkeep.add_model(**SMALL, now=timezone.now())


@pytest.fixture
def narrow(project, agent_of):
    """Administers one namespace only."""
    return agent_of(project, owner="narrow", namespaces=["acme:main"], verbs=["read", "admin"])


@pytest.fixture
def stored(store):
    """Some memories, before there is a second model."""
    return [store("acme:main", f"Memory {n} is about the heron and the number {n * 7}.") for n in range(12)]


def post(agent, path="", **body):
    return agent.client.post(f"{URL}{path}", body, format="json")


def act(agent, model, verb, **body):
    return post(agent, f"/{model.id}/{verb}", **body)


def state(model):
    return EmbeddingModel.objects.get(id=model.id).state


def run_all(principal):
    """What a worker does."""
    with access.enter(principal, why="test"):
        ids = list(Operation.objects.filter(state="queued").values_list("id", flat=True))
    return [jobs.run(principal, operation_id) for operation_id in ids]


def code(answer, status):
    assert answer.status_code == status, answer.content
    return answer.json()["code"]


class TestAdd:
    def test_works(self, alice, small_endpoint):
        answer = post(alice, **SMALL)
        assert answer.status_code == 201, answer.content
        told = answer.json()
        assert {name: told[name] for name in SMALL} == SMALL
        assert (told["state"], told["embedder"]) == ("building", "loading")

    def test_the_same_request_adds_once(self, alice, small_endpoint):
        headers = {"Idempotency-Key": "one"}
        answers = [alice.client.post(URL, SMALL, format="json", headers=headers) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].json() == answers[1].json()

    def test_a_name_is_taken_once(self, alice, small):
        assert code(post(alice, **SMALL), 409) == "model_taken"
        assert EmbeddingModel.objects.filter(name="small").count() == 1

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"dim": 0}, "dim"),
            ({"dim": 4001}, "dim"),
            ({"dim": "64"}, "dim"),
            ({"dim": True}, "dim"),
            ({"name": ""}, "name"),
            ({"name": "x" * 201}, "name"),
            ({"provider": "pigeon"}, "provider"),
            ({"provider": "minilm"}, "name"),
            ({"provider": "minilm", "name": "minilm"}, "name"),
            ({"provider": "sentence-transformers", "name": "/etc"}, "name"),
            ({"provider": "sentence-transformers", "name": "../secrets"}, "name"),
            ({"provider": "sentence-transformers", "name": "a/b/c"}, "name"),
            ({"url": "http://169.254.169.254/"}, "url"),
        ],
    )
    def test_what_can_not_be_is_refused(self, alice, small_endpoint, change, field):
        answer = post(alice, **{**SMALL, **change})
        assert code(answer, 400) == "validation"
        assert [error["field"] for error in answer.json()["errors"]] == [field]
        assert not EmbeddingModel.objects.exclude(id=active_model().id).exists()

    def test_an_endpoint_is_the_operators_to_name(self, alice, settings):
        settings.EMBEDDINGS_URL = ""
        assert code(post(alice, **SMALL), 400) == "validation"

    def test_only_who_administers_the_whole_project(self, bob, narrow, anonymous, small_endpoint):
        assert code(post(bob, **SMALL), 403) == "not_permitted"
        assert code(post(narrow, **SMALL), 403) == "not_permitted"
        assert anonymous.post(URL, SMALL, content_type="application/json").status_code == 401
        assert not EmbeddingModel.objects.filter(name="small").exists()


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
        ghost = f"/{uuid.uuid4()}"
        assert code(alice.client.get(f"{URL}{ghost}"), 404) == "not_found"
        for verb in ("backfill", "compare", "activate", "retire"):
            assert code(post(alice, f"{ghost}/{verb}"), 404) == "not_found"

    @pytest.mark.parametrize("verb", ["backfill", "compare", "activate", "retire"])
    def test_verbs_need_admin(self, bob, small, verb):
        assert code(act(bob, small, verb), 403) == "not_permitted"
        assert state(small) == "building"

    @pytest.mark.parametrize("verb", ["backfill", "activate", "retire"])
    def test_what_changes_needs_the_whole_project(self, narrow, small, verb):
        assert code(act(narrow, small, verb), 403) == "not_permitted"
        assert state(small) == "building"


class TestBackfill:
    def test_works(self, alice, stored, small, principal):
        answer = act(alice, small, "backfill")
        assert answer.status_code == 202, answer.content
        assert (answer.json()["kind"], answer.json()["options"]) == ("backfill", {"model": "small"})
        (ended,) = run_all(principal)
        assert ended.report == {"model": "small", "embedded": 12, "missing": 0}
        assert state(small) == "ready"

    def test_asked_twice_it_runs_once(self, alice, stored, small):
        assert act(alice, small, "backfill").json()["id"] == act(alice, small, "backfill").json()["id"]

    def test_it_runs_in_every_project(self, alice, charlie, small, store):
        act(alice, small, "backfill")
        with access.enter(charlie.principal, why="test"):
            (row,) = Operation.objects.all()
        assert (row.kind, row.project_id) == ("backfill", charlie.principal.project_id)

    def test_a_model_is_ready_when_all_projects_are(self, alice, charlie, stored, small, principal):
        theirs = {"namespace": "elsewhere:main", "content": "The otter lives in another project."}
        EmbeddingModel.objects.filter(id=small.id).update(state="retired")
        charlie.client.post("/api/v1/fragments", theirs, format="json")
        act(alice, small, "backfill")
        run_all(principal)
        assert state(small) == "building"
        run_all(access.system_principal(keys.ensure_project("elsewhere")))
        assert state(small) == "ready"


class TestActivate:
    def test_works_and_back(self, alice, stored, small, principal):
        former = active_model()
        act(alice, small, "backfill")
        run_all(principal)
        assert act(alice, small, "activate").json()["state"] == "active"
        assert (active_model(), state(former)) == (small, "ready")
        assert act(alice, small, "activate").status_code == 200  # twice is once
        assert act(alice, former, "activate").json()["state"] == "active"
        assert state(small) == "ready"

    def test_missing_vectors_refuse_it(self, alice, stored, small):
        former = active_model()
        answer = act(alice, small, "activate")
        assert code(answer, 409) == "vectors_missing"
        assert "12 memories" in answer.json()["detail"]
        assert (active_model(), state(small)) == (former, "building")

    def test_force_switches_and_fills_what_is_missing(self, alice, stored, small, principal):
        assert act(alice, small, "activate", force=True).json()["state"] == "active"
        (ended,) = run_all(principal)
        assert (ended.kind, ended.report["missing"]) == ("backfill", 0)

    def test_nobody_forces_it_on_others(self, alice, charlie, small, principal):
        EmbeddingModel.objects.filter(id=small.id).update(state="retired")
        theirs = {"namespace": "elsewhere:main", "content": "The otter lives in another project."}
        charlie.client.post("/api/v1/fragments", theirs, format="json")
        EmbeddingModel.objects.filter(id=small.id).update(state="ready")
        answer = act(alice, small, "activate", force=True)
        assert code(answer, 409) == "vectors_missing"
        assert not any(character.isdigit() for character in answer.json()["detail"])
        assert state(small) == "ready"

    def test_a_retired_one_is_filled_first(self, alice, small):
        act(alice, small, "retire")
        assert code(act(alice, small, "activate", force=True), 409) == "model_state"

    def test_search_goes_on_during_a_switch(self, alice, stored, small, principal):
        act(alice, small, "backfill")
        run_all(principal)

        def found():
            body = {"namespace": "acme:main", "query": "Which memory is about the number 14?", "top_k": 3}
            answer = alice.client.post("/api/v1/search", body, format="json").json()
            assert answer["degraded"] == []
            return {row["id"] for row in answer["results"]}

        before = found()
        act(alice, small, "activate")
        assert str(stored[2].id) in before & found()


class TestCompare:
    def test_works(self, alice, stored, small, principal):
        act(alice, small, "backfill")
        run_all(principal)
        told = act(alice, small, "compare", queries=["What of the number 14?"], sample=5).json()
        assert (told["model"], told["against"], told["depth"], told["missing"]) == ("small", "fake", 10, 0)
        assert [row["source"] for row in told["queries"]] == ["given"] + ["sample"] * 5
        assert all(0 <= row["overlap"] <= 1 for row in told["queries"])
        assert told["least"] <= told["mean"] <= 1

    def test_a_model_is_like_itself(self, alice, stored):
        told = act(alice, active_model(), "compare").json()
        assert (told["mean"], told["least"], len(told["queries"])) == (1.0, 1.0, 12)

    def test_without_vectors_nothing_is_alike(self, alice, stored, small):
        told = act(alice, small, "compare").json()
        assert (told["mean"], told["missing"]) == (0.0, 12)

    def test_without_memories_there_is_nothing_to_say(self, alice, small):
        told = act(alice, small, "compare", queries=["Anything?"]).json()
        assert (told["mean"], told["queries"]) == (None, [{"source": "given", "overlap": None}])

    def test_only_covered_namespaces_take_part(self, narrow, store, small):
        store("acme:secret", "Only some may know of this.")
        assert act(narrow, small, "compare").json()["queries"] == []
        assert code(act(narrow, small, "compare", namespace="acme:secret"), 404) == "not_found"

    def test_a_dead_embedder_is_said(self, alice, stored, small, small_endpoint):
        small_endpoint.mode = "unavailable"
        answer = act(alice, small, "compare")
        assert code(answer, 503) == "embedder_unavailable"
        assert answer.headers["Retry-After"]

    @pytest.mark.parametrize(
        "body", [{"sample": 0}, {"sample": 101}, {"queries": ["x"] * 51}, {"queries": [""]}, {"namespace": "nonsense"}]
    )
    def test_bad_input(self, alice, small, body):
        assert code(act(alice, small, "compare", **body), 400) == "validation"


class TestRetire:
    def test_works(self, alice, stored, small, principal):
        act(alice, small, "backfill")
        run_all(principal)
        answer = act(alice, small, "retire")
        assert (answer.status_code, answer.json()["kind"]) == (202, "retire")
        assert state(small) == "retired"
        run_all(principal)
        assert alice.client.get(f"{URL}/{small.id}").json()["missing"] == 12

    def test_the_active_one_stays(self, alice):
        assert code(act(alice, active_model(), "retire"), 409) == "model_state"
        assert state(active_model()) == "active"

    def test_it_can_come_back(self, alice, stored, small, principal):
        act(alice, small, "retire")
        run_all(principal)
        act(alice, small, "backfill")
        run_all(principal)
        assert state(small) == "ready"


def test_jobs_about_models_are_about_the_whole_project(alice, stored, small):
    body = {"kind": "backfill", "namespace": "acme:main", "options": {"model": "small"}}
    answer = alice.client.post("/api/v1/operations", body, format="json")
    assert [error["field"] for error in answer.json()["errors"]] == ["namespace"]
    body = {"kind": "retire", "options": {"model": "small"}}
    assert code(alice.client.post("/api/v1/operations", body, format="json"), 400) == "validation"
    for options in ({}, {"model": 7}, {"model": "ghost"}, {"model": "small", "more": 1}):
        body = {"kind": "backfill", "options": options}
        assert code(alice.client.post("/api/v1/operations", body, format="json"), 400) == "validation"


def test_stats_count_what_waits_for_the_active_model(alice, stored, small, store):
    store("acme:main", "One more, which waits for the second model.")
    assert alice.client.get("/api/v1/stats").json()["pending_embeddings"] == 0
    tasks.embed_pending()
