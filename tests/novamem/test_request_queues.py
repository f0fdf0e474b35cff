"""Request queues: who would wait too long is refused, reads and writes wait apart, people and probes not at all."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import httpx2
import pytest

from memories.providers.http import stepping_aside
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
    monkeypatch.setattr(request_queues, "FIRST", 1.0)

    async def ask():
        queue, end = RequestQueue("reads"), asyncio.Event()
        tasks = await occupied(queue, requests=WIDTH + 1, until=end)
        queue.refuse_late()  # half a second for one that waits, and as much for the next
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


def test_who_waits_for_a_service_outside_leaves_its_place_to_others(settings):
    settings.MAX_QUEUE_SECONDS = 0

    async def ask():
        queue, loop = RequestQueue("reads"), asyncio.get_running_loop()
        answered, passed = threading.Event(), []

        def outside(number):
            with stepping_aside.get()():
                passed.append(number)
                assert answered.wait(10)
            return queue._places._value

        async def request(number):
            async with queue.place():
                return await loop.run_in_executor(threads, partial(copy_context().run, outside, number))

        with ThreadPoolExecutor(3 * WIDTH) as threads:
            requests = [asyncio.create_task(request(number)) for number in range(3 * WIDTH)]
            while len(passed) < 3 * WIDTH:
                await asyncio.sleep(0.01)
            assert queue.wait == 0
            async with queue.place():
                left = await asyncio.wait_for(_occupy_all_but_one(queue), 1)
                answered.set()
                await asyncio.sleep(0.05)
                assert not any(one.done() for one in requests)  # they come back to a place that is free
                left.set()
            await asyncio.gather(*requests)
        assert queue.wait == 0
        assert queue._places._value == WIDTH

    async def _occupy_all_but_one(queue):
        end = asyncio.Event()
        await occupied(queue, requests=WIDTH - 1, until=end)
        return end

    run(ask)


def test_a_request_that_ends_while_it_is_outside_leaves_no_place_taken_nor_one_too_many(settings):
    settings.MAX_QUEUE_SECONDS = 0

    async def ask():
        queue, loop = RequestQueue("reads"), asyncio.get_running_loop()
        answered, outside = threading.Event(), threading.Event()

        def wait():
            with stepping_aside.get()():
                outside.set()
                answered.wait(10)

        async def request():
            async with queue.place():
                await loop.run_in_executor(threads, partial(copy_context().run, wait))

        with ThreadPoolExecutor(1) as threads:
            one = asyncio.create_task(request())
            while not outside.is_set():
                await asyncio.sleep(0.01)
            one.cancel()
            await asyncio.gather(one, return_exceptions=True)
            answered.set()
            await loop.run_in_executor(threads, int)  # once the thread has come back
        assert (queue.wait, queue._inside, queue._places._value) == (0, 0, WIDTH)

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
