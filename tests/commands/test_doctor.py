"""manage.py doctor: what is wrong, what to do, and the file for who helps."""

import datetime
import io
import json
import zipfile

import pytest
from django.core.management import call_command
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from memories import access, readings
from memories.management.shown_settings import HIDDEN, masked
from memories.models import Backup, Heartbeat, Operation
from memories.providers import active_model
from memories.providers.fake import FakeEmbedder
from memories.readings import Measurement


@pytest.fixture
def doctor():
    """Runs it; the diagnoses by what they are about, and whether it ended well."""

    def look(*words):
        out, well = io.StringIO(), True
        try:
            call_command("doctor", "--json", *words, stdout=out, stderr=io.StringIO())
        except SystemExit as end:
            well = end.code == 0
        return {each["what"]: each for each in json.loads(out.getvalue())}, well

    return look


@pytest.fixture
def healthy(principal, tmp_path, settings, monkeypatch):
    """An installation in which everything works."""
    settings.DATA_DIR = tmp_path
    now = timezone.now()
    active_model()
    Heartbeat.objects.update_or_create(part="worker", defaults={"at": now})
    with access.enter(principal, why="test"):
        Backup.objects.create(
            project_id=principal.project_id, policy="full", policy_version=1, origin="scheduled", file="f", size=1,
            exported_at=now, drilled_at=now, drill_verdict="sound",
        )  # fmt: skip
    hourly = IntervalSchedule.objects.create(every=1, period="hours")
    PeriodicTask.objects.create(name="back up", task="t", interval=hourly, last_run_at=now)
    monkeypatch.setattr(readings.shutil, "disk_usage", lambda _: readings.shutil._ntuple_diskusage(10**12, 0, 10**12))


def test_a_healthy_installation_ends_well(doctor, healthy):
    found, well = doctor()
    assert well, [each for each in found.values() if each["state"] != "ok"]
    assert {each["state"] for each in found.values()} == {"ok"}


def test_what_the_scheduler_has_not_written_yet_is_not_late(doctor, healthy):
    """It writes every three minutes when it last began what."""
    often = IntervalSchedule.objects.create(every=10, period="seconds")
    before = timezone.now() - datetime.timedelta(minutes=3)
    PeriodicTask.objects.create(name="heartbeat", task="t", interval=often, last_run_at=before)
    assert doctor()[0]["schedules"]["state"] == "ok"


def test_a_model_that_nobody_asked_yet_is_asked(doctor, healthy, monkeypatch):
    """The command is a process of its own, which begins without a model."""
    asked = []
    monkeypatch.setattr(FakeEmbedder, "readiness", lambda _: "ready" if asked else "loading")
    answer = FakeEmbedder.embed
    monkeypatch.setattr(FakeEmbedder, "embed", lambda self, texts: asked.append(texts) or answer(self, texts))
    found, well = doctor()
    assert (found["embedder"]["state"], found["embedder"]["detail"], well) == ("ok", "fake is ready", True)


def test_people_read_a_line_for_each(healthy, capsys):
    call_command("doctor")
    lines = capsys.readouterr().out.splitlines()
    assert "✓ database" in lines
    assert all(line[0] in "✓!✗" for line in lines)


def silent_worker(_):
    Heartbeat.objects.update(at=timezone.now() - datetime.timedelta(minutes=5))


def late_schedule(_):
    PeriodicTask.objects.update(last_run_at=timezone.now() - datetime.timedelta(hours=5))


def old_backup(principal):
    with access.enter(principal, why="test"):
        Backup.objects.update(exported_at=timezone.now() - datetime.timedelta(hours=30))


def open_secret(_):
    from django.conf import settings

    (settings.DATA_DIR / "secret_key").write_text("x")
    (settings.DATA_DIR / "secret_key").chmod(0o644)


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (silent_worker, "worker"),
        (late_schedule, "schedules"),
        (old_backup, "backups"),
        (open_secret, "secrets on disk"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(doctor, healthy, principal, harm, what):
    harm(principal)
    found, well = doctor()
    assert not well
    assert [name for name, each in found.items() if each["state"] == "wrong"] == [what]
    assert found[what]["remedy"]


def test_what_waits_or_runs_full_is_worth_a_look(doctor, healthy, principal, monkeypatch):
    old = timezone.now() - datetime.timedelta(hours=1)
    with access.enter(principal, why="test"):
        Operation.objects.create(project_id=principal.project_id, kind="tier", state="queued", created_at=old)
    PeriodicTask.objects.create(name="evolve", task="t", interval=IntervalSchedule.objects.get(), enabled=False)
    found, well = doctor()
    assert well
    assert {name for name, each in found.items() if each["state"] == "look"} == {
        "operations wait",
        "schedules switched off",
    }
    full = [Measurement("disk_free_bytes", "data", 1e9), Measurement("disk_bytes", "data", 1e12)]
    monkeypatch.setattr(readings, "_of_files", lambda: full)
    found, well = doctor()
    assert not well
    assert found["disk of data"]["detail"] == "1.0 of 1000.0 GB free"


def test_the_bundle_has_no_text_no_secret_and_is_nobody_elses(doctor, healthy, store, principal, settings, tmp_path):
    store("acme:main", "Allergic to penicillin.")
    with access.enter(principal, why="test"):
        Operation.objects.create(
            project_id=principal.project_id, kind="forget", state="failed", finished_at=timezone.now(),
            options={"content": "penicillin"}, report={"what": "penicillin"}, error={"code": "internal"},
        )  # fmt: skip
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "web.log").write_text('{"event": "request_finished"}\n')
    settings.ENV = {**settings.ENV, "METRICS_TOKEN": "hush", "DATABASE_OWNER_URL": "postgres://o:hush@h/n"}
    path = tmp_path / "bundle.zip"
    doctor("--bundle", str(path))
    assert path.stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(path) as bundle:
        parts = {name: bundle.read(name).decode() for name in bundle.namelist()}
    assert parts.keys() >= {"diagnosis.json", "settings.json", "versions.json", "readings.json", "logs/web.log"}
    whole = "".join(parts.values())
    assert "penicillin" not in whole
    assert "hush" not in whole
    assert json.loads(parts["operations.json"])[0]["error"] == "internal"


SECRETS = ("SECRET_KEY", "METRICS_TOKEN", "RERANKER_API_KEY", "EMBEDDINGS_API_KEY", "OLLAMA_API_KEY")
SECRETS += ("PROXY_UPSTREAM_KEY", "PROXY_ANTHROPIC_KEY")
URLS = ("DATABASE_URL", "DATABASE_OWNER_URL", "CELERY_BROKER_URL", "RERANKER", "AUDIT_WITNESS")


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_hidden_wherever_settings_are_shown(name):
    assert masked(name, "hush") == HIDDEN
    assert masked(name, "") == ""


@pytest.mark.parametrize("name", URLS)
def test_passwords_in_urls_are_hidden(name):
    assert masked(name, "postgres://me:hush@host/name") == f"postgres://me:{HIDDEN}@host/name"
    assert masked("EVENT_STREAMS_PER_KEY", 10) == 10
    assert masked("PROXY_UPSTREAMS", ["a=https://me:hush@host/v1"]) == [f"a=https://me:{HIDDEN}@host/v1"]
    assert (masked("PROXY_UPSTREAM_KEYS", ["a=hush"]), masked("PROXY_UPSTREAM_KEYS", [])) == (HIDDEN, [])


@pytest.mark.long
def test_models_that_work_goes_on_without_are_asked(doctor, healthy, settings, tmp_path):
    assert not {"reranker", "recogniser"} & doctor()[0].keys()
    settings.RERANKER = "fake"
    assert doctor()[0]["reranker"]["state"] == "ok"
    settings.RERANKER, settings.ENTITY_MODEL = "http://127.0.0.1:1/rerank", str(tmp_path / "gone")
    found, well = doctor()
    assert [found[name]["state"] for name in ("reranker", "recogniser")] == ["look", "look"]
    assert "ENTITY_MODEL" in found["recogniser"]["remedy"]
    assert well
