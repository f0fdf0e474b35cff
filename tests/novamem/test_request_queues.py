"""Request queues: who would wait too long is refused, reads and writes wait apart, people and probes not at all."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from novamem import request_queues
from novamem.request_queues import WIDTH, Overloaded, RequestQueue, RequestQueues
from tests.conftest import web_server


def run(work):
    """Run it in a thread of its own: a browser's test may have left an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


async def occupied(queue: RequestQueue, *, requests: int, until: asyncio.Event) -> list[asyncio.Task[None]]:
    async def stay() -> None:
        async with queue.place():
            await until.wait()

    tasks = [asyncio.create_task(stay()) for _ in range(requests)]
    await asyncio.sleep(0)
    return tasks


@pytest.fixture
def busy(settings):
    settings.MAX_QUEUE_SECONDS = 1.0


def test_who_would_wait_too_long_is_refused_and_told_when_to_come_again(busy, monkeypatch):
    monkeypatch.setattr(request_queues, "FIRST", 2.0)

    async def ask():
        queue, end = RequestQueue("reads"), asyncio.Event()
        tasks = await occupied(queue, requests=WIDTH + 1, until=end)
        queue.refuse_late()  # a second for one that waits, and one more place
        tasks += await occupied(queue, requests=1, until=end)
        with pytest.raises(Overloaded, match="come again in 2 s") as refused:
            queue.refuse_late()
        assert refused.value.retry_after == 2
        end.set()
        await asyncio.gather(*tasks)
        assert queue.wait == 0
        queue.refuse_late()

    run(ask)


def test_without_a_limit_all_wait(settings, monkeypatch):
    settings.MAX_QUEUE_SECONDS = 0
    monkeypatch.setattr(request_queues, "FIRST", 100.0)

    async def ask():
        queue, end = RequestQueue("reads"), asyncio.Event()
        tasks = await occupied(queue, requests=10 * WIDTH, until=end)
        queue.refuse_late()
        end.set()
        await asyncio.gather(*tasks)

    run(ask)


def test_a_lane_lets_a_few_through_in_their_order_also_behind_who_failed_or_left():
    async def ask():
        queue, end, passed = RequestQueue("writes"), asyncio.Event(), []

        async def take(number):
            async with queue.place():
                passed.append(number)
                await end.wait()
                raise RuntimeError(number)

        tasks = []
        for number in range(WIDTH + 3):
            tasks.append(asyncio.create_task(take(number)))
            await asyncio.sleep(0)
        assert passed == list(range(WIDTH))
        tasks[WIDTH].cancel()
        end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert passed == [*range(WIDTH), WIDTH + 1, WIDTH + 2]
        assert queue.wait == 0

    run(ask)


@pytest.mark.parametrize(
    ("method", "path", "queue"),
    [
        ("GET", "/api/v1/fragments", "reads"),
        ("POST", "/api/v1/search", "reads"),
        ("POST", "/api/v1/context", "reads"),
        ("POST", "/api/v1/fragments", "writes"),
        ("DELETE", "/api/v1/fragments/1", "writes"),
        ("POST", "/compat/mem0/v3/memories/search/", "reads"),
        ("POST", "/compat/mem0/v3/memories/", "reads"),
        ("POST", "/compat/mem0/v3/memories/add/", "writes"),
        ("GET", "/healthz", None),
        ("GET", "/readyz", None),
        ("POST", "/review/decide/", None),
        ("GET", "/memories/", None),
    ],
)
def test_reads_and_writes_wait_apart_people_and_probes_nowhere(method, path, queue):
    found = RequestQueues().of(method, path)
    assert (found._name if found else None) == queue


@pytest.mark.long
def test_a_server_that_is_asked_too_much_refuses_early_and_answers_people(web_environment):
    """Six hundred at once at a server that lets nobody wait."""
    with web_server(web_environment | {"MAX_QUEUE_SECONDS": "0.001"}) as url:
        start = threading.Barrier(30)

        def ask(_):
            start.wait()
            with httpx2.Client(base_url=url, timeout=60) as client:
                return [client.get("/api/v1/fragments") for _ in range(20)]

        with ThreadPoolExecutor(32) as clients:
            asked = [clients.submit(ask, n) for n in range(30)]
            people = [httpx2.get(f"{url}{path}", timeout=60).status_code for path in ("/healthz", "/login/") * 5]
            answers = [answer for each in asked for answer in each.result()]
        refused = [answer for answer in answers if answer.status_code == 503]
        assert people == [200] * 10
        assert {answer.status_code for answer in answers} == {401, 503}
        assert {answer.json()["code"] for answer in refused} == {"overloaded"}
        assert all(int(answer.headers["Retry-After"]) >= 1 and answer.headers["X-Request-Id"] for answer in refused)
        assert "novamem_requests_refused_total" in httpx2.get(f"{url}/metrics").text
