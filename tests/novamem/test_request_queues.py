"""Request queues: who would wait too long is refused, kinds of requests wait apart, people and probes not at all."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import httpx2
import pytest

from memories.access import keys
from memories.providers.fake_servers import FakeHandler, FakeServer, running
from memories.providers.http import leave_queue
from novamem import request_queues
from novamem.request_queues import OUTSIDE, WIDTH, Overloaded, RequestQueue, RequestQueues
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


def test_questions_pass_one_by_one_where_processes_and_postgres_share_every_core(settings):
    settings.QUESTIONS_AT_ONCE = 1

    async def ask():
        queue = RequestQueues().of("POST", "/api/v1/search")
        end = asyncio.Event()
        tasks = await occupied(queue, requests=2, until=end)
        assert queue._places.locked()
        assert queue.wait == 2 * request_queues.FIRST
        end.set()
        await asyncio.gather(*tasks)

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


def test_who_waits_for_a_service_outside_leaves_its_place_for_good(settings):
    """Also where there are more requests than threads: none that comes back waits for a place."""
    settings.MAX_QUEUE_SECONDS = 0

    async def ask():
        queue, loop = RequestQueue("reads"), asyncio.get_running_loop()
        answered, outside = threading.Event(), threading.Semaphore(0)

        def waits():
            for _ in range(2):
                leave_queue.get()()
            outside.release()
            assert answered.wait(10)

        async def request():
            async with queue.place():
                await loop.run_in_executor(threads, partial(copy_context().run, waits))

        with ThreadPoolExecutor(2 * WIDTH) as threads:
            requests = [asyncio.create_task(request()) for _ in range(5 * WIDTH)]
            for _ in range(2 * WIDTH):
                while not outside.acquire(blocking=False):
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            assert queue._inside == 3 * WIDTH  # WIDTH of them hold places and wait for threads
            requests[0].cancel()  # its caller left
            answered.set()
            await asyncio.wait_for(asyncio.gather(*requests, return_exceptions=True), 10)
        assert (queue.wait, queue._inside, queue._places._value) == (0, 0, WIDTH)

    run(ask)


def test_so_many_wait_outside_the_others_keep_their_places(settings, monkeypatch):
    settings.MAX_QUEUE_SECONDS = 0
    monkeypatch.setattr(request_queues, "OUTSIDE", 3)

    async def ask():
        queue, end, entered = RequestQueue("questions"), asyncio.Event(), []

        async def request(number):
            async with queue.place():
                entered.append(number)
                await asyncio.to_thread(leave_queue.get())
                await end.wait()

        requests = [asyncio.create_task(request(number)) for number in range(3 + WIDTH + 2)]
        while len(entered) < 3 + WIDTH:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert entered == list(range(3 + WIDTH))
        end.set()
        await asyncio.gather(*requests)
        assert (queue._inside, queue._outside, queue._places._value) == (0, 0, WIDTH)

    run(ask)


def test_a_thread_that_is_left_behind_by_its_loop_leaves_no_place(settings):
    kept = []

    async def ask():
        async with RequestQueue("reads").place():
            kept.append(leave_queue.get())

    run(ask)
    kept[0]()


@pytest.mark.parametrize(
    ("method", "path", "queue"),
    [
        ("GET", "/api/v1/fragments", "reads"),
        ("POST", "/api/v1/search", "questions"),
        ("POST", "/api/v1/context", "questions"),
        ("POST", "/api/v1/fragments", "writes"),
        ("DELETE", "/api/v1/fragments/1", "writes"),
        ("POST", "/compat/mem0/v3/memories/search/", "questions"),
        ("POST", "/compat/mem0/v3/memories/", "questions"),
        ("POST", "/compat/mem0/v3/memories/add/", "writes"),
        ("GET", "/healthz", None),
        ("GET", "/readyz", None),
        ("POST", "/review/decide/", None),
        ("GET", "/memories/", None),
    ],
)
def test_questions_reads_and_writes_wait_apart_people_and_probes_nowhere(method, path, queue):
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


class SlowReranker(FakeHandler):
    """Finds all texts as good, once it is let."""

    asked, let = threading.Semaphore(0), threading.Event()

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["texts"]
        self.asked.release()
        self.let.wait(30)
        body = json.dumps([{"index": n, "score": 0.5} for n in range(len(texts))]).encode()
        self._head(200, {"Content-Length": str(len(body))})
        self.wfile.write(body)


@pytest.mark.long
def test_while_searches_wait_for_a_slow_service_everything_else_is_answered(committed, web_environment):
    """More of them than connections to the database, and than threads."""
    request = keys.KeyRequest(namespaces=[f"{committed.name}:*"], verbs=["read", "write"], ceiling="tool_output")
    issued = keys.issue(committed, request, owner="otter")
    with running(FakeServer(0, SlowReranker)) as service:
        environment = web_environment | {
            "RERANKER": f"http://127.0.0.1:{service.server_port}",
            "RERANKER_TIMEOUT": "30",
            "DATABASE_POOL_SIZE": "4",
            "MAX_QUEUE_SECONDS": "0",
        }
        with web_server(environment) as url:
            place, headers = f"{committed.name}:main", {"Authorization": f"Bearer {issued.text}"}

            def post(path, **body):
                body["namespace"] = place
                return httpx2.post(f"{url}/api/v1/{path}", json=body, headers=headers, timeout=60).status_code

            stored = post("fragments", content="An otter swims.")
            with ThreadPoolExecutor(48) as clients:
                asked = [clients.submit(post, "search", query=f"Where does otter {n} swim?") for n in range(48)]
                for _ in range(OUTSIDE + 1):  # one more waits there, or two: by how many cores there are
                    assert SlowReranker.asked.acquire(timeout=30)
                meanwhile = post("fragments", content="A heron waits.")
                read = httpx2.get(f"{url}/api/v1/fragments", headers=headers, timeout=20).status_code
                people = [httpx2.get(f"{url}{path}", timeout=20).status_code for path in ("/login/", "/readyz")]
                assert not any(one.done() for one in asked)
                SlowReranker.let.set()
                answers = {one.result() for one in asked}
    assert (stored, meanwhile, read, people) == (201, 201, 200, [200, 200])
    assert answers == {200}
