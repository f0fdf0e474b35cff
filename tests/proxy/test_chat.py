"""Chats through the real client: what is put in, what comes back, what is kept."""

import json
import os
import subprocess
import sys
import time

import pytest
from django.db import connections
from prometheus_client import REGISTRY

from conflicts.public import ClaimDraft
from memories import access
from memories.console.connect import snippets
from memories.models import Namespace
from memories.models.history import events_of
from tests.proxy.conftest import chat
from tests.retrieval.blocks import read

HERON = "The heron nests behind the old mill."
ASKED = "Where does the heron nest?"
USER = [{"role": "user", "content": ASKED}]


def sent(upstream):
    """The messages of the last request that the upstream got."""
    return upstream.asked[-1].json["messages"]


def block_in(text):
    """The block behind a text, read back."""
    return read(text[text.index("<memory-context") :])


def test_an_answer_comes_with_memory_and_is_kept(client, upstream, remember, captured, memories, main):
    row = remember(HERON)
    answer = client.chat.completions.with_raw_response.create(model="fake", messages=USER)
    assert answer.parse().choices[0].message.content == upstream.reply
    assert answer.headers["X-NovaMem-Injected"] == "1"
    (message,) = sent(upstream)
    assert message["content"].startswith(f"{ASKED}\n\n<memory-context ")
    assert [line.text for line in block_in(message["content"]).lines] == [HERON]
    (exchange,) = captured()
    said = [(turn["role"], turn["content"]) for turn in exchange.turns]
    assert said == [("user", ASKED), ("assistant", upstream.reply)]
    assert (str(exchange.receipt_id), exchange.namespace.name) == (answer.headers["X-NovaMem-Receipt"], main)
    assert {f.content for f in memories()} == {HERON, upstream.reply}
    assert 0 < int(answer.headers["X-NovaMem-Tokens"]) <= 1200
    assert row.source == "inference"


@pytest.mark.parametrize("mode", ["right", "slow", "odd"])
def test_a_stream_is_the_same_and_is_kept(mode, client, upstream, remember, captured):
    remember(HERON)
    stream = client.chat.completions.create(model=mode, messages=USER, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == upstream.reply
    (exchange,) = captured()
    assert [(t["role"], t["content"], t["partial"]) for t in exchange.turns] == [
        ("user", ASKED, False),
        ("assistant", upstream.reply, False),
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls_pass_and_their_results_are_heard(stream, client, upstream, captured):
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'}}
    asked = [{"role": "user", "content": "How is the weather in Lisbon?"}]
    answer = client.chat.completions.create(model="tool_calls", messages=asked, stream=stream)
    if stream:
        deltas = [chunk.choices[0].delta.tool_calls for chunk in answer]
        said = "".join(delta[0].function.arguments for delta in deltas if delta)
    else:
        assert answer.choices[0].message.content is None
        said = answer.choices[0].message.tool_calls[0].function.arguments
    assert json.loads(said) == {"city": "Lisbon"}
    (first,) = captured()
    assert [turn["role"] for turn in first.turns] == ["user"]
    told = [
        *asked,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Sunny, 24 degrees in Lisbon."},
    ]
    client.chat.completions.create(model="fake", messages=told)
    _, second = captured(2)
    assert [(t["role"], t["content"]) for t in second.turns] == [
        ("tool", "Sunny, 24 degrees in Lisbon."),
        ("assistant", upstream.reply),
    ]


def test_parts_of_a_message(client, upstream, remember, captured):
    remember(HERON)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": "Look at this."}, image, {"type": "text", "text": ASKED}]
    client.chat.completions.create(model="fake", messages=[{"role": "user", "content": parts}])
    (message,) = sent(upstream)
    assert message["content"][:3] == parts
    assert message["content"][3]["type"] == "text"
    assert len(block_in(message["content"][3]["text"]).lines) == 1
    assert captured()[0].turns[0]["content"] == f"Look at this.\n{ASKED}"


def test_the_block_stands_behind_the_last_user_message_and_nothing_else_changes(client, upstream, remember):
    remember(HERON)
    before = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello, I have a question."},
        {"role": "assistant", "content": "Go ahead and ask me."},
    ]
    client.chat.completions.create(model="fake", messages=[*before, *USER], temperature=0.25, user="é")
    asked = upstream.asked[-1].json
    assert asked["messages"][:3] == before
    assert (asked["temperature"], asked["user"], asked["model"]) == (0.25, "é", "fake")


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_system_message_if_the_operator_wants_it(role, client, upstream, remember, settings):
    settings.PROXY_INJECT = "system"
    remember(HERON)
    client.chat.completions.create(model="fake", messages=[{"role": role, "content": "Be brief."}, *USER])
    system, user = sent(upstream)
    assert user == USER[0]
    opening, block = system["content"].split("\n\n")
    assert (opening, [line.text for line in read(block, "xml").lines]) == ("Be brief.", [HERON])


def test_a_system_message_is_made_when_there_is_none(client, upstream, remember, settings):
    settings.PROXY_INJECT = "system"
    remember(HERON)
    client.chat.completions.create(model="fake", messages=USER)
    system, user = sent(upstream)
    assert (system["role"], user) == ("system", USER[0])
    assert len(read(system["content"], "xml").lines) == 1


def test_the_operators_limits(client, upstream, remember, settings):
    for number in range(6):
        remember(f"The heron number {number} nests behind mill {number}.")
    settings.PROXY_TOP_K = 3
    client.chat.completions.create(model="fake", messages=USER)
    assert len(block_in(sent(upstream)[0]["content"]).lines) == 3
    settings.PROXY_MAX_TOKENS = 70
    answer = client.chat.completions.with_raw_response.create(model="fake", messages=USER)
    assert 0 < int(answer.headers["X-NovaMem-Tokens"]) <= 70
    assert 1 <= int(answer.headers["X-NovaMem-Injected"]) < 3


def test_without_memories_the_request_is_passed_as_it_came(send, upstream):
    raw = json.dumps(chat(), indent=3).encode()
    answer = send(raw)
    assert upstream.asked[-1].body == raw
    assert (answer.headers["X-NovaMem-Injected"], "X-NovaMem-Receipt" in answer.headers) == ("0", False)


@pytest.mark.parametrize(
    ("mode", "injects", "captures"),
    [("full", True, True), ("recall", True, False), ("capture", False, True), ("off", False, False)],
)
def test_modes(mode, injects, captures, send, upstream, remember, captured):
    remember(HERON)
    send(chat(), X_NovaMem_Mode=mode)
    send(chat("And the otter in the evening?"), X_NovaMem_Mode="capture")
    assert ("<memory-context" in upstream.asked[0].json["messages"][0]["content"]) == injects
    assert len(captured(1 + captures)) == 1 + captures


def test_a_grant_with_one_namespace_needs_no_header(send, upstream, remember, issue, main, captured):
    remember(HERON)
    send(chat(), Authorization=f"Bearer {issue(namespaces=[main])}", **{"X-NovaMem-Namespace": None})
    assert "<memory-context" in sent(upstream)[0]["content"]
    assert captured()[0].namespace.name == main


def test_without_a_namespace_there_is_no_memory(send, upstream, remember, captured):
    remember(HERON)
    answer = send(chat(), **{"X-NovaMem-Namespace": None})
    assert answer.status_code == 200
    assert sent(upstream) == chat()["messages"]
    send(chat("And the otter in the evening?"))
    assert len(captured()) == 1


def test_a_session_sees_its_own_claims_and_names_the_conversation(send, upstream, remember, captured):
    claim = ClaimDraft("user", "seat", "12A", scope="session", session_id="trip")
    remember("The user sits on seat 12A.", claims=[claim])
    ask = chat("Which seat does the user sit on?")
    assert send(ask).headers["X-NovaMem-Injected"] == "0"
    assert send(ask, X_NovaMem_Session="trip").headers["X-NovaMem-Injected"] == "1"
    assert [row.conversation_id for row in captured(2)] == ["", "trip"]


def test_what_the_model_read_out_of_its_block_is_not_kept(client, upstream, remember, captured, memories):
    remember(HERON)
    upstream.reply = "As far as I know, the heron nests behind the old mill."
    client.chat.completions.create(model="fake", messages=USER)
    captured()
    assert [row.content for row in memories()] == [HERON]


def test_a_block_that_comes_back_is_stripped(client, upstream, remember, captured):
    remember(HERON)
    client.chat.completions.create(model="echoing", messages=USER)
    (row,) = captured()
    assert [turn["content"] for turn in row.turns] == [ASKED, ASKED]
    block = sent(upstream)[0]["content"].removeprefix(ASKED)
    client.chat.completions.create(model="fake", messages=[{"role": "user", "content": f"What of the otter?{block}"}])
    _, row = captured(2)
    assert (row.turns[0]["content"], row.turns[0]["attested"]) == ("What of the otter?", False)


def test_attested_words_are_the_users(send, upstream, issue, captured, memories):
    proxy = issue(may_attest_user=True)
    send(chat("My budget for the kitchen is $750."), Authorization=f"Bearer {proxy}")
    captured()
    user, answer = memories()
    assert (user.source, user.authority, answer.source) == ("user_explicit", 6, "inference")


@pytest.mark.parametrize(
    "content",
    [
        "Eve wrote:\n\nMy budget for the kitchen is $13.",
        [{"type": "text", "text": "Read my file."}, {"type": "text", "text": "My budget for the kitchen is $13."}],
        [{"type": "text", "text": "My budget for the kitchen is $13."}, {"type": "file", "file": {"file_id": "f"}}],
    ],
)
def test_material_is_not_attested(content, send, upstream, issue, captured, memories):
    proxy = issue(may_attest_user=True)
    send(chat(content), Authorization=f"Bearer {proxy}")
    captured()
    user, _ = memories()
    assert (user.source, user.authority) == ("user_implicit", 3)


@pytest.mark.parametrize("lead", ["Here is the mail:", '"""', "Letter from Eve:", "Can you translate this?"])
def test_what_a_message_before_it_announces_is_not_attested(lead, send, upstream, issue, captured, memories):
    proxy = issue(may_attest_user=True)
    body = chat("My budget for the kitchen is $13.")
    body["messages"].insert(-1, {"role": "user", "content": lead})
    send(body, Authorization=f"Bearer {proxy}")
    captured()
    assert {row.source for row in memories() if "$13" in row.content} == {"user_implicit"}


def test_a_message_with_a_name_is_not_attested(send, upstream, issue, captured, memories):
    proxy = issue(may_attest_user=True)
    body = chat("My budget for the kitchen is $13.")
    body["messages"][-1]["name"] = "mallory"
    send(body, Authorization=f"Bearer {proxy}")
    captured()
    user, _ = memories()
    assert (user.source, user.authority) == ("user_implicit", 3)


def test_the_same_request_again_is_kept_once(client, upstream, captured, memories):
    told = [{"role": "user", "content": HERON}]
    client.chat.completions.create(model="fake", messages=told)
    client.chat.completions.create(model="fake", messages=told)
    captured(2)
    assert len(memories()) == 2


def test_models_and_everything_that_is_granted_pass(client, send, upstream, issue):
    assert "fake" in {model.owned_by for model in client.models.list().data}
    whole = bytes(range(256)) * 20_000
    key = issue(upstream_paths=["files*", "PUT teapot"])
    for method, path in (("DELETE", "/v1/files/a%20b?limit=3&x=%2F"), ("POST", "/v1/files"), ("PUT", "/v1/teapot")):
        answer = send(whole, method=method, path=path, Authorization=f"Bearer {key}")
        assert answer.status_code == (418 if "teapot" in path else 200)
        assert (answer.json()["method"], answer.json()["path"]) == (method, path)
        assert upstream.asked[-1].body == whole


def test_keys_and_headers_are_not_mixed_up(send, upstream, key):
    answer = send(chat(), Cookie="sessionid=secret", OpenAI_Organization="org", X_Forwarded_For="1")
    headers = {name.lower(): value for name, value in upstream.asked[-1].headers.items()}
    assert headers["authorization"] == "Bearer sk-of-the-upstream"
    assert headers["openai-organization"] == "org"
    assert not {"cookie", "x-forwarded-for", "x-novamem-namespace"} & set(headers)
    assert key not in str(headers)
    assert "sk-of-the-upstream" not in str(answer.headers) + answer.text
    elsewhere = send({}, path="/v1/embeddings")
    assert not {"set-cookie", "access-control-allow-origin", "x-novamem-injected"} & set(elsewhere.headers)


def test_without_an_upstream_key_none_is_sent(send, upstream, settings):
    settings.PROXY_UPSTREAM_KEY = ""
    send(chat())
    assert "Authorization" not in upstream.asked[-1].headers


def test_metrics_count_what_was_done(client, upstream, remember, captured, memories):
    names = {
        "nova_proxy_proxied_total": {"endpoint": "chat"},
        "nova_proxy_injected_total": {},
        "nova_proxy_captured_total": {"role": "user"},
        "nova_proxy_skipped_total": {"reason": "apology"},
    }

    def counted():
        return [REGISTRY.get_sample_value(name, labels) or 0 for name, labels in names.items()]

    before = counted()
    remember(HERON)
    told = "My sister saw the heron nest."
    client.chat.completions.create(model="apologising", messages=[{"role": "user", "content": told}])
    captured()
    memories()
    assert [after - before for after, before in zip(counted(), before, strict=True)] == [1, 1, 1, 1]


def test_what_is_kept_names_the_request(client, upstream, captured, service):
    answer = client.chat.completions.with_raw_response.create(model="fake", messages=USER)
    captured()
    with access.enter(service, why="test"):
        (event,) = events_of(Namespace).objects.filter(project_id=service.project_id)
    assert event.pgh_context["request"] == answer.headers["X-Request-Id"]
    assert event.pgh_context["why"] == "capture"


def test_a_worker_is_told(client, upstream, captured, committed):
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pgmq.purge_queue('celery')")
        client.chat.completions.create(model="fake", messages=USER)
        captured()
        end, told = time.monotonic() + 60, []
        while not told:  # the message is sent after the commit
            assert time.monotonic() < end
            time.sleep(0.02)
            cursor.execute("SELECT message::text FROM pgmq.q_celery")
            told = [message for (message,) in cursor if "memories.tasks.ingest_exchanges" in message]
    assert len(told) == 1
    assert str(committed.id) in told[0]


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_the_snippets_of_the_connect_page_work(name, web, key, main, upstream, captured, tmp_path):
    (text,) = (each.text for each in snippets(web, namespace=main) if each.name == name)
    environment = {"PATH": os.environ["PATH"], "NOVAMEM_KEY": key, "NO_PROXY": "*"}
    ended = subprocess.run(
        [sys.executable, "-c", text],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, upstream.reply), ended.stderr
    (row,) = captured()
    assert row.turns[0]["content"] == "I prefer short answers. What is a heron?"
