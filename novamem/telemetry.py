"""Traces and metrics by OTLP, for who sets OTEL_EXPORTER_OTLP_ENDPOINT; nobody imports this module otherwise.

Spans are made here alone, from what `memories.spans` is told, and not by OpenTelemetry's instrumentations, which export
paths, queries, statements and messages of errors: here all of these hold what people said (docs/decisions/0132).
"""

import functools
import os
import re
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import structlog
from celery.signals import before_task_publish, task_postrun, task_prerun
from django.apps import apps
from django.conf import settings
from django.db.backends.signals import connection_created
from django.urls import Resolver404, resolve
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memories import spans
from novamem.env import VERSION
from novamem.lifespan import Application, Event, Receive, Send

PATIENCE = 2.0  # seconds for what is left when a process ends
SDK = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_SERVICE_NAME",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
)
REQUEST = "novamem.request_id"
KINDS = {
    "server": trace.SpanKind.SERVER,
    "consumer": trace.SpanKind.CONSUMER,
    "client": trace.SpanKind.CLIENT,
    "database": trace.SpanKind.CLIENT,
    "internal": trace.SpanKind.INTERNAL,
}
DURATIONS = {
    "server": "http.server.request.duration",
    "consumer": "messaging.process.duration",
    "client": "http.client.request.duration",
    "database": "db.client.operation.duration",
    "internal": "novamem.operation.duration",
}
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
QUIET = ("/healthz", "/health", "/readyz", "/metrics", "/static/")  # probes, which would be most of all spans
OPERATIONS = {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "SET", "SAVEPOINT", "RELEASE", "ROLLBACK", "COPY", "LOCK"}
TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?(\w+)"?', re.IGNORECASE)
CONTEXT = TraceContextTextMapPropagator()
PARENT = "traceparent"  # of the header, without `tracestate`, in which a caller may write what he likes


class Telemetry:
    """The spans of this process. Of an error the type is told: its message may quote a row."""

    def __init__(self) -> None:
        # No global provider: libraries that know OpenTelemetry would export through it what they like.
        resource = Resource.create({"service.version": VERSION, "service.instance.id": str(uuid.uuid4())})
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._tracer, meter = self._spans.get_tracer("novamem"), self._metrics.get_meter("novamem")
        self._durations = {kind: meter.create_histogram(name, "s") for kind, name in DURATIONS.items()}
        self._tasks: dict[str, tuple[ExitStack, trace.Span]] = {}

    @contextmanager
    def span(
        self, kind: spans.Kind, name: str, attributes: Mapping[str, spans.Value], *, parent: str = ""
    ) -> Iterator[trace.Span]:
        """One span, below the one that is open or that `parent`, a header, names."""
        context = CONTEXT.extract({PARENT: parent}) if parent else None
        begun, about = time.perf_counter(), {"name": name}
        known = {**attributes, **_request()}
        with self._tracer.start_as_current_span(
            name, context, KINDS[kind], known, record_exception=False, set_status_on_exception=False
        ) as one:
            try:
                yield one
            except Exception as error:
                about["error.type"] = type(error).__name__
                _fail(one, type(error).__name__)
                raise
            finally:
                self._durations[kind].record(time.perf_counter() - begun, about)

    def note(self, attributes: Mapping[str, spans.Value]) -> None:
        """Add to the span that is open."""
        trace.get_current_span().set_attributes(attributes)

    def ids(self) -> Mapping[str, str]:
        """Return the ids of the span that is open, in hexadecimal."""
        here = trace.get_current_span().get_span_context()
        if not here.is_valid:
            return {}
        return {"trace_id": trace.format_trace_id(here.trace_id), "span_id": trace.format_span_id(here.span_id)}

    def traced(self, application: Application, *, known: Collection[str]) -> Application:
        """Return the application, each of whose requests is a span; `known` are paths that are no page's."""

        async def answer(scope: Event, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"].startswith(QUIET):
                await application(scope, receive, send)
                return
            method = scope["method"] if scope["method"] in METHODS else "_OTHER"
            route = scope["path"] if scope["path"] in known else route_of(scope["path"])
            parent = next((value for name, value in scope["headers"] if name == PARENT.encode()), b"")
            about = {"http.request.method": method, "http.route": route}
            with self.span("server", f"{method} {route}".strip(), about, parent=parent.decode("latin-1")) as one:

                async def told(event: Mapping[str, Any]) -> None:
                    if event["type"] == "http.response.start":
                        _note_answer(one, event)
                    await send(event)

                await application(scope, receive, told)

        return answer

    def follow_tasks(self) -> None:
        """Make each task of this worker a span, of the trace that asked for it."""
        task_prerun.connect(self._begin_task)
        task_postrun.connect(self._end_task)

    def _begin_task(self, task_id: str, task: Any, **_: Any) -> None:
        stack, parent = ExitStack(), getattr(task.request, PARENT, None) or ""
        one = stack.enter_context(self.span("consumer", task.name, {"messaging.message.id": task_id}, parent=parent))
        self._tasks[task_id] = stack, one

    def _end_task(self, task_id: str, state: str, retval: Any, **_: Any) -> None:
        stack, one = self._tasks.pop(task_id)
        if isinstance(retval, Exception):
            _fail(one, type(retval).__name__)
        stack.close()

    def stop(self, **_: Any) -> None:
        """Export what is left, as long as patience lasts: who ends is not to wait for a collector that is away."""
        spans.record_by(None)
        last = threading.Thread(target=self._shut_down, daemon=True)
        last.start()
        last.join(PATIENCE)

    def _shut_down(self) -> None:
        self._spans.shutdown()
        self._metrics.shutdown()


def start() -> Telemetry:
    """Record from now on, in this process: after any fork, since exporters are threads."""
    for name in SDK:  # which reads its settings there, also those of a TOML file
        if settings.ENV[name]:
            os.environ.setdefault(name, str(settings.ENV[name]))
    telemetry = Telemetry()
    spans.record_by(telemetry)
    connection_created.connect(_trace_statements)
    before_task_publish.connect(_send_context)
    return telemetry


def _fail(one: trace.Span, why: str) -> None:
    one.set_status(trace.StatusCode.ERROR)
    one.set_attribute("error.type", why)


def _request() -> dict[str, str]:
    which = structlog.contextvars.get_contextvars().get("request_id")
    return {REQUEST: str(which)} if which else {}


def _note_answer(one: trace.Span, event: Mapping[str, Any]) -> None:
    one.set_attribute("http.response.status_code", event["status"])
    if event["status"] >= 500:
        _fail(one, str(event["status"]))
    for name, value in event.get("headers", ()):
        if name.lower() == b"x-request-id":
            one.set_attribute(REQUEST, value.decode("latin-1"))


def _send_context(headers: dict[str, Any], **_: Any) -> None:
    carried: dict[str, str] = {}
    CONTEXT.inject(carried)
    if PARENT in carried:
        headers[PARENT] = carried[PARENT]


def _trace_statements(connection: Any, **_: Any) -> None:
    if _traced_statement not in connection.execute_wrappers:
        connection.execute_wrappers.insert(0, _traced_statement)


def _traced_statement(execute: Any, statement: Any, *given: Any) -> Any:
    with spans.span("database", summary(statement), {"db.system.name": "postgresql"}):
        return execute(statement, *given)


def summary(statement: Any) -> str:
    """Return `SELECT memories_fragment`: words that are known, whatever else stands there."""
    text = statement if isinstance(statement, str) else ""
    operation = text.split(maxsplit=1)[0].upper() if text.strip() else ""
    found = next((name for name in TABLE.findall(text) if name in _tables()), "")
    return f"{operation if operation in OPERATIONS else 'SQL'} {found}".strip()


@functools.cache
def _tables() -> frozenset[str]:
    return frozenset(model._meta.db_table for model in apps.get_models())


def route_of(path: str) -> str:
    """Return the pattern of a path, or nothing for one that there is not."""
    with suppress(Resolver404):
        return f"/{resolve(path).route}"
    return ""
