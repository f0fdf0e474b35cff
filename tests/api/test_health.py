"""/healthz, /readyz, /metrics, and the stats and namespaces of a key."""

import datetime

import pytest
from django.db import OperationalError
from django.utils import timezone

from memories.api import health
from memories.models import Heartbeat


def parts(client):
    answer = client.get("/readyz")
    return answer.status_code, {name: part["state"] for name, part in answer.json()["parts"].items()}


def test_healthz_asks_nothing_of_the_database(client):
    assert client.get("/healthz").json() == client.get("/health").json() == {"status": "ok"}


def test_readyz_names_each_part(db, client):
    Heartbeat.objects.create(part="worker", at=timezone.now())
    status, states = parts(client)
    assert status == 200
    assert states == dict.fromkeys(("database", "migrations", "embedder", "broker", "worker"), "ok")


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


def test_without_postgres_it_is_down(db, client, monkeypatch):
    class Away:
        def __getitem__(self, alias):
            raise OperationalError("no")

    monkeypatch.setattr(health, "connections", Away())
    assert parts(client) == (503, {"database": "down"})


def test_metrics_are_prometheus_text(db, client):
    assert b"django_http_requests" in client.get("/metrics").content


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
