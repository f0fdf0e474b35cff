"""What goes wrong: nothing of the memory's trouble stops a chat, and the upstream's trouble passes as it is."""

import asyncio
import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import httpx2
import openai
import pytest
from cachetools import TTLCache
from django.db import InterfaceError, OperationalError, connections, transaction

from memories.ingest.captures import capture as ingest_capture
from memories.proxy import callers, capture, metrics, recall, relay
from memories.proxy.relay import Relay
from memories.proxy.threads import WORKERS
from tests.proxy.conftest import NAMESPACE, chat

USER = chat()["messages"]


def test_errors_of_the_upstream_pass_unchanged(send, upstream, captured):
    for mode, status in (
        ("unavailable", 503),
        ("broken", 500),
        ("refusing", 400),
        ("busy", 429),
        ("unauthorised", 401),
    ):
        for stream in (False, True):
            answer = send(chat(model=mode, stream=stream))
            assert answer.status_code == status
            assert answer.json() == {
                "error": {"message": f"the upstream is {mode}", "type": "fake", "param": None, "code": mode}
            }
            assert answer.headers["Retry-After"] == "7"
    assert captured(0) == []


@pytest.mark.parametrize("mode", ["apologising", "failing", "mumbling"])
def test_excuses_are_passed_but_not_kept(mode, client, upstream, captured, memories):
    told = "The heron nests behind the old mill."
    client.chat.completions.create(model=mode, messages=[{"role": "user", "content": told}])
    captured()
    assert [row.content for row in memories()] == [told]


def test_an_answer_that_is_none_is_passed(send, upstream, captured):
    assert send(chat(model="no_json")).text == "<html>Welcome</html>"
    assert [turn["role"] for turn in captured()[0].turns] == ["user"]


@pytest.mark.parametrize("kind", [OperationalError, RuntimeError, RecursionError])
def test_retrieval_that_fails_does_not_stop_the_chat(kind, client, upstream, remember, captured, monkeypatch):
    remember("The heron nests behind the old mill.")

    def broken(*_args, **_more):
        raise kind("secret")

    monkeypatch.setattr(recall, "build_context", broken)
    answer = client.chat.completions.with_raw_response.create(model="fake", messages=USER)
    assert answer.parse().choices[0].message.content == upstream.reply
    assert answer.headers["X-NovaMem-Injected"] == "0"
    assert upstream.asked[-1].json["messages"] == USER
    assert len(captured()[0].turns) == 2


def test_retrieval_that_takes_too_long_is_not_waited_for(client, upstream, remember, monkeypatch):
    monkeypatch.setattr(recall, "PATIENCE", 2.0)  # in which the key has to be looked up, too
    answered = threading.Event()
    monkeypatch.setattr(recall, "build_context", lambda *_args, **_more: answered.wait(60))
    begun = time.monotonic()
    client.chat.completions.create(model="fake", messages=USER)
    assert time.monotonic() - begun < 30
    answered.set()


def failing_capture(error, attempts):
    """Return a capture that fails at the first `attempts`, and the errors that are left."""
    left = [error] * attempts

    def broken(*args, **more):
        if left:
            raise left.pop()
        return ingest_capture(*args, **more)

    return broken, left


def lost(reason):
    return metrics.UNCAPTURED.labels(reason)._value.get()


def lost_more(reason, before):
    """Return how many more are lost, once one is: the capture goes on behind the answer."""
    end = time.monotonic() + 60
    while lost(reason) == before and time.monotonic() < end:
        time.sleep(0.02)
    return lost(reason) - before


def test_capturing_that_fails_does_not_stop_the_chat(client, upstream, captured, monkeypatch):
    broken, left = failing_capture(RuntimeError("broken"), 1)
    monkeypatch.setattr(capture, "capture", broken)
    before = lost("failed")
    stream = client.chat.completions.create(model="fake", messages=USER, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == upstream.reply
    assert (lost_more("failed", before), captured(0), left) == (1, [], [])


@pytest.mark.parametrize("kind", [OperationalError, InterfaceError])
def test_what_is_said_while_the_database_is_away_is_written_down_when_it_is_back(
    kind, client, upstream, captured, monkeypatch
):
    broken, _ = failing_capture(kind("away"), 3)
    monkeypatch.setattr(capture, "capture", broken)
    monkeypatch.setattr(relay, "PAUSE", 0.1)
    client.chat.completions.create(model="fake", messages=USER)
    assert [turn["role"] for turn in captured(1)[0].turns] == ["user", "assistant"]


def test_a_database_that_stays_away_is_not_waited_for_forever(client, upstream, captured, monkeypatch):
    broken, left = failing_capture(OperationalError("away"), 2)
    monkeypatch.setattr(capture, "capture", broken)
    monkeypatch.setattr(relay, "OUTAGE", -1)
    before = lost("database_away")
    client.chat.completions.create(model="fake", messages=USER)
    assert (lost_more("database_away", before), captured(0), len(left)) == (1, [], 1)


def test_a_database_that_is_away_stops_strangers_only(send, upstream, issue, monkeypatch):
    assert send(chat()).status_code == 200

    def away(*_args, **_more):
        raise OperationalError("server closed the connection unexpectedly: host=secret")

    stranger = issue()
    monkeypatch.setattr(callers, "principal_of_key", away)
    monkeypatch.setattr(recall, "build_context", away)
    monkeypatch.setattr(capture, "capture", away)
    monkeypatch.setattr(relay, "OUTAGE", 0)
    assert send(chat()).status_code == 200
    refused = send(chat(), Authorization=f"Bearer {stranger}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "database_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert "secret" not in refused.text
    callers._acquaintances.clear()  # as after a while
    assert send(chat()).status_code == 503


@contextmanager
def stalled(*tables):
    """Whoever asks for these tables waits, as on a disk or a network that swallows everything."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        yield


@pytest.mark.long
def test_a_database_that_does_not_answer_stops_strangers_only(send, upstream, issue, captured, monkeypatch):
    assert send(chat()).status_code == 200
    captured(1)
    for module in (recall, relay):
        monkeypatch.setattr(module, "PATIENCE", 0.3)
    stranger, chats = issue(), WORKERS._max_workers + 2
    with stalled("memories_apikey", "memories_exchange"):
        for number in range(chats):
            answer = send(chat(f"The heron has {number} eggs.", stream=True), timeout=20)
            assert (answer.status_code, answer.headers["X-NovaMem-Memory"]) == (200, "none; reason=unavailable")
            assert "[DONE]" in answer.text
        refused = send(chat(), Authorization=f"Bearer {stranger}", timeout=20)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "database_unavailable")
        assert send({}, path="/v1/embeddings", timeout=20).status_code == 200
    assert len(captured(1 + chats)) == 1 + chats, "what was said meanwhile is written down afterwards"


def test_a_chat_whose_recall_takes_too_long_is_captured(send, upstream, captured, monkeypatch):
    assert send(chat()).status_code == 200
    captured(1)
    monkeypatch.setattr(recall, "PATIENCE", 0.3)
    with stalled("memories_namespace"):
        answer = send(chat("The heron has seven eggs."), timeout=20)
        assert (answer.status_code, answer.headers["X-NovaMem-Memory"]) == (200, "none; reason=unavailable")
    assert len(captured(2)) == 2


def test_a_chat_whose_capture_is_stopped_is_captured_later(send, upstream, captured, monkeypatch):
    assert send(chat()).status_code == 200
    captured(1)
    monkeypatch.setattr(relay, "PATIENCE", 0.3)
    with stalled("memories_exchange"), connections["default"].cursor() as cursor:
        assert send(chat("The heron has seven eggs.")).status_code == 200
        stopped, until = [], time.monotonic() + 20
        while not stopped and time.monotonic() < until:
            cursor.execute(
                """SELECT pg_cancel_backend(pid) FROM pg_locks
                WHERE relation = 'memories_exchange'::regclass AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
            )
            stopped = cursor.fetchall()
        assert stopped == [(True,)]
    assert len(captured(2)) == 2


def test_a_key_is_known_for_a_while_and_forgotten_at_once_when_it_is_revoked(monkeypatch, now):
    at = [0.0]
    monkeypatch.setattr(callers, "_acquaintances", TTLCache(callers.MOST, callers.GRACE, timer=lambda: at[0]))
    found, holder = [SimpleNamespace(owner="alice")], callers._cached_caller
    monkeypatch.setattr(callers, "principal_of_key", lambda key, *, now: found[0])
    assert callers._look_up("key", now) is holder("key", now) is found[0]
    at[0] = callers.GRACE
    with pytest.raises(OperationalError):
        holder("key", now)
    callers._look_up("key", now)
    found[0] = None
    assert callers._look_up("key", now) is None
    with pytest.raises(OperationalError):
        holder("key", now)


def test_an_upstream_that_is_not_there(send, settings, captured):
    settings.PROXY_UPSTREAM_URL = "http://127.0.0.1:9/v1"
    for path in ("/v1/chat/completions", "/v1/embeddings"):
        answer = send(chat(), path=path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_unreachable")
    assert captured(0) == []


def test_an_upstream_that_hangs_up_before_it_answers(send, upstream, captured):
    answer = send(chat(model="hanging_up"))
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "upstream_error")
    assert captured(0) == []


def test_no_upstream(send, settings, captured):
    settings.PROXY_UPSTREAM_URL = ""
    for path in ("/v1/chat/completions", "/v1/embeddings"):
        answer = send(chat(), path=path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_upstream")
    assert captured(0) == []


def test_a_stream_that_breaks_off_breaks_off_here_too_and_is_kept_as_partial(client, upstream, captured, memories):
    got = []
    stream = client.chat.completions.create(model="dropping", messages=USER, stream=True)
    with pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)):
        got.extend(chunk.choices[0].delta.content or "" for chunk in stream)
    (row,) = captured()
    text = row.turns[1]["content"]
    assert (text != "", row.turns[1]["partial"]) == (True, True)
    assert upstream.reply.startswith(text)
    assert [row.extra for row in memories()] == [{"partial": True}]


def test_an_answer_that_breaks_off_breaks_off_here_too(send, upstream, captured):
    with pytest.raises(httpx2.RemoteProtocolError):
        send(chat(model="dropping"))
    assert [turn["role"] for turn in captured()[0].turns] == ["user"]


def test_a_stream_without_an_end_mark_is_partial(client, upstream, captured):
    list(client.chat.completions.create(model="no_done", messages=USER, stream=True))
    assert captured()[0].turns[1]["partial"] is True


def test_a_caller_that_leaves_ends_the_upstreams_work(client, upstream, captured):
    upstream.reply = "heron " * 20
    stream = client.chat.completions.create(model="endless", messages=USER, stream=True)
    for _, chunk in zip(range(9), stream, strict=False):
        assert chunk.choices
    stream.close()
    assert upstream.left.wait(60)
    (row,) = captured()
    assert row.turns[1]["partial"] is True
    assert row.turns[1]["content"].startswith("heron heron")
    assert not relay._open


def test_a_caller_that_leaves_before_the_answer_ends_the_upstreams_work(web, key, main, upstream, captured):
    caller = http.client.HTTPConnection(web.removeprefix("http://"))
    headers = {"Authorization": f"Bearer {key}", NAMESPACE: main, "Content-Type": "application/json"}
    caller.request("POST", "/v1/chat/completions", json.dumps(chat(model="silent")), headers)
    end = time.monotonic() + 60
    while not upstream.asked and time.monotonic() < end:
        time.sleep(0.05)
    caller.close()
    assert upstream.left.wait(60)
    assert captured(0) == []


class Lingering:
    """A middleware that has the answer and keeps it until it is told to go on."""

    holds, goes_on = threading.Event(), threading.Event()

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        self.holds.set()
        self.goes_on.wait(60)
        return response


@pytest.fixture
def lingering(settings):
    """Such a middleware, in the web server that comes after it."""
    settings.MIDDLEWARE = [f"{__name__}.{Lingering.__name__}", *settings.MIDDLEWARE]
    for event in (Lingering.holds, Lingering.goes_on):
        event.clear()
    yield Lingering
    Lingering.goes_on.set()


def test_a_caller_that_leaves_before_the_first_piece_is_captured(
    lingering, web, key, main, upstream, captured, monkeypatch
):
    monkeypatch.setattr(relay, "UNREAD", 1)
    caller = http.client.HTTPConnection(web.removeprefix("http://"))
    headers = {"Authorization": f"Bearer {key}", NAMESPACE: main, "Content-Type": "application/json"}
    caller.request("POST", "/v1/chat/completions", json.dumps(chat(model="endless", stream=True)), headers)
    assert lingering.holds.wait(60)
    caller.close()
    assert upstream.left.wait(60), "its connection is given back"
    assert [turn["role"] for turn in captured()[0].turns] == ["user"]
    assert not relay._open


def test_an_answer_that_is_read_takes_its_time(send, upstream, captured, monkeypatch):
    monkeypatch.setattr(relay, "UNREAD", 0.2)
    upstream.pause = 0.1
    assert send(chat(model="slow", stream=True)).text.endswith("data: [DONE]\n\n")
    assert captured()[0].turns[1]["partial"] is False


def stop_with(monkeypatch, *, first_takes):
    """What is written down where the server stops and, while the first answer is written, another one opens."""
    monkeypatch.setattr(relay, "_open", set())
    monkeypatch.setattr(relay, "_writing", set())
    written, goes_on = [], threading.Event()

    async def stopping():
        loop = asyncio.get_running_loop()

        def opened(listener):
            Relay(httpx2.Response(200, content=b"heron"), listener)

        def first(_heard, _ended_at):
            loop.call_soon_threadsafe(opened, second)
            goes_on.wait(first_takes)
            return partial(written.append, "first")

        def second(_heard, _ended_at):
            return partial(written.append, "second")

        opened(first)
        await relay.finish_all()
        return list(written)

    with ThreadPoolExecutor(1) as pool:  # the browser's tests leave an event loop running in this one
        found = pool.submit(lambda: asyncio.run(stopping())).result()
    goes_on.set()
    return found


def test_what_is_answered_while_the_server_stops_is_written_down(monkeypatch):
    assert sorted(stop_with(monkeypatch, first_takes=0.3)) == ["first", "second"]


def test_one_that_can_not_be_written_down_does_not_lose_the_others(monkeypatch):
    monkeypatch.setattr(relay, "SETTLE", 1)
    assert stop_with(monkeypatch, first_takes=20) == ["second"]


def test_more_than_is_kept_still_passes(client, upstream, captured, monkeypatch):
    monkeypatch.setattr(relay, "MOST", 100)
    monkeypatch.setattr(capture, "MOST", 100)
    stream = client.chat.completions.create(model="fake", messages=USER, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == upstream.reply
    assert [turn["role"] for turn in captured()[0].turns] == ["user"]


def test_a_rate_is_kept(send, upstream, issue):
    slow = f"Bearer {issue(requests_per_minute=2)}"
    assert [send(chat(), Authorization=slow).status_code for _ in range(3)] == [200, 200, 429]
    refused = send(chat(), Authorization=slow)
    assert (refused.json()["error"]["code"], int(refused.headers["Retry-After"]) > 0) == ("rate_limit_exceeded", True)
    assert len(upstream.asked) == 2
