"""A server that stops cleanly loses nothing of what was said, nor of what was counted."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from django.conf import settings as django_settings
from django.db import connections

from memories import access
from memories.models import Access
from novamem import database
from tests.proxy.conftest import NAMESPACE, chat

pytestmark = pytest.mark.long  # each starts processes

STREAMS, ENDLESS = 12, 3


@pytest.fixture
def processes(tmp_path, upstream, committed):
    """Starts the web server as script/server does: (process, URL)."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    name = connections["default"].settings_dict["NAME"]
    environment = {
        **os.environ,
        "DATABASE_URL": database.url_for(django_settings.ENV["DATABASE_URL"], name),
        "EMBEDDER": "fake",
        "NOVAMEM_DATA_DIR": str(tmp_path),
        "SECRET_KEY": "of the test",
        "PROXY_UPSTREAM_URL": upstream.url,
        "PYTHONPATH": f"{django_settings.ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, "-m", "novamem.units", "web", "--port", str(port), "--processes", "2"]
    with (tmp_path / "web.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=django_settings.ROOT, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        try:
            httpx2.get(f"{url}/healthz", trust_env=False)
            break
        except httpx2.TransportError:
            time.sleep(0.05)
    yield process, url
    process.kill()
    process.wait()


def read_stream(url, key, main, number, begun):
    """All that comes of one stream."""
    headers = {"Authorization": f"Bearer {key}", NAMESPACE: main}
    body = chat(f"What of the heron number {number}?", stream=True)
    got = b""
    with (
        httpx2.Client(trust_env=False, timeout=30) as http,
        http.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as answer,
    ):
        for piece in answer.iter_raw():
            got += piece
            begun.release()
    return got


def test_streams_end_and_are_kept(processes, upstream, key, main, captured):
    process, url = processes
    upstream.mode, upstream.pause = "slow", 0.08
    begun = threading.Semaphore(0)
    with ThreadPoolExecutor(STREAMS) as pool:
        streams = [pool.submit(read_stream, url, key, main, number, begun) for number in range(STREAMS)]
        for _ in range(STREAMS):
            assert begun.acquire(timeout=60)
        process.send_signal(signal.SIGTERM)
        assert all(stream.result().endswith(b"data: [DONE]\n\n") for stream in streams)
    process.wait(60)
    rows = captured(STREAMS)
    assert {row.turns[0]["content"] for row in rows} == {f"What of the heron number {n}?" for n in range(STREAMS)}
    assert {(row.turns[1]["content"], row.turns[1]["partial"]) for row in rows} == {(upstream.reply, False)}


def test_what_has_no_end_is_cut_and_kept_as_partial(web, stop, upstream, key, main, captured):
    upstream.reply = "heron " * 20
    upstream.mode = "endless"
    begun = threading.Semaphore(0)
    with ThreadPoolExecutor(ENDLESS) as pool:
        streams = [pool.submit(read_stream, web, key, main, number, begun) for number in range(ENDLESS)]
        for _ in range(ENDLESS * 5):
            assert begun.acquire(timeout=60)
        stop()
        for stream in streams:
            assert isinstance(stream.exception(timeout=60), httpx2.RemoteProtocolError)
    rows = captured(ENDLESS)
    assert {row.turns[1]["partial"] for row in rows} == {True}
    assert {row.turns[1]["content"][:11] for row in rows} == {"heron heron"}


def test_what_was_counted_just_before_is_kept(processes, key, main, service, remember):
    process, url = processes
    heron = remember("The heron nests behind the old mill.")
    headers = {"Authorization": f"Bearer {key}"}
    asked = {"query": "Where does the heron nest?", "namespaces": [main]}
    with httpx2.Client(base_url=url, headers=headers, trust_env=False) as http:
        for _ in range(5):
            assert len(http.post("/api/v1/search", json=asked).raise_for_status().json()["results"]) == 1
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    with access.enter(service, why="test"):
        assert Access.objects.get(fragment_id=heron.id).access_count == 5
