"""Requests in threads that last: who sends slowly holds none, a file goes out piece by piece."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.http import FileResponse, HttpRequest, HttpResponse
from django.urls import path

from novamem.pages import Pages


class Large(io.BytesIO):
    """A file that counts how often it is read."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        """A piece."""
        Large.reads += 1
        return super().read(size)


def large(request: HttpRequest) -> FileResponse:
    """A megabyte."""
    return FileResponse(Large(b"x" * 2**20))


def echo(request: HttpRequest) -> HttpResponse:
    """What was sent, after a look at the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse(request.body)


def broken(request: HttpRequest) -> HttpResponse:
    """Fails."""
    raise RuntimeError


urlpatterns = [path("large", large), path("echo", echo), path("broken", broken)]
Event = dict[str, Any]


def asked(place: str) -> Event:
    """A request's scope."""
    told = {"type": "http", "method": "GET", "http_version": "1.1", "query_string": b""}
    return {**told, "path": place, "headers": [(b"host", b"testserver")]}


async def exchanged(
    pages: Pages, place: str, receive: Callable[[], Awaitable[Event]], *, sent: list[Event] | None = None
) -> list[Event]:
    """What is answered."""
    events: list[Event] = [] if sent is None else sent

    async def send(event: Event) -> None:
        events.append(event)

    await pages(asked(place), receive, send)
    return events


def run(what: Coroutine[Any, Any, Any]) -> Any:
    """Its result; in a thread, as the tests of the browser leave a loop running in this one."""
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, what).result()


async def at_once() -> Event:
    """A body that is there."""
    return {"type": "http.request", "body": b"hello", "more_body": False}


@pytest.fixture
def pages(settings: Any, committed: Any) -> Pages:
    """One thread, two views."""
    settings.ROOT_URLCONF = __name__
    return Pages(threads=1)


def test_who_sends_slowly_holds_no_thread(pages: Pages) -> None:
    async def both() -> list[Event]:
        ended = asyncio.Event()

        async def slowly() -> Event:
            await ended.wait()
            return {"type": "http.disconnect"}

        async with asyncio.TaskGroup() as group:
            group.create_task(exchanged(pages, "/echo", slowly))
            answered = await asyncio.wait_for(exchanged(pages, "/echo", at_once), 20)
            ended.set()
        return answered

    start, body = run(both())
    assert (start["status"], body["body"]) == (200, b"hello")


def test_a_file_is_read_as_it_goes_out(pages: Pages) -> None:
    Large.reads = 0
    seen: list[int] = []

    class Watched(list[Event]):
        def append(self, event: Event) -> None:
            seen.append(Large.reads)
            super().append(event)

    sent = run(exchanged(pages, "/large", at_once, sent=Watched()))
    assert b"".join(event.get("body", b"") for event in sent) == b"x" * 2**20
    assert seen[1] == 1, "the first piece went out after the whole file was read"


def test_a_caller_who_leaves_is_not_answered(pages: Pages) -> None:
    async def gone() -> Event:
        return {"type": "http.disconnect"}

    assert run(exchanged(pages, "/echo", gone)) == []


def test_a_thread_gives_its_connection_back(pages: Pages) -> None:
    async def one_after_another() -> list[bool]:
        free = []
        for _ in range(3):
            await exchanged(pages, "/echo", at_once)
            free.append(await pages._in_thread(lambda: connection.connection is None))
        return free

    assert run(one_after_another()) == [True, True, True]


def test_what_fails_is_answered(pages: Pages) -> None:
    start, *_ = run(exchanged(pages, "/broken", at_once))
    assert start["status"] == 500
