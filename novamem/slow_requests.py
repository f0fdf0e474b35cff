"""Slow requests: one line says how long one took, how much of it in the database, and which stages it had."""

import time
from typing import Any

import structlog
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from memories.stage_times import collected_stages
from novamem.logs import RequestLog

log = structlog.get_logger(__name__)


class StatementClock:
    """How many statements a request ran on its connection, and for how many seconds."""

    def __init__(self) -> None:
        self.statements, self.seconds = 0, 0.0

    def __call__(self, execute: Any, *given: Any) -> Any:
        """Run a statement."""
        begun = time.perf_counter()
        try:
            return execute(*given)
        finally:
            self.statements += 1
            self.seconds += time.perf_counter() - begun


class SlowRequestLog(MiddlewareMixin):
    """Logs what takes SLOW_REQUEST_MS or longer; 0 logs none."""

    async_capable = False

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Measure the views and what stands further inside."""
        clock, begun = StatementClock(), time.perf_counter()
        with collected_stages() as stages, connection.execute_wrapper(clock):
            answer: HttpResponse = self.get_response(request)  # type: ignore[assignment]  # it is synchronous
        took = (time.perf_counter() - begun) * 1000
        if settings.SLOW_REQUEST_MS and took >= settings.SLOW_REQUEST_MS:
            log.warning(
                "slow_request",
                request=RequestLog.format_request(request),
                code=answer.status_code,
                took_ms=round(took),
                database_ms=round(clock.seconds * 1000),
                statements=clock.statements,
                stages={stage: round(spent) for stage, spent in stages.items()},
            )
        return answer
