"""Real worker processes: what was started is finished, whatever dies on the way."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings as django_settings
from django.db import connections
from django.forms import model_to_dict

from memories import access, jobs, operations, tasks
from memories.models import Keywords
from novamem import database

pytestmark = pytest.mark.long

SLOW = [sys.executable, str(Path(__file__).with_name("slow_worker.py")), "0.3"]
WORKER = [sys.executable, "-m", "celery", "-A", "novamem", "worker", "-P", "threads", "-c", "2", "-l", "INFO"]
REDIS = shutil.which("redis-server")


@pytest.fixture(autouse=True)
def short_lease(settings):
    """A silent worker loses its operation after two seconds."""
    settings.OPERATION_LEASE_SECONDS = 2


@pytest.fixture
def queue(committed):
    """The queue of the test database, empty."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pgmq.purge_queue('celery')")


@pytest.fixture
def worker(tmp_path, committed):
    """Starts worker processes on the test database; they end with the test."""
    started = []

    @contextmanager
    def work(command, **more):
        environment = {
            **os.environ,
            "DATABASE_URL": database.url_for(
                django_settings.ENV["DATABASE_URL"], connections["default"].settings_dict["NAME"]
            ),
            "EMBEDDER": "fake",
            "OPERATION_LEASE_SECONDS": "2",
            "NOVAMEM_DATA_DIR": str(tmp_path),
            "SECRET_KEY": "of the test",
            "PYTHONPATH": f"{django_settings.ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            **more,
        }
        with (tmp_path / f"worker-{len(started)}.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=django_settings.ROOT, env=environment, stdout=log, stderr=log)
        started.append(process)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    return work


def until(condition, *, seconds=60):
    """Waits for the condition's first true answer."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return answer


def start(principal, now):
    return jobs.start(principal, kind="rebuild", namespace=None, options={"target": "keywords"}, now=now)


def keywords(principal):
    with access.enter(principal, why="test"):
        return sorted(map(repr, Keywords.objects.filter(project_id=principal.project_id).values_list()))


def wipe(principal):
    with access.enter(principal, why="test"):
        Keywords.objects.filter(project_id=principal.project_id).delete()


@pytest.fixture
def ended(service, row_of):
    """The operation once it has ended, else None."""

    def look(operation):
        row = row_of(service, operation)
        return row if row.finished_at else None

    return look


def test_a_worker_finishes_what_was_started(service, fill, queue, worker, ended, now):
    fill(service, 6)
    undisturbed = keywords(service)
    wipe(service)
    with worker(WORKER):
        operation = start(service, now)
        row = until(lambda: ended(operation))
    assert (row.state, row.fence, row.report) == ("succeeded", 1, {"target": "keywords", "rebuilt": 6})
    assert keywords(service) == undisturbed


def test_another_worker_finishes_what_a_killed_one_began(service, fill, queue, worker, ended, row_of, now):
    fill(service, 8)
    undisturbed = keywords(service)
    wipe(service)
    operation = start(service, now)
    with worker(SLOW) as first:
        until(lambda: row_of(service, operation).done >= 3)
        first.kill()
        first.wait()
    left = row_of(service, operation)
    assert left.state == "running"
    assert 3 <= left.done < 8
    with worker(WORKER):
        until(lambda: tasks.sweep_operations() or ended(operation))
    row = ended(operation)
    assert (row.state, row.fence, row.report) == ("succeeded", 2, {"target": "keywords", "rebuilt": 8})
    assert keywords(service) == undisturbed


def test_a_running_job_is_cancelled_between_batches(service, fill, queue, worker, ended, row_of, now):
    fill(service, 40)
    operation = start(service, now)
    with worker(SLOW):
        until(lambda: row_of(service, operation).done >= 1)
        operations.cancel(service, operation.id, now=now)
        row = until(lambda: ended(operation))
    assert row.state == "cancelled"
    assert 1 <= row.done < 40


def test_a_message_that_comes_twice_changes_nothing(service, fill, queue, worker, ended, now):
    fill(service, 3)
    first = start(service, now)
    with worker(WORKER):
        row = until(lambda: ended(first))
        jobs.wake(service.project_id, first.id)
        until(lambda: in_the_queue() == 0)
        assert model_to_dict(ended(first)) == model_to_dict(row)


def in_the_queue():
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pgmq.q_celery")
        return cursor.fetchone()[0]


@pytest.fixture
def redis(tmp_path, monkeypatch):
    """The URL of a redis server, which is the broker of this test."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [REDIS, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with (tmp_path / "redis.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    until(lambda: b"Ready to accept" in (tmp_path / "redis.log").read_bytes())
    yield f"redis://127.0.0.1:{port}/0"
    server.terminate()
    server.wait()


@pytest.mark.redis
@pytest.mark.skipif(REDIS is None, reason="needs a redis-server binary")
def test_redis_serves_as_well(service, fill, worker, redis, ended, now, monkeypatch):
    fill(service, 6)
    undisturbed = keywords(service)
    wipe(service)
    with Celery("client", broker=redis, set_as_current=False) as client, worker(WORKER, CELERY_BROKER_URL=redis):
        monkeypatch.setattr(jobs, "current_app", client)
        operation = start(service, now)
        row = until(lambda: ended(operation))
    assert (row.state, row.report) == ("succeeded", {"target": "keywords", "rebuilt": 6})
    assert keywords(service) == undisturbed
