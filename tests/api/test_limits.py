"""Rates, the use of keys, and a database that is away."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx2
import pytest
from django.db import OperationalError, connection

from memories import access, usage_counters
from memories.access import rate_limits, transactions
from memories.models import ApiKey
from tests.conftest import web_server


def test_a_key_is_kept_to_its_rate(agent_of, project):
    slow = agent_of(project, requests_per_minute=3)
    statuses = [slow.client.get("/api/v1/namespaces").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    refused = slow.client.get("/api/v1/namespaces")
    assert refused.json()["code"] == "rate_limited"
    assert 1 <= int(refused.headers["Retry-After"]) <= 21


@pytest.mark.long
def test_a_keys_rate_is_one_for_all_processes(committed, agent_of, web_environment):
    """Two servers, and with this test three processes."""
    slow = agent_of(committed, requests_per_minute=5)
    headers = {"Authorization": f"Bearer {slow.key}"}
    with web_server(web_environment) as one, web_server(web_environment) as other:
        urls = [f"{url}/api/v1/namespaces" for url in (one, other)] * 5
        statuses = [httpx2.get(url, headers=headers, trust_env=False, timeout=60).status_code for url in urls]
    assert statuses == [200] * 5 + [429] * 5
    assert rate_limits.wait(slow.principal) > 0


def test_no_token_is_given_twice_to_requests_at_a_time(committed, agent_of):
    slow = agent_of(committed, requests_per_minute=20)

    def ask(_):
        try:
            return rate_limits.wait(slow.principal)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        waits = list(threads.map(ask, range(60)))
    assert 20 <= waits.count(0) <= 21  # one may have come in meanwhile


def test_a_batch_of_searches_weighs_as_much_as_its_searches(agent_of, project):
    slow = agent_of(project, requests_per_minute=10)

    def searched(times):
        searches = [{"namespace": "acme:main", "query": "the mill"}] * times
        return slow.client.post("/api/v1/search/batch", {"searches": searches}, format="json")

    assert [searched(4).status_code for _ in range(2)] == [200, 200]
    refused = searched(4)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 13
    assert searched(2).status_code == 200


def test_a_batch_over_the_whole_rate_is_paid_afterwards(agent_of, project):
    slow = agent_of(project, requests_per_minute=10)
    searches = [{"namespace": "acme:main", "query": "the mill"}] * 30
    assert slow.client.post("/api/v1/search/batch", {"searches": searches}, format="json").status_code == 200
    refused = slow.client.get("/api/v1/namespaces")
    assert refused.status_code == 429
    assert 120 <= int(refused.headers["Retry-After"]) <= 127


@pytest.mark.parametrize("searches", [None, 7, {"a": 1}, "text"])
def test_a_batch_that_is_none_weighs_one(bob, searches):
    answer = bob.client.post("/api/v1/search/batch", {"searches": searches}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")


def test_of_a_long_question_the_first_words_are_read(alice, store, settings):
    settings.QUERY_WORDS = 20
    store("acme:main", "The heron nests by the mill.")
    chatter = " ".join(f"zq{n}x" for n in range(19))

    def found_by(query):
        body = {"namespace": "acme:main", "query": query, "explain": True}
        told = alice.client.post("/api/v1/search", body, format="json").json()["explanation"]["candidates"]
        return {way for row in told for way in row["found_by"]}

    assert "words" in found_by(f"{chatter} heron and more")
    assert "words" not in found_by(f"{chatter} zq19x heron")


def test_zero_means_no_limit(agent_of, project):
    fast = agent_of(project, requests_per_minute=0)
    assert {fast.client.get("/api/v1/namespaces").status_code for _ in range(30)} == {200}


def test_the_last_use_of_a_key_is_kept(bob, principal):
    bob.client.get("/api/v1/namespaces")
    usage_counters.flush()
    with access.enter(principal, why="test"):
        assert ApiKey.objects.get(id=bob.row.id).last_used_at is not None


@pytest.mark.parametrize(("method", "path"), [("get", "fragments"), ("post", "search"), ("post", "fragments")])
def test_a_database_that_is_away_is_a_503(method, path, bob, monkeypatch):
    def away(*_args, **_more):
        raise OperationalError("server closed the connection unexpectedly: host=secret")

    monkeypatch.setattr(transactions, "_settings", away)
    body = {"namespace": "acme:main", "query": "x", "content": "some text"}
    wanted = {"search": ("namespace", "query"), "fragments": ("namespace", "content")}[path]
    data = {name: body[name] for name in wanted} if method == "post" else {}
    answer = getattr(bob.client, method)(f"/api/v1/{path}", data, format="json")
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert b"secret" not in answer.content


def test_connecting_is_tried_again(principal, monkeypatch):
    calls, naps = [], []

    def flaky():
        calls.append(1)
        if len(calls) < 4:
            raise OperationalError("connection refused")

    monkeypatch.setattr(transactions.connection, "ensure_connection", flaky)
    monkeypatch.setattr(transactions.time, "sleep", naps.append)
    with access.enter(principal, why="test"):
        pass
    assert naps == [0.1, 0.2, 0.4]


def test_a_request_tries_from_its_key_on(bob, monkeypatch):
    calls, naps, ensure = [], [], transactions.connection.ensure_connection

    def flaky():
        calls.append(1)
        if len(calls) < 3:
            raise OperationalError("no connection is free")
        ensure()

    monkeypatch.setattr(transactions.connection, "ensure_connection", flaky)
    monkeypatch.setattr(transactions.time, "sleep", naps.append)
    assert bob.client.get("/api/v1/fragments").status_code == 200
    assert naps == [0.1, 0.2]


@pytest.fixture
def _no_outage():
    """What is known of an outage stays in its test."""
    yield
    transactions._away.clear()


@pytest.mark.usefixtures("_no_outage")
def test_what_is_no_key_waits_for_no_connection(bob, monkeypatch):
    def away():
        raise OperationalError("connection refused")

    monkeypatch.setattr(transactions, "connection", SimpleNamespace(ensure_connection=away))
    monkeypatch.setattr(transactions.time, "sleep", lambda _: pytest.fail("it waited"))
    for key in ("nova_x_y_z", "sk-other", f"{bob.key}x"):
        answer = bob.client.get("/api/v1/fragments", headers={"Authorization": f"Bearer {key}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.usefixtures("_no_outage")
def test_one_at_a_time_waits_for_a_database_that_is_known_to_be_away(monkeypatch):
    naps, waiting, going_on = [], threading.Event(), threading.Event()

    def away():
        raise OperationalError("connection refused")

    def nap(delay):
        naps.append(delay)
        if waiting.is_set():
            return
        waiting.set()
        going_on.wait(20)

    def connect():
        with pytest.raises(OperationalError):
            access.connect()

    monkeypatch.setattr(transactions, "connection", SimpleNamespace(ensure_connection=away))
    monkeypatch.setattr(transactions.time, "sleep", naps.append)
    connect()
    connect()
    assert naps == [*transactions.RETRY_DELAYS] * 2, "alone, each caller tries for as long"
    naps.clear()
    monkeypatch.setattr(transactions.time, "sleep", nap)
    patient = threading.Thread(target=connect)
    patient.start()
    assert waiting.wait(20)
    for _ in range(20):
        connect()
    assert naps == [0.1], "somebody else waited too"
    going_on.set()
    patient.join(20)
    assert naps == [*transactions.RETRY_DELAYS]


@pytest.mark.usefixtures("_no_outage")
def test_an_outage_ends_with_the_first_connection(principal, monkeypatch):
    transactions._away.set()
    with access.enter(principal, why="test"):
        pass
    naps, answers = [], [OperationalError("connection refused"), OperationalError("connection refused"), None]

    def flaky():
        if error := answers.pop(0):
            raise error

    monkeypatch.setattr(transactions, "connection", SimpleNamespace(ensure_connection=flaky))
    monkeypatch.setattr(transactions.time, "sleep", naps.append)
    with transactions._patience:  # somebody else still waits
        access.connect()
    assert naps == [0.1, 0.2]


@pytest.mark.usefixtures("_no_outage")
def test_connecting_is_given_up_after_five_times(principal, monkeypatch):
    naps = []

    def away():
        raise OperationalError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(transactions.connection, "ensure_connection", away)
        patch.setattr(transactions.time, "sleep", naps.append)
        with pytest.raises(OperationalError), access.enter(principal, why="test"):
            pass
    assert naps == [0.1, 0.2, 0.4, 0.8, 1.6]


def rates(answer):
    return {name.removeprefix("RateLimit-"): value for name, value in answer.headers.items() if "RateLimit" in name}


def test_answers_tell_what_the_key_may_still_do(agent_of, project):
    slow = agent_of(project, requests_per_minute=4)
    told = [rates(slow.client.get("/api/v1/namespaces")) for _ in range(5)]
    assert [int(each["Remaining"]) for each in told] == [3, 2, 1, 0, 0]
    assert {(each["Limit"], each["Policy"]) for each in told} == {("4", "4;w=60")}
    assert all(14 <= int(each["Reset"]) - 15 * passed <= 15 for passed, each in enumerate(told[:4]))
    for path in ("/api/v1/fragments/nothing", "/api/v1/nowhere"):
        assert rates(slow.client.get(path)).get("Remaining") in (None, "0")


def test_a_batch_takes_what_it_weighs_and_a_debt_leaves_nothing(agent_of, project):
    slow = agent_of(project, requests_per_minute=10)

    def searched(times):
        searches = [{"namespace": "acme:main", "query": "the mill"}] * times
        return rates(slow.client.post("/api/v1/search/batch", {"searches": searches}, format="json"))

    assert searched(4)["Remaining"] == "6"
    slow = agent_of(project, requests_per_minute=10)
    debt = searched(30)
    assert (debt["Remaining"], 170 <= int(debt["Reset"]) <= 181) == ("0", True)


def test_who_has_no_limit_hears_of_none(agent_of, project):
    assert rates(agent_of(project, requests_per_minute=0).client.get("/api/v1/namespaces")) == {}
