"""Traces by OTLP: what happens stands in them, and nothing that anybody said."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import structlog
from django.conf import settings as django_settings
from django.db import connection
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from psycopg import sql

from memories import spans
from memories.access import keys
from memories.providers import current_sidecar, fake_sidecar, fake_upstream
from memories.providers.fake_servers import running
from memories.providers.http import JsonService, Unanswered
from memories.providers.sidecar import Ask
from novamem.logs import logging_config
from tests.conftest import web_server

WORD = "penicillin"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = PARENT.split("-")[1]


class Collector(ThreadingHTTPServer):
    """Takes what is exported, byte by byte."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.stopping = threading.Event()
        self.taken: list[tuple[str, bytes]] = []
        self.authorized: set[str | None] = set()
        self.stop: Callable[[], None] = lambda: None  # sends what is left

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def raw(self) -> bytes:
        return b"".join(body for _, body in self.taken)

    def spans(self) -> list[SimpleNamespace]:
        """What arrived: name, ids in hexadecimal, attributes."""
        found = []
        for path, body in list(self.taken):
            if path == "/v1/traces":
                for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                    found += [_plain(one) for scope in part.scope_spans for one in scope.spans]
        return found

    def metrics(self) -> dict[str, set[str]]:
        """By metric: the names of what was measured."""
        found: dict[str, set[str]] = {}
        for path, body in list(self.taken):
            if path == "/v1/metrics":
                for part in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    for one in (metric for scope in part.scope_metrics for metric in scope.metrics):
                        points = one.histogram.data_points
                        found.setdefault(one.name, set()).update(_values(point)["name"] for point in points)
        return found


def _values(row: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in row.attributes}


def _plain(one: Any) -> SimpleNamespace:
    ids = {name: getattr(one, name).hex() for name in ("trace_id", "span_id", "parent_span_id")}
    return SimpleNamespace(name=one.name, about=_values(one), failed=one.status.code == 2, **ids)


class Taking(BaseHTTPRequestHandler):
    """One export."""

    def do_POST(self) -> None:
        """Keep it."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Collector)
        self.server.taken.append((self.path, body))
        self.server.authorized.add(self.headers["x-key"])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Where traces go."""
    with running(Collector()) as taking:
        yield taking


@pytest.fixture
def exporting(collector: Collector, web_environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """What another process needs to export."""
    given = {"ENDPOINT": collector.endpoint, "HEADERS": "x-key=of-the-collector"}
    return {
        **web_environment,
        **{f"OTEL_EXPORTER_OTLP_{name}": value for name, value in given.items()},
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "OTEL_METRIC_EXPORT_INTERVAL": "500",
        "LOG_LEVEL": "INFO",
        "LOG_FORMAT": "json",
    }


@contextmanager
def worker(environment: dict[str, str], log: Path) -> Iterator[None]:
    """A worker process."""
    command = [sys.executable, "-m", "novamem.units", "worker", "--threads", "2"]
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=django_settings.ROOT, env=environment, stdout=out, stderr=out)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def eventually(happened: Any) -> Any:
    """The first true answer."""
    deadline = time.monotonic() + 60
    while not (answer := happened()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return answer


def said(client: httpx2.Client, namespace: str) -> dict[str, Any]:
    """All ways in which words come in, and an operation of the worker's: its row."""
    about = {"namespace": namespace, "user": f"{WORD}-user"}
    claim = {"subject": WORD, "predicate": WORD, "value": WORD}
    stored = client.post("/api/v1/fragments", json={**about, "content": f"Allergic to {WORD}.", "claim": claim})
    assert stored.status_code == 201, stored.text
    assert client.post("/api/v1/search", json={**about, "query": WORD}).json()["results"]
    client.post("/api/v1/search", json={**about, "query": 7, WORD: WORD})
    for path in (
        f"/api/v1/claims?subject={WORD}",
        f"/beliefs/{WORD}/{WORD}/",
        f"/api/v1/{WORD}",
        f"/{WORD}",
        f"/v1/{WORD}",
    ):
        client.get(path, headers={"X-NovaMem-Namespace": namespace})
    chat = {"model": "fake", "messages": [{"role": "user", "content": f"Is {WORD} safe?"}], "user": f"{WORD}-user"}
    chatted = client.post("/v1/chat/completions", json=chat, headers={"X-NovaMem-Namespace": namespace})
    assert chatted.status_code == 200, chatted.text
    client.request("GET", "/api/v1/fragments", headers={"tracestate": f"a={WORD}", "baggage": f"a={WORD}"})
    started = client.post("/api/v1/consolidations", json={"namespace": namespace})
    assert started.status_code == 202, started.text
    return started.json()


@pytest.mark.long
def test_a_trace_leads_from_the_request_to_the_worker_and_holds_no_word(
    committed: Any, exporting: dict[str, str], collector: Collector, tmp_path: Path
) -> None:
    wish = keys.KeyRequest([f"{committed.name}:*"], ["read", "write", "admin"], "tool_output")
    key = keys.issue(committed, wish, owner=f"{WORD}-owner").text
    logs = {name: tmp_path / f"{name}.log" for name in ("web", "worker")}
    with fake_upstream.serving() as upstream, fake_sidecar.serving() as sidecar, logs["web"].open("w") as log:
        exporting |= {"PROXY_UPSTREAM_URL": upstream.url, "PROXY_UPSTREAM_KEY": "sk-of-the-upstream"}
        exporting |= {"LLM_SIDECAR_URL": sidecar.url, "LLM_SIDECAR_OPENAI": "true"}
        headers = {"Authorization": f"Bearer {key}", "traceparent": PARENT}
        with (
            worker(exporting, logs["worker"]),
            web_server(exporting, log=log) as url,
            httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client,
        ):
            asked = said(client, f"{committed.name}:main")
            state = f"/api/v1/operations/{asked['id']}"
            eventually(lambda: client.get(state).json()["state"] == "succeeded")
    found = collector.spans()
    ours = [one for one in found if one.trace_id == TRACE]
    names = {one.name for one in ours}
    assert names >= {
        *("POST /api/v1/fragments", "POST /api/v1/search", "GET /beliefs/<str:subject>/<str:predicate>/"),
        *("SELECT memories_fragment", "INSERT memories_fragment", "embed", "ask the upstream"),
        *("memories.tasks.run_operation", "consolidate"),
    }
    by_id = {one.span_id: one for one in ours}
    (task,) = [one for one in ours if one.name == "memories.tasks.run_operation"]
    assert by_id[task.parent_span_id].name == "POST /api/v1/consolidations"
    (operation,) = [one for one in ours if one.name == "consolidate"]
    assert operation.about["novamem.operation"] == asked["id"]
    assert operation.about["novamem.state"] == "succeeded"
    assert {by_id[one.parent_span_id].name for one in ours if one.name == "embed"} >= {"POST /api/v1/search"}
    (search,) = [one for one in ours if one.name.endswith("/search") and one.about["http.response.status_code"] == 200]
    assert search.about["novamem.stage.candidates_ms"] > 0
    assert search.about["novamem.request_id"] in logs["web"].read_text()
    assert {json.loads(line).get("trace_id") for line in logs["web"].read_text().splitlines()} >= {TRACE}
    assert TRACE in logs["worker"].read_text()
    assert collector.authorized == {"of-the-collector"}
    told = collector.metrics()
    assert "POST /api/v1/search" in told["http.server.request.duration"]
    assert "memories.tasks.run_operation" in told["messaging.process.duration"]
    assert "SELECT memories_fragment" in told["db.client.operation.duration"]
    assert {"embed", "consolidate"} <= told["novamem.operation.duration"]
    for secret in (WORD, key, key.rpartition("_")[2], "sk-of-the-upstream", committed.name):
        assert secret.encode() not in collector.raw, secret


@pytest.fixture
def recorded(collector: Collector, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Collector]:
    """Spans of this process; they have arrived once it is called `stop` on."""
    from novamem import telemetry  # only here: it loads the SDK

    for name in telemetry.SDK:  # as the process's own settings, which go again
        monkeypatch.setenv(name, str(settings.ENV[name]))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    recorder = telemetry.start()
    before = list(connection.execute_wrappers)
    telemetry._trace_statements(connection)
    collector.stop = recorder.stop
    yield collector
    recorder.stop()
    connection.execute_wrappers[:] = before
    telemetry.connection_created.disconnect(telemetry._trace_statements)
    telemetry.before_task_publish.disconnect(telemetry._send_context)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (f"SELECT '{WORD}' FROM memories_fragment WHERE 1 = 0", "SELECT memories_fragment"),
        (f"SELECT 'x FROM {WORD}'", "SELECT"),
        (f"/* {WORD} */ SELECT 1", "SQL"),
        (sql.SQL("SELECT {}").format(sql.Literal(WORD)), "SQL"),
    ],
)
def test_a_statement_is_told_by_words_that_are_known(db: None, recorded: Collector, statement: Any, told: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    recorded.stop()
    assert told in {one.name for one in recorded.spans()}
    assert WORD.encode() not in recorded.raw


def test_an_error_is_told_by_its_type(recorded: Collector) -> None:
    with pytest.raises(ValueError, match=WORD), spans.span("internal", "embed"):
        raise ValueError(WORD)
    with pytest.raises(Unanswered):
        JsonService(f"http://127.0.0.1:9/{WORD}", key=WORD, timeout=1).post(f"/{WORD}", {WORD: WORD})
    recorded.stop()
    told = {(one.name, one.about["error.type"]) for one in recorded.spans() if one.failed}
    assert told == {("embed", "ValueError"), ("POST", "Unanswered")}
    assert WORD.encode() not in recorded.raw


def test_a_call_of_the_language_model_is_a_span(recorded: Collector, settings: Any) -> None:
    with fake_sidecar.serving() as running_sidecar:
        settings.SIDECAR_URL, settings.SIDECAR_OPENAI = running_sidecar.url, True
        sidecar = current_sidecar()
        assert sidecar
        answer = sidecar.generate(Ask("judge", WORD, WORD))
    recorded.stop()
    *calls, asked = sorted(recorded.spans(), key=lambda one: one.name)
    assert {(one.name, one.parent_span_id) for one in calls} == {("POST", asked.span_id)}
    assert {one.about["server.address"] for one in calls} == {"127.0.0.1"}
    assert asked.name == "ask the language model"
    assert asked.about == {
        "novamem.purpose": "judge",
        "novamem.outcome": answer.outcome,
        "novamem.tries": len(calls),
    }
    assert WORD.encode() not in recorded.raw


def test_a_span_and_a_line_of_the_log_name_each_other(recorded: Collector, capsys: pytest.CaptureFixture[str]) -> None:
    merged = logging_config(level="INFO", style="json")["formatters"]["line"]["foreign_pre_chain"]
    with structlog.contextvars.bound_contextvars(request_id="0f0f"), spans.span("internal", "embed"):
        line: Any = {"event": "x"}
        for process in merged[:2]:
            line = process(None, "info", line)
    recorded.stop()
    (one,) = recorded.spans()
    assert one.about["novamem.request_id"] == line["request_id"] == "0f0f"
    assert (one.trace_id, one.span_id) == (line["trace_id"], line["span_id"])


OFF = """
import sys
import django
django.setup()
import novamem.asgi, novamem.celery, novamem.units
from memories import spans
assert spans.ids() == {}
loaded = {name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))}
print(sorted(loaded), "novamem.telemetry" in sys.modules)
"""


@pytest.mark.long
@pytest.mark.parametrize(("endpoint", "told"), [("", "[] False"), ("http://127.0.0.1:9", "True")])
def test_nothing_is_loaded_unless_it_is_switched_on(web_environment: dict[str, str], endpoint: str, told: str) -> None:
    given = {**web_environment, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "DJANGO_SETTINGS_MODULE": "novamem.settings"}
    code = OFF + "import os; sys.stdout.flush(); os._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=django_settings.ROOT, env=given, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip().endswith(told), done.stderr[-2000:]


@pytest.mark.long
def test_a_collector_that_is_away_keeps_nobody_waiting(exporting: dict[str, str], tmp_path: Path) -> None:
    given = {**exporting, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with (tmp_path / "web.log").open("w") as log, web_server(given, log=log) as url:
        begun = time.monotonic()
        assert httpx2.get(f"{url}/api/v1/fragments", trust_env=False).status_code == 401
        assert time.monotonic() - begun < 5
        begun = time.monotonic()
    assert time.monotonic() - begun < 5
