"""Requests in threads that last: who sends slowly holds none, a file goes out piece by piece."""

import asyncio
import http.client
import io
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.http import FileResponse, HttpRequest, HttpResponse
from django.urls import path

from memories.api.health import healthz
from novamem.asgi_bridge import Pages


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


class Endless:
    """A file of a thousand megabytes; whoever reads a piece of it may have to wait."""

    reads = 0
    closed_within = 0
    waiting = threading.Event()
    going_on = threading.Event()
    closed = threading.Event()
    reading = False

    def read(self, size: int = -1) -> bytes:
        """A piece; the tenth waits."""
        Endless.reads += 1
        Endless.reading = True
        if Endless.reads == 10:
            Endless.waiting.set()
            Endless.going_on.wait(20)
        Endless.reading = False
        return b"x" * size if Endless.reads * size < 1000 * 2**20 else b""

    def close(self) -> None:
        """Not while it is read."""
        Endless.closed_within += Endless.reading
        Endless.closed.set()


@pytest.fixture
def endless() -> type[Endless]:
    """Untouched."""
    Endless.reads = Endless.closed_within = 0
    for event in (Endless.waiting, Endless.going_on, Endless.closed):
        event.clear()
    return Endless


def download(request: HttpRequest) -> FileResponse:
    """It."""
    return FileResponse(Endless())


def held(request: HttpRequest) -> HttpResponse:
    """Waits as for a database."""
    HELD.set()
    FREED.wait(20)
    return HttpResponse()


HELD, FREED = threading.Event(), threading.Event()


def echo(request: HttpRequest) -> HttpResponse:
    """What was sent, after a look at the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse(request.body)


def broken(request: HttpRequest) -> HttpResponse:
    """Fails."""
    raise RuntimeError


urlpatterns = [path("large", large), path("echo", echo), path("broken", broken), path("download", download)]
urlpatterns += [path("held", held), path("healthz", healthz), path("health", healthz), path("readyz", healthz)]
Event = dict[str, Any]


def scope_of(place: str) -> Event:
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

    await pages(scope_of(place), receive, send)
    return events


def run(what: Coroutine[Any, Any, Any]) -> Any:
    """Its result; in a thread, as the tests of the browser leave a loop running in this one."""
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, what).result()


def at_once() -> Callable[[], Awaitable[Event]]:
    """A body that is there, of a caller who stays."""
    events: list[Event] = [{"type": "http.request", "body": b"hello", "more_body": False}]

    async def receive() -> Event:
        if not events:
            await asyncio.Event().wait()
        return events.pop()

    return receive


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
            answered = await asyncio.wait_for(exchanged(pages, "/echo", at_once()), 20)
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

    sent = run(exchanged(pages, "/large", at_once(), sent=Watched()))
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
            await exchanged(pages, "/echo", at_once())
            free.append(await asyncio.wrap_future(pages._pages.submit(lambda: connection.connection is None)))
        return free

    assert run(one_after_another()) == [True, True, True]


def test_what_fails_is_answered(pages: Pages) -> None:
    start, *_ = run(exchanged(pages, "/broken", at_once()))
    assert start["status"] == 500


def test_probes_and_what_needs_no_database_wait_for_nobody_who_does(pages: Pages) -> None:
    async def both() -> list[int]:
        waits = asyncio.create_task(exchanged(pages, "/held", at_once()))
        await asyncio.to_thread(HELD.wait, 20)
        try:
            places = ("/healthz", "/health", "/readyz", "/static/console/mark.svg")
            told = [await asyncio.wait_for(exchanged(pages, place, at_once()), 10) for place in places]
        finally:
            FREED.set()
            await waits
        return [events[0]["status"] for events in told]

    assert run(both()) == [200, 200, 200, 200]


def test_a_download_ends_with_the_caller(pages: Pages, door: Any, endless: type[Endless]) -> None:
    connection = http.client.HTTPConnection(*door(pages), timeout=20)
    connection.request("GET", "/download")
    answer = connection.getresponse()
    answer.read(2**20 // 4)
    assert endless.waiting.wait(20)
    answer.close()
    connection.close()
    assert not endless.closed.wait(0.5), "it was closed while a piece of it was read"
    endless.going_on.set()
    assert endless.closed.wait(20)
    assert endless.reads < 100
    assert endless.closed_within == 0


def test_a_download_that_is_given_up_ends_with_its_piece(pages: Pages, endless: type[Endless]) -> None:
    async def given_up() -> None:
        another = Pages(threads=2)  # one that could close it meanwhile
        asking = asyncio.create_task(exchanged(another, "/download", at_once()))
        await asyncio.to_thread(endless.waiting.wait, 20)
        asking.cancel()
        asyncio.get_running_loop().call_later(0.5, endless.going_on.set)
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(given_up())
    assert (endless.reads, endless.closed.is_set(), endless.closed_within) == (10, True, 0)


def test_nothing_is_read_for_a_head(pages: Pages, door: Any, endless: type[Endless]) -> None:
    connection = http.client.HTTPConnection(*door(pages), timeout=20)
    for _ in range(2):  # the connection is kept
        connection.request("HEAD", "/download")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
    connection.close()
    assert endless.closed.wait(20)
    assert endless.reads == 0
