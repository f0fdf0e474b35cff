"""/healthz, /readyz, /metrics, and the stats and namespaces of a key."""

import datetime
import threading
import time

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from memories import health
from memories.models import EmbeddingModel, Heartbeat
from memories.providers import Ask, EmbeddingFailed, current_sidecar, embeddings
from memories.providers.circuit import FAILURES
from memories.providers.fake import FakeEmbedder


@pytest.fixture(autouse=True)
def _no_worker_before(request):
    """Another test's worker may have told of itself for good."""
    if "db" in request.fixturenames:
        request.getfixturevalue("db")
        Heartbeat.objects.all().delete()


def parts(client):
    answer = client.get("/readyz")
    return answer.status_code, {name: part["state"] for name, part in answer.json()["parts"].items()}


def test_healthz_asks_nothing_of_the_database(client):
    assert client.get("/healthz").json() == client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/healthz", "/health", "/readyz", "/metrics"])
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_probes_are_only_read(path, method):
    answer = getattr(Client(enforce_csrf_checks=True), method)(path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_may_come_by_an_address_and_others_not(path, db, client):
    assert client.get(path, headers={"host": "10.0.0.5:8000"}).status_code == 200
    assert client.get("/login/", headers={"host": "10.0.0.5:8000"}).status_code == 400


def test_readyz_names_each_part(db, client):
    Heartbeat.objects.create(part="worker", at=timezone.now())
    status, states = parts(client)
    assert status == 200
    named = ("database", "migrations", "embedder", "broker", "worker", "sidecar", "reduction_client")
    assert states == dict.fromkeys(named, "ok")


def test_the_sidecar_and_its_judge_are_told(db, client, model_server, bind_judge):
    def told():
        parts = client.get("/readyz").json()["parts"]
        return [(parts[name]["state"], parts[name]["detail"]) for name in ("sidecar", "reduction_client")]

    here = model_server.url.removeprefix("http://")
    assert told() == [("ok", f"llama3.1 at {here}"), ("ok", "local_checks is bound")]
    model_server.mode = "broken"
    for _ in range(FAILURES):
        current_sidecar().generate(Ask("check", "", "{}"))
    bind_judge(None)
    assert told() == [
        ("degraded", f"llama3.1 at {here} failed often and rests"),
        ("degraded", "nobody is bound: proposals are skipped"),
    ]
    bind_judge(None, advisory=True)
    assert told()[1] == ("degraded", "nobody is bound: proposals are advisory only")
    metrics = client.get("/metrics").content
    assert b'novamem_sidecar_calls_total{outcome="http_500",purpose="check"}' in metrics


def test_a_silent_worker_is_degraded_but_memories_go_on(db, client):
    assert parts(client)[1]["worker"] == "degraded"
    Heartbeat.objects.create(part="worker", at=timezone.now() - datetime.timedelta(minutes=2))
    status, states = parts(client)
    assert (status, states["worker"]) == (200, "degraded")


def test_a_broker_that_is_away_is_degraded(db, client, monkeypatch):
    class Away:
        def connection_for_write(self, **_):
            raise ConnectionRefusedError

    monkeypatch.setattr(health, "current_app", Away())
    status, states = parts(client)
    assert (status, states["broker"]) == (200, "degraded")


@pytest.mark.parametrize(("readiness", "state"), [("ready", "ok"), ("loading", "degraded"), ("failed", "degraded")])
def test_the_active_model_is_named_with_how_it_is(db, client, monkeypatch, readiness, state):
    class Embedder(FakeEmbedder):
        def readiness(self):
            return readiness

    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Embedder())
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["parts"]["embedder"] == {"state": state, "detail": f"fake is {readiness}"}


def test_a_model_whose_provider_is_gone_has_failed(db, client):
    EmbeddingModel.objects.update(provider="gone")
    assert client.get("/readyz").json()["parts"]["embedder"]["detail"] == "fake is failed"


def test_without_postgres_it_is_down(db, client, monkeypatch):
    class Away:
        def __getitem__(self, alias):
            raise OperationalError("no")

    monkeypatch.setattr(health, "connections", Away())
    assert parts(client) == (503, {"database": "down"})


def test_a_database_that_hangs_is_down_in_time_and_holds_one_thread(db, client, monkeypatch):
    going_on, asked = threading.Event(), []

    class Hanging:
        def __getitem__(self, alias):
            asked.append(alias)
            assert going_on.wait(20)
            raise OperationalError("no")

    monkeypatch.setattr(health, "PATIENCE", 0.3)
    with monkeypatch.context() as patched:
        patched.setattr(health, "connections", Hanging())
        begun = time.monotonic()
        assert [parts(client) for _ in range(5)] == [(503, {"database": "down"})] * 5
        assert time.monotonic() - begun < 5
        assert asked == ["default"]
        going_on.set()
        with pytest.raises(OperationalError):
            health._probe.result(20)
    assert parts(client)[1]["database"] == "ok"


def test_a_server_beside_a_newer_database_says_so_and_answers(db, client, monkeypatch):
    known = health._known_migrations()
    fewer = known - {max(one for one in known if one[0] == "memories")}
    monkeypatch.setattr(health, "_known_migrations", lambda: fewer)
    part = client.get("/readyz").json()["parts"]["migrations"]
    assert part["state"] == "degraded"
    assert part["detail"].startswith("the database is of a newer release, which has memories.00")
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(health, "_known_migrations", lambda: known | {("memories", "9999_to_come")})
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["parts"]["migrations"]["state"]) == (503, "down")


def test_metrics_are_prometheus_text(db, client):
    assert b"django_http_requests" in client.get("/metrics").content


def test_embeddings_are_counted_by_model_and_outcome(client, store, monkeypatch):
    def told(line):
        found = [
            row.split()[-1] for row in client.get("/metrics").content.decode().splitlines() if row.startswith(line)
        ]
        return float(found[0]) if found else 0.0

    embedded = 'novamem_embeddings_total{model="fake",outcome="embedded"}'
    failed = 'novamem_embeddings_total{model="fake",outcome="failed"}'
    before = told(embedded), told(failed), told('novamem_embedding_seconds_count{model="fake"}')
    store("acme:main", "One thing worth knowing.")
    monkeypatch.setattr(FakeEmbedder, "embed", lambda *_: (_ for _ in ()).throw(EmbeddingFailed("away")))
    store("acme:main", "Another thing worth knowing.")
    after = told(embedded), told(failed), told('novamem_embedding_seconds_count{model="fake"}')
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1, 2]


def test_stats_count_what_the_key_covers(alice, reader, charlie, store):
    store("acme:main", "One thing worth knowing.", type="episodic")
    store("acme:other", "Another thing worth knowing.")
    mine = alice.client.get("/api/v1/stats").json()
    assert (mine["total"], mine["by_status"]["active"], mine["by_type"]["episodic"]) == (2, 2, 1)
    assert mine["by_tier"] == {"hot": 2, "warm": 0, "cold": 0}
    assert mine["pending_embeddings"] == 0
    assert mine["storage_bytes"] > 0
    assert reader.client.get("/api/v1/stats").json()["total"] == 1
    assert alice.client.get("/api/v1/stats", {"namespace": "acme:other"}).json()["total"] == 1
    assert charlie.client.get("/api/v1/stats").json()["total"] == 0
    assert charlie.client.get("/api/v1/stats", {"namespace": "acme:main"}).status_code == 404


def test_namespaces_are_made_and_listed(alice, reader, charlie):
    made = alice.client.post("/api/v1/namespaces", {"name": "acme:main"}, format="json")
    assert (made.status_code, made.json()["name"], made.json()["agent"]) == (201, "acme:main", "main")
    alice.client.post("/api/v1/namespaces", {"name": "acme:other"}, format="json")
    names = [row["name"] for row in alice.client.get("/api/v1/namespaces").json()["results"]]
    assert names == ["acme:main", "acme:other"]
    assert [row["name"] for row in reader.client.get("/api/v1/namespaces").json()["results"]] == ["acme:main"]
    assert charlie.client.post("/api/v1/namespaces", {"name": "acme:x"}, format="json").status_code == 404
    assert reader.client.post("/api/v1/namespaces", {"name": "acme:main"}, format="json").status_code == 403


@pytest.mark.parametrize("name", ["acme", "acme:", ":x", "acme:a:b", "acme:A", "", 5])
def test_bad_names_are_refused(name, alice):
    assert alice.client.post("/api/v1/namespaces", {"name": name}, format="json").status_code == 400
